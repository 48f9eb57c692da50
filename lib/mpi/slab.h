/*
 * slab.h - a part of the i-particles of all ranks: gathered, computed on each rank's j-particles, and added up.
 *
 * Slab s has of each rank the rows ni * s / slabs to ni * (s + 1) / slabs of its i-particles.  Memory grows with the
 * rows of one slab, not with those of all ranks.  While a slab is
 * computed, the i-particles of the next slab travel, and so do the sums of the slab before it.
 */
#ifndef SAP_MPI_SLAB_H
#define SAP_MPI_SLAB_H

#include "mpi/exchange.h"
#include "mpi/handle.h"
#include "mpi/room.h"

/* Gathered i-particles of one slab. */
struct sap_gathered {
    int rows;            /* of all ranks */
    int *count, *first;  /* [ranks] of each rank: number and first row */
    double *target;      /* [rows][width] */
    MPI_Request request; /* MPI_REQUEST_NULL: they are here */
};

/* Slabs that are under way at a time: one gathered, one computed, one collected, and one whose sums travel. */
enum { SAP_SLABS = 4 };

/* Memory for the slabs under way, which a handle keeps. */
struct sap_slab {
    struct sap_gathered gathered[SAP_SLABS]; /* of slab s: element s % SAP_SLABS */
    int *numbers;                            /* memory of all arrays of numbers */
    struct sap_route route;                  /* of sums; this rank's own stay in `out` */
    struct sap_wire wire;                    /* of sums, under way */
    struct sap_room targets, outs, ins;
    double *out;         /* [rows][answer] sums of this rank's j-particles */
    double *in;          /* [ranks][own][answer] sums of the other ranks' j-particles for this rank's rows */
    int failed;          /* first error of this rank in a force, 0: none */
    int partial;         /* 1: some i-particles of a force are not finite */
    double scale[13];    /* factors of the sums */
    sapporo_job *job[2]; /* forces on slabs with even and with odd numbers */
};

/* Makes room for the slabs of the handle's job; returns -1 if memory is short. */
int sap_slab_prepare(sapporo_mpi *h);

/* Frees the forces on slabs, if there are any. */
void sap_slab_drop(sapporo_mpi *h);

/* Frees the memory of all slabs, which MPI must not use any more. */
void sap_slab_free(sapporo_mpi *h);

/* Collective.  Starts to gather the i-particles of slab `number`. */
int sap_slab_gather(sapporo_mpi *h, int number);

/* Collective.  Waits for the i-particles and starts the force on them.  An error of the force is in slab->failed. */
int sap_slab_compute(sapporo_mpi *h, int number);

/* Waits for the force and collects its sums.  An error of the force is in slab->failed; the sums are then NaN. */
void sap_slab_collect(sapporo_mpi *h, int number);

/* Collective.  Starts to send the sums to the ranks of the i-particles. */
int sap_slab_exchange(sapporo_mpi *h, int number);

/* Collective.  Waits for the sums of all ranks, adds them, and writes the rows of this rank below ni to the result. */
int sap_slab_finish(sapporo_mpi *h, int number, int ni, const sapporo_result *result);

/* The request of the handle's job for the force of nj j-particles on ni i-particles: x, v, ..., eps2, index of each. */
sapporo_request sap_slab_request(const sapporo_mpi *h, const double *target, int ni, int nj);

/* First row of slab `number` among the ni rows of a rank. */
static inline int sap_slab_first(const sapporo_mpi_job *j, int ni, int number)
{
    return (int)((int64_t)ni * number / j->slabs);
}

#endif
