/* regf_nbody6.c - gpunb_regf_ of libnbody6_gpu and libnbody7_gpu. */
#define SAPPORO_NBODY6_AARSETH 1
#include "sapporo_nbody6.h"

#include <math.h>

#include "api/nbody6/nbody6.h"

void gpunb_regf_(const int *ni, const double h2[], const double dtr[], const double xi[][3], const double vi[][3],
                 double acc[][3], double jrk[][3], double pot[], const int *lmax, const int *nnbmax, int *list)
{
    if (sap_regular_is_p3t(*ni, dtr)) { /* its accelerations and jerks are in the place of v and acc */
        double(*const p3t_acc)[3] = (double(*)[3])vi;
        for (int i = 0; i < *ni; i++)
            for (int axis = 0; axis < 3; axis++) p3t_acc[i][axis] = acc[i][axis] = NAN;
        return;
    }
    const struct sap_regular_force force = {.ni = *ni,
                                            .lmax = *lmax,
                                            .nnbmax = *nnbmax,
                                            .h2 = h2,
                                            .dtr = dtr,
                                            .x = xi,
                                            .v = vi,
                                            .acc = acc,
                                            .jerk = jrk,
                                            .pot = pot,
                                            .list = list};
    sap_regular_compute(&force);
}
