/*
 * sapporo_g6.h - the GRAPE-6 interface, as libsapporo and libg6 offer it.
 *
 * Clients need not include this header, because the library offers symbols.  Every function exists by value
 * (`g6_open(0)`, C) and by reference (`g6_open_(&id)`, Fortran; also with a second underscore for
 * -fsecond-underscore).  docs/grape6.md has a program, and the answers to bad input.
 *
 * Conventions, which are those of GRAPE-6:
 *   - A cluster is an independent context with a number, any int.  A call with a number that is not open uses the only
 *     open cluster, if there is just one.
 *   - G = 1, in any consistent units.  pot is negative.  eps2 and h2 are squares of lengths.
 *   - g6_set_j_particle takes the highest derivative first and with factors: snap/18, jerk/6, acc/2, v, x.
 *   - Pairs of equal index (not address) are skipped.
 *   - i-particles are taken as given; j-particles are predicted to the time of g6_set_ti.
 *   - int functions return 0 for success and a negative number for failure.  After a failure outputs are NaN, and the
 *     particles are kept.
 *
 * Arrays are contiguous: x[ni][3] and so on.  Inputs are copied and never written to.  Clusters are independent; calls
 * of several threads on one cluster are serialised.
 */
#ifndef SAPPORO_G6_H
#define SAPPORO_G6_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens a cluster with the settings of the environment.  On an open cluster it does nothing, and the particles stay.
 * Returns 0, or -1 with a message.
 */
SAPPORO_API int g6_open(int clusterid);

/* Frees a cluster, its particles and its forces; never another cluster.  Returns 0, also if it was not open. */
SAPPORO_API int g6_close(int clusterid);

/*
 * Opens cluster 0 on given devices.  ndev > 0: the devices list[0..ndev-1]; 0: all; < 0: any |ndev| devices.  Returns
 * as g6_open.
 */
SAPPORO_API int g6_open_special(int ndev, int *list);

/* The same as g6_open_special; nmax is ignored, because memory grows with the particles. */
SAPPORO_API int g6_open_special2(int ndev, int *list, int nmax);

/* Drops all forces that were begun; particles and time stay.  Returns 0; -1 if the cluster is not open. */
SAPPORO_API int g6_reinitialize(int clusterid);

/* The same as g6_reinitialize. */
SAPPORO_API int g6_reset(int clusterid);

/* The same as g6_reinitialize. */
SAPPORO_API int g6_reset_fofpga(int clusterid);

/*
 * Returns how many i-particles clients should send in one call: 16384, or 48 in libg6, or GRAPE_NPIPES of the
 * environment; constant in a process.  Calls accept more, with one warning.
 */
SAPPORO_API int g6_npipes(void);

/* The same as g6_npipes. */
SAPPORO_API int g6_get_number_of_pipelines(void);

/* Ignored: scale of time in the fixed-point numbers of hardware.  Returns 0. */
SAPPORO_API int g6_set_tunit(int unit);

/* Ignored: scale of length in the fixed-point numbers of hardware.  Returns 0. */
SAPPORO_API int g6_set_xunit(int unit);

/*
 * Sets the time to which forces predict j-particles.  Returns 0; -1 if it is not finite: forces are NaN until another
 * time is set.
 */
SAPPORO_API int g6_set_ti(int clusterid, double ti);

/*
 * Stores a j-particle at an address from 0 to 1073741823, in any order, with gaps.  tj is the time of the derivatives
 * k18 = snap/18, j6 = jerk/6, a2 = acc/2, v and x; NULL is 0, except for x.  dtj is ignored.  Returns 0; -1: a bad
 * address, no memory, or a value that is not finite (stored all the same).
 */
SAPPORO_API int g6_set_j_particle(int clusterid, int address, int index, double tj, double dtj, double mass,
                                  double k18[3], double j6[3], double a2[3], double v[3], double x[3]);

/* Stores a j-particle at rest: all derivatives but x are 0, and tj is the time of g6_set_ti.  Returns as
 * g6_set_j_particle. */
SAPPORO_API int g6_set_j_particle_mxonly(int clusterid, int address, int index, double mass, double x[3]);

/*
 * Begins the force of the j-particles at addresses 0 to nj-1 on ni i-particles with positions xi and velocities vi.
 * eps2 is the squared softening length, h2 the squared radii of neighbour spheres; NULL: no lists.  fold, jold and
 * phiold are ignored and may be NULL.  Inputs are copied.  g6calc_lasthalf reports errors.
 */
