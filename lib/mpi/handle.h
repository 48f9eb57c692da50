/* handle.h - the object behind a handle of sapporo_mpi.h, and the object of its force. */
#ifndef SAP_MPI_HANDLE_H
#define SAP_MPI_HANDLE_H

#include <stdint.h>

#include "engine/travel_ops.h"
#include "mpi/cargo.h"
#include "mpi/exchange.h"
#include "mpi/kept.h"
#include "mpi/link.h"
#include "mpi/registry.h"
#include "mpi/room.h"
#include "mpi/transport.h"

/* The object of a force. */
struct sapporo_mpi_job {
    uintptr_t number;
    int ni;          /* i-particles of this rank */
    int nj;          /* addresses of j-particles of this rank */
    int nj_all;      /* of all ranks: nj of the request, or one above the highest address that was set */
    int blocks;      /* of all ranks: blocks with addresses below nj_all in which a particle was stored */
    int most_blocks; /* of the rank that has most of them */
    int asked;       /* nj of the request, which chooses the precision where none was named */
    int nearest;     /* 1: nearest neighbours are wanted */
    int indexed;     /* 1: pairs of equal index are skipped */
    int soft;        /* 1: i-particles have individual softening */
    sapporo_softening softening;
    double eps2;         /* squared softening, common */
    uint64_t version;    /* of the particles */
    sapporo_mpi_way way; /* not SAPPORO_MPI_WAY_AUTO */
    int slabs;        /* number of parts in which the i-particles are computed; of SAPPORO_MPI_WAY_TARGETS the same on
                         all ranks */
    int delivered;    /* 1: sapporo_mpi_force_end was called */
    double *target;   /* [ni][width] the i-particles of this rank */
    int *rows, *kept; /* [ranks] ni of each rank; its blocks with addresses below nj_all that are not empty */
};

/* Particles on their way to the ranks that keep them. */
struct sap_parcel {
    struct sap_route route;
    unsigned columns;          /* that records have, as bits */
    size_t tail_at;            /* where the tail of a record begins, in doubles */
    const double *in;          /* [route.arrived] records that this rank receives, of `ins` */
    struct sap_room outs, ins; /* records that it sends, and receives */
    struct sap_room keepers;   /* numbers of the ranks that keep the particles of this rank's caller */
};

enum { SAP_COSTS = 7 }; /* members of sapporo_mpi_costs that are measured */

struct sapporo_mpi {
    struct sap_listed listed;
    struct sap_link link;
    sapporo *context;
    char kind[96];
    double gravity;                  /* the gravitational constant of the contexts */
    sapporo_options context_options; /* with copies of what its pointers point to */
    char *kept_text;                 /* these copies */
    int *kept_devices;
    int order, rows, sources; /* of the options, with defaults filled in; sources: 0: memory decides */
    int whole, part;          /* j-particles that are sent in one part, and else in each of several parts */
    sapporo_mpi_way way;      /* of the options */
    sapporo_mpi_way last_way; /* of the last force */
    sapporo_mpi_costs costs;  /* given or measured; size 0: neither */
    double cost_mine[SAP_COSTS], cost_all[SAP_COSTS]; /* of this rank and of all ranks, while they are measured */
    int upper;                   /* one above the highest address at which this rank keeps a particle, over all ranks */
    int terms, vectors, sums;    /* x and derivatives per j-particle; vectors per i-particle; sums per i-particle */
    double time;                 /* of sapporo_mpi_set_time */
    int by_host;                 /* 1: particles of the present force travel over the hosts (travel_ops.h: unfit) */
    uint64_t version;            /* of the particles: number of calls that changed them */
    int unset;                   /* 1: the last call that set particles had no memory: forces fail until one succeeds */
    int lost;                    /* 1: this rank could not store particles: forces fail until they are stored again */
    struct sap_kept_blocks kept; /* blocks in which this rank keeps particles */
    struct sap_carrier carrier;  /* how j-particles travel */
    struct sap_travel_facts facts; /* of the j-particles of all ranks, for the force under way */
    int width;                     /* doubles per i-particle that is sent */
    MPI_Datatype target;           /* an i-particle that is sent */
    struct sap_parcel parcel;
    sapporo_mpi_job *job;    /* NULL: no force was begun, or it was freed */
    struct sap_room targets; /* memory of the job's i-particles */
    struct sap_slab *slab;   /* memory of slab.c; NULL: none yet */
    struct sap_share *share; /* memory and contexts of share.c; NULL: none yet */
};

/* The object of an open handle; NULL: there is none. */
sapporo_mpi *sap_mpi_find(const sapporo_mpi *handle);

/* Threads of the host for work beside a context; 0: the default.  Of a GPU, sapporo_get_threads returns its units. */
static inline int sap_mpi_threads(const sapporo *context)
{
    return sapporo_get_backend(context) == SAPPORO_BACKEND_CPU ? sapporo_get_threads(context) : 0;
}

/* Frees the force of a handle, if there is one. */
void sap_mpi_free_job(sapporo_mpi *h);

/* The open handle with this job; NULL: there is none. */
sapporo_mpi *sap_mpi_find_job(const sapporo_mpi_job *job);

#endif
