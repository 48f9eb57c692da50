/*
 * nccl.h - NCCL, which moves device memory between GPUs: loaded when it is first needed, as libcuda is.
 *
 * No call waits longer than half the timeout of the link, so that all ranks learn of it in the other half.  A rank on
 * which NCCL fails aborts its communicator and tells the other ranks by messages of MPI, so that they abort theirs.
 * Afterwards all functions fail with the same status.
 */
#ifndef SAP_MPI_NCCL_H
#define SAP_MPI_NCCL_H

#include "mpi/cargo.h"
#include "mpi/exchange.h"
#include "mpi/link.h"

struct sap_nccl;

/* Loads NCCL; returns NULL, or why it cannot be used. */
const char *sap_nccl_absent(void);

/* The version of the loaded library, such as 22304. */
int sap_nccl_version(void);

/* Collective.  Makes a communicator of the GPUs of all ranks' gates. */
int sap_nccl_open(struct sap_link *link, const struct sap_gate *gate, struct sap_nccl **nccl);

/* Collective.  Starts to send this rank's units of a cargo to all ranks, in the stream of its context. */
int sap_nccl_post(struct sap_nccl *nccl, struct sap_link *link, struct sap_cargo *cargo);

/* Collective.  Waits until the units of all ranks are here. */
int sap_nccl_wait(struct sap_nccl *nccl, struct sap_link *link, struct sap_cargo *cargo);

/*
 * Collective.  Starts to move the records of a wire, which are in device memory, in the stream of a gate; waits until
 * those of all wires are here.
 */
int sap_nccl_begin(struct sap_nccl *nccl, struct sap_link *link, const struct sap_gate *gate,
                   const struct sap_route *route, const struct sap_wire *wire);
int sap_nccl_end(struct sap_nccl *nccl, struct sap_link *link, const struct sap_gate *gate);

/* Collective.  Ends the communicator, whose transfers are complete; NULL, on all ranks, is allowed. */
void sap_nccl_close(struct sap_nccl *nccl, struct sap_link *link);

#endif
