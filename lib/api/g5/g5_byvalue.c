/*
 * g5_byvalue.c - the GRAPE-5 interface for C: scalars by value.
 *
 * MC in a name means that the call names a device by its id; a 0 at the end of a name means individual softening.
 */
#include "api/g5/g5.h"
#include "sapporo_g5.h"

SAP_WEAK int g5_open_special(int ndev, int *list) { return sap_g5_open_special(ndev, list); }

SAP_WEAK int g5_set_cutoff_table(double (*force)(double), double force_range, double force_scale, double (*pot)(double),
                                 double pot_range, double pot_scale)
{
    (void)force, (void)force_range, (void)force_scale, (void)pot, (void)pot_range, (void)pot_scale;
    return sap_g5_set_cutoff(__func__);
}

/* ---- life cycle ------------------------------------------------------------ */

SAP_WEAK int g5_open(void) { return sap_g5_open(0, __func__); }

SAP_WEAK int g5_openMC(int devid) { return sap_g5_open(devid, __func__); }

SAP_WEAK int g5_close(void) { return sap_g5_close(0, __func__); }

SAP_WEAK int g5_closeMC(int devid) { return sap_g5_close(devid, __func__); }

SAP_WEAK int g5_get_number_of_pipelines(void) { return SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_pipelinesMC(int devid) { return (void)devid, SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_real_pipelines(void) { return SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_real_pipelinesMC(int devid) { return (void)devid, SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_pipelines_per_board(void) { return SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_boards(void) { return SAP_G5_BOARDS; }

SAP_WEAK int g5_get_firstcluster(void) { return SAP_G5_FIRST_CLUSTER; }

SAP_WEAK int g5_get_jmemsize(void) { return SAP_G5_JMEMSIZE; }

SAP_WEAK int g5_get_jmemsizeMC(int devid) { return (void)devid, SAP_G5_JMEMSIZE; }

/* ---- settings ------------------------------------------------------------ */

SAP_WEAK int g5_set_range(double xmin, double xmax, double mmin)
{
    return sap_g5_set_range(0, xmin, xmax, mmin, __func__);
}

SAP_WEAK int g5_set_rangeMC(int devid, double xmin, double xmax, double mmin)
{
    return sap_g5_set_range(devid, xmin, xmax, mmin, __func__);
}

SAP_WEAK int g5_get_range(double *xmin, double *xmax, double *mmin)
{
    return sap_g5_get_range(0, xmin, xmax, mmin, __func__);
}

SAP_WEAK int g5_get_rangeMC(int devid, double *xmin, double *xmax, double *mmin)
{
    return sap_g5_get_range(devid, xmin, xmax, mmin, __func__);
}

SAP_WEAK int g5_set_eps_to_all(double eps) { return sap_g5_set_eps_to_all(eps); }

SAP_WEAK int g5_set_eps2_to_all(double eps2) { return sap_g5_set_eps2_to_all(eps2); }

SAP_WEAK int g5_set_eta(double eta) { return (void)eta, sap_g5_set_cutoff(__func__); }

/* ---- j-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_n(int n) { return sap_g5_set_n(0, n, __func__); }

SAP_WEAK int g5_set_nMC(int devid, int n) { return sap_g5_set_n(devid, n, __func__); }

SAP_WEAK int g5_set_xmj0(int adr, int nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(0, SAP_G5_SYMMETRIC, &(struct sap_g5_load){adr, nj, xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

SAP_WEAK int g5_set_xmjMC0(int devid, int adr, int nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(devid, SAP_G5_SYMMETRIC, &(struct sap_g5_load){adr, nj, xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

SAP_WEAK int g5_set_xmeps2j(int adr, int nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(0, SAP_G5_SYMMETRIC, &(struct sap_g5_load){adr, nj, xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

/* ---- i-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_xi(int ni, double xi[][3]) { return sap_g5_set_xi(0, ni, xi, SAP_G5_COMMON, NULL, __func__); }

SAP_WEAK int g5_set_xiMC(int devid, int ni, double xi[][3])
{
    return sap_g5_set_xi(devid, ni, xi, SAP_G5_COMMON, NULL, __func__);
}

SAP_WEAK int g5_set_eps(int ni, double eps[]) { return sap_g5_set_eps(0, ni, SAP_G5_EPS, eps, __func__); }

SAP_WEAK int g5_set_epsMC(int devid, int ni, double eps[])
{
    return sap_g5_set_eps(devid, ni, SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_eps2(int ni, double eps2[]) { return sap_g5_set_eps(0, ni, SAP_G5_EPS2, eps2, __func__); }

SAP_WEAK int g5_set_eps2MC(int devid, int ni, double eps2[])
{
    return sap_g5_set_eps(devid, ni, SAP_G5_EPS2, eps2, __func__);
}

SAP_WEAK int g5_set_xepsi(int ni, double xi[][3], double eps[])
{
    return sap_g5_set_xi(0, ni, xi, SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_xepsiMC(int devid, int ni, double xi[][3], double eps[])
{
    return sap_g5_set_xi(devid, ni, xi, SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_ip(int ni, double xi[][3], double eps[], double h[])
{
    return (void)h, sap_g5_set_xi(0, ni, xi, SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_ipMC(int devid, int ni, double xi[][3], double eps[], double h[])
{
    return (void)h, sap_g5_set_xi(devid, ni, xi, SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_xi0(int ni, double xi[][3], double eps2[])
{
    return sap_g5_set_xi(0, ni, xi, SAP_G5_EPS2, eps2, __func__);
}

SAP_WEAK int g5_set_xiMC0(int devid, int ni, double xi[][3], double eps2[])
{
    return sap_g5_set_xi(devid, ni, xi, SAP_G5_EPS2, eps2, __func__);
}

/* ---- forces ------------------------------------------------------------ */

SAP_WEAK int g5_run0(void) { return sap_g5_run(0, SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_runMC0(int devid) { return sap_g5_run(devid, SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_run_symmetrized_softening(void) { return sap_g5_run(0, SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_get_force(int ni, double a[][3], double p[])
{
    return sap_g5_get_force(0, ni, &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_get_forceMC(int devid, int ni, double a[][3], double p[])
{
    return sap_g5_get_force(devid, ni, &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_x0(double x[][3], double a[][3], double p[], int ni, double eps2[])
{
    return sap_g5_calculate(0, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){ni, x, SAP_G5_EPS2, eps2},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xMC0(int devid, double x[][3], double a[][3], double p[], int ni, double eps2[])
{
    return sap_g5_calculate(devid, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){ni, x, SAP_G5_EPS2, eps2},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xeps(double x[][3], double eps[], double a[][3], double p[], int ni)
{
    return sap_g5_calculate(0, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){ni, x, SAP_G5_EPS, eps},
                            &(struct sap_g5_output){a, p}, __func__);
}