SAPPORO_API void g6calc_firsthalf(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                  double fold[][3], double jold[][3], double phiold[], double eps2, double h2[]);

/*
 * Waits for the force that was begun with the same ni, index and xi (docs/grape6.md has the whole rule) and writes
 * acc[ni][3], jerk[ni][3] and pot[ni].  Returns 0; 1: some i-particles are not finite, and their rows are NaN; -1: the
 * force failed, and all rows are NaN.  An output that is NULL also gives -1; the others are written.
 */
SAPPORO_API int g6calc_lasthalf(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2,
                                double h2[], double acc[][3], double jerk[][3], double pot[]);

/*
 * The same as g6calc_lasthalf, and nnbindex[ni]: the index of the nearest j-particle, unsoftened; -1 if there is none.
 */
SAPPORO_API int g6calc_lasthalf2(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                 double eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                 int nnbindex[]);

/* The same as g6calc_lasthalf, under the name of Phantom-GRAPE. */
SAPPORO_API int g6calc_lasthalfn(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                 double eps2, double h2[], double acc[][3], double jerk[][3], double pot[]);

/* The same as g6calc_lasthalf2, under the name of Phantom-GRAPE. */
SAPPORO_API int g6calc_lasthalf2n(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                  double eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                  int nnbindex[]);

/* The same as g6calc_lasthalf2, and rnnb[ni]: the softened distance sqrt(r^2 + eps2) of the nearest j-particle. */
SAPPORO_API int g6calc_lasthalf2p(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                  double eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                  int nnbindex[], float rnnb[]);

/* The same as g6calc_lasthalf2p, under the name of Phantom-GRAPE. */
SAPPORO_API int g6calc_lasthalf2np(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                   double eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                   int nnbindex[], float rnnb[]);

/*
 * Prepares the neighbour lists of the force that was delivered last; call it before g6_get_neighbour_list.  Returns 0;
 * 1: out of memory; -1: no force was delivered, or particles have changed since.
 */
SAPPORO_API int g6_read_neighbour_list(int clusterid);

/* The same as g6_read_neighbour_list. */
SAPPORO_API int g6_read_neighbour_list_old(int clusterid);

/*
 * Writes to nbl the indices of all j-particles with |r|^2 < h2 of i-particle `ipipe` (from 0) of the force that was
 * delivered last, ascending, and their number to *nblen.  Returns 0; 1: there are more than maxlength, and *nblen is
 * maxlength; -1: there is no such list, and *nblen is 0.
 */
SAPPORO_API int g6_get_neighbour_list(int clusterid, int ipipe, int maxlength, int *nblen, int nbl[]);

/* Stores a mode of sorting; lists are ascending in every mode. */
SAPPORO_API void g6_set_neighbour_list_sort_mode(int mode);

/* Returns the mode that was stored last, 1 at first. */
SAPPORO_API int g6_get_neighbour_list_sort_mode(void);

/* Does nothing, because sums cannot overflow as those of hardware.  Returns 0. */
SAPPORO_API int g6_set_overflow_flag_test_mode(int aflag, int jflag, int pflag);

/* Does nothing: j-particles are stored at once.  Returns 0. */
SAPPORO_API int g6_initialize_jp_buffer(int clusterid, int size);

/* Does nothing: j-particles are stored at once.  Returns 0. */
SAPPORO_API int g6_flush_jp_buffer(int clusterid);

/* Does nothing: forces have their own nj. */
SAPPORO_API void g6_setup_njdata(int clusterid, int nj);

/*
 * Reads the particle at address addr of cluster 0, a call of Sapporo's own: pos, vel, acc and jrk as stored, full
 * derivatives, ppos and pvel predicted to the time of g6_set_ti.  eps2 is 0.  NULL outputs are not written; nj is
 * ignored.  If there is no particle, numbers are NaN, and id is -1.
 */
SAPPORO_API void get_j_part_data(int addr, int nj, double *pos, double *vel, double *acc, double *jrk, double *ppos,
                                 double *pvel, double *mass, double *eps2, int *id);

/* Does nothing: j-particles are sent when a force needs them. */
SAPPORO_API void force_j_particle_send(void);

/* Returns the number of CUDA and HIP devices, or else of OpenCL devices; 0 on a machine that has only CPUs. */
SAPPORO_API int get_device_count(void);

#ifdef __cplusplus
}
#endif

#endif
