/*
 * cpu_tree.h - the tree of the CPU engine: shared declarations.
 *
 * Sorted particles have four doubles each: x, y, z and the mass times mass_unit. Nodes have the layout of
 * physics/tree_cell.h. The walk reads words of float in units of the cube (cpu_sse/tree_kernel.h). Pair terms use the
 * same units, so models of any size keep within the range of float.
 */
#ifndef SAP_CPU_TREE_H
#define SAP_CPU_TREE_H

#include <stdint.h>

#include "cpu/cpu_engine.h"
#include "engine/cube.h"
#include "engine/kdtree.h"
#include "engine/tree_limits.h"
#include "engine/tree_nodes.h"
#include "engine/tree_part.h"
#include "physics/scalars.h"
#include "tree_kernels.h"

enum { SAP_WIDE_FAR = 2 };

/* A group of particles that share a walk. */
struct sap_tree_group {
    int first, count; /* its sorted particles */
    struct sap_bound bound;
    int wide;      /* its pair terms need double precision; SAP_WIDE_FAR: and roots of any size */
    int has_bound; /* bound and wide are those of the present positions (sap_tree_need_bounds) */
};

/* Sorted target particles: the tree's own particles, or positions from the caller. */
struct sap_tree_walkers {
    int n, groups;
    const double (*x)[4];
    const struct sap_tree_group *group; /* [groups], in the order of their particles */
    int own;                            /* 1: the tree's own particles */
    const double *h;                    /* with spline softening: their lengths, in units */
};

/* Sorted addresses and keys of n positions; the `spare` arrays have the same length. */
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

    /* particles of the last set, by address */
    int given; /* particles */
    double (*given_x)[3];
    double *given_mass;
    double *a;              /* size of the acceleration; < 0: unknown */
    double *given_h;        /* with spline softening: lengths; else NULL, as `h` and `length` */
    double (*past_x[2])[3]; /* positions of the last call and the one before (cpu_ahead.c); NULL: none were kept */
    int past[2];            /* so many */

    /* the tree; valid if `built` is set */
    int built, n;
    struct sap_cube cube;
    double eps2;                 /* softening of forces: settings.eps2, or 0 where that is too small */
    double unit, mass_unit;      /* powers of two: coordinates and masses in the kernels' units */
    double middle[3];            /* of the units (engine/cube.h) */
    int is_point;                /* the units have no extent (engine/cube.h) */
    double pull;                 /* unit of MULTIPOLE's tolerance (engine/pull.h); of other criteria 1 */
    int far;                     /* some particles are beyond the range of float */
    struct sap_tree_order order; /* address: of the sorted particles */
    int *place;                  /* index of the sorted particle, by address */
    double (*x)[4];
    double *h;      /* of the sorted particles, in units */
    double *length; /* [node_room] the greatest of each node's particles, in units; its memory is like that of `word` */
    int nodes, node_room, levels, level_first[SAP_TREE_LEVELS + 1];
    struct sap_tree_node *node, *spare_node; /* spare: the nodes of the next build */
    int spare_room;
    struct sap_kd_builder kd; /* memory of the builder of kd-trees */
    struct sap_cell *cell;
    int cell_room;                  /* like node_room, of the arrays below */
    struct sap_tree_words words_of; /* words of the nodes for the walk; their memory is `word` */
    float *word;
    struct sap_tree_source *source;
    double turn_unit;
    struct sap_tree_group *group;
    int *group_of; /* number of the group, by sorted particle */
    struct sap_tree_walkers self;

    int is_part; /* the next tree is a part of `whole` */
    struct sap_tree_whole whole;
    struct sap_cpu_tree *halo; /* of a part: nodes, cells, words and particles of other parts, in its units */

    double sample[3][SAP_CUBE_SAMPLE]; /* of a build */
    double sorted_seconds;             /* of a build */
    sapporo_tree_statistics done;
};

/* An octree under construction. The nodes of the present tree are kept until these are complete. */
struct sap_tree_draft {
    int n, leaf_size;
    const sap_key *key; /* [n], sorted */
    struct sap_tree_nodes *made;
};

