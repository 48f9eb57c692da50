/*
 * context.h - what lies behind a sapporo handle, for the front doors of this library.
 *
 * Front doors use sapporo.h; what is declared here is what a dialect needs
 * beyond it, for its speed or for its messages.
 */
#ifndef SAP_CONTEXT_H
#define SAP_CONTEXT_H

#include <stdatomic.h>

#include "base/log.h"
#include "base/option_parts.h"
#include "sapporo.h"

/* Why the last sapporo_open or sapporo_tree_create of this thread failed; "": it succeeded. */
extern _Thread_local char sap_open_error[256];

/*
 * A context as a front door's table remembers it.  Both members may change at any time; `inside` is looked at under its
 * lock alone, and used only if it has this handle then.
 */
struct sap_context_name {
    _Atomic(sapporo *) handle; /* NULL: none */
    _Atomic(sapporo *) inside; /* the object of the handle, which spares setting particles the way to it */
};

/* Writes and reads names: handle NULL is a name of nothing. */
void sap_context_rename(struct sap_context_name *name, sapporo *handle);

static inline sapporo *sap_context_named(const struct sap_context_name *name)
{
    return atomic_load_explicit(&name->handle, memory_order_acquire);
}

/* The object behind a handle, not locked; NULL: no open context has this handle. */
sapporo *sap_context_of(const sapporo *handle);

/*
 * Stores a particle as GRAPE-6 clients send it, without a single floating-point
 * operation: the caller's floating-point environment is not to be trusted here.
 * Each pointer is double[3] or NULL for zero.  k18 = snap/18, j6 = jerk/6, a2 = acc/2.
 * Returns 0, or -1 after a message; -1 without one if the context was closed meanwhile.
 */
int sap_context_set_scaled(const struct sap_context_name *context, int address, int index, double time, double mass,
                           const double *k18, const double *j6, const double *a2, const double *v, const double *x);

/* The time to which particles are predicted; NaN: the context is closed. */
double sap_context_time(sapporo *context);

/* A warning, once per context; of no open context: once per process. */
void sap_context_warn_once(sapporo *context, enum sap_warning which, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets and prints the error of a context (of no open context: of the process); returns status. */
int sap_context_error(sapporo *context, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- variables of the environment that front doors need (variables.c) ---- */

/* SAPPORO_METHOD: 0 direct sums, 1 a tree; < 0 after the message that the value has no meaning. */
int sap_context_method(void);

/* SAPPORO_TREE_*; an error has its message in the context (NULL: in the process). */
int sap_context_tree_variables(sapporo *context, struct sap_tree_variables *out);

/* The precision to open a context with: DEFAULT where SAPPORO_PRECISION decides, else that of the interface. */
sapporo_precision sap_context_precision(sapporo_precision of_interface);

#endif
