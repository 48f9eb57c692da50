/*
 * sapporo_g5.h - the GRAPE-5 interface, as libsapporo and libpg5 offer it.
 *
 * Clients need not include this file: what counts are the symbols.  Every function exists by value (`g5_set_n(10)`, C)
 * and by reference (`g5_set_n_(&n)`, Fortran; also with a second underscore for -fsecond-underscore, and the MC names
 * in small letters).
 *
 * Conventions (they are those of GRAPE-5): with R2 = |x_j - x_i|^2 + eps^2,
 *   a = sum m_j (x_j - x_i) / R2^(3/2),  p = + sum m_j / R2^(1/2),  G = 1;
 *   - the potential is positive, and a particle acts on itself: p contains its own m/eps, which clients subtract.
 *     Without softening, pairs at the same place are skipped;
 *   - softening is one value for the whole process, 0 at first; g5_set_eps and its kin give each pipe its own;
 *   - j-particles lie at addresses from 0 in the memory of a device; g5_set_n says how many take part, and may be
 * called before or after loading.  Addresses never loaded contribute nothing;
 *   - arrays of j-particles begin at address 0: g5_set_xmj(adr, nj, ...) reads elements adr to adr + nj - 1;
 *   - the names with MC act on device `devid`, the others on device 0.  A device is a memory, not a GPU: any id from 0
 * to 65535, made when it is first named.  Threads with a device each share nothing but the softening;
 *   - names with 0 behind them have a memory of their own, of particles with squared softenings epsj2, and
 *     R2 = |x_j - x_i|^2 + eps2_i + eps2_j.  The number of particles is shared with the other memory.
 * Functions return 0, -1 after a message if they failed, and those that deliver forces 1 if some i-particles were not
 * finite: their rows are NaN, the others right.  After a failure all rows are NaN; forces with j-particles that could
 * not be loaded fail until those are loaded again.  Older libraries return nothing; there is no need to look.  Arrays
 * are contiguous, copied, and never written to but for a and p, which are overwritten.
 */
#ifndef SAPPORO_G5_H
#define SAPPORO_G5_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- life cycle ---- */

/* No call needs an open device, but this is where a missing one is told.  On an open device nothing happens. */
SAPPORO_API int g5_open(void);
SAPPORO_API int g5_openMC(int devid);
/* Opens device 0 on given GPUs: ndev > 0: list[0..ndev-1]; 0: all; < 0: any |ndev|. */
SAPPORO_API int g5_open_special(int ndev, int *list);
/* Cheap: j-particles and what was opened are kept. */
SAPPORO_API int g5_close(void);
SAPPORO_API int g5_closeMC(int devid);

/* i-particles that clients may send at a time, 256.  Larger numbers are accepted. */
SAPPORO_API int g5_get_number_of_pipelines(void);
SAPPORO_API int g5_get_number_of_pipelinesMC(int devid);
SAPPORO_API int g5_get_number_of_real_pipelines(void);
SAPPORO_API int g5_get_number_of_real_pipelinesMC(int devid);
SAPPORO_API int g5_get_number_of_pipelines_per_board(void);
/*
 * Clients that loop over boards call MC functions on devices g5_get_firstcluster() + 0, 1, ...: there is 1 board, and
 * the first cluster is 0, the device of the plain calls.
 */
SAPPORO_API int g5_get_number_of_boards(void);
SAPPORO_API int g5_get_firstcluster(void);
/* j-particles that clients may load at a time, 65536.  More are accepted. */
SAPPORO_API int g5_get_jmemsize(void);
SAPPORO_API int g5_get_jmemsizeMC(int devid);

/* ---- settings ---- */

/* Ranges of coordinates and smallest mass, for numbers in fixed point: recorded, and not looked at.  -1 if a number is
 * not finite. */
SAPPORO_API int g5_set_range(double xmin, double xmax, double mmin);
SAPPORO_API int g5_set_rangeMC(int devid, double xmin, double xmax, double mmin);
SAPPORO_API int g5_get_range(double *xmin, double *xmax, double *mmin);
SAPPORO_API int g5_get_rangeMC(int devid, double *xmin, double *xmax, double *mmin);

/* Softening of all devices from now on: a length, or its square. */
SAPPORO_API int g5_set_eps_to_all(double eps);
SAPPORO_API int g5_set_eps2_to_all(double eps2);

