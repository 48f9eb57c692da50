/* api_nbody6pp.c - the exported calls of libnbody6pp_gpu, for NBODY6++GPU. */
#include "sapporo_nbody6.h"

#include <stddef.h>

#include "api/nbody6/nbody6.h"

/* The rank of a call.  Some versions of the client do not pass a rank; then it is NULL, or has no meaning. */
static int value(const int *rank) { return rank ? *rank : 0; }

/* Does nothing: devices are chosen when they are opened. */
void gpunb_devinit_(const int *irank) { (void)irank; }

void gpunb_open_(const int *nbmax, const int *irank) { sap_regular_open(*nbmax, value(irank), SAP_RADII_OF_CALL); }

void gpunb_close_(void) { sap_regular_close(); }

void gpunb_profile_(const int *irank) { sap_regular_profile(value(irank)); }

void gpunb_send_(const int *nj, const double mj[], const double xj[][3], const double vj[][3])
{
    sap_regular_send(*nj, mj, xj, vj);
}

void gpunb_regf_(const int *ni, const double h2[], const double dtr[], const double xi[][3], const double vi[][3],
                 double acc[][3], double jrk[][3], double pot[], const int *lmax, const int *nnbmax, int *list,
                 const int *m_flag)
{
    const struct sap_regular_force force = {.ni = *ni,
                                            .lmax = *lmax,
                                            .nnbmax = *nnbmax,
                                            .by_mass = m_flag && *m_flag != 0,
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

void gpupot_(const int *irank, const int *istart, const int *ni, const int *n, const double m[], const double x[][3],
             double pot[])
{
    sap_potential_compute(value(irank), sap_nbody6_address(istart), *ni, *n, m, x, pot);
}

void irr_simd_open_(const int *nmax, const int *lmax, const int *rank)
{
    sap_irregular_open(*nmax, *lmax, value(rank));
}

void irr_simd_close_(const int *rank)
{
    (void)rank;
    sap_irregular_close();
}

void irr_simd_profile_(const int *rank) { sap_irregular_profile(value(rank)); }

void irr_simd_set_jp_(const int *addr, const double pos[3], const double vel[3], const double acc2[3],
                      const double jrk6[3], const double *mass, const double *time)
{
    sap_irregular_set(sap_nbody6_address(addr), pos, vel, acc2, jrk6, *mass, *time);
}

void irr_simd_set_list_(const int *addr, const int *nblist)
{
    sap_irregular_set_list(sap_nbody6_address(addr), nblist);
}

void irr_simd_firr_vec_(const double *ti, const int *ni, const int addr[], double acc[][3], double jrk[][3],
                        int nnbid[])
{
    sap_irregular_time(*ti);
    sap_irregular_compute(*ni, addr, acc, jrk, nnbid);
}
