/* g5_symmetric_fortran.c - the calls of g5_symmetric.c for Fortran. */
#define SAPPORO_G5_SYMMETRIC 1
#include "api/g5/g5_fortran.h"

/* ---- j-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_xmj_(int *adr, int *nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(0, SAP_G5_SYMMETRIC, &(struct sap_g5_load){at(adr), at(nj), xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

SAP_WEAK int g5_set_xmjMC_(int *devid, int *adr, int *nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(id_at(devid), SAP_G5_SYMMETRIC, &(struct sap_g5_load){at(adr), at(nj), xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

/* ---- i-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_xei_(int *ni, double xi[][3], double eps2[])
{
    return sap_g5_set_xi(0, at(ni), xi, SAP_G5_EPS2, eps2, __func__);
}

SAP_WEAK int g5_set_xeiMC_(int *devid, int *ni, double xi[][3], double eps2[])
{
    return sap_g5_set_xi(id_at(devid), at(ni), xi, SAP_G5_EPS2, eps2, __func__);
}

/* ---- forces ------------------------------------------------------------ */

SAP_WEAK int g5_run_(void) { return sap_g5_run(0, SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_runMC_(int *devid) { return sap_g5_run(id_at(devid), SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_calculate_force_on_x_(double x[][3], double a[][3], double p[], int *ni)
{
    return sap_g5_calculate(0, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){at(ni), x, SAP_G5_COMMON, NULL},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xMC_(int *devid, double x[][3], double a[][3], double p[], int *ni)
{
    return sap_g5_calculate(id_at(devid), SAP_G5_SYMMETRIC, &(struct sap_g5_targets){at(ni), x, SAP_G5_COMMON, NULL},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xe_(double x[][3], double eps2[], double a[][3], double p[], int *ni)
{
    return sap_g5_calculate(0, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){at(ni), x, SAP_G5_EPS2, eps2},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xeMC_(int *devid, double x[][3], double eps2[], double a[][3], double p[], int *ni)
{
    return sap_g5_calculate(id_at(devid), SAP_G5_SYMMETRIC, &(struct sap_g5_targets){at(ni), x, SAP_G5_EPS2, eps2},
                            &(struct sap_g5_output){a, p}, __func__);
}

/* ---- other spellings --------------------------------------------------------------- */

#if SAP_G5_ALIASES
ALSO(g5_set_xmj);
ALSO_MC(g5_set_xmjMC, g5_set_xmjmc);
ALSO(g5_set_xei);
ALSO_MC(g5_set_xeiMC, g5_set_xeimc);
ALSO(g5_run);
ALSO_MC(g5_runMC, g5_runmc);
ALSO(g5_calculate_force_on_x);
ALSO_MC(g5_calculate_force_on_xMC, g5_calculate_force_on_xmc);
ALSO(g5_calculate_force_on_xe);
ALSO_MC(g5_calculate_force_on_xeMC, g5_calculate_force_on_xemc);
#endif
