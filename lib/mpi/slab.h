/*
 * slab.h - a part of the i-particles of all ranks: gathered, computed on each rank's j-particles, and added up.
 *
 * Slab s has of each rank the rows ni * s / slabs to ni * (s + 1) / slabs of its i-particles.  Memory grows with the
 * rows of one slab, not with those of all ranks.
 */
#ifndef SAP_MPI_SLAB_H
#define SAP_MPI_SLAB_H

#include "mpi/handle.h"

/* Memory for one slab at a time.  The arrays of numbers have one element per rank. */
struct sap_slab {
    int number;                   /* of the slab */
    int rows, own;                /* i-particles of all ranks, and of this rank */
    int failed;                   /* first error of this rank, 0: none */
    int partial;                  /* 1: some i-particles are not finite */
    int *count, *first;           /* gathered i-particles of each rank, and its first row in the slab */
    int *out_count, *out_first;   /* the same of the slab whose sums are sent; MPI reads both until they have arrived */
    int *own_count, *own_first;   /* sums that each rank sends to this rank */
    double *target;               /* [rows][width] gathered i-particles */
    double *out;                  /* [rows][answer] sums of this rank's j-particles */
    double *in;                   /* [ranks][own][answer] sums of all ranks' j-particles for this rank's rows */
    double scale[13];             /* factors of the sums */
    sapporo_job *job;             /* the force on the slab */
    MPI_Request gather, exchange; /* under way */
};

/* Allocates memory for the largest slab of the handle's job; NULL: out of memory. */
struct sap_slab *sap_slab_create(const sapporo_mpi *h);

/* Frees the force of the slab; and the memory, unless MPI may still use it. */
void sap_slab_destroy(const sapporo_mpi *h, struct sap_slab *slab);

/* Collective.  Starts to gather the i-particles of slab `number`; those of the slab before are not needed any more. */
int sap_slab_gather(sapporo_mpi *h, int number);

/* Collective.  Waits for the i-particles and starts the force on them.  An error of the force is in slab->failed. */
int sap_slab_compute(sapporo_mpi *h);

/* Waits for the force and collects its sums.  An error of the force is in slab->failed; the sums are then NaN. */
void sap_slab_collect(sapporo_mpi *h);

/* Collective.  Starts to send the sums to the ranks of the i-particles. */
int sap_slab_exchange(sapporo_mpi *h);

/* Collective.  Waits for the sums of all ranks, adds them, and writes the rows of this rank below ni to the result. */
int sap_slab_finish(sapporo_mpi *h, int number, int ni, const sapporo_result *result);

/* Writes n rows of a failed force from row `first` on. */
void sap_slab_write_failed(int first, int n, const sapporo_result *result);

#endif
