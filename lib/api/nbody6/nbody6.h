/*
 * nbody6.h - common functions of the two NBODY6 interfaces: regular and irregular forces, through sapporo.h.
 *
 * NBODY6 and NBODY6++GPU use the same names with different arguments.  So each interface is a library of its own, which
 * is linked to libsapporo.  libnbody6_gpu and libnbody7_gpu differ in one constant (usual_nbody6.c), libnbody6_2010_gpu
 * also in one call.
 */
#ifndef SAP_NBODY6_H
#define SAP_NBODY6_H

#include "sapporo.h"
#include "variables.h"

/* ---- kind of the neighbour radii (radii.c); the caller holds the lock of the regular force ---- */

/* What a library takes if SAPPORO_NBODY6_RADII does not say otherwise (usual_nbody6.c and others). */
extern const enum sap_radii sap_nbody6_usual_radii;

/* The neighbour lists of some targets by one kind of radii. */
struct sap_radii_lists {
    int rows;
    int overflows; /* lists that are longer than the row */
    int alone;     /* lists that hold at most one star, the target itself */
    int usable;    /* lists that hold other stars, but neither overflow nor hold more than half of all stars */
    double others; /* sum of the lengths less one */
};

/* Counts lists of the given lengths.  most: the longest list that does not overflow; nj: the number of stars. */
struct sap_radii_lists sap_radii_count(int rows, const int *length, int most, int nj);

/* The kind that suits a code's neighbour lists, from the lists of the same targets by both kinds; SAP_RADII_AUTO if the
 * lists do not show it. */
enum sap_radii sap_radii_fit(const struct sap_radii_lists *plain, const struct sap_radii_lists *mass, int most, int nj);

/* Chooses the kind when the force is opened: that of SAPPORO_NBODY6_RADII, or else `usual`. */
void sap_radii_open(enum sap_radii usual);

/* 1 if the next force has to decide on the kind, by sap_radii_decide. */
int sap_radii_undecided(void);

/* Decides by the lists of the same targets by both kinds.  differ: 1 if the lists differ. */
void sap_radii_decide(const struct sap_radii_lists *plain, const struct sap_radii_lists *mass, int differ, int most,
                      int nj);

/* 1 if radii are weighted by mass.  of_call: what the call itself says. */
int sap_radii_by_mass(int of_call);

/* 1 if nearly all lists of a force overflow or hold no other star, so lists by the other kind should be counted for
 * sap_radii_warn. */
int sap_radii_suspect(const struct sap_radii_lists *used);

/* Warns, once per process, if the lists by the other kind suit a code and the lists by the kind in use do not. */
void sap_radii_warn(const struct sap_radii_lists *used, const struct sap_radii_lists *other, int most, int nj);

/* ---- regular force (regular.c) ---- */

/* The i-particles of a regular force and the arrays for their results. */
struct sap_regular_force {
    int ni, lmax, nnbmax, by_mass;
    const double *h2, *dtr;
    const double (*x)[3], (*v)[3];
    double (*acc)[3], (*jerk)[3], *pot;
    int *list;
};

/* Opens the context of the regular force.  rank < 0: a code of one process, which uses all devices of GPU_LIST. */
void sap_regular_open(int nbmax, int rank, enum sap_radii usual);
void sap_regular_close(void);
void sap_regular_send(int nj, const double *mass, const double (*x)[3], const double (*v)[3]);
void sap_regular_compute(const struct sap_regular_force *force);

/* 1 after a message if a call of gpunb_regf has the arguments of nbody6-p3t's tree: that code sends no stars, and
 * passes their positions in the place of dtr, which is never negative. */
int sap_regular_is_p3t(int ni, const double *dtr);
void sap_regular_profile(int rank);

/* ---- potential (potential.c) ---- */

/* Computes the potentials of particles first .. first + ni - 1 from all n particles; they are positive. */
void sap_potential_compute(int rank, int first, int ni, int n, const double *mass, const double (*x)[3], double *pot);

/* Closes the context that is kept between calls; the next call opens one. */
void sap_potential_release(void);

/* ---- irregular force (irregular.c); addresses from 0 on ---- */

/* The address of a particle from the client's number, which starts at 1; -1: the number is below 1 or NULL. */
static inline int sap_nbody6_address(const int *number) { return number && *number > 0 ? *number - 1 : -1; }

void sap_irregular_open(int nmax, int lmax, int rank);
void sap_irregular_close(void);
void sap_irregular_set(int address, const double *x, const double *v, const double *a2, const double *j6, double mass,
                       double time);

/* Sets the neighbour list of a particle.  nblist has the client's form: the length, then numbers that start at 1. */
void sap_irregular_set_list(int address, const int *nblist);

void sap_irregular_time(double time);

/* Computes the irregular forces on particles number[0..ni-1] (numbers start at 1); nearest may be NULL. */
void sap_irregular_compute(int ni, const int *number, double (*acc)[3], double (*jerk)[3], int *nearest);
void sap_irregular_profile(int rank);

/* ---- particles that wait to be stored (waiting.c) ---- */

/* Takes a particle with full derivatives, for sap_waiting_store.  Many threads may call it, for different particles. */
void sap_waiting_put(sapporo *context, int address, const double (*derivative)[3], double mass, double time);

/* Stores all particles that wait.  After a failure, forces with the particle fail. */
void sap_waiting_store(sapporo *context);

/* Drops all particles that wait, and frees their memory. */
void sap_waiting_forget(void);

/* ---- common (device.c) ---- */

/* Opens a context of a backend and an order, on the devices of GPU_LIST if it applies, else on those that the
 * environment names.  usual: the precision unless SAPPORO_PRECISION is set.  NULL after a message. */
sapporo *sap_nbody6_context(sapporo_backend backend, int order, sapporo_precision usual, int rank);

/* Print one line to the library's log: an error (at most twenty per process), and a line of a profile. */
void sap_nbody6_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sap_nbody6_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The time in seconds of a monotonic clock. */
double sap_nbody6_clock(void);

#endif
