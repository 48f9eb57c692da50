/*
 * onecall.h - forces of calls that pass all particles at once, through sapporo.h: what libcunbody1 and libharp3 share.
 *
 * A process has one context, which is opened at the first call.  Calls of several threads are serialised.  If a force
 * fails, all its rows are NaN, because the calls return nothing.
 */
#ifndef SAP_API_ONECALL_H
#define SAP_API_ONECALL_H

#include "sapporo.h"

/* Sources and targets of one force; all arrays are the caller's. */
struct sap_onecall {
    int ni, nj;
    const double (*xi)[3], (*xj)[3], *mass;
    double eps2; /* squared softening of all pairs */
};

/* Opens the context, so that a missing device is reported; a later call tries again. */
void sap_onecall_open(void);

/* Copies the particles and starts their force.  A force that was started before is dropped.  `caller` is for messages.
 */
void sap_onecall_begin(const struct sap_onecall *force, const char *caller);

/*
 * Waits for the force that sap_onecall_begin started, if it has as many targets and sources, and writes its ni rows;
 * otherwise computes the force of these particles.  NULL outputs are not wanted.
 */
void sap_onecall_end(const struct sap_onecall *force, double (*acc)[3], double *pot, const char *caller);

/* Computes a force and writes it.  A force that sap_onecall_begin started stays. */
void sap_onecall_compute(const struct sap_onecall *force, double (*acc)[3], double *pot, const char *caller);

#endif
