/* context_units.h - the units in which a context stores its particles (units.c).  All functions need a locked context.
 */
#ifndef SAP_CONTEXT_UNITS_H
#define SAP_CONTEXT_UNITS_H

#include "context/context_private.h"

/*
 * Chooses the units for a force of the first nj addresses with at most this squared softening, before particles that
 * wait are sent.  few: the force is dp, which needs none.
 */
void sap_context_take_units(sapporo *context, int nj, struct sap_targets targets, int few);

/*
 * Whether particles surely fit into single precision as they are (units_glance.c).  *faint: about the potential of
 * forces that the precision loses.
 */
int sap_context_glance(const sapporo *context, int nj, const struct sap_targets *targets, double *faint);

/* The same of a few sources of a small force, unless it names addresses, and of a few of its targets. */
int sap_small_force_glance(const sapporo_small_force *l);

/* Whether particles that the device has seen surely fit so, apart from softening and targets (units_glance.c). */
int sap_context_sees_plain(const sapporo *context, const struct sap_caller_seen *seen);

/* Whether a few of the particles, with this squared softening, fit into single precision as they are; always in dp. */
int sap_context_seems_plain(const sapporo *context, double eps2);

/* The exponent of the median of a few of n positions; SAP_UNITS_NONE: there are none, or most are at the origin. */
int sap_exponent_of_column(const sapporo_column *x, int n);

/* Adds all particles to a spread, in the units that they were given in.  Nothing waits to be stored. */
void sap_context_add_all(const sapporo *context, struct sap_spread *s, struct sap_sizes *sizes);

/* Warns once of particles that no units serve, and names the remedy. */
void sap_context_judge_units(sapporo *context, const struct sap_spread *s, const struct sap_units *u, double eps2);

/* Changes the units to these: stores what waits, and multiplies what is stored. */
void sap_context_set_units(sapporo *context, const struct sap_units *units);

/*
 * Returns the particle in the units of the context: itself, or *own, whose derivatives are in `to`.  If it does not fit
 * into double in these units, the context returns to plain ones until the next force.
 */
const struct sap_jparticle *sap_context_in_units(sapporo *context, const struct sap_jparticle *p,
                                                 struct sap_jparticle *own, double (*to)[3]);

/*
 * Whether one of n numbers of derivative k, as they were given, tells of a particle that is much faster than all that
 * the units were chosen for, which may need others: sap_context_in_units notes it.
 */
int sap_context_is_fast(const sapporo *context, const double *x, int n, int k);

/* Returns to plain units until the next force chooses others. */
void sap_context_leave_units(sapporo *context);

/* Returns the time of the context in its units. */
static inline double sap_context_unit_time(const sapporo *c) { return sap_scaled(c->time, c->units.time); }

/* Notes that a coordinate of this particle is too large for single precision in the present units. */
void sap_context_note_wide(sapporo *context, const struct sap_jparticle *p);

#endif