/* Copies the lengths of the given particles in sorted order, in units (cpu_lengths.c). */
void sap_tree_gather_lengths(struct sap_cpu_tree *tree);

/* Computes the greatest length of each node, and enters it into the words of nodes (cpu_lengths.c). */
void sap_tree_lengths(struct sap_cpu_tree *tree);

/* Returns a length in units; 0 where its inverse cube overflows. */
double sap_tree_length_in_units(const struct sap_cpu_tree *tree, double h);

/* Returns the greatest of n lengths in units, padded for words of float (cpu_lengths.c). */
double sap_tree_greatest_length(const double *h, int n);

/* Whether a length in units is so short that its inverse cube may be beyond the range of float. */
int sap_tree_is_short(double h);

/* Allocates arrays for n positions; 0 or SAPPORO_ERR_MEMORY. The caller frees them also after a failure. */
int sap_tree_new_order(int n, struct sap_tree_order *order);
void sap_tree_free_order(struct sap_tree_order *order);

/*
 * Computes the keys and sorts them, ties by address (cpu_sort.c).  mass: keys tell its sign (physics/tree_key.h); NULL:
 * they do not.
 */
void sap_tree_sort(const struct sap_cube *cube, int curve, const double (*x)[3], const double *mass, int n,
                   struct sap_tree_order *order, int threads);

/* The box of n > 0 positions (cpu_sort.c). */
struct sap_tree_box {
    double low[3], high[3];
};
struct sap_tree_box sap_tree_box_of(const double (*x)[3], int n, int threads);

/* Copies the sample of n positions; returns the number of its members (cpu_sort.c). */
int sap_tree_take_sample(const double (*x)[3], int n, double (*sample)[SAP_CUBE_SAMPLE]);

/* Makes nodes from sorted keys; 0 or SAPPORO_ERR_MEMORY. The nodes belong to the caller either way (cpu_link.c). */
int sap_tree_link(struct sap_tree_draft *draft, int threads);

/* Computes moments and boxes, and the data of nodes for the walk; bounds of groups are then unknown (cpu_moments.c). */
void sap_tree_moments(struct sap_cpu_tree *tree, int threads);

/* Computes the data of nodes for the walk, from their cells; root: of the tree whose groups walk (cpu_moments.c). */
void sap_tree_make_words(struct sap_cpu_tree *tree, const struct sap_cell *root, int threads);

/* Makes room for the cells of `nodes` nodes; on failure the existing arrays are kept (cpu_tree.c). */
int sap_tree_reserve_cells(struct sap_cpu_tree *tree, int nodes);

/* Implement `past` and `build_ahead` of the table (cpu_ahead.c). */
int sap_tree_past_cpu(struct sap_tree *tree, int keeps);
int sap_tree_build_ahead_cpu(struct sap_tree *tree, double lead);

/* Implement `join`, `import` and `walk` of the table (cpu_part.c). */
void sap_tree_join_cpu(struct sap_tree *tree, const struct sap_tree_whole *whole);
int sap_tree_import_cpu(struct sap_tree *tree, const struct sap_tree_halo *halo);
int sap_tree_walk_cpu(struct sap_tree *tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot,
                      int *work);
void sap_tree_free_halo(struct sap_cpu_tree *tree);

/*
 * Divides the tree's sorted particles into groups of at most group_size (cpu_groups.c): runs of that length, or, of a
 * kd-tree, whole nodes of the tree that was built last.  With a limit of their extent, groups that are longer are
 * halved (physics/tree_parts.h).  A refresh keeps the groups.
 */
void sap_tree_cut_groups(struct sap_cpu_tree *tree, int threads);

/* Divides n sorted positions, from index `first` on, into runs of `most`; returns the number of groups. */
int sap_tree_cut_runs(int first, int n, int most, struct sap_tree_group *group);

/*
 * Computes the bounds of the tree's own groups that have rows, unless they are known; slots == NULL: of all groups.  A
 * step of few particles needs few of them.
 */