/* Shapes of forces with a cut-off, which this library has not: -1, and all forces of this interface are NaN then. */
SAPPORO_API int g5_set_eta(double eta);
SAPPORO_API int g5_set_cutoff_table(double (*force)(double), double force_range, double force_scale,
                                    double (*pot)(double), double pot_range, double pot_scale);

/* ---- j-particles ---- */

SAPPORO_API int g5_set_n(int n);
SAPPORO_API int g5_set_nMC(int devid, int n);
SAPPORO_API int g5_set_xmj(int adr, int nj, double xj[][3], double mj[]);
SAPPORO_API int g5_set_xmjMC(int devid, int adr, int nj, double xj[][3], double mj[]);
SAPPORO_API int g5_set_jp(int adr, int nj, double mj[], double xj[][3]); /* masses first */
SAPPORO_API int g5_set_jpMC(int devid, int adr, int nj, double mj[], double xj[][3]);
/*
 * Positions or masses alone; what is not given stays.  A new particle takes part once it has both, in either order;
 * until then its address counts as never loaded.
 */
SAPPORO_API int g5_set_xj(int adr, int nj, double xj[][3]);
SAPPORO_API int g5_set_xjMC(int devid, int adr, int nj, double xj[][3]);
SAPPORO_API int g5_set_mj(int adr, int nj, double mj[]);
SAPPORO_API int g5_set_mjMC(int devid, int adr, int nj, double mj[]);
SAPPORO_API int g5_set_xmj0(int adr, int nj, double xj[][3], double mj[], double epsj2[]);
SAPPORO_API int g5_set_xmjMC0(int devid, int adr, int nj, double xj[][3], double mj[], double epsj2[]);

/* ---- forces in steps ---- */

/* i-particles, with the softening of all as it is now. */
SAPPORO_API int g5_set_xi(int ni, double xi[][3]);
SAPPORO_API int g5_set_xiMC(int devid, int ni, double xi[][3]);
/* Softening of the first ni i-particles set: lengths, or their squares. */
SAPPORO_API int g5_set_eps(int ni, double eps[]);
SAPPORO_API int g5_set_epsMC(int devid, int ni, double eps[]);
SAPPORO_API int g5_set_eps2(int ni, double eps2[]);
SAPPORO_API int g5_set_eps2MC(int devid, int ni, double eps2[]);
/* i-particles with their softenings; h is not looked at. */
SAPPORO_API int g5_set_xepsi(int ni, double xi[][3], double eps[]);
SAPPORO_API int g5_set_xepsiMC(int devid, int ni, double xi[][3], double eps[]);
SAPPORO_API int g5_set_ip(int ni, double xi[][3], double eps[], double h[]);
SAPPORO_API int g5_set_ipMC(int devid, int ni, double xi[][3], double eps[], double h[]);
/* The same with squares. */
SAPPORO_API int g5_set_xi0(int ni, double xi[][3], double eps2[]);
SAPPORO_API int g5_set_xiMC0(int devid, int ni, double xi[][3], double eps2[]);

/* Starts the force of the j-particles as they are now; with 0, of those of the other memory. */
SAPPORO_API int g5_run(void);
SAPPORO_API int g5_runMC(int devid);
SAPPORO_API int g5_run0(void);
SAPPORO_API int g5_runMC0(int devid);
/* Waits and writes the first ni rows; may be repeated. */
SAPPORO_API int g5_get_force(int ni, double a[][3], double p[]);
SAPPORO_API int g5_get_forceMC(int devid, int ni, double a[][3], double p[]);

/* ---- forces in one call: any ni, and it comes last ---- */

SAPPORO_API int g5_calculate_force_on_x(double x[][3], double a[][3], double p[], int ni);
SAPPORO_API int g5_calculate_force_on_xMC(int devid, double x[][3], double a[][3], double p[], int ni);
SAPPORO_API int g5_calculate_force_on_x0(double x[][3], double a[][3], double p[], int ni, double eps2[]);
SAPPORO_API int g5_calculate_force_on_xMC0(int devid, double x[][3], double a[][3], double p[], int ni, double eps2[]);

#ifdef __cplusplus
}
#endif

#endif
