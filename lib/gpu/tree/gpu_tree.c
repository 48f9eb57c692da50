/* gpu_tree.c - the tables for the trees of the accelerator engines: memory, creation, and calls that others implement.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tree_ops.h"
#include "engine/tree_options.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_engine.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_status.h"
#include "gpu/tree/gpu_aside.h"
#include "gpu/tree/gpu_kdtree.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_structure.h"
#include "gpu/tree/gpu_tree.h"
#include "physics/scalars.h"

enum { STOP_BYTES = SAP_STOP_PARTS * 2 * sizeof(double) };

_Static_assert(SAP_GPU_CELL == sizeof(struct sap_cell), "cells lie as kernels see them");

static struct sap_gpu_host_tree *of(struct sap_tree *tree) { return (void *)tree; }

/* ---- memory ------------------------------------------------------------------------- */

static size_t memory(const struct sap_device_set *opaque_set, const struct sap_tree_settings *settings, int n,
                     size_t *device_bytes)
{
    const size_t size = (size_t)n, nodes = size / 2, groups = sap_tree_groups_most(settings, n);
    const size_t particles = 4 * sizeof(double) * 2 + sizeof(double) + 2 * sizeof(uint64_t) + 6 * sizeof(int);
    const size_t stops = settings->walk == SAPPORO_WALK_STACKLESS ? size * (2 * sizeof(int) + 2 * STOP_BYTES) : 0;
    const size_t each =
        sizeof(struct sap_tree_link) + sizeof(int) + SAP_GPU_CELL + 4 * sizeof(double) + 16 * sizeof(float);
    (void)opaque_set;
    if (device_bytes)
        *device_bytes = size * particles + nodes * each + groups * (6 * sizeof(double) + sizeof(int)) +
                        sap_primitives_scratch(n) + sap_gpu_kd_bytes(settings, n) + stops +
                        sap_gpu_periodic_bytes(settings, n) + sap_gpu_walk_district_bytes(groups);
    const size_t lengths = sap_gpu_lengths_bytes(settings, n, device_bytes);
    return lengths + sizeof(struct sap_gpu_host_tree) + sizeof(struct sap_gpu_readback) + sap_session_pinned(n);
}

static void destroy(struct sap_tree *tree)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const struct sap_driver *const driver = t->session.driver;
    sap_session_stop(&t->session);
    if (t->part.aside.stream) (void)driver->stream_finish(t->part.aside.stream);
    sap_gpu_given_free(driver, &t->given);
    sap_gpu_lengths_free(driver, &t->lengths);
    sap_gpu_ahead_free(driver, &t->past);
    sap_gpu_builder_free(driver, &t->builder);
    sap_gpu_nodes_free(driver, &t->nodes);
    sap_gpu_targets_free(driver, &t->own);
    sap_gpu_stops_free(driver, &t->stops);
    sap_gpu_bodies_free(driver, &t->part.bodies);
    sap_gpu_halo_free(driver, &t->part.halo);
    sap_gpu_regions_free(driver, &t->part.regions);
    sap_gpu_selection_free(driver, &t->part.selection);
    sap_gpu_active_free(driver, &t->active);
    sap_gpu_positions_free(driver, &t->positions);
    sap_gpu_walk_free(driver, &t->walks.lists);
    sap_gpu_periodic_free(driver, &t->periodic);
    sap_gpu_results_free(driver, &t->results);
    sap_gpu_search_free(driver, &t->search);
    sap_gpu_near_free(driver, &t->near);
    sap_gpu_shares_free(driver, &t->walks.shares);
    sap_gpu_port_free(driver, &t->part.port);
    sap_gpu_aside_free(t);
    sap_session_close(&t->session);
    free(t);
}

/* ---- creation -------------------------------------------------------------------------- */

static int open_device(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_session *const s = &t->session;
    TRY(sap_session_open(s, t->given.room));
    TRY(sap_session_open_times(s));
    TRY(sap_gpu_given_open(s, &t->given));
    t->f = t->given.f;
    TRY(sap_gpu_lengths_open(s, &t->lengths));
    TRY(sap_gpu_builder_open(s, &t->builder));
    return t->settings.walk == SAPPORO_WALK_STACKLESS ? (int)SAP_DRIVER_OK : sap_gpu_shares_open(s, &t->walks.shares);
}

