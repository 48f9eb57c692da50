/* api_cunbody1.c - the exported calls of libcunbody1. */
#include <stddef.h>

#include "api/onecall/onecall.h"
#include "sapporo_cunbody1.h"

void cunbody1_force(double xj[][3], double mj[], double xi[][3], double eps2, double ai[][3], int ni, int nj)
{
    sap_onecall_compute(&(struct sap_onecall){ni, nj, (const double(*)[3])xi, (const double(*)[3])xj, mj, eps2}, ai,
                        NULL, __func__);
}

void cunbody1_force_mp(int devid, double xj[][3], double mj[], double xi[][3], double eps2, double ai[][3], int ni,
                       int nj)
{
    (void)devid;
    sap_onecall_compute(&(struct sap_onecall){ni, nj, (const double(*)[3])xi, (const double(*)[3])xj, mj, eps2}, ai,
                        NULL, __func__);
}

void cunbody1_force_begin(double xj[][3], double mj[], double xi[][3], double eps2, double ai[][3], int ni, int nj)
{
    (void)ai;
    sap_onecall_begin(&(struct sap_onecall){ni, nj, (const double(*)[3])xi, (const double(*)[3])xj, mj, eps2},
                      __func__);
}

void cunbody1_force_end(double xj[][3], double mj[], double xi[][3], double eps2, double ai[][3], int ni, int nj)
{
    sap_onecall_end(&(struct sap_onecall){ni, nj, (const double(*)[3])xi, (const double(*)[3])xj, mj, eps2}, ai, NULL,
                    __func__);
}
