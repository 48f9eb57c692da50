/*
 * nbody6.h - what the front doors of NBODY6's two generations share: regular and irregular forces, through sapporo.h.
 *
 * The doors are libraries of their own, since both generations have the same names with other arguments; they are
 * linked to libsapporo.
 */
#ifndef SAP_NBODY6_H
#define SAP_NBODY6_H

#include "sapporo.h"

/* ---- regular force (regular.c) ---- */

/* i-particles, and where their rows go. */
struct sap_regular_force {
    int ni, lmax, nnbmax, by_mass;
    const double *h2, *dtr;
    const double (*x)[3], (*v)[3];
    double (*acc)[3], (*jerk)[3], *pot;
    int *list;
};

/* rank < 0: a code of one process, which has all devices of GPU_LIST. */
void sap_regular_open(int nbmax, int rank);
void sap_regular_close(void);
void sap_regular_send(int nj, const double *mass, const double (*x)[3], const double (*v)[3]);
void sap_regular_compute(const struct sap_regular_force *force);
void sap_regular_profile(int rank);

/* ---- potential (potential.c) ---- */

/* Of particles first .. first + ni - 1 among n; positive. */
void sap_potential_compute(int rank, int first, int ni, int n, const double *mass, const double (*x)[3], double *pot);

/* Closes the context that is kept between calls; the next call opens one. */
void sap_potential_release(void);

/* ---- irregular force (irregular.c); addresses from 0 on ---- */

/* The address of a particle that clients number from 1 on; -1: there is none, as the number is below 1 or absent. */
static inline int sap_nbody6_address(const int *number) { return number && *number > 0 ? *number - 1 : -1; }

void sap_irregular_open(int nmax, int lmax, int rank);
void sap_irregular_close(void);
void sap_irregular_set(int address, const double *x, const double *v, const double *a2, const double *j6, double mass,
                       double time);

/* nblist as clients have it: length, then numbers from 1 on. */
void sap_irregular_set_list(int address, const int *nblist);

void sap_irregular_time(double time);

/* On the particles number[0..ni-1] (from 1 on); nearest may be NULL. */
void sap_irregular_compute(int ni, const int *number, double (*acc)[3], double (*jerk)[3], int *nearest);
void sap_irregular_profile(int rank);

/* ---- both (device.c) ---- */

/* Opens a context of an order, on the devices of GPU_LIST, or as the environment says, or on the CPU; NULL after a
 * message. */
sapporo *sap_nbody6_context(sapporo_backend backend, int order, sapporo_precision precision, int rank);

/* One line where the library's messages go: of errors twenty at most; of profiles all. */
void sap_nbody6_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sap_nbody6_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Seconds of a clock that only runs forward. */
double sap_nbody6_clock(void);

#endif
