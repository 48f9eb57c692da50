/*
 * cpu_tree.h - the tree of the CPU engine: what its files share.
 *
 * Particles lie sorted, four doubles each: x, y, z and the mass times mass_unit.  Nodes lie as physics/tree_cell.h
 * says. The walk looks at words of float in units of the cube (cpu_sse/tree_kernel.h); pair terms are in the same
 * units, so models of any size keep within the range of float.
 */
#ifndef SAP_CPU_TREE_H
#define SAP_CPU_TREE_H

#include <stdint.h>

#include "cpu/cpu_engine.h"
#include "engine/cube.h"
#include "engine/tree_limits.h"
#include "physics/scalars.h"
#include "tree_kernels.h"

struct sap_tree_node {
    int first, count, child, children, level, next; /* next: node after this one's last descendant, -1: none */
};

enum { SAP_WIDE_FAR = 2 };

/* A group of particles that walk together. */
struct sap_tree_group {
    double centre[3], radius;
    int wide; /* its pair terms need double precision; SAP_WIDE_FAR: and roots of all sizes */
};

/* Who walks: sorted particles of the tree, or places of the caller's sorted alike. */
struct sap_tree_walkers {
    int n, groups;
    const double (*x)[4];
    const struct sap_tree_group *group;
    int own; /* they are the tree's particles */
};

/* Sorted addresses and keys of n positions; `spare` are arrays of as many. */
struct sap_tree_order {
    sap_key *key, *spare_key;
    int *address, *spare_address;
    int *count; /* [SAP_SORT_PARTS * SAP_SORT_DIGITS] */
};
enum { SAP_SORT_PARTS = 64, SAP_SORT_DIGITS = 256 };

struct sap_cpu_tree {
    struct sap_tree_settings settings;
    const struct sap_tree_kernel *narrow, *wide; /* pair terms in float and in double */
    int threads, room;
    char words[160];

    /* what set took, by address */
    int given; /* particles */
    double (*given_x)[3];
    double *given_mass;
    double *a; /* size of the acceleration; < 0: unknown */

    /* the tree; valid if built */
    int built, n;
    struct sap_cube cube;
    double eps2;                 /* softening of forces: settings.eps2, or 0 where that is too small */
    double unit, mass_unit;      /* powers of two: coordinates and masses in the kernels' units */
    double middle[3];            /* of the cube */
    int far;                     /* some lie so far out that float would not do */
    struct sap_tree_order order; /* address: of sorted particles */
    int *place;                  /* the sorted particle of an address */
    double (*x)[4];
    int nodes, node_room, levels, level_first[SAP_KEY_LEVELS + 2];
    struct sap_tree_node *node, *spare_node; /* spare: where the next build puts its nodes */
    int spare_room;
    struct sap_cell *cell;
    int cell_room;                  /* like node_room, of the arrays below */
    struct sap_tree_words words_of; /* of the nodes, for the walk: in `word` */
    float *word;
    struct sap_tree_source *source;
    double turn_unit;
    struct sap_tree_group *group;
    struct sap_tree_walkers self;

    double sample[3][SAP_CUBE_SAMPLE]; /* of a build */
    sapporo_tree_statistics done;
};

/* Nodes in the making, beside those of the tree, which stays as it is until they are complete. */
struct sap_tree_draft {
    int n, leaf_size;
    const sap_key *key; /* [n], sorted */
    int nodes, room, levels, level_first[SAP_KEY_LEVELS + 2];
    struct sap_tree_node *node; /* [room] */
};

/* Arrays for n; 0 or SAPPORO_ERR_MEMORY, and then free them all the same. */
int sap_tree_new_order(int n, struct sap_tree_order *order);
void sap_tree_free_order(struct sap_tree_order *order);

/* Keys and their order, ties by address (cpu_sort.c). */
void sap_tree_sort(const struct sap_cube *cube, int curve, const double (*x)[3], int n, struct sap_tree_order *order,
                   int threads);

/* The box of n > 0 positions (cpu_sort.c). */
struct sap_tree_box {
    double low[3], high[3];
};
struct sap_tree_box sap_tree_box_of(const double (*x)[3], int n, int threads);

/* The cube of n positions within a box; `sample` is overwritten (cpu_sort.c). */
struct sap_cube sap_tree_cube_of(const double (*x)[3], int n, const struct sap_tree_box *box,
                                 double (*sample)[SAP_CUBE_SAMPLE]);

/* Makes nodes out of sorted keys; 0 or SAPPORO_ERR_MEMORY.  draft->node belongs to the caller either way (cpu_link.c).
 */
int sap_tree_link(struct sap_tree_draft *draft, int threads);

/* Moments, boxes, and what the walk needs of nodes and groups (cpu_moments.c). */
void sap_tree_moments(struct sap_cpu_tree *tree, int threads);

/* Groups of sorted positions. */
void sap_tree_groups(const struct sap_cpu_tree *tree, const double (*x)[4], int n, struct sap_tree_group *group,
                     int threads);

/* Rows of a force by group: slot k is row[k] of the request, walker[k]; those of group g begin at first[g]. */
struct sap_tree_slots {
    int n;
    int *row, *walker, *first;
};

/* Forces on slots, by groups (cpu_walk.c).  Without `a` the criterion ACCELERATION is that of opening angle 1. */
struct sap_tree_run {
    const struct sap_tree_walkers *walkers;
    const struct sap_tree_slots *slots;
    const double *a; /* sizes of accelerations for the criterion ACCELERATION; NULL: others */
    const int *a_of; /* element of a of each walker; NULL: its own number */
    double (*acc)[3], *pot;
    long long particle, cell; /* interactions */
};
int sap_tree_walk(const struct sap_cpu_tree *tree, struct sap_tree_run *run, int threads);

/* The same, each walker alone (cpu_stackless.c). */
void sap_tree_walk_alone(const struct sap_cpu_tree *tree, struct sap_tree_run *run, int threads);

/* Strictness of walkers first ... first + n - 1 together, as the kernels take it; 0: not of this criterion. */
double sap_tree_strictness(const struct sap_cpu_tree *tree, const struct sap_tree_run *run, int first, int n);

/* The table's force (cpu_force.c). */
int sap_tree_force_cpu(struct sap_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot);

/* Seconds since some time. */
double sap_tree_clock(void);

/* Neighbours within a radius, as sapporo_tree_neighbours says (cpu_search.c). */
int sap_tree_search(struct sap_cpu_tree *tree, int ni, sapporo_column x, sapporo_column h, long long *first,
                    long long room, int *list, int threads);

/* Keeps why; returns status. */
int sap_tree_failed_cpu(struct sap_cpu_tree *t, int status, const char *why);

#endif
