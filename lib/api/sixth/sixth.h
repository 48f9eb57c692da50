/*
 * sixth.h - what the two front doors of sixth-order codes share: one set of particles a process, through sapporo.h.
 *
 * The doors are libraries of their own, since the names of their calls are everybody's: they are linked to libsapporo.
 */
#ifndef SAP_SIXTH_H
#define SAP_SIXTH_H

#include "sapporo.h"

/* i-particles and where their results go; NULL: not wanted. */
struct sap_sixth_force {
    int ni, nj;
    sapporo_column index, x, v, a, eps2; /* squared softening of each, NULL: none */
    sapporo_result result;
};

/* Opens, unless that was done: ndev > 0: on GPUs list[0..ndev-1]; 0: on all; < 0: on the first |ndev|. */
void sap_sixth_open_on(int ndev, const int *list);
/* As the environment says. */
void sap_sixth_open(void);

/*
 * Stores a particle; derivatives are full ones from x to crackle, NULL for zero.  eps2 is kept for pick_up and is no
 * part of a force.  After a failure, forces with the particle fail until it is stored again.
 */
void sap_sixth_set(int address, const double *const *derivative, double mass, double time, int id, double eps2);

/* From now on particles are predicted to `time`; or they are as they were stored. */
void sap_sixth_predict(double time);
void sap_sixth_no_predict(void);

/* A particle with x, v, a predicted; NaN where there is none. */
void sap_sixth_get(int address, sapporo_particle *particle, double *eps2);

/* A force; 0 after a failure, which has been told: rows are NaN and nearest neighbours -1. */
int sap_sixth_compute(const struct sap_sixth_force *force);

#endif
