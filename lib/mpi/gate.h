/*
 * gate.h - device memory that travels between ranks: the hold of a context (context/travel.h), or what a tree sends and
 * receives (context/tree_port.h).
 *
 * Functions that return int return a sapporo_status; the text of an error is sap_gate_error.
 */
#ifndef SAP_MPI_GATE_H
#define SAP_MPI_GATE_H

#include "context/travel.h"

/* One of both. */
struct sap_gate {
    sapporo *context;
    sapporo_tree *const *tree; /* where a handle has it: trees are made anew */
};

int sap_gate_device(const struct sap_gate *gate, struct sap_travel_device *device);
const char *sap_gate_error(const struct sap_gate *gate);

/* Encloses calls of libraries of the device's vendor. */
int sap_gate_enter(const struct sap_gate *gate);
void sap_gate_leave(const struct sap_gate *gate);

/* Memory for so many bytes; copies from or to its beginning. */
int sap_gate_hold(const struct sap_gate *gate, size_t bytes, void **address);
int sap_gate_write(const struct sap_gate *gate, const void *from, size_t bytes);
int sap_gate_read(const struct sap_gate *gate, void *to, size_t bytes);

/* Waits until what is to be sent is there. */
int sap_gate_packed(const struct sap_gate *gate);

/* The stream of transfers; notes that some have been started; tells a sap_travel_state, or an error. */
void *sap_gate_stream(const struct sap_gate *gate);
int sap_gate_started(const struct sap_gate *gate);
int sap_gate_state(const struct sap_gate *gate);

#endif
