/*
 * sapporo_g6_fortran.h - the GRAPE-6 calls under the names that a Fortran compiler makes.
 *
 * Every function of sapporo_g6.h exists with an underscore behind its name and all
 * arguments by reference; C++ clients of the smaller GRAPE libraries call these.
 * (There are also names with two underscores, for -fsecond-underscore.)
 * A NULL clusterid is 0.  Scalars are read once and may lie in read-only memory.
 */
#ifndef SAPPORO_G6_FORTRAN_H
#define SAPPORO_G6_FORTRAN_H

#include "sapporo_g6.h"

#ifdef __cplusplus
extern "C" {
#endif

SAPPORO_API int g6_open_(int *clusterid);
SAPPORO_API int g6_close_(int *clusterid);
SAPPORO_API int g6_open_special_(int *ndev, int *list);
SAPPORO_API int g6_open_special2_(int *ndev, int *list, int *nmax);
SAPPORO_API int g6_reinitialize_(int *clusterid);
SAPPORO_API int g6_reset_(int *clusterid);
SAPPORO_API int g6_reset_fofpga_(int *clusterid);

SAPPORO_API int g6_npipes_(void);
SAPPORO_API int g6_get_number_of_pipelines_(void);
/* Some clients have int, others double: neither is looked at. */
SAPPORO_API int g6_set_tunit_(void *unit);
SAPPORO_API int g6_set_xunit_(void *unit);

SAPPORO_API int g6_set_ti_(int *clusterid, double *ti);
SAPPORO_API int g6_set_j_particle_(int *clusterid, int *address, int *index, double *tj, double *dtj, double *mass,
                                   double k18[3], double j6[3], double a2[3], double v[3], double x[3]);
SAPPORO_API int g6_set_j_particle_mxonly_(int *clusterid, int *address, int *index, double *mass, double x[3]);
/* The same particle to clusters clusterid, clusterid + 1, ..., nclusters of them. */
SAPPORO_API int g6_set_j_particle_multisend_mxfast_(int *clusterid, int *nclusters, int *address, int *index,
                                                    double *mass, double x[3]);

SAPPORO_API void g6calc_firsthalf_(int *clusterid, int *nj, int *ni, int index[], double xi[][3], double vi[][3],
                                   double fold[][3], double jold[][3], double phiold[], double *eps2, double h2[]);
SAPPORO_API int g6calc_lasthalf_(int *clusterid, int *nj, int *ni, int index[], double xi[][3], double vi[][3],
                                 double *eps2, double h2[], double acc[][3], double jerk[][3], double pot[]);
SAPPORO_API int g6calc_lasthalf2_(int *clusterid, int *nj, int *ni, int index[], double xi[][3], double vi[][3],
                                  double *eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                  int nnbindex[]);
SAPPORO_API int g6calc_lasthalfn_(int *clusterid, int *nj, int *ni, int index[], double xi[][3], double vi[][3],
                                  double *eps2, double h2[], double acc[][3], double jerk[][3], double pot[]);
SAPPORO_API int g6calc_lasthalf2n_(int *clusterid, int *nj, int *ni, int index[], double xi[][3], double vi[][3],
                                   double *eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                   int nnbindex[]);
SAPPORO_API int g6calc_lasthalf2p_(int *clusterid, int *nj, int *ni, int index[], double xi[][3], double vi[][3],
                                   double *eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                   int nnbindex[], float rnnb[]);
SAPPORO_API int g6calc_lasthalf2np_(int *clusterid, int *nj, int *ni, int index[], double xi[][3], double vi[][3],
                                    double *eps2, double h2[], double acc[][3], double jerk[][3], double pot[],
                                    int nnbindex[], float rnnb[]);

SAPPORO_API int g6_read_neighbour_list_(int *clusterid);
SAPPORO_API int g6_read_neighbour_list_old_(int *clusterid);
SAPPORO_API int g6_get_neighbour_list_(int *clusterid, int *ipipe, int *maxlength, int *nblen, int nbl[]);
SAPPORO_API int g6_set_neighbour_list_sort_mode_(int *mode);
SAPPORO_API int g6_get_neighbour_list_sort_mode_(void);

SAPPORO_API int g6_set_overflow_flag_test_mode_(int *aflag, int *jflag, int *pflag);
SAPPORO_API int g6_initialize_jp_buffer_(int *clusterid, int *size);
SAPPORO_API int g6_flush_jp_buffer_(int *clusterid);
SAPPORO_API int g6_setup_njdata_(int *clusterid, int *nj);

SAPPORO_API int get_j_part_data_(int *addr, int *nj, double *pos, double *vel, double *acc, double *jrk, double *ppos,
                                 double *pvel, double *mass, double *eps2, int *id);
SAPPORO_API int force_j_particle_send_(void);
SAPPORO_API int get_device_count_(void);

#ifdef __cplusplus
}
#endif

#endif
