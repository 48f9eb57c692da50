/*
 * share.h - the other way of a force: the j-particles of all ranks are sent to all ranks, and each rank computes the
 * force on its own i-particles alone.
 *
 * j-particles are sent in parts of consecutive addresses.  Blocks in which no particle was stored are left out: the
 * others are numbered anew, in order, so that a force takes the time of its particles and not of their addresses.  Two
 * contexts hold the particles of two parts: while one part is computed, the next one travels.  If all j-particles are
 * in one part, the forces are those of one context with all particles; else the sums of the parts are merged in
 * reproducible accumulators.  i-particles are computed in slabs.
 */
#ifndef SAP_MPI_SHARE_H
#define SAP_MPI_SHARE_H

#include "mpi/handle.h"

/* Memory and contexts, which a handle keeps. */
struct sap_share;

/* Collective.  Opens the two contexts, unless they are open. */
int sap_share_open(sapporo_mpi *h);

/* One of the two contexts, 0 or 1, of a handle for which sap_share_open succeeded; its particles are lost. */
sapporo *sap_share_scratch(sapporo_mpi *h, int which);

/* Closes the contexts and frees the memory, which MPI must not use any more. */
void sap_share_free(sapporo_mpi *h);

/* Addresses of the blocks that are not empty, at most: those that a force of the handle's job sends and computes. */
int sap_share_length(const sapporo_mpi *h);

/* Number of parts of the handle's job. */
int sap_share_parts(const sapporo_mpi *h);

/* 1 if all particles below nj are on all ranks, since a force of these particles began. */
int sap_share_is_here(const sapporo_mpi *h, int nj);

/* Forgets that all particles are on all ranks.  All ranks must call it at the same point of their calls. */
void sap_share_forget(sapporo_mpi *h);

/* Makes room for the handle's job; returns -1 if memory is short. */
int sap_share_prepare(sapporo_mpi *h);

/* Collective.  Sends the first part and starts the force on the first slab. */
int sap_share_begin(sapporo_mpi *h);

/* Collective.  Computes all parts and slabs and writes the rows of this rank below ni to the result. */
int sap_share_end(sapporo_mpi *h, int ni, const sapporo_result *result);

/* The first error of this rank in a force, SAPPORO_PARTIAL if some of its i-particles are not finite, or 0. */
int sap_share_status(const sapporo_mpi *h);

/* Frees the forces of the job that are under way. */
void sap_share_drop(sapporo_mpi *h);

#endif
