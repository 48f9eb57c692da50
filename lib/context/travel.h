/*
 * travel.h - j-particles that travel between the contexts of several processes from device memory to device memory.
 *
 * libsapporo_mpi calls these functions by the table of internals.h.  They are the entries of struct sap_travel_ops, for
 * contexts.  Functions that return int return a sapporo_status; the text of an error is that of the context.
 */
#ifndef SAP_CONTEXT_TRAVEL_H
#define SAP_CONTEXT_TRAVEL_H

#include "engine/travel_ops.h"
#include "sapporo.h"

/* Describes the device of a context; of one whose particles cannot travel, its text alone. */
int sap_travel_device(sapporo *context, struct sap_travel_device *device);

/* Encloses calls of libraries of the device's vendor. */
int sap_travel_enter(sapporo *context);
void sap_travel_leave(sapporo *context);

/* What the host knows of the particles of a context, for a force with this squared softening. */
int sap_travel_facts(sapporo *context, double eps2, struct sap_travel_facts *facts);

/* The hold of a context, and the stream of its transfers; NULL, which is a stream too, if there is no hold. */
int sap_travel_hold(sapporo *context, size_t bytes, void **address);
void *sap_travel_stream(sapporo *context);
int sap_travel_write(sapporo *context, const void *from, size_t bytes);
int sap_travel_read(sapporo *context, void *to, size_t bytes);

/* Packs particles of `from` into the hold of another context on the same device. */
int sap_travel_pack(sapporo *from, sapporo *context, int at, const struct sap_travel_part *part);
int sap_travel_packed(sapporo *context);

/* Notes transfers in the stream; tells their state: a sap_travel_state, or an error. */
int sap_travel_started(sapporo *context);
int sap_travel_state(sapporo *context);

/*
 * Replaces the particles of a context by n superpackets of its hold, for forces whose nj is at most `nj`.  Functions
 * that read particles find none; sap_partial_store empties the context first.
 */
int sap_travel_take(sapporo *context, const int *number, int n, int nj, const struct sap_travel_facts *facts);

#endif