struct sap_tree_slots;
void sap_tree_need_bounds(struct sap_cpu_tree *tree, const struct sap_tree_slots *slots, int threads);

/* Computes the bounds of groups, whose particles are known. */
void sap_tree_groups(const struct sap_cpu_tree *tree, const double (*x)[4], int groups, struct sap_tree_group *group,
                     int threads);

/* Rows of a force by group: slot k is row[k] of the request and particle walker[k]; group g begins at slot first[g]. */
struct sap_tree_slots {
    int n;
    int *row, *walker, *first;
};

/* Makes all walkers targets, in their order; row_of: the row of each (cpu_force.c). */
int sap_tree_all_slots(const struct sap_tree_walkers *walkers, const int *row_of, struct sap_tree_slots *slots);
void sap_tree_free_slots(struct sap_tree_slots *slots);

/* Makes ni active particles targets, sorted by group; within a group they keep the order of their rows. */
int sap_tree_active_slots(const struct sap_cpu_tree *tree, const int *active, int ni, struct sap_tree_slots *slots);

/* Returns the threads that are worth waking for so many rows. */
int sap_tree_threads_for_rows(const struct sap_cpu_tree *tree, int rows);

/* Computes forces on slots, by groups (cpu_walk.c). Without `a`, ACCELERATION means an opening angle of 1. */
struct sap_tree_run {
    const struct sap_tree_walkers *walkers;
    const struct sap_tree_slots *slots;
    const double *a; /* sizes of accelerations for the criterion ACCELERATION; NULL: another criterion */
    const int *a_of; /* index into `a` of each walker; NULL: the walker's own index */
    double (*acc)[3], *pot;
    int *work;                /* interactions by row; NULL: not wanted */
    long long particle, cell; /* numbers of interactions */
    int beyond;               /* rows whose force double cannot hold: they are NaN */
};
int sap_tree_walk(const struct sap_cpu_tree *tree, struct sap_tree_run *run, int threads);

/* A force whose sums in double left its range, computed anew: acc and pot, without the unit of masses. */
struct sap_tree_rescue {
    double x[3], eps, acc[3], pot;
};

/* Add sorted particles from ... to - 1, but `self`, or a cell (cpu_rescue.c). */
void sap_tree_rescue_particles(const struct sap_cpu_tree *tree, int from, int to, int self,
                               struct sap_tree_rescue *rescue);
void sap_tree_rescue_cell(const struct sap_cpu_tree *tree, int cell, struct sap_tree_rescue *rescue);

/* Computes the same, with a walk for each particle alone (cpu_stackless.c). */
void sap_tree_walk_alone(const struct sap_cpu_tree *tree, struct sap_tree_run *run, int threads);

/* Returns the strictness that walkers first ... first + n - 1 need together, for the kernels; 0: another criterion. */
double sap_tree_strictness(const struct sap_cpu_tree *tree, const struct sap_tree_run *run, int first, int n);

/* Implements `force` of the table (cpu_force.c). */
int sap_tree_force_cpu(struct sap_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot);

/*
 * Computes forces on the positions of ni massless particles, as sap_tree_force_cpu does on positions of the caller.
 * a: sizes of their accelerations, for ACCELERATION; NULL: unknown.  If the tree has far more particles, groups have
 * fewer of the positions, so that a group stays as small as those of the tree.  Statistics stay those of the last force
 * on particles of the tree.  SAPPORO_PARTIAL: rows of positions that are too far away are NaN.
 */
int sap_tree_force_massless_cpu(struct sap_cpu_tree *tree, int ni, const double (*x)[3], const double *a,
                                double (*acc)[3], double *pot);

/* Finds neighbours within a radius, as sapporo_tree_neighbours defines them (cpu_search.c). */
int sap_tree_search(struct sap_cpu_tree *tree, int ni, sapporo_column x, sapporo_column h, long long *first,
                    long long room, int *list, int threads);

/* Stores the message of a failure; returns status. */
int sap_tree_failed_cpu(struct sap_cpu_tree *t, int status, const char *why);

#endif
