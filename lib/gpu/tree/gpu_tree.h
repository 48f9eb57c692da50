/*
 * gpu_tree.h - the tree of the accelerator engines: shared declarations.
 *
 * gpu_tree.c has the table, gpu_given.c particles as set, gpu_build.c and gpu_kdtree.c build a tree, gpu_targets.c
 * chooses who receives, gpu_walk.c walks, gpu_force.c and gpu_results.c give forces back.  A tree lives on the first
 * device of its set.  Its layout in device memory: device/tree_layout.h.
 */
#ifndef SAP_GPU_TREE_H
#define SAP_GPU_TREE_H

#include "device/kd_layout.h"
#include "device/tree_halo_layout.h"
#include "device/tree_layout.h"
#include "driver/driver.h"
#include "engine/cube.h"
#include "engine/tree_nodes.h"
#include "engine/tree_ops.h"
#include "engine/tree_part.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_session.h"
#include "gpu/tree/gpu_given.h"
#include "gpu/tree/gpu_lengths.h"

struct sap_gpu_tree_kernels;

/* Sorted target particles: the tree's own particles, or positions from the caller. */
struct sap_gpu_walkers {
    struct sap_gpu_buffer address, sorted;
    struct sap_gpu_buffer group_first, bound, heavy, strict; /* of groups; group_first: one more, the end */
    struct sap_gpu_buffer group_of;                          /* number of the group, by sorted particle */
    struct sap_gpu_buffer length, longest;                   /* with spline softening (gpu_lengths.h) */
    struct sap_gpu_buffer key[2], value[2];                  /* for sorting */
    int n, groups;
    int run; /* of positions: most per group */
};

/* Nodes and particles that act on target particles: of other parts of a whole. */
struct sap_gpu_halo {
    struct sap_gpu_buffer sorted, node, cell, word, source, moments;
    int nodes; /* 0: none were imported */
};

/* Regions of a tree, and what was selected of it for other parts of a whole (gpu_regions.c, gpu_halo.c). */
struct sap_gpu_selection {
    int regions_room; /* the regions are those of the present tree for so many; 0: none were chosen */
    int regions;
    double widest; /* size of a bound that counts as a whole, at most */
    struct sap_gpu_buffer bins, list, size, region_node, active;
    struct sap_gpu_buffer region, block, region_first; /* of other parts */
    struct sap_gpu_buffer reach, parent;
    struct sap_gpu_buffer entry[SAP_TREE_LEVELS + 1], level_first, more, before;
    struct sap_gpu_buffer shift, base, x_base, made, made_x;
    int sent, sent_x; /* nodes and particles in made and made_x */
};

/* Values that the device copies to pinned memory while a tree is built. */
struct sap_gpu_tree_told {
    double bounds[SAP_TREE_BOUNDS][SAP_TREE_PARTS];
    double sample[3 * SAP_CUBE_SAMPLE];
    int level_first[SAP_LINK_LEVELS + 1]; /* the last entry: number of nodes */
    int kd_first[SAP_KD_LEVELS + 1];      /* the same of a kd-tree */
    int kd_counter[SAP_KD_COUNTERS];
    int groups;                      /* of a kd-tree, or of groups that were halved */
    int stop_cells;                  /* stops that are cells */
    unsigned walked[SAP_LEFT_COUNT]; /* what a force tells (tree_layout.h) */
};

/* Where the groups of a build begin. */
struct sap_gpu_cut {
    const struct sap_gpu_buffer *order; /* addresses of the sorted particles */
    /* [n]: 1 where a group begins, else 0; number of begins before each sorted particle; NULL: runs of group_size */
    const struct sap_gpu_buffer *flag, *before;
    const struct sap_gpu_buffer *first; /* [groups]: before groups are halved; NULL: runs of group_size */
    int n, groups;
};

struct sap_gpu_host_tree {
    struct sap_tree base;
    struct sap_tree_settings settings;
    struct sap_gpu_session session;
    const struct sap_gpu_tree_kernels *f;
    int out_of_range; /* a build or refresh found particles whose moments exceed the range of double */
    int too_near;     /* the last force found such a pair */

    struct sap_gpu_given given;
    struct sap_gpu_kd *kd; /* kd-trees only: memory of their builds */
    struct sap_gpu_buffer told;
    struct sap_gpu_buffer past_x[2]; /* particles of the last call and the one before (gpu_ahead.c) */
    int past[2];                     /* so many */

    struct sap_gpu_lengths lengths;

    /* the tree; linked: nodes and order are valid; built: moments and sorted particles are valid, too */
    int linked, built, n, levels;
    int level_first[SAP_TREE_LEVELS + 1];
    int has_next;          /* `next` belongs to the present nodes */
    int stops;             /* stops of the present nodes and particles, for the walk of single particles; 0: none yet */
    struct sap_gpu_tree t; /* argument of kernels */
    struct sap_cube cube;
    struct sap_gpu_walkers own;
    struct sap_gpu_buffer place; /* by address: index of the sorted particle */
    struct sap_gpu_buffer span, count, first, bounds;
    struct sap_gpu_buffer new_first; /* of a build: the next `first` */
    struct sap_gpu_buffer node, node_level, next, cell, word, source, moments;
    struct sap_gpu_buffer stop_begin, stop_top, stop; /* device/tree_stops.h */

    /* a part of a larger whole */
    int is_part; /* later trees are parts of `whole` */
    struct sap_tree_whole whole;
    struct sap_gpu_halo halo;
    struct sap_gpu_selection selection;