static void take_settings(struct sap_gpu_host_tree *t, const struct sap_tree_settings *settings)
{
    t->settings = *settings;
    t->periodic.period = t->settings.period;
    t->frame.eps2 = t->settings.eps2;
    t->frame.accuracy = t->settings.accuracy;
    t->frame.leaf_size = t->settings.leaf_size;
    t->frame.group_size = t->settings.group_size;
    t->frame.mac = (int)t->settings.mac;
    t->frame.order = t->settings.order;
    t->frame.ball = (int)t->settings.ball;
    t->frame.bunch_ball = (int)t->settings.bunch_ball;
    t->frame.morton = t->settings.curve == SAPPORO_CURVE_MORTON;
}

/* Allocates host memory. */
static int open_host(struct sap_gpu_host_tree *t, int room)
{
    t->given = (struct sap_gpu_given){.lengths = &t->lengths,
                                      .gravity = t->settings.gravity,
                                      .room = room,
                                      .column = {&t->results.acc, &t->results.pot}};
    sap_gpu_lengths_new(&t->lengths, &t->settings, room);
    return t->settings.kind == SAPPORO_TREE_KDTREE ? sap_gpu_kd_new(&t->builder.kd) : (int)SAP_DRIVER_OK;
}

static int create(struct sap_device_set *opaque_set, const struct sap_tree_settings *settings, int n,
                  struct sap_tree **tree)
{
    *tree = NULL;
    struct sap_gpu_host_tree *const t = calloc(1, sizeof *t);
    if (!t) return SAPPORO_ERR_MEMORY;
    t->base.ops = &sap_gpu_tree_ops;
    sap_session_init(&t->session, (void *)opaque_set, "tree");
    take_settings(t, settings);
    int status = sap_gpu_status(open_host(t, n));
    if (!status) status = sap_session_begin(&t->session);
    if (!status) status = sap_session_end(&t->session, open_device(t));
    if (status)
        destroy(&t->base);
    else
        *tree = &t->base;
    return status;
}

/* ---- particles ------------------------------------------------------------------------ */

static int set(struct sap_tree *tree, const sapporo_tree_particles *p)
{
    struct sap_gpu_host_tree *const t = of(tree);
    return sap_gpu_given_set(&t->session, &t->given, p);
}

/* ---- build and refresh ------------------------------------------------------------------- */

/* Begins a call on particles that were all taken. */
static int begin(struct sap_gpu_host_tree *t)
{
    t->builder.out_of_range = 0;
    const int status = sap_session_begin(&t->session);
    if (status || !t->given.torn) return status;
    return sap_session_refuse(&t->session, SAPPORO_ERR_DEVICE, "particles were not all taken: set them again");
}

/* Ends a call that builds or refreshes. */
static int end(struct sap_gpu_host_tree *t, int driver_status)
{
    const int status = sap_session_end(&t->session, driver_status);
    return t->builder.out_of_range ? sap_session_fail(&t->session, SAPPORO_ERR_NOT_FINITE, SAP_TREE_OUT_OF_RANGE)
                                   : status;
}

static int build(struct sap_tree *tree)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = begin(t);
    return status ? status : end(t, sap_gpu_tree_build(t));
}

static int refresh(struct sap_tree *tree)
{
    struct sap_gpu_host_tree *const t = of(tree);
    if (!t->linked || t->given.n != t->frame.n)
        return sap_session_fail(&t->session, SAPPORO_ERR_ARGUMENT, "there is no tree of so many particles");
    const int status = begin(t);
    return status ? status : end(t, sap_gpu_tree_refresh(t));
}

static int past(struct sap_tree *tree, int keeps)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = begin(t);
    return status ? status : sap_session_end(&t->session, sap_gpu_ahead_keep(&t->past, &t->session, &t->given, keeps));
}

static int build_ahead(struct sap_tree *tree, double lead)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = begin(t);
    return status ? status : end(t, sap_gpu_tree_build_ahead(t, lead));
}

static int count(const struct sap_tree *tree, int cells)
{
    const struct sap_gpu_host_tree *const t = (const void *)tree;
    if (t->session.broken) return SAP_TREE_GONE;
    return t->built || (cells && t->linked) ? t->frame.n : (int)SAP_TREE_NONE;
}

/* ---- what a tree is -------------------------------------------------------------------- */

