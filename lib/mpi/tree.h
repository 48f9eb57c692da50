/* tree.h - the object behind a handle of a tree over ranks, and the steps of a build and of a force. */
#ifndef SAP_MPI_TREE_H
#define SAP_MPI_TREE_H

#include <stdint.h>

#include "context/tree_part.h"
#include "mpi/link.h"
#include "mpi/tree_halo.h"

/* A particle that is sent to the rank that walks it, in doubles: x, y, z, mass, size of the acceleration (< 0:
 * unknown). */
enum { SAP_BODY_MASS = 3, SAP_BODY_A = 4, SAP_BODY = 5 };

/* Its results, in doubles: acceleration, potential, number of interactions. */
enum { SAP_ANSWER_POT = 3, SAP_ANSWER_WORK = 4, SAP_ANSWER = 5 };

/* The ranks to which particles are sent.  The arrays of numbers have one element per rank. */
struct sap_route {
    int n, arrived;  /* particles that this rank sends, and that it receives */
    int *sent, *got; /* number for each rank, and from each rank; of one allocation with the next two */
    int *sent_at, *got_at;
    int *order; /* [n] the caller's particle of each record that is sent */
};

struct sapporo_mpi_tree {
    uintptr_t number;
    sapporo_mpi_tree *next; /* in the list of all trees */
    struct sap_link link;
    sapporo_tree *tree;           /* of the particles that this rank walks */
    int room;                     /* particles for which it has room */
    sapporo_tree_options options; /* of the caller, with copies of what it points to */
    int device[64];
    char isa[32];
    struct sap_tree_settings settings;
    char kind[96];
    MPI_Datatype body, node, point; /* SAP_BODY doubles, a struct sap_halo_node, a particle of a halo */

    /* particles of this rank's caller */
    int given;
    double *size; /* [given] size of the acceleration of the last force; < 0: unknown */
    int *work;    /* [given] interactions of the last force; 0: unknown */

    /* particles that this rank walks, in order of the ranks that gave them */
    int built;
    struct sap_route route;
    double (*mine)[SAP_BODY]; /* [route.arrived] */
    struct sap_halo_nodes nodes;
    struct sap_tree_whole whole;
    sapporo_mpi_tree_statistics done;
};

/* Sets the error of too little memory for n particles. */
int sap_mpi_tree_no_memory(sapporo_mpi_tree *h, const char *call, int n);

/* Frees memory that MPI may still use, unless the link is broken. */
void sap_mpi_tree_release(const sapporo_mpi_tree *h, void *memory);

/*
 * Collective.  Finds the box, the cube and the typical pull of the particles of all ranks (tree_whole.c).  *mean: the
 * interactions of an average particle in the last force; 1 if they are unknown.  SAPPORO_ERR_NOT_FINITE: moments of all
 * particles are beyond the range of double.
 */
int sap_mpi_tree_find_whole(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], int n, double *mean);

/*
 * Collective.  Divides the particles of all ranks into runs along the curve, one per rank, of about equal weight;
 * writes the rank of each particle (tree_split.c).
 */
int sap_mpi_tree_split(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], int n, double mean, int *to);

/* Collective.  Sends the particles to their ranks: fills the route and h->mine (tree_exchange.c). */
int sap_mpi_tree_send(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], const int *to);

/* Collective.  Sends answers back: from [route.arrived] to [given], in the caller's order (tree_exchange.c). */
int sap_mpi_tree_return(sapporo_mpi_tree *h, const double (*answer)[SAP_ANSWER], double (*to)[SAP_ANSWER]);
void sap_mpi_tree_free_route(sapporo_mpi_tree *h);

/* A halo on its way (tree_travel.c). */
struct sap_travel {
    struct sap_halo out;             /* for all other ranks, one after the other */
    struct sap_halo in;              /* from all other ranks */
    struct sap_halo_region *regions; /* of all ranks */
    int *count;                      /* memory of the arrays below */
    int (*sent)[2], (*got)[2];       /* nodes and particles for each rank, and from each rank */
    int *sent_n[2], *sent_at[2], *got_n[2], *got_at[2];
    MPI_Request request[2];
};

/* Collective.  Sends to each rank the nodes that its particles need, and starts to receive theirs. */
int sap_travel_start(sapporo_mpi_tree *h, struct sap_travel *travel, const double *a);

/* Collective.  Waits for the nodes of all ranks. */
int sap_travel_finish(sapporo_mpi_tree *h, struct sap_travel *travel);
void sap_travel_free(const sapporo_mpi_tree *h, struct sap_travel *travel);

/* Builds the tree of the particles that this rank walks, and copies its nodes (tree_build.c). */
int sap_mpi_tree_build_mine(sapporo_mpi_tree *h);
void sap_mpi_tree_free_nodes(sapporo_mpi_tree *h);

/* The object of a handle; NULL: there is none. */
sapporo_mpi_tree *sap_mpi_tree_find(const sapporo_mpi_tree *handle);

#endif
