/* tree.h - the object behind a handle of a tree over ranks, and the steps of a build and of a force. */
#ifndef SAP_MPI_TREE_H
#define SAP_MPI_TREE_H

#include <stdint.h>

#include "context/tree_part.h"
#include "mpi/link.h"
#include "mpi/registry.h"
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

/*
 * The particles on which a force is wanted: of this rank's caller, and of those that this rank walks.  The arrays of
 * numbers have one element per rank.
 */
struct sap_active {
    int n;                             /* that this rank walks */
    const int *address;                /* [n] NULL: all of route.arrived, by address */
    const unsigned char *is;           /* [route.arrived] NULL: all */
    int rows;                          /* answers that come back to this rank */
    const int *order;                  /* [rows] the caller's particle of each */
    const int *answered, *answered_at; /* number and first answer from each rank */
    const int *owed, *owed_at;         /* of the answers for each rank */
    unsigned char *flag;               /* memory of a choice, which MPI reads and writes */
    int *list, *number;                /* the same, of lists and numbers */
};

struct sapporo_mpi_tree {
    struct sap_listed listed;
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
    double *size;      /* [given] size of the acceleration of the last force; < 0: unknown */
    int64_t *work;     /* [given] interactions in all forces since the build before the last force; < 0: unknown */
    int worked;        /* 1: there was a force since the last build */
    const int *walker; /* [given] ranks that walk the particles of the next build; NULL: it divides them */

    /* particles that this rank walks, in order of the ranks that gave them */
    int built;
    const char *call; /* name of the collective call under way, for errors */
    struct sap_route route;
    double (*mine)[SAP_BODY]; /* [route.arrived] */
    struct sap_halo_nodes nodes;
    struct sap_tree_whole whole;
    /* interactions of this rank's walk per row of all ranks, of forces on at least half of all particles: of the first
     * one after the last build, and of the last one; 0: there was none */
    double first_cost, last_cost;
    int costs; /* number of these forces */
    sapporo_mpi_tree_statistics done;
};

/* Sets the error of too little memory for n particles. */
int sap_mpi_tree_no_memory(sapporo_mpi_tree *h, int n);

/* Frees memory that MPI may still use, unless the link is broken. */
void sap_mpi_tree_release(const sapporo_mpi_tree *h, void *memory);

/*
 * Collective.  Finds the box, the cube and the typical pull of the particles of all ranks (tree_whole.c).  *mean: the
 * interactions of an average particle in the last force; 1 if they are unknown.  SAPPORO_ERR_NOT_FINITE: moments of all
 * particles are beyond the range of double.
 */
int sap_mpi_tree_find_whole(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], int n, double *mean);

/* Collective.  Finds all of that anew but the cube, for a refresh; after an error the whole is unchanged. */
int sap_mpi_tree_find_range(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], int n);

/*
 * Collective.  Divides the particles of all ranks into runs along the curve, one per rank, of about equal weight;
 * writes the rank of each particle (tree_split.c).
 */
int sap_mpi_tree_split(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], int n, double mean, int *to);

/* Local.  Writes the rank that walks each particle of this rank's caller. */
void sap_mpi_tree_tell_walkers(const sapporo_mpi_tree *h, int *walker);

/* Local.  Takes the interactions of n particles of this rank's caller, as they were saved, for the next build. */
int sap_mpi_tree_take_work(sapporo_mpi_tree *h, int n, const int64_t *work);

/* Collective.  Sends the particles to their ranks: fills the route and h->mine (tree_exchange.c). */
int sap_mpi_tree_send(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], const int *to);

/* Collective.  Sends them again, to the ranks of the last build: changes h->mine, if it succeeds (tree_exchange.c). */
int sap_mpi_tree_send_again(sapporo_mpi_tree *h, const double (*body)[SAP_BODY]);

/* Collective.  Sends answers back: from [active.n] to [given], in the caller's order (tree_exchange.c). */
int sap_mpi_tree_return(sapporo_mpi_tree *h, const struct sap_active *active, const double (*answer)[SAP_ANSWER],
                        double (*to)[SAP_ANSWER]);
void sap_mpi_tree_free_route(sapporo_mpi_tree *h);

/* Chooses all particles (tree_active.c). */
void sap_active_choose_all(const sapporo_mpi_tree *h, struct sap_active *active);

/* Allocates memory for a choice, and writes it: particles of this rank's caller; 0 or SAPPORO_ERR_MEMORY. */
int sap_active_choose(const sapporo_mpi_tree *h, int ni, const int *particle, struct sap_active *active);

/* Collective.  Tells the ranks that walk them; fills the rest. */
int sap_active_share(sapporo_mpi_tree *h, struct sap_active *active);
void sap_active_free(const sapporo_mpi_tree *h, struct sap_active *active);

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
int sap_travel_start(sapporo_mpi_tree *h, struct sap_travel *travel, const struct sap_halo_targets *targets);
int sap_travel_room(const sapporo_mpi_tree *h); /* regions of a rank, at most: the same on all ranks */

/* Collective.  Waits for the nodes of all ranks. */
int sap_travel_finish(sapporo_mpi_tree *h, struct sap_travel *travel);
void sap_travel_free(const sapporo_mpi_tree *h, struct sap_travel *travel);

/* Builds the tree of the particles that this rank walks, or refreshes it, and copies its nodes (tree_mine.c). */
int sap_mpi_tree_make_mine(sapporo_mpi_tree *h, int refreshes);
void sap_mpi_tree_free_nodes(sapporo_mpi_tree *h);

/* The object of a handle; NULL: there is none. */
sapporo_mpi_tree *sap_mpi_tree_find(const sapporo_mpi_tree *handle);

#endif
