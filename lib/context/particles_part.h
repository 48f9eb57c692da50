/* particles_part.h - what the GRAPE-5 interface needs of contexts beyond sapporo.h. */
#ifndef SAP_PARTICLES_PART_H
#define SAP_PARTICLES_PART_H

#include "base/log.h"
#include "sapporo.h"

/*
 * Sets positions x[n][3], masses or both of j-particles first, first + 1, ... of a context of order 2.  NULL leaves
 * positions or masses unchanged.  A new particle counts once it has both, in either order.  Returns 0, or after a
 * message an error.  SAPPORO_ERR_NOT_FINITE: the particle is stored all the same.
 */
int sap_context_set_part(sapporo *context, int first, int n, const double (*x)[3], const double *mass);

/* A number that increases whenever j-particles change. */
unsigned long long sap_context_version(sapporo *context);

/*
 * Copies positions and masses of the j-particles at addresses 0 .. nj - 1 without gaps and returns their number.  If x
 * is NULL it only counts.
 */
int sap_context_copy(sapporo *context, int nj, double (*x)[3], double *mass);

/* Like sap_context_lose and sap_context_check_lost, but they take a handle and lock the context. */
void sap_context_lose_parts(sapporo *context, int first, int n);
int sap_context_check_parts(sapporo *context, int nj);

/* One above the highest address set since the particles were last cleared. */
int sap_context_upper(sapporo *context);

/* Suppresses one kind of warning in this context. */
void sap_context_silence(sapporo *context, enum sap_warning which);

/* Tells that the neighbours of a force are not needed, so particles can be stored without computing them first. */
void sap_job_leave_neighbours(sapporo_job *job);

#endif
