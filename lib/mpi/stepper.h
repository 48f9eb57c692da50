/*
 * stepper.h - the object behind a handle of a stepper over ranks.
 *
 * Each rank has a stepper of libsapporo with the particles that its caller gave: a part of the whole
 * (context/stepper_part.h).  Its forces come from a tree over ranks, or from direct sums over ranks, whose particles
 * are those of the arrays below, or on devices.
 */
#ifndef SAP_MPI_STEPPER_H
#define SAP_MPI_STEPPER_H

#include "context/stepper_part.h"
#include "mpi/exchange.h"
#include "mpi/link.h"
#include "mpi/registry.h"

enum { SAP_STEPPER_COUNTS = 2 * SAP_STEP_LEVELS + 7 };

/* The tree of a stepper over ranks: of the part of this rank, which calls its table (engine/tree_ops.h). */
struct sap_stepper_tree {
    struct sap_tree base;
    sapporo_mpi_stepper *of;
};

struct sapporo_mpi_stepper {
    struct sap_listed listed;
    struct sap_link link;
    sapporo_stepper_options options;     /* of the caller, during the creation */
    sapporo_tree_options tree_options;   /* the same */
    sapporo_mpi_transport transport;     /* the same */
    sapporo_stepper *stepper;            /* of the particles of this rank */
    sapporo_mpi_tree *tree;              /* NULL: direct sums */
    struct sap_stepper_tree as_tree;     /* of `tree`, for the part of this rank */
    sapporo_mpi *sums;                   /* NULL: a tree */
    const char *call;                    /* name of the call under way, for errors */
    char kind[96], words[SAP_LINK_TEXT]; /* words: what failed in the last force, build or refresh */
    int agreed;                          /* 1: the link has the error of the call under way */

    /* particles of this rank, by slot (engine/step_order.h) */
    int room, n, massive;
    double (*x)[3], *mass, *a;
    double *length; /* [room] softening lengths for a tree; NULL: direct sums */
    int on_device;  /* 1: the part is on a device, and so are its particles: of a tree where `there` says; the arrays
                       of host memory are not there */
    struct sap_step_places there;
    struct sap_step_sharing sharing; /* of direct sums on devices, and how their records go */
    struct sap_route sources, rows_of_all;
    int has_lengths;        /* particles of all ranks have some */
    double (*target)[3];    /* [room] active particles of direct sums */
    int *address;           /* [room] of direct sums, over all ranks; of massless particles the index of no source */
    int *index;             /* [room] of active particles, or of those that `store` sends */
    double *soft;           /* [2 room] of direct sums, squared lengths of particles, then of active ones */
    int order;              /* of a Hermite scheme; 0: a leap-frog */
    sapporo_particle *kept; /* [room] of Hermite schemes, what the next `store` sends, at the addresses `index` */
    int puts;
    int *first; /* [ranks + 1] of direct sums: the number of each rank's first particle; last: of all particles */
    int built;  /* 1: the tree is that of the present particles */

    /* the last force of this rank: interactions and rows; of all ranks: their mean, and the particles with mass */
    long long work, rows, all_massive;
    double interactions;
    long long count[SAP_STEPPER_COUNTS], all_count[SAP_STEPPER_COUNTS]; /* MPI reads and writes them */
    double sum[SAP_STEP_SUMS], *all_sums;                               /* [ranks][SAP_STEP_SUMS] */
};

/* Fills the functions of the whole, for the part of this rank (stepper_forces.c). */
struct sap_stepper_whole sap_mpi_stepper_whole(sapporo_mpi_stepper *h);

/* Fills the functions of h->sharing, and makes memory (stepper_sharing.c); a status. */
int sap_mpi_stepper_share(sapporo_mpi_stepper *h);

/*
 * Makes the route of n records to every other rank, and of those of all ranks, one rank after the other; own ones do
 * not move.  How many each rank has is a field of the last comparison.  Returns how many all have (stepper_numbers.c).
 */
int sap_mpi_stepper_route(const sapporo_mpi_stepper *h, struct sap_route *route, int field, int n);

/* The object of a handle; NULL: there is none. */
sapporo_mpi_stepper *sap_mpi_stepper_find(const sapporo_mpi_stepper *handle);

/* Begins a collective call. */
void sap_mpi_stepper_start(sapporo_mpi_stepper *h, enum sap_call call);

/* Ends it: an error that all ranks found together is told by the part of each, in the same words. */
int sap_mpi_stepper_end(sapporo_mpi_stepper *h, int status);

/*
 * Adds up a field of all ranks, numbers of particles, after sap_link_compare: of the ranks before this one, and of all.
 * Fails, on all ranks, if they are too many for direct sums (stepper_numbers.c, as what follows).
 */
int sap_mpi_stepper_count(sapporo_mpi_stepper *h, int field, int *before, int *all);

/* Collective.  `renumber` of a whole (context/stepper_part.h). */
int sap_mpi_stepper_renumber(void *of, int before, int after, const int *to, int n, int *number);

/* Elements of `ints` integers that each rank gives to all ranks; MPI reads and writes them. */
struct sap_gathering {
    int ints;
    int *number, *at; /* integers of each rank, and where its first one is */
    int first, all;   /* elements of the ranks before this one, and of all */
    int *from;
};

/* Makes room for the elements of all ranks, after sap_link_compare, whose first field is how many each rank has. */
int sap_gathering_reserve(sapporo_mpi_stepper *h, struct sap_gathering *g);

/* Collective.  Gives the elements of this rank, which are at g->first, to all ranks. */
int sap_gathering_share(sapporo_mpi_stepper *h, struct sap_gathering *g);

/* Frees its memory, unless MPI may still use it. */
void sap_gathering_drop(const sapporo_mpi_stepper *h, struct sap_gathering *g);

/* Notes a status that a tree or a handle returned: if its link is broken, so is that of the stepper. */
int sap_mpi_stepper_note(sapporo_mpi_stepper *h, int status, const char *text);

#endif