/* Returns whether there is a tree, with particles. */
static int has_particles(const struct sap_gpu_host_tree *t) { return t->built && t->frame.n > 0; }

static int statistics(struct sap_tree *opaque, sapporo_tree_statistics *s)
{
    struct sap_gpu_host_tree *const t = of(opaque);
    if (t->built) *s = t->done;
    s->host_bytes = memory((void *)t->session.set, &t->settings, t->given.room, &s->device_bytes);
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    const int status = sap_session_begin(&t->session);
    if (status) return status;
    return sap_session_end(&t->session, has_particles(t) ? sap_gpu_structure_count(&tree, s) : (int)SAP_DRIVER_OK);
}

static int extents(struct sap_tree *opaque, double *median, double *largest)
{
    struct sap_gpu_host_tree *const t = of(opaque);
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    const int status = sap_session_begin(&t->session);
    *median = *largest = 0;
    if (status) return status;
    return sap_session_end(&t->session,
                           has_particles(t) ? sap_gpu_structure_extents(&tree, median, largest) : (int)SAP_DRIVER_OK);
}

static int structure(struct sap_tree *opaque, struct sap_tree_structure *s)
{
    struct sap_gpu_host_tree *const t = of(opaque);
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    s->nodes = has_particles(t) ? t->nodes.n : 0;
    s->n = t->built ? t->frame.n : 0;
    s->groups = s->n > 0 ? t->own.groups : 0;
    return s->address && s->n > 0 ? sap_gpu_structure_copy(&tree, s) : (int)SAPPORO_OK;
}

static void limit(struct sap_tree *tree, double group_extent)
{
    struct sap_gpu_host_tree *const t = of(tree);
    t->settings.group_extent = group_extent;
}

static void aim(struct sap_tree *tree, double accuracy)
{
    struct sap_gpu_host_tree *const t = of(tree);
    t->settings.accuracy = t->frame.accuracy = accuracy;
}

static double interactions(const struct sap_tree *tree)
{
    const struct sap_gpu_host_tree *const t = (const void *)tree;
    return (double)(t->done.particle_particle + t->done.particle_cell) / (double)t->done.rows;
}

static void walked(const struct sap_tree *tree, long long *particles, long long *cells)
{
    const struct sap_gpu_host_tree *const t = (const void *)tree;
    *particles = t->done.particle_particle;
    *cells = t->done.particle_cell;
}

/* ---- parts of a whole, and forces --------------------------------------------------------- */

static void join(struct sap_tree *tree, const struct sap_tree_whole *whole)
{
    struct sap_gpu_host_tree *const t = of(tree);
    t->builder.is_part = whole != NULL;
    if (whole) t->builder.whole = *whole;
}

static int import_aside(struct sap_gpu_host_tree *t, const struct sap_gpu_built *built,
                        const struct sap_tree_halo *halo)
{
    TRY(sap_gpu_aside_open(t));
    TRY(sap_gpu_halo_import(&t->part.halo, built, halo));
    return sap_session_wait(built->session); /* walks are in another stream */
}

static int import(struct sap_tree *tree, const struct sap_tree_halo *halo)
{
    struct sap_gpu_host_tree *const t = of(tree);
    struct sap_gpu_built built;
    const int status = sap_gpu_aside_begin(t, &built);
    return status ? status : sap_gpu_aside_end(t, import_aside(t, &built, halo));
}

static int walk(struct sap_tree *tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot, int *work)
{
    struct sap_gpu_host_tree *const t = of(tree);
    int status = sap_session_begin(&t->session);
    if (status) return status;
    if (pass->imported && t->part.halo.nodes.n == 0)
        return sap_session_refuse(&t->session, SAPPORO_ERR_ARGUMENT, "no nodes were imported");
    t->results.too_near = 0;
    status = sap_session_end(&t->session, sap_gpu_tree_walk_part(t, pass, acc, pot, work));
    if (!status && t->results.too_near) return sap_session_fail(&t->session, SAPPORO_ERR_NOT_FINITE, SAP_TREE_TOO_NEAR);
    return status;
}

/*
 * Regions read the sizes of accelerations, which a kernel in the stream of walks may have learned just now: they wait
 * for all that is there, but not for the walk of these targets.
 */
