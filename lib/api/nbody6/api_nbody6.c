/* api_nbody6.c - the exported calls of libnbody6_gpu, libnbody7_gpu and libnbody6_2010_gpu, for Aarseth's NBODY6 and
 * NBODY7 and similar codes, but for gpunb_regf_ (regf_nbody6.c, regf_nbody6_2010.c). */
#define SAPPORO_NBODY6_AARSETH 1
#include "sapporo_nbody6.h"

#include <stddef.h>

#include "api/nbody6/nbody6.h"

enum { ONE_PROCESS = -1 }; /* NBODY6 has no ranks: the process uses all devices of GPU_LIST */

void gpunb_open_(const int *nbmax) { sap_regular_open(*nbmax, ONE_PROCESS, sap_nbody6_usual_radii); }

void gpunb_close_(void) { sap_regular_close(); }

void gpunb_profile_(void) { sap_regular_profile(0); }

void gpunb_send_(const int *nj, const double mj[], const double xj[][3], const double vj[][3])
{
    sap_regular_send(*nj, mj, xj, vj);
}

void gpupot_(const int *n, const double m[], const double x[][3], double pot[])
{
    sap_potential_compute(ONE_PROCESS, 0, *n, *n, m, x, pot);
}

void gpuirr_open_(const int *nmax, const int *lmax) { sap_irregular_open(*nmax, *lmax, ONE_PROCESS); }

void gpuirr_close_(void) { sap_irregular_close(); }

void gpuirr_set_jp_(const int *addr, const double pos[3], const double vel[3], const double acc2[3],
                    const double jrk6[3], const double *mass, const double *time)
{
    sap_irregular_set(sap_nbody6_address(addr), pos, vel, acc2, jrk6, *mass, *time);
}

void gpuirr_set_list_(const int *addr, const int *nblist) { sap_irregular_set_list(sap_nbody6_address(addr), nblist); }

void gpuirr_pred_all_(const int *js, const int *je, const double *ti)
{
    (void)js;
    (void)je;
    sap_irregular_time(*ti);
}

void gpuirr_pred_act_(const int *ni, const int addr[], const double *ti)
{
    (void)ni;
    (void)addr;
    sap_irregular_time(*ti);
}

void gpuirr_firr_(const int *addr, double acc[3], double jrk[3])
{
    double a[1][3], j[1][3];
    sap_irregular_compute(1, addr, a, j, NULL);
    for (int axis = 0; axis < 3; axis++) acc[axis] = a[0][axis], jrk[axis] = j[0][axis];
}

void gpuirr_firr_vec_(const int *ni, const int addr[], double acc[][3], double jrk[][3])
{
    sap_irregular_compute(*ni, addr, acc, jrk, NULL);
}
