/*
 * sixth.h - common functions of the two sixth-order interfaces: one set of particles per process, through sapporo.h.
 *
 * Each interface is a library of its own, linked to libsapporo, because the names of its calls are so general that they
 * could collide with names of other programs.
 */
#ifndef SAP_SIXTH_H
#define SAP_SIXTH_H

#include "sapporo.h"

/* The i-particles of a force and the arrays for the results; NULL: not wanted. */
struct sap_sixth_force {
    int ni, nj;
    sapporo_column index, x, v, a, eps2; /* eps2: individual squared softening; base NULL: none */
    sapporo_result result;
};

/* Opens the context unless it is open.  ndev > 0: GPUs list[0..ndev-1]; 0: all GPUs; < 0: the first |ndev| GPUs. */
void sap_sixth_open_on(int ndev, const int *list);
/* Opens the context unless it is open, on the devices that the environment names. */
void sap_sixth_open(void);

/*
 * Stores a particle with full derivatives from x to crackle; NULL for zero.  eps2 is returned by pick_up and does not
 * enter any force.  After a failure, forces with the particle fail until it is stored again.
 */
void sap_sixth_set(int address, const double *const *derivative, double mass, double time, int id, double eps2);

/* Set that later forces predict the particles to `time`, or use them as stored without prediction. */
void sap_sixth_predict(double time);
void sap_sixth_no_predict(void);

/* Reads a particle with x, v and a predicted; NaN if the address holds no particle. */
void sap_sixth_get(int address, sapporo_particle *particle, double *eps2);

/* Computes a force.  After a failure, which it reports, it returns 0; rows are NaN and nearest neighbours -1. */
int sap_sixth_compute(const struct sap_sixth_force *force);

#endif
