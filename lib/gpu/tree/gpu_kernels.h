/* gpu_kernels.h - the tree kernels of a device. */
#ifndef SAP_GPU_TREE_KERNELS_H
#define SAP_GPU_TREE_KERNELS_H

#include "gpu/gpu_primitives.h"

struct sap_dev;
struct sap_driver;
struct sap_function;
struct sap_gpu_session;
struct sap_module;

/* The kernels of a device. */
struct sap_gpu_tree_kernels {
    struct sap_module *module[3];
    struct sap_primitives primitives;
    struct sap_function *look, *take, *look_active;                                                 /* tree_given.h */
    struct sap_function *ahead, *bounds, *keys, *gather, *levels, *firsts, *link;                   /* tree_build.h */
    struct sap_function *leaves, *cells, *words, *runs, *groups, *divide, *flagged;                 /* tree_moments.h */
    struct sap_function *row_keys, *row_order, *row_slots, *row_places, *row_strict, *sizes, *pick; /* tree_rows.h */
    struct sap_function *rows_add, *part_keys, *part_order;                                         /* tree_rows.h */
    struct sap_function *next, *search;                                                             /* tree_search.h */
    struct sap_function *stop_count, *stop_cells, *stop_particles;                                  /* tree_stops.h */
    struct sap_function *halo_bins, *halo_flag, *halo_top, *halo_tell;                              /* tree_halo.h */
    struct sap_function *halo_reach, *halo_test, *halo_spread, *halo_place, *halo_bases, *halo_fill; /* the same */
    struct sap_function *alone[2];                    /* tree_stackless.h: masses alone, second moments */
    struct sap_function *walk_sp[2], *walk_dp;        /* tree_walk.h: runs, whole nodes */
    struct sap_function *selected[2];                 /* sp, dp */
    struct sap_function *bunches[2], *few[2], *large; /* tree_few.h: sp, dp; sp */
};

/* Loads a module of kernels by name; a driver status. */
int sap_gpu_tree_load_module(const struct sap_driver *driver, struct sap_dev *dev, const char *name,
                             struct sap_module **module);

/* Finds or loads the kernels of a session's device, its primitives among them; a driver status. */
int sap_gpu_tree_load(struct sap_gpu_session *s, const struct sap_gpu_tree_kernels **f);

#endif
