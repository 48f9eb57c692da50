/*
 * g5_symmetric.c - the calls by value of libpg5_symmetric, in place of g5_plain.c.
 *
 * In this library, as in Phantom-GRAPE built with SYMMETRIC, each j-particle has softening of its own: g5_set_xmj takes
 * one argument more, and all forces come from the symmetric memory of a device.
 */
#define SAPPORO_G5_SYMMETRIC 1
#include "sapporo_g5.h"

#include "api/g5/g5.h"

/* ---- j-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_xmj(int adr, int nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(0, SAP_G5_SYMMETRIC, &(struct sap_g5_load){adr, nj, xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

SAP_WEAK int g5_set_xmjMC(int devid, int adr, int nj, double xj[][3], double mj[], double epsj2[])
{
    return sap_g5_load(devid, SAP_G5_SYMMETRIC, &(struct sap_g5_load){adr, nj, xj, mj, epsj2},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M | SAP_G5_NEEDS_EPS2, __func__);
}

/* ---- i-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_xei(int ni, double xi[][3], double eps2[])
{
    return sap_g5_set_xi(0, ni, xi, SAP_G5_EPS2, eps2, __func__);
}

SAP_WEAK int g5_set_xeiMC(int devid, int ni, double xi[][3], double eps2[])
{
    return sap_g5_set_xi(devid, ni, xi, SAP_G5_EPS2, eps2, __func__);
}

/* ---- forces ------------------------------------------------------------ */

SAP_WEAK int g5_run(void) { return sap_g5_run(0, SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_runMC(int devid) { return sap_g5_run(devid, SAP_G5_SYMMETRIC, __func__); }

SAP_WEAK int g5_calculate_force_on_x(double x[][3], double a[][3], double p[], int ni)
{
    return sap_g5_calculate(0, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){ni, x, SAP_G5_COMMON, NULL},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xMC(int devid, double x[][3], double a[][3], double p[], int ni)
{
    return sap_g5_calculate(devid, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){ni, x, SAP_G5_COMMON, NULL},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xe(double x[][3], double eps2[], double a[][3], double p[], int ni)
{
    return sap_g5_calculate(0, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){ni, x, SAP_G5_EPS2, eps2},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xeMC(int devid, double x[][3], double eps2[], double a[][3], double p[], int ni)
{
    return sap_g5_calculate(devid, SAP_G5_SYMMETRIC, &(struct sap_g5_targets){ni, x, SAP_G5_EPS2, eps2},
                            &(struct sap_g5_output){a, p}, __func__);
}
