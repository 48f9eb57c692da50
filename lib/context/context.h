/*
 * context.h - functions on contexts for the interfaces of this library (lib/api).
 *
 * Interfaces use sapporo.h.  This header declares what an interface needs
 * beyond sapporo.h, for speed or for messages.
 */
#ifndef SAP_CONTEXT_H
#define SAP_CONTEXT_H

#include <stdatomic.h>

#include "base/log.h"
#include "engine/option_parts.h"
#include "sapporo.h"

/* Why the last sapporo_open or sapporo_tree_create of this thread failed; "" if it succeeded. */
extern _Thread_local char sap_open_error[256];

/*
 * A context in the table of an interface.  Both members may change at any time.  A reader locks the object `inside`
 * first, and uses it only if its handle is then still `handle`.
 */
struct sap_context_name {
    _Atomic(sapporo *) handle; /* NULL: none */
    _Atomic(sapporo *) inside; /* the object of the handle; it saves a search per particle that is set */
};

/* Sets the context of a name; handle NULL: the name has no context. */
void sap_context_rename(struct sap_context_name *name, sapporo *handle);

/* The handle of a name; NULL: the name has no context. */
static inline sapporo *sap_context_named(const struct sap_context_name *name)
{
    return atomic_load_explicit(&name->handle, memory_order_acquire);
}

/* The object behind a handle, not locked; NULL: no open context has this handle. */
sapporo *sap_context_of(const sapporo *handle);

/*
 * Stores a j-particle in the form of GRAPE-6 clients: k18 = snap/18, j6 = jerk/6, a2 = acc/2.  For orders up to 4.
 * It does no floating-point operation, because it runs in the caller's floating-point environment.
 * Each pointer is double[3], or NULL for zero.
 * Returns 0, or -1 after a message.  If the context is closed it returns -1 without a message.
 */
int sap_context_set_scaled(const struct sap_context_name *context, int address, int index, double time, double mass,
                           const double *k18, const double *j6, const double *a2, const double *v, const double *x);

/* The time to which j-particles are predicted; NaN: the context is closed. */
double sap_context_time(sapporo *context);

/* Prints a warning once per context; without an open context, once per process. */
void sap_context_warn_once(sapporo *context, enum sap_warning which, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets and prints the error of a context, or of the process if the context is not open; returns status. */
int sap_context_error(sapporo *context, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- environment variables that interfaces need (variables.c) ---- */

/* SAPPORO_METHOD: 0 direct sums, 1 a tree; < 0 after a message that the value is not valid. */
int sap_context_method(void);

/* Reads SAPPORO_TREE_*; on failure it sets the error of the context (NULL: of the process). */
int sap_context_tree_variables(sapporo *context, struct sap_tree_variables *out);

/* The precision to open a context with: DEFAULT if SAPPORO_PRECISION is set, else the precision of the interface. */
sapporo_precision sap_context_precision(sapporo_precision of_interface);

#endif
