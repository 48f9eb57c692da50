/* api_harp3.c - the exported calls of libharp3. */
#include <math.h>
#include <stddef.h>

#include "api/onecall/onecall.h"
#include "sapporo_harp3.h"

void h3open_(void) { sap_onecall_open(); }

void h3close_(void)
{ /* the context stays open, because clients close and open again while they run */
}

int get_nboards(void) { return 1; }

void accel_by_harp3_separate_noopen_(const int *ni, const double xi[][3], const int *nj, const double xj[][3],
                                     const double m[], double a[][3], double p[], const double *eps2)
{
    sap_onecall_compute(&(struct sap_onecall){ni ? *ni : -1, nj ? *nj : -1, xi, xj, m, eps2 ? *eps2 : NAN}, a, p,
                        "accel_by_harp3");
}
