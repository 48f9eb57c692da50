/* particles_part.h - what the GRAPE-5 front door needs of contexts beyond sapporo.h. */
#ifndef SAP_PARTICLES_PART_H
#define SAP_PARTICLES_PART_H

#include "base/log.h"
#include "sapporo.h"

/*
 * Gives j-particles first, first + 1, ... of a context of order 2 positions x[n][3] or masses, or both; what is NULL
 * stays as it is.  A new particle counts once it has both, in either order.  A sapporo_status: 0, or after a message an
 * error; SAPPORO_ERR_NOT_FINITE: stored all the same.
 */
int sap_context_set_part(sapporo *context, int first, int n, const double (*x)[3], const double *mass);

/* A number that rises whenever j-particles change. */
unsigned long long sap_context_version(sapporo *context);

/*
 * Copies positions and masses of the j-particles at addresses 0 .. nj - 1 that hold one, without gaps; returns how many
 * there are.  Both NULL: only that.
 */
int sap_context_copy(sapporo *context, int nj, double (*x)[3], double *mass);

/* The same as sap_context_lose and sap_context_check_lost, of a context that is not locked. */
void sap_context_lose_parts(sapporo *context, int first, int n);
int sap_context_check_parts(sapporo *context, int nj);

/* One above the highest address that was ever stored. */
int sap_context_upper(sapporo *context);

/* A warning that this context shall never give. */
void sap_context_silence(sapporo *context, enum sap_warning which);

/* Nobody will ask for the neighbours of a force: particles can be stored without a thought of it. */
void sap_job_leave_neighbours(sapporo_job *job);

#endif
