/*
 * tree_bodies.h - the particles of a rank's caller with an engine that divides them among the ranks itself, and the
 * forces that come back to them.
 *
 * The particles of the caller have numbers 0, 1, ...; the tree's, which the rank walks, have addresses.  An order of
 * the particles of the caller tells the records of a route (mpi/exchange.h): those for rank 0, for rank 1, ...
 */
#ifndef SAP_TREE_BODIES_H
#define SAP_TREE_BODIES_H

#include <stddef.h>
#include <stdint.h>

#include "engine/cube.h"
#include "sapporo.h"

struct sap_tree;

/* A particle that travels: position, mass, size of its acceleration (< 0: unknown). */
enum { SAP_BODY_MASS = 3, SAP_BODY_A = 4, SAP_BODY = 5 };

/* An answer to the rank whose caller has the particle: acceleration, potential, interactions. */
enum { SAP_ANSWER_POT = 3, SAP_ANSWER_WORK = 4, SAP_ANSWER = 5 };

/* What the particles of a caller have in common. */
struct sap_bodies_look {
    double low[3], high[3], weight; /* their box, and the sum of their masses without signs */
    double known, work, unknown;    /* those with known interactions, their sum; those with unknown sizes */
};

/* Records of a route: of `n`, those from `first` on stay on the rank, so many, and get addresses from `at` on. */
struct sap_bodies_way {
    int n, first, stays, at;
    int arrived; /* addresses */
    int keeps;   /* a refresh: unknown sizes do not replace known ones */
};

/* Where forces are wanted. */
struct sap_bodies_wish {
    struct sap_bodies_way way;
    const int *item;     /* [way.n] particles of the caller that the records are about; NULL: as they were sent */
    int all;             /* 1: rows are the particles of the caller; 0: of `particle` */
    int ni;              /* rows */
    const int *particle; /* [ni] NULL: 0 .. ni-1 */
    int sized;           /* sizes of accelerations are kept */
    int first_force;     /* interactions of earlier forces do not count */
    sapporo_memory memory;
    double (*acc)[3], *pot; /* [ni] in that memory; NULL: not wanted */
};

/*
 * All of an engine; functions return a sapporo_status.  _take: takes the particles for a build or a refresh, with sizes
 * if they are given; gravity: the factor of masses.  If their number is another one, nothing else is known of them.
 */
struct sap_tree_bodies_ops {
    int (*grow)(struct sap_tree *tree, int n); /* makes room for a tree of n particles; there may be none then */
    int (*take)(struct sap_tree *tree, const sapporo_tree_particles *particles, double gravity);
    /* Set and read the sizes of accelerations and the interactions of the caller's particles; < 0: unknown.  Those that
     * are set are those of the tree, by address, if no others are sent. */
    int (*know)(struct sap_tree *tree, int n, const double *size, const int64_t *work);
    int (*tell)(struct sap_tree *tree, double *size, int64_t *work);
    /* Copies bytes of the caller's memory on the device to the host, or from there. */
    int (*copy)(struct sap_tree *tree, void *theirs, size_t bytes, void *host, int to_host);
    int (*look)(struct sap_tree *tree, struct sap_bodies_look *look);
    int (*places)(struct sap_tree *tree, int n, const int *list, double (*x)[3]);
    /* Orders the particles along the curve of a cube; mean: the interactions of those that are unknown. */
    int (*sort)(struct sap_tree *tree, const struct sap_cube *cube, uint64_t mean);
    /* Writes for each of n keys the weight, or the number, of the particles with keys below. */
    int (*below)(struct sap_tree *tree, int weighs, int n, const uint64_t *key, uint64_t *below);
    int (*order)(struct sap_tree *tree, int n, int *order);
    /*
     * Gives the tree the particles that stay, and copies the others; in_order 0: by their numbers.  Here and below,
     * `out` and `in` NULL: records are where tree_port.h has them, one after the other.
     */
    int (*send)(struct sap_tree *tree, const struct sap_bodies_way *way, int in_order, double (*out)[SAP_BODY]);
    /* Gives it those that have arrived.  All particles of the tree are then set. */
    int (*arrive)(struct sap_tree *tree, const struct sap_bodies_way *way, const double (*in)[SAP_BODY]);
    /* After a walk of all particles by an opening angle: takes sizes that are unknown. */
    int (*learn)(struct sap_tree *tree);
    /* After a walk whose results stay: copies the answers for other ranks. */
    int (*answer)(struct sap_tree *tree, const struct sap_bodies_wish *wish, double (*out)[SAP_ANSWER]);
    /* Takes those of other ranks, and writes the rows. */
    int (*deliver)(struct sap_tree *tree, const struct sap_bodies_wish *wish, const double (*in)[SAP_ANSWER]);
};

#endif