    /* a force */
    struct sap_gpu_walkers places;
    const struct sap_gpu_buffer *listed; /* the list of active particles that a stepper has; NULL: `active` */
    struct sap_gpu_buffer kept_acc, kept_pot, kept_work; /* results of a walk of a part, until the next one adds them */
    int picked; /* results of the last force: in picked_acc and picked_pot; else in acc and pot */
    struct sap_gpu_buffer place_given, place_a, row_key[2], row[2], part_key[2], part[2], slot, slot_strict, active,
        left, acc, pot, picked_acc, picked_pot;

    /* a search */
    struct sap_gpu_buffer query, found, begin, list;

    sapporo_tree_statistics done;
};

/* Returns the bound of a group from the words of groups (SAP_GROUP_WORDS). */
struct sap_bound sap_gpu_tree_bound(const double *words, int group);

/* Sorts n > 0 positions, each with mass 1, stored as four doubles each, in groups of `run`. A driver status. */
int sap_gpu_tree_sort_places(struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *given,
                             int n, int run);

/* Computes the bounds of the groups and, if `a` is given, how strict their acceptance criterion is. A driver status. */
int sap_gpu_tree_make_groups(struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *a);

/*
 * Build the tree of the given particles, or refresh it with the same cells; driver statuses. After a failure, t->built
 * and t->linked say what remains: the previous tree, or its cells alone, or nothing.
 */
int sap_gpu_tree_build(struct sap_gpu_host_tree *t);
int sap_gpu_tree_refresh(struct sap_gpu_host_tree *t);

/* Work for `past` and `build_ahead` of the table (gpu_ahead.c); driver statuses. */
int sap_gpu_tree_past(struct sap_gpu_host_tree *t, int keeps);
int sap_gpu_tree_build_ahead(struct sap_gpu_host_tree *t, double lead);

/* Checks whether the moments of the given particles fit into double; a driver status, t->out_of_range (gpu_build.c). */
int sap_gpu_tree_check_range(struct sap_gpu_host_tree *t);

/* Returns the list of active particles in device memory. */
static inline const struct sap_gpu_buffer *sap_tree_active(const struct sap_gpu_host_tree *t)
{
    return t->listed ? t->listed : &t->active;
}

/* Copies a request's list to t->active, unless a stepper has it (gpu_results.c); *bad: the first entry that is no
 * particle, or -1. A driver status. */
int sap_gpu_tree_take_active(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int *bad);

/*
 * Copies the results, or selected rows of them, to the memory that the request names; the caller waits. A driver
 * status.
 */
int sap_gpu_tree_give(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int picked, double (*acc)[3],
                      double *pot);

/* Implements `erase` of the table. It ignores errors, since the call has failed already. */
void sap_gpu_tree_erase(struct sap_gpu_host_tree *t, int ni, double (*acc)[3], double *pot);

/* Implements `force` of the table; the device's context is current. */
int sap_gpu_tree_force(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, double (*acc)[3], double *pot);

/*
 * Walks particles of a part; a driver status.  _import copies nodes and particles of other parts (gpu_part.c),
 * _part walks (gpu_force.c).
 */
int sap_gpu_tree_import(struct sap_gpu_host_tree *t, const struct sap_tree_halo *halo);
int sap_gpu_tree_walk_part(struct sap_gpu_host_tree *t, const struct sap_tree_pass *how, double (*acc)[3], double *pot,
                           int *work);

/*
 * Implement `regions`, `select` and `selected` of the table: gpu_regions.c, gpu_halo.c. Driver statuses.
 */
int sap_gpu_tree_regions(struct sap_gpu_host_tree *t, int room, const struct sap_halo_targets *targets,
                         struct sap_halo_region *region);
int sap_gpu_tree_select(struct sap_gpu_host_tree *t, const struct sap_halo_wish *wish, int (*count)[2]);
int sap_gpu_tree_selected(struct sap_gpu_host_tree *t, struct sap_halo_node *node, double (*x)[4]);
void sap_gpu_tree_free_selection(struct sap_gpu_host_tree *t);

/* Computes the words of nodes for the walk from their cells; a driver status. */
int sap_gpu_tree_words(struct sap_gpu_host_tree *t, const struct sap_gpu_halo *of);

/*
 * Computes forces on the positions of n > 0 massless particles, which are in t->place_given (with mass 1) and within
 * range of the tree; results are in t->acc and t->pot. knows_a: sizes of their accelerations are in t->place_a. If the
 * tree has far more particles, positions walk in small bunches. Statistics stay those of the last force on particles of
 * the tree. The device's context is current; a driver status.
 */
int sap_gpu_tree_force_massless(struct sap_gpu_host_tree *t, int n, int knows_a);

/* Counts the nodes and groups of a tree with particles; a driver status (gpu_structure.c). */
int sap_gpu_tree_count(struct sap_gpu_host_tree *t, sapporo_tree_statistics *s);

/* Implement `extents` and `structure` of the table (gpu_structure.c). */
int sap_gpu_tree_extents(struct sap_tree *tree, double *median, double *largest);
int sap_gpu_tree_structure(struct sap_tree *tree, struct sap_tree_structure *s);

/* Reserves the memory of a sort of n values: keys and values twice, and scratch memory; a driver status. */
int sap_gpu_tree_reserve_sort(struct sap_gpu_host_tree *t, struct sap_gpu_buffer *key, struct sap_gpu_buffer *value,
                              int n);

/* Computes `next` if it is needed; a driver status. */
int sap_gpu_tree_make_next(struct sap_gpu_host_tree *t);

/* Writes the stops of a tree with particles if they are needed (gpu_stops.c); a driver status. */
int sap_gpu_tree_make_stops(struct sap_gpu_host_tree *t);

/* Implements `search` of the table; the device's context is current. */
int sap_gpu_tree_search(struct sap_gpu_host_tree *t, int ni, const sapporo_column *x, const sapporo_column *h,
                        long long *first, long long room, int *list);

#endif
