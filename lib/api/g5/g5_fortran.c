/* g5_fortran.c - the GRAPE-5 interface for Fortran: all arguments by reference. */
#include "api/g5/g5_fortran.h"

SAP_WEAK int g5_open_special_(int *ndev, int *list) { return sap_g5_open_special(at(ndev), list); }

SAP_WEAK int g5_set_cutoff_table_(double (*force)(double *), double *force_range, double *force_scale,
                                  double (*pot)(double *), double *pot_range, double *pot_scale)
{
    (void)force, (void)force_range, (void)force_scale, (void)pot, (void)pot_range, (void)pot_scale;
    return sap_g5_set_cutoff(__func__);
}

/* ---- life cycle ------------------------------------------------------------ */

SAP_WEAK int g5_open_(void) { return sap_g5_open(0, __func__); }

SAP_WEAK int g5_openMC_(int *devid) { return sap_g5_open(id_at(devid), __func__); }

SAP_WEAK int g5_close_(void) { return sap_g5_close(0, __func__); }

SAP_WEAK int g5_closeMC_(int *devid) { return sap_g5_close(id_at(devid), __func__); }

SAP_WEAK int g5_get_number_of_pipelines_(void) { return SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_pipelinesMC_(int *devid) { return (void)devid, SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_real_pipelines_(void) { return SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_real_pipelinesMC_(int *devid) { return (void)devid, SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_pipelines_per_board_(void) { return SAP_G5_PIPES; }

SAP_WEAK int g5_get_number_of_boards_(void) { return SAP_G5_BOARDS; }

SAP_WEAK int g5_get_firstcluster_(void) { return SAP_G5_FIRST_CLUSTER; }

SAP_WEAK int g5_get_jmemsize_(void) { return SAP_G5_JMEMSIZE; }

SAP_WEAK int g5_get_jmemsizeMC_(int *devid) { return (void)devid, SAP_G5_JMEMSIZE; }

/* ---- settings ------------------------------------------------------------ */

SAP_WEAK int g5_set_range_(double *xmin, double *xmax, double *mmin)
{
    return sap_g5_set_range(0, real_at(xmin), real_at(xmax), real_at(mmin), __func__);
}

SAP_WEAK int g5_set_rangeMC_(int *devid, double *xmin, double *xmax, double *mmin)
{
    return sap_g5_set_range(id_at(devid), real_at(xmin), real_at(xmax), real_at(mmin), __func__);
}

SAP_WEAK int g5_get_range_(double *xmin, double *xmax, double *mmin)
{
    return sap_g5_get_range(0, xmin, xmax, mmin, __func__);
}

SAP_WEAK int g5_get_rangeMC_(int *devid, double *xmin, double *xmax, double *mmin)
{
    return sap_g5_get_range(id_at(devid), xmin, xmax, mmin, __func__);
}

SAP_WEAK int g5_set_eps_to_all_(double *eps) { return sap_g5_set_eps_to_all(real_at(eps)); }

SAP_WEAK int g5_set_eps2_to_all_(double *eps2) { return sap_g5_set_eps2_to_all(real_at(eps2)); }

SAP_WEAK int g5_set_eta_(double *eta) { return (void)eta, sap_g5_set_cutoff(__func__); }

/* ---- j-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_n_(int *n) { return sap_g5_set_n(0, at(n), __func__); }

SAP_WEAK int g5_set_nMC_(int *devid, int *n) { return sap_g5_set_n(id_at(devid), at(n), __func__); }

SAP_WEAK int g5_set_xmj0_(int *adr, int *nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(0, SAP_G5_SYMMETRIC, &(struct sap_g5_load){at(adr), at(nj), xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

SAP_WEAK int g5_set_xmjMC0_(int *devid, int *adr, int *nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(id_at(devid), SAP_G5_SYMMETRIC, &(struct sap_g5_load){at(adr), at(nj), xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

SAP_WEAK int g5_set_xmeps2j_(int *adr, int *nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(0, SAP_G5_SYMMETRIC, &(struct sap_g5_load){at(adr), at(nj), xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

/* ---- i-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_xi_(int *ni, double xi[][3]) { return sap_g5_set_xi(0, at(ni), xi, SAP_G5_COMMON, NULL, __func__); }

SAP_WEAK int g5_set_xiMC_(int *devid, int *ni, double xi[][3])
{
    return sap_g5_set_xi(id_at(devid), at(ni), xi, SAP_G5_COMMON, NULL, __func__);
}

SAP_WEAK int g5_set_eps_(int *ni, double eps[]) { return sap_g5_set_eps(0, at(ni), SAP_G5_EPS, eps, __func__); }

SAP_WEAK int g5_set_epsMC_(int *devid, int *ni, double eps[])
{
    return sap_g5_set_eps(id_at(devid), at(ni), SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_eps2_(int *ni, double eps2[]) { return sap_g5_set_eps(0, at(ni), SAP_G5_EPS2, eps2, __func__); }

SAP_WEAK int g5_set_eps2MC_(int *devid, int *ni, double eps2[])
{
    return sap_g5_set_eps(id_at(devid), at(ni), SAP_G5_EPS2, eps2, __func__);
}

SAP_WEAK int g5_set_xepsi_(int *ni, double xi[][3], double eps[])
{
    return sap_g5_set_xi(0, at(ni), xi, SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_xepsiMC_(int *devid, int *ni, double xi[][3], double eps[])
{
    return sap_g5_set_xi(id_at(devid), at(ni), xi, SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_ip_(int *ni, double xi[][3], double eps[], double h[])
{
    return (void)h, sap_g5_set_xi(0, at(ni), xi, SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_ipMC_(int *devid, int *ni, double xi[][3], double eps[], double h[])
{
    return (void)h, sap_g5_set_xi(id_at(devid), at(ni), xi, SAP_G5_EPS, eps, __func__);
}

SAP_WEAK int g5_set_xi0_(int *ni, double xi[][3], double eps2[])
{
    return sap_g5_set_xi(0, at(ni), xi, SAP_G5_EPS2, eps2, __func__);
}

SAP_WEAK int g5_set_xiMC0_(int *devid, int *ni, double xi[][3], double eps2[])
{
    return sap_g5_set_xi(id_at(devid), at(ni), xi, SAP_G5_EPS2, eps2, __func__);
}

/* ---- forces ------------------------------------------------------------ */

SAP_WEAK int g5_run0_(void) { return sap_g5_run(0, SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_runMC0_(int *devid) { return sap_g5_run(id_at(devid), SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_run_symmetrized_softening_(void) { return sap_g5_run(0, SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_get_force_(int *ni, double a[][3], double p[])
{
    return sap_g5_get_force(0, at(ni), &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_get_forceMC_(int *devid, int *ni, double a[][3], double p[])
{
    return sap_g5_get_force(id_at(devid), at(ni), &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_x0_(double x[][3], double a[][3], double p[], int *ni, double eps2[])
{
    return sap_g5_calculate(0, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){at(ni), x, SAP_G5_EPS2, eps2},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xMC0_(int *devid, double x[][3], double a[][3], double p[], int *ni, double eps2[])
{
    return sap_g5_calculate(id_at(devid), SAP_G5_SYMMETRIC, &(struct sap_g5_targets){at(ni), x, SAP_G5_EPS2, eps2},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xeps_(double x[][3], double eps[], double a[][3], double p[], int *ni)
{
    return sap_g5_calculate(0, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){at(ni), x, SAP_G5_EPS, eps},
                            &(struct sap_g5_output){a, p}, __func__);
}

/* ---- other spellings --------------------------------------------------------------- */

#if SAP_G5_ALIASES
ALSO(g5_open);
ALSO_MC(g5_openMC, g5_openmc);
ALSO(g5_close);
ALSO_MC(g5_closeMC, g5_closemc);
ALSO(g5_get_number_of_pipelines);
ALSO_MC(g5_get_number_of_pipelinesMC, g5_get_number_of_pipelinesmc);
ALSO(g5_get_number_of_real_pipelines);
ALSO_MC(g5_get_number_of_real_pipelinesMC, g5_get_number_of_real_pipelinesmc);
ALSO(g5_get_number_of_pipelines_per_board);
ALSO(g5_get_number_of_boards);
ALSO(g5_get_firstcluster);
ALSO(g5_get_jmemsize);
ALSO_MC(g5_get_jmemsizeMC, g5_get_jmemsizemc);
ALSO(g5_set_range);
ALSO_MC(g5_set_rangeMC, g5_set_rangemc);
ALSO(g5_get_range);
ALSO_MC(g5_get_rangeMC, g5_get_rangemc);
ALSO(g5_set_eps_to_all);
ALSO(g5_set_eps2_to_all);
ALSO(g5_set_eta);
ALSO(g5_set_n);
ALSO_MC(g5_set_nMC, g5_set_nmc);
ALSO(g5_set_xmj0);
ALSO_MC(g5_set_xmjMC0, g5_set_xmjmc0);
ALSO(g5_set_xmeps2j);
ALSO(g5_set_xi);
ALSO_MC(g5_set_xiMC, g5_set_ximc);
ALSO(g5_set_eps);
ALSO_MC(g5_set_epsMC, g5_set_epsmc);
ALSO(g5_set_eps2);
ALSO_MC(g5_set_eps2MC, g5_set_eps2mc);
ALSO(g5_set_xepsi);
ALSO_MC(g5_set_xepsiMC, g5_set_xepsimc);
ALSO(g5_set_ip);
ALSO_MC(g5_set_ipMC, g5_set_ipmc);
ALSO(g5_set_xi0);
ALSO_MC(g5_set_xiMC0, g5_set_ximc0);
ALSO(g5_run0);
ALSO_MC(g5_runMC0, g5_runmc0);
ALSO(g5_run_symmetrized_softening);
ALSO(g5_get_force);
ALSO_MC(g5_get_forceMC, g5_get_forcemc);
ALSO(g5_calculate_force_on_x0);
ALSO_MC(g5_calculate_force_on_xMC0, g5_calculate_force_on_xmc0);
ALSO(g5_calculate_force_on_xeps);
ALSO(g5_open_special);
ALSO(g5_set_cutoff_table);
#endif
