/*
 * context.h - what lies behind a sapporo handle, for the front doors of this library.
 *
 * Front doors use sapporo.h; what is declared here is what a dialect needs
 * beyond it, for its speed or for its messages.
 */
#ifndef SAP_CONTEXT_H
#define SAP_CONTEXT_H

#include "log.h"
#include "sapporo.h"

/*
 * Stores a particle as GRAPE-6 clients send it, without a single floating-point
 * operation: the caller's floating-point environment is not to be trusted here.
 * Each pointer is double[3] or NULL for zero.  k18 = snap/18, j6 = jerk/6, a2 = acc/2.
 * Returns 0, or -1 after a message.
 */
int sap_context_set_scaled(sapporo *context, int address, int index, double time, double mass, const double *k18,
                           const double *j6, const double *a2, const double *v, const double *x);

/* The time to which particles are predicted. */
double sap_context_time(sapporo *context);

/* A warning, once a context; NULL context: once a process. */
void sap_context_warn_once(sapporo *context, enum sap_warning which, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets and prints the error of a context (NULL: of no context); returns status. */
int sap_context_error(sapporo *context, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
