/*
 * gpu_tree.h - the tree of the accelerator engines: its parts, of which each has a header, and builds and forces.
 *
 * gpu_tree.c has the table, gpu_build.c builds a tree, gpu_force.c computes forces.  A tree lives on the first device
 * of its set; the others have copies for their shares of walks.  Its layout in device memory: device/tree_layout.h.
 */
#ifndef SAP_GPU_TREE_H
#define SAP_GPU_TREE_H

#include "device/tree_layout.h"
#include "engine/cube.h"
#include "engine/tree_ops.h"
#include "engine/tree_part.h"
#include "gpu/gpu_session.h"
#include "gpu/tree/gpu_active.h"
#include "gpu/tree/gpu_ahead.h"
#include "gpu/tree/gpu_bodies.h"
#include "gpu/tree/gpu_builder.h"
#include "gpu/tree/gpu_built.h"
#include "gpu/tree/gpu_halo.h"
#include "gpu/tree/gpu_nearest.h"
#include "gpu/tree/gpu_periodic.h"
#include "gpu/tree/gpu_port.h"
#include "gpu/tree/gpu_positions.h"
#include "gpu/tree/gpu_regions.h"
#include "gpu/tree/gpu_results.h"
#include "gpu/tree/gpu_search.h"
#include "gpu/tree/gpu_selection.h"
#include "gpu/tree/gpu_shares.h"
#include "gpu/tree/gpu_stops.h"
#include "gpu/tree/gpu_walk.h"

/* What a tree has that is a part of a larger whole. */
struct sap_gpu_tree_part {
    struct sap_gpu_session aside; /* of what happens while a walk is under way; no primitives: it is not open */
    struct sap_event *ready; /* all that is done before the last walk whose results were kept; NULL: there was none */
    struct sap_gpu_bodies bodies;
    struct sap_gpu_halo halo;
    struct sap_gpu_regions regions;
    struct sap_gpu_selection selection;
    struct sap_gpu_port port;
};

struct sap_gpu_host_tree {
    struct sap_tree base;
    struct sap_tree_settings settings;
    struct sap_gpu_session session;
    const struct sap_gpu_tree_kernels *f;

    /* particles as set, and what builds need */
    struct sap_gpu_given given;
    struct sap_gpu_lengths lengths;
    struct sap_gpu_ahead past;
    struct sap_gpu_builder builder;

    /* the tree; linked: nodes and order are valid; built: moments and sorted particles are valid, too */
    int linked, built;
    struct sap_gpu_tree frame; /* argument of kernels: cube, units, numbers of particles and nodes */
    struct sap_cube cube;
    struct sap_gpu_nodes nodes;
    struct sap_gpu_targets own; /* the particles in sorted order, by groups */
    struct sap_gpu_stops stops;

    struct sap_gpu_tree_part part;

    /* forces and searches */
    struct sap_gpu_active active;
    struct sap_gpu_positions positions;
    struct sap_gpu_walks walks;
    struct sap_gpu_periodic periodic;
    struct sap_gpu_results results;
    struct sap_gpu_search search;
    struct sap_gpu_near near;

    sapporo_tree_statistics done;
};

/* Returns the parts of a tree that is built. */
static inline struct sap_gpu_built sap_gpu_tree_built(struct sap_gpu_host_tree *t)
{
    return (struct sap_gpu_built){.session = &t->session,
                                  .f = t->f,
                                  .given = &t->given,
                                  .nodes = &t->nodes,
                                  .own = &t->own,
                                  .lengths = &t->lengths,
                                  .frame = &t->frame};
}

/*
 * Build the tree of the given particles, or refresh it with the same cells; driver statuses. _build_ahead builds for
 * `lead` calls later. After a failure, t->built and t->linked say what remains: the previous tree, or its cells alone,
 * or nothing. t->builder.out_of_range says whether the moments of the particles do not fit into double.
 */
int sap_gpu_tree_build(struct sap_gpu_host_tree *t);
int sap_gpu_tree_refresh(struct sap_gpu_host_tree *t);
int sap_gpu_tree_build_ahead(struct sap_gpu_host_tree *t, double lead);

/* Implements `force` of the table; the device's context is current. */
int sap_gpu_tree_force(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, double (*acc)[3], double *pot);

/* Implements `tidal` of the table (gpu_tidal.c). */
int sap_gpu_tree_tidal(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, double (*tidal)[6]);

/* Walks particles of a part; a driver status. */
int sap_gpu_tree_walk_part(struct sap_gpu_host_tree *t, const struct sap_tree_pass *how, double (*acc)[3], double *pot,
                           int *work);

/*
 * Computes forces on the positions of n > 0 massless particles, which are in t->positions.given (with mass 1) and
 * within range of the tree; results are in t->results. knows_a: sizes of their accelerations are in t->positions.a. If
 * the tree has far more particles, positions walk in small bunches. Statistics stay those of the last force on
 * particles of the tree. The device's context is current; a driver status.
 */
int sap_gpu_tree_force_massless(struct sap_gpu_host_tree *t, int n, int knows_a);

#endif
