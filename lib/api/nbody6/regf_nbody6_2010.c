/* regf_nbody6_2010.c - gpunb_regf_ of libnbody6_2010_gpu, which has no dtr. */
#define SAPPORO_NBODY6_2010 1
#include "sapporo_nbody6.h"

#include "api/nbody6/nbody6.h"

void gpunb_regf_(const int *ni, const double h2[], const double xi[][3], const double vi[][3], double acc[][3],
                 double jrk[][3], double pot[], const int *lmax, const int *nnbmax, int *list)
{
    const struct sap_regular_force force = {.ni = *ni,
                                            .lmax = *lmax,
                                            .nnbmax = *nnbmax,
                                            .h2 = h2,
                                            .x = xi,
                                            .v = vi,
                                            .acc = acc,
                                            .jerk = jrk,
                                            .pot = pot,
                                            .list = list};
    sap_regular_compute(&force);
}