static int report_regions(struct sap_gpu_host_tree *t, const struct sap_gpu_built *built, int room,
                          const struct sap_halo_targets *targets, struct sap_halo_region *region)
{
    TRY(sap_gpu_aside_open(t));
    if (targets->walking && t->part.ready)
        TRY(t->session.driver->stream_wait(t->part.aside.stream, t->part.ready));
    else
        TRY(sap_session_wait(&t->session));
    return sap_gpu_regions_report(&t->part.regions, built, room, targets, region);
}

static int regions(struct sap_tree *tree, int room, const struct sap_halo_targets *targets,
                   struct sap_halo_region *region, int *n)
{
    struct sap_gpu_host_tree *const t = of(tree);
    struct sap_gpu_built built;
    int status = sap_gpu_aside_begin(t, &built);
    if (!status) status = sap_gpu_aside_end(t, report_regions(t, &built, room, targets, region));
    *n = status ? 0 : t->part.regions.n;
    return status;
}

static int select_for(struct sap_tree *tree, const struct sap_halo_wish *wish, int (*count)[2])
{
    struct sap_gpu_host_tree *const t = of(tree);
    struct sap_gpu_built built;
    const int status = sap_gpu_aside_begin(t, &built);
    if (status) return status;
    const int opened = sap_gpu_aside_open(t);
    return sap_gpu_aside_end(t, opened ? opened : sap_gpu_selection_make(&t->part.selection, &built, wish, count));
}

static int selected(struct sap_tree *tree, const struct sap_halo_room *to)
{
    struct sap_gpu_host_tree *const t = of(tree);
    struct sap_gpu_built built;
    const int status = sap_gpu_aside_begin(t, &built);
    return status ? status : sap_gpu_aside_end(t, sap_gpu_selection_fetch(&t->part.selection, &t->part.aside, to));
}

static int force(struct sap_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot)
{
    return sap_gpu_tree_force(of(tree), request, acc, pot);
}

static int tidal(struct sap_tree *tree, const sapporo_tree_request *request, double (*to)[6])
{
    return sap_gpu_tree_tidal(of(tree), request, to);
}

static void erase(struct sap_tree *tree, void *results, size_t bytes)
{
    sap_gpu_results_erase(&of(tree)->session, results, bytes);
}

static int within(struct sap_tree *tree, const sapporo_tree_request *request, const sapporo_column *radius,
                  long long *first, long long room, int *list)
{
    return sap_gpu_within(of(tree), request, radius, first, room, list);
}

static int nearest(struct sap_tree *tree, const sapporo_tree_request *request, int k, int *list, double *distance2)
{
    return sap_gpu_nearest(of(tree), request, k, list, distance2);
}

static void kind(const struct sap_device_set *opaque_set, const struct sap_tree_settings *settings, char *text,
                 size_t room)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    (void)snprintf(text, room, "%s %s %s %s", set->driver->name, set->device[0].properties.architecture,
                   settings->precision == SAPPORO_DP ? "dp" : "sp", sap_tree_kind_word(settings->kind));
}

static const char *words(const struct sap_tree *tree)
{
    const struct sap_gpu_host_tree *const t = (const void *)tree;
    return t->session.message;
}

/* Returns whether the devices support trees: keys, cells and sums are in double. */
static int able(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return set->device[0].properties.has_fp64;
}

static const struct sap_tree_ask_ops ask = {
    .force = force, .tidal = tidal, .erase = erase, .within = within, .nearest = nearest, .statistics = statistics};

static const struct sap_tree_part_ops part = {.join = join,
                                              .structure = structure,
                                              .regions = regions,
                                              .select = select_for,
                                              .selected = selected,
                                              .import = import,
                                              .walk = walk,
                                              .walked = walked,
                                              .bodies = &sap_gpu_bodies_ops,
                                              .port = &sap_gpu_port_ops};

const struct sap_tree_ops sap_gpu_tree_ops = {
    .destroy = destroy,
    .set = set,
    .build = build,
    .refresh = refresh,
    .past = past,
    .build_ahead = build_ahead,
    .count = count,
    .interactions = interactions,
    .limit = limit,
    .aim = aim,
    .extents = extents,
    .words = words,
    .ask = &ask,
    .part = &part,
};

const struct sap_tree_maker sap_gpu_tree_maker = {
    .able = able, .looks = 1, .memory = memory, .kind = kind, .create = create};
