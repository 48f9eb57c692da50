/* g5_plain_fortran.c - the calls of g5_plain.c for Fortran. */
#include "api/g5/g5_fortran.h"

/* ---- j-particles ------------------------------------------------------------ */

SAP_WEAK int g5_set_xmj_(int *adr, int *nj, double xj[][3], double mj[])
{
    return sap_g5_load(0, SAP_G5_PLAIN, &(struct sap_g5_load){at(adr), at(nj), xj, mj, NULL},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M, __func__);
}

SAP_WEAK int g5_set_xmjMC_(int *devid, int *adr, int *nj, double xj[][3], double mj[])
{
    return sap_g5_load(id_at(devid), SAP_G5_PLAIN, &(struct sap_g5_load){at(adr), at(nj), xj, mj, NULL},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M, __func__);
}

SAP_WEAK int g5_set_jp_(int *adr, int *nj, double mj[], double xj[][3])
{
    return sap_g5_load(0, SAP_G5_PLAIN, &(struct sap_g5_load){at(adr), at(nj), xj, mj, NULL},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M, __func__);
}

SAP_WEAK int g5_set_jpMC_(int *devid, int *adr, int *nj, double mj[], double xj[][3])
{
    return sap_g5_load(id_at(devid), SAP_G5_PLAIN, &(struct sap_g5_load){at(adr), at(nj), xj, mj, NULL},
                       SAP_G5_NEEDS_X | SAP_G5_NEEDS_M, __func__);
}

SAP_WEAK int g5_set_xj_(int *adr, int *nj, double xj[][3])
{
    return sap_g5_load(0, SAP_G5_PLAIN, &(struct sap_g5_load){at(adr), at(nj), xj, NULL, NULL}, SAP_G5_NEEDS_X,
                       __func__);
}

SAP_WEAK int g5_set_xjMC_(int *devid, int *adr, int *nj, double xj[][3])
{
    return sap_g5_load(id_at(devid), SAP_G5_PLAIN, &(struct sap_g5_load){at(adr), at(nj), xj, NULL, NULL},
                       SAP_G5_NEEDS_X, __func__);
}

SAP_WEAK int g5_set_mj_(int *adr, int *nj, double mj[])
{
    return sap_g5_load(0, SAP_G5_PLAIN, &(struct sap_g5_load){at(adr), at(nj), NULL, mj, NULL}, SAP_G5_NEEDS_M,
                       __func__);
}

SAP_WEAK int g5_set_mjMC_(int *devid, int *adr, int *nj, double mj[])
{
    return sap_g5_load(id_at(devid), SAP_G5_PLAIN, &(struct sap_g5_load){at(adr), at(nj), NULL, mj, NULL},
                       SAP_G5_NEEDS_M, __func__);
}

/* ---- forces ------------------------------------------------------------ */

SAP_WEAK int g5_run_(void) { return sap_g5_run(0, SAP_G5_PLAIN, __func__); }

SAP_WEAK int g5_runMC_(int *devid) { return sap_g5_run(id_at(devid), SAP_G5_PLAIN, __func__); }

SAP_WEAK int g5_calculate_force_on_x_(double x[][3], double a[][3], double p[], int *ni)
{
    return sap_g5_calculate(0, SAP_G5_PLAIN, &(struct sap_g5_targets){at(ni), x, SAP_G5_COMMON, NULL},
                            &(struct sap_g5_output){a, p}, __func__);
}

SAP_WEAK int g5_calculate_force_on_xMC_(int *devid, double x[][3], double a[][3], double p[], int *ni)
{
    return sap_g5_calculate(id_at(devid), SAP_G5_PLAIN, &(struct sap_g5_targets){at(ni), x, SAP_G5_COMMON, NULL},
                            &(struct sap_g5_output){a, p}, __func__);
}

/* ---- other spellings --------------------------------------------------------------- */

#if SAP_G5_ALIASES
ALSO(g5_set_xmj);
ALSO_MC(g5_set_xmjMC, g5_set_xmjmc);
ALSO(g5_set_jp);
ALSO_MC(g5_set_jpMC, g5_set_jpmc);
ALSO(g5_set_xj);
ALSO_MC(g5_set_xjMC, g5_set_xjmc);
ALSO(g5_set_mj);
ALSO_MC(g5_set_mjMC, g5_set_mjmc);
ALSO(g5_run);
ALSO_MC(g5_runMC, g5_runmc);
ALSO(g5_calculate_force_on_x);
ALSO_MC(g5_calculate_force_on_xMC, g5_calculate_force_on_xmc);
#endif
