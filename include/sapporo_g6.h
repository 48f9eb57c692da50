/*
 * sapporo_g6.h - the GRAPE-6 interface, as libsapporo and libg6 offer it.
 *
 * Clients need not include this file: what counts are the symbols.  Every
 * function exists by value (`g6_open(0)`, C) and by reference (`g6_open_(&id)`,
 * Fortran; also with a second underscore for -fsecond-underscore).
 *
 * Conventions (they are those of GRAPE-6):
 *   - several clusters may be open, each an independent context named by its id;
 *     a call with an id that is not open uses the only open one, if there is just one;
 *   - G = 1; pot is negative; eps2 and h2 are squares of lengths;
 *   - g6_set_j_particle takes the highest derivative first and with factors:
 *     snap/18, jerk/6, acc/2, v, x;
 *   - pairs of equal index (not address) are skipped;
 *   - i-particles are taken as given, j-particles are predicted to the time of g6_set_ti;
 *   - int functions return 0 for success and a negative number for failure;
 *     after a failure outputs are NaN, and the particles are kept.
 * Arrays are contiguous: x[ni][3] and so on.  Inputs are copied and never written to.
 * Thread safety: clusters are independent; calls on one cluster are serialised.
 */
#ifndef SAPPORO_G6_H
#define SAPPORO_G6_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a cluster; on an open one nothing happens and its particles are kept.  0, or -1 with a message. */
SAPPORO_API int g6_open(int clusterid);
/* Frees a cluster and its particles; 0 also if it was not open. */
SAPPORO_API int g6_close(int clusterid);
/* Opens cluster 0 on given devices: ndev > 0: list[0..ndev-1]; 0: all; < 0: any |ndev|. */
SAPPORO_API int g6_open_special(int ndev, int *list);
/* The same; nmax is the number of j-particles to be expected. */
SAPPORO_API int g6_open_special2(int ndev, int *list, int nmax);
/* Drop all forces under way; particles and time are kept. */
SAPPORO_API int g6_reinitialize(int clusterid);
SAPPORO_API int g6_reset(int clusterid);
SAPPORO_API int g6_reset_fofpga(int clusterid);

/* Largest ni to be sent in one call by clients that care; constant.  Larger ni are accepted. */
SAPPORO_API int g6_npipes(void);
SAPPORO_API int g6_get_number_of_pipelines(void);
/* Scales of the hardware's fixed-point numbers: ignored. */
SAPPORO_API int g6_set_tunit(int unit);
SAPPORO_API int g6_set_xunit(int unit);

/* The time to which j-particles are predicted. */
SAPPORO_API int g6_set_ti(int clusterid, double ti);
/* Stores a j-particle at an address >= 0: k18 = snap/18, j6 = jerk/6, a2 = acc/2; dtj is ignored. */
SAPPORO_API int g6_set_j_particle(int clusterid, int address, int index, double tj, double dtj, double mass,
                                  double k18[3], double j6[3], double a2[3], double v[3], double x[3]);
/* The same with v and all derivatives 0 and tj = ti. */
SAPPORO_API int g6_set_j_particle_mxonly(int clusterid, int address, int index, double mass, double x[3]);

/*
 * Starts the force of j-particles 0 .. nj-1 on ni i-particles.  All inputs are copied.  fold, jold and
 * phiold are ignored and may be NULL; h2 may be NULL (no neighbour lists).  Errors are reported by lasthalf.
 */
SAPPORO_API void g6calc_firsthalf(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                  double fold[][3], double jold[][3], double phiold[], double eps2, double h2[]);
/*
 * Waits for the force begun with the same ni, index and xi and writes acc[ni][3], jerk[ni][3], pot[ni].
 * 0: right.  1: some i-particles were not finite; their rows are NaN.  -1: failed, all rows are NaN.
 */
SAPPORO_API int g6calc_lasthalf(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2,
                                double h2[], double acc[][3], double jerk[][3], double pot[]);
/* Also gives the index of the nearest j-particle (unsoftened; -1: there is none). */
SAPPORO_API int g6calc_lasthalf2(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                 double eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                 int nnbindex[]);
/* Synonyms of Phantom-GRAPE; the p forms add rnnb = sqrt(r^2 + eps2) of the nearest neighbour. */
SAPPORO_API int g6calc_lasthalfn(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                 double eps2, double h2[], double acc[][3], double jerk[][3], double pot[]);
SAPPORO_API int g6calc_lasthalf2n(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                  double eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                  int nnbindex[]);
SAPPORO_API int g6calc_lasthalf2p(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                  double eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                  int nnbindex[], float rnnb[]);
SAPPORO_API int g6calc_lasthalf2np(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                   double eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                   int nnbindex[], float rnnb[]);

/* Call once after lasthalf, before g6_get_neighbour_list.  0: lists are complete; 1: out of memory; -1: no force. */
SAPPORO_API int g6_read_neighbour_list(int clusterid);
SAPPORO_API int g6_read_neighbour_list_old(int clusterid);
/*
 * Indices of all j with |r|^2 < h2 of i-particle `ipipe` (from 0) of the last force delivered, ascending.
 * 0: all of them, nblen of them; 1: there are more than maxlength, nblen = maxlength; -1: no such list, nblen = 0.
 */
SAPPORO_API int g6_get_neighbour_list(int clusterid, int ipipe, int maxlength, int *nblen, int nbl[]);
/* Stored and returned; lists are sorted in every mode. */
SAPPORO_API void g6_set_neighbour_list_sort_mode(int mode);
SAPPORO_API int g6_get_neighbour_list_sort_mode(void);

/* What hardware needed and software does not: return 0. */
SAPPORO_API int g6_set_overflow_flag_test_mode(int aflag, int jflag, int pflag);
SAPPORO_API int g6_initialize_jp_buffer(int clusterid, int size);
SAPPORO_API int g6_flush_jp_buffer(int clusterid);
SAPPORO_API void g6_setup_njdata(int clusterid, int nj);

/* Sapporo's own: particle `addr` of cluster 0 as stored and as predicted; a bad address gives NaN and id -1. */
SAPPORO_API void get_j_part_data(int addr, int nj, double *pos, double *vel, double *acc, double *jrk, double *ppos,
                                 double *pvel, double *mass, double *eps2, int *id);
SAPPORO_API void force_j_particle_send(void);
/* Number of accelerator devices; 0 on a machine that has only CPUs. */
SAPPORO_API int get_device_count(void);

#ifdef __cplusplus
}
#endif

#endif
