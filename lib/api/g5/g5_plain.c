/*
 * g5_plain.c - the GRAPE-5 calls by value whose j-particles have no softening of their own.
 *
 * libpg5_symmetric has g5_symmetric.c in place of this file: the same names with other arguments.
 */
#include "api/g5/g5.h"
#include "sapporo_g5.h"

/* ---- j-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_xmj(int adr, int nj, double xj[][3], double mj[])
{
    return sap_g5_load(0, SAP_G5_PLAIN, &(struct sap_g5_load){adr, nj, xj, mj, NULL}, SAP_G5_NEEDS_X | SAP_G5_NEEDS_M,
                       __func__);
}

SAP_WEAK int g5_set_xmjMC(int devid, int adr, int nj, double xj[][3], double mj[])
{
    return sap_g5_load(devid, SAP_G5_PLAIN, &(struct sap_g5_load){adr, nj, xj, mj, NULL},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M, __func__);
}

SAP_WEAK int g5_set_jp(int adr, int nj, double mj[], double xj[][3])
{
    return sap_g5_load(0, SAP_G5_PLAIN, &(struct sap_g5_load){adr, nj, xj, mj, NULL}, SAP_G5_NEEDS_X | SAP_G5_NEEDS_M,
                       __func__);
}

SAP_WEAK int g5_set_jpMC(int devid, int adr, int nj, double mj[], double xj[][3])
{
    return sap_g5_load(devid, SAP_G5_PLAIN, &(struct sap_g5_load){adr, nj, xj, mj, NULL},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M, __func__);
}

SAP_WEAK int g5_set_xj(int adr, int nj, double xj[][3])
{
    return sap_g5_load(0, SAP_G5_PLAIN, &(struct sap_g5_load){adr, nj, xj, NULL, NULL}, SAP_G5_NEEDS_X, __func__);
}

SAP_WEAK int g5_set_xjMC(int devid, int adr, int nj, double xj[][3])
{
    return sap_g5_load(devid, SAP_G5_PLAIN, &(struct sap_g5_load){adr, nj, xj, NULL, NULL}, SAP_G5_NEEDS_X, __func__);
}

SAP_WEAK int g5_set_mj(int adr, int nj, double mj[])
{
    return sap_g5_load(0, SAP_G5_PLAIN, &(struct sap_g5_load){adr, nj, NULL, mj, NULL}, SAP_G5_NEEDS_M, __func__);
}

SAP_WEAK int g5_set_mjMC(int devid, int adr, int nj, double mj[])
{
    return sap_g5_load(devid, SAP_G5_PLAIN, &(struct sap_g5_load){adr, nj, NULL, mj, NULL}, SAP_G5_NEEDS_M, __func__);
}

/* ---- forces ------------------------------------------------------------ */

SAP_WEAK int g5_run(void) { return sap_g5_run(0, SAP_G5_PLAIN, __func__); }

SAP_WEAK int g5_runMC(int devid) { return sap_g5_run(devid, SAP_G5_PLAIN, __func__); }

SAP_WEAK int g5_calculate_force_on_x(double x[][3], double a[][3], double p[], int ni)
{
    return sap_g5_calculate(0, SAP_G5_PLAIN, &(struct sap_g5_targets){ni, x, SAP_G5_COMMON, NULL},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xMC(int devid, double x[][3], double a[][3], double p[], int ni)
{
    return sap_g5_calculate(devid, SAP_G5_PLAIN, &(struct sap_g5_targets){ni, x, SAP_G5_COMMON, NULL},
                            &(struct sap_g5_output){a, p}, __func__);
}
