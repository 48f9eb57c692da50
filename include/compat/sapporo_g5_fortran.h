/*
 * sapporo_g5_fortran.h - the GRAPE-5 calls under the names that a Fortran compiler makes.
 *
 * Every function of sapporo_g5.h exists with an underscore behind its name and all
 * arguments by reference.  (There are also the MC names in small letters, and
 * names with two underscores, for -fsecond-underscore.)
 * A NULL devid is 0.  Scalars are read once and may lie in read-only memory.
 */
#ifndef SAPPORO_G5_FORTRAN_H
#define SAPPORO_G5_FORTRAN_H

#include "sapporo_g5.h"

#ifdef __cplusplus
extern "C" {
#endif

SAPPORO_API int g5_open_special_(int *ndev, int *list);
SAPPORO_API int g5_set_cutoff_table_(double (*force)(double *), double *force_range, double *force_scale,
                                     double (*pot)(double *), double *pot_range, double *pot_scale);

SAPPORO_API int g5_open_(void);
SAPPORO_API int g5_openMC_(int *devid);
SAPPORO_API int g5_close_(void);
SAPPORO_API int g5_closeMC_(int *devid);
SAPPORO_API int g5_get_number_of_pipelines_(void);
SAPPORO_API int g5_get_number_of_pipelinesMC_(int *devid);
SAPPORO_API int g5_get_number_of_real_pipelines_(void);
SAPPORO_API int g5_get_number_of_real_pipelinesMC_(int *devid);
SAPPORO_API int g5_get_number_of_pipelines_per_board_(void);
SAPPORO_API int g5_get_number_of_boards_(void);
SAPPORO_API int g5_get_firstcluster_(void);
SAPPORO_API int g5_get_jmemsize_(void);
SAPPORO_API int g5_get_jmemsizeMC_(int *devid);

SAPPORO_API int g5_set_range_(double *xmin, double *xmax, double *mmin);
SAPPORO_API int g5_set_rangeMC_(int *devid, double *xmin, double *xmax, double *mmin);
SAPPORO_API int g5_get_range_(double *xmin, double *xmax, double *mmin);
SAPPORO_API int g5_get_rangeMC_(int *devid, double *xmin, double *xmax, double *mmin);
SAPPORO_API int g5_set_eps_to_all_(double *eps);
SAPPORO_API int g5_set_eps2_to_all_(double *eps2);
SAPPORO_API int g5_set_eta_(double *eta);

SAPPORO_API int g5_set_n_(int *n);
SAPPORO_API int g5_set_nMC_(int *devid, int *n);
#if defined(SAPPORO_G5_SYMMETRIC)
SAPPORO_API int g5_set_xmj_(int *adr, int *nj, double xj[][3], double mj[], double epsj2[]);
SAPPORO_API int g5_set_xmjMC_(int *devid, int *adr, int *nj, double xj[][3], double mj[], double epsj2[]);
SAPPORO_API int g5_set_xei_(int *ni, double xi[][3], double eps2[]);
SAPPORO_API int g5_set_xeiMC_(int *devid, int *ni, double xi[][3], double eps2[]);
SAPPORO_API int g5_calculate_force_on_xe_(double x[][3], double eps2[], double a[][3], double p[], int *ni);
SAPPORO_API int g5_calculate_force_on_xeMC_(int *devid, double x[][3], double eps2[], double a[][3], double p[],
                                            int *ni);
#else
SAPPORO_API int g5_set_xmj_(int *adr, int *nj, double xj[][3], double mj[]);
SAPPORO_API int g5_set_xmjMC_(int *devid, int *adr, int *nj, double xj[][3], double mj[]);
SAPPORO_API int g5_set_jp_(int *adr, int *nj, double mj[], double xj[][3]);
SAPPORO_API int g5_set_jpMC_(int *devid, int *adr, int *nj, double mj[], double xj[][3]);
SAPPORO_API int g5_set_xj_(int *adr, int *nj, double xj[][3]);
SAPPORO_API int g5_set_xjMC_(int *devid, int *adr, int *nj, double xj[][3]);
SAPPORO_API int g5_set_mj_(int *adr, int *nj, double mj[]);
SAPPORO_API int g5_set_mjMC_(int *devid, int *adr, int *nj, double mj[]);
#endif
SAPPORO_API int g5_set_xmj0_(int *adr, int *nj, double xj[][3], double mj[], double epsj2[]);
SAPPORO_API int g5_set_xmjMC0_(int *devid, int *adr, int *nj, double xj[][3], double mj[], double epsj2[]);
SAPPORO_API int g5_set_xmeps2j_(int *adr, int *nj, double xj[][3], double mj[], double epsj2[]);

SAPPORO_API int g5_set_xi_(int *ni, double xi[][3]);
SAPPORO_API int g5_set_xiMC_(int *devid, int *ni, double xi[][3]);
SAPPORO_API int g5_set_eps_(int *ni, double eps[]);
SAPPORO_API int g5_set_epsMC_(int *devid, int *ni, double eps[]);
SAPPORO_API int g5_set_eps2_(int *ni, double eps2[]);
SAPPORO_API int g5_set_eps2MC_(int *devid, int *ni, double eps2[]);
SAPPORO_API int g5_set_xepsi_(int *ni, double xi[][3], double eps[]);
SAPPORO_API int g5_set_xepsiMC_(int *devid, int *ni, double xi[][3], double eps[]);
SAPPORO_API int g5_set_ip_(int *ni, double xi[][3], double eps[], double h[]);
SAPPORO_API int g5_set_ipMC_(int *devid, int *ni, double xi[][3], double eps[], double h[]);
SAPPORO_API int g5_set_xi0_(int *ni, double xi[][3], double eps2[]);
SAPPORO_API int g5_set_xiMC0_(int *devid, int *ni, double xi[][3], double eps2[]);

SAPPORO_API int g5_run_(void);
SAPPORO_API int g5_runMC_(int *devid);
SAPPORO_API int g5_run0_(void);
SAPPORO_API int g5_runMC0_(int *devid);
SAPPORO_API int g5_run_symmetrized_softening_(void);
SAPPORO_API int g5_get_force_(int *ni, double a[][3], double p[]);
SAPPORO_API int g5_get_forceMC_(int *devid, int *ni, double a[][3], double p[]);
SAPPORO_API int g5_calculate_force_on_x_(double x[][3], double a[][3], double p[], int *ni);
SAPPORO_API int g5_calculate_force_on_xMC_(int *devid, double x[][3], double a[][3], double p[], int *ni);
SAPPORO_API int g5_calculate_force_on_x0_(double x[][3], double a[][3], double p[], int *ni, double eps2[]);
SAPPORO_API int g5_calculate_force_on_xMC0_(int *devid, double x[][3], double a[][3], double p[], int *ni,
                                            double eps2[]);
SAPPORO_API int g5_calculate_force_on_xeps_(double x[][3], double eps[], double a[][3], double p[], int *ni);

#ifdef __cplusplus
}
#endif

#endif
