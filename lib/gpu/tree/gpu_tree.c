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
#include "gpu/tree/gpu_kdtree.h"
#include "gpu/tree/gpu_kernels.h"
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
                        sap_primitives_scratch(n) + sap_gpu_kd_bytes(settings, n) + stops;
    const size_t lengths = settings->softening ? sap_gpu_lengths_bytes(n, device_bytes) : 0;
    return lengths + sizeof(struct sap_gpu_host_tree) + size * sizeof(double) + sizeof(struct sap_gpu_tree_told) +
           SAP_SESSION_CHUNK * 4 * sizeof(double);
}

static void free_walkers(const struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w)
{
    struct sap_gpu_buffer *const all[] = {&w->key[0],   &w->key[1], &w->value[0], &w->value[1], &w->address,
                                          &w->sorted,   &w->bound,  &w->heavy,    &w->strict,   &w->group_first,
                                          &w->group_of, &w->length, &w->longest};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(t->session.driver, all[k]);
}

static void free_buffers(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_buffer *const all[] = {
        &t->past_x[0],   &t->past_x[1],    &t->told,        &t->place,       &t->span,        &t->count,
        &t->first,       &t->bounds,       &t->node,        &t->node_level,  &t->cell,        &t->word,
        &t->source,      &t->moments,      &t->place_given, &t->place_a,     &t->row_key[0],  &t->row_key[1],
        &t->row[0],      &t->row[1],       &t->slot,        &t->slot_strict, &t->part_key[0], &t->part_key[1],
        &t->part[0],     &t->part[1],      &t->picked_acc,  &t->picked_pot,  &t->active,      &t->next,
        &t->query,       &t->found,        &t->begin,       &t->list,        &t->left,        &t->acc,
        &t->pot,         &t->new_first,    &t->halo.sorted, &t->halo.node,   &t->halo.cell,   &t->halo.word,
        &t->halo.source, &t->halo.moments, &t->stop_begin,  &t->stop_top,    &t->stop,        &t->kept_acc,
        &t->kept_pot,    &t->kept_work};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(t->session.driver, all[k]);
    sap_gpu_tree_free_selection(t);
    free_walkers(t, &t->own);
    free_walkers(t, &t->places);
}

static void destroy(struct sap_tree *tree)
{
    struct sap_gpu_host_tree *const t = of(tree);
    sap_session_stop(&t->session);
    free_buffers(t);
    sap_gpu_given_free(t->session.driver, &t->given);
    sap_gpu_lengths_free(t);
    sap_gpu_kd_free(t);
    sap_session_close(&t->session);
    free(t);
}

/* ---- creation -------------------------------------------------------------------------- */

static int open_device(struct sap_gpu_host_tree *t)
{
    TRY(sap_session_open(&t->session));
    TRY(sap_session_open_times(&t->session));
    TRY(sap_gpu_given_open(&t->session, &t->given));
    t->f = t->given.f;
    if (t->kd) TRY(sap_gpu_kd_open(t));
    if (t->settings.softening) TRY(sap_gpu_lengths_open(t));
    TRY(sap_gpu_reserve_pinned(t->session.driver, t->session.device->dev, &t->told, sizeof(struct sap_gpu_tree_told)));
    return sap_session_reserve(&t->session, &t->bounds, sizeof(struct sap_gpu_tree_told));
}

static void take_settings(struct sap_gpu_host_tree *t, const struct sap_tree_settings *settings)
{
    t->settings = *settings;
    t->t.eps2 = t->settings.eps2;
    t->t.accuracy = t->settings.accuracy;
    t->t.leaf_size = t->settings.leaf_size;
    t->t.group_size = t->settings.group_size;
    t->t.mac = (int)t->settings.mac;
    t->t.order = t->settings.order;
    t->t.ball = (int)t->settings.ball;
    t->t.bunch_ball = (int)t->settings.bunch_ball;
    t->t.morton = t->settings.curve == SAPPORO_CURVE_MORTON;
}

/* Allocates host memory. */
static int open_host(struct sap_gpu_host_tree *t, int room)
{
    TRY(sap_gpu_given_new(&t->given, room, t->settings.gravity));
    if (t->settings.softening) t->given.lengths = &t->lengths;
    if (t->settings.softening) TRY(sap_gpu_lengths_new(t));
    return t->settings.kind == SAPPORO_TREE_KDTREE ? sap_gpu_kd_new(t) : (int)SAP_DRIVER_OK;
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
    t->out_of_range = 0;
    const int status = sap_session_begin(&t->session);
    if (status || !t->given.torn) return status;
    return sap_session_refuse(&t->session, SAPPORO_ERR_DEVICE, "particles were not all taken: set them again");
}

/* Ends a call that builds or refreshes. */
static int end(struct sap_gpu_host_tree *t, int driver_status)
{
    const int status = sap_session_end(&t->session, driver_status);
    return t->out_of_range ? sap_session_fail(&t->session, SAPPORO_ERR_NOT_FINITE, SAP_TREE_OUT_OF_RANGE) : status;
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
    if (!t->linked || t->given.n != t->n)
        return sap_session_fail(&t->session, SAPPORO_ERR_ARGUMENT, "there is no tree of so many particles");
    const int status = begin(t);
    return status ? status : end(t, sap_gpu_tree_refresh(t));
}

static int past(struct sap_tree *tree, int keeps)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = begin(t);
    return status ? status : sap_session_end(&t->session, sap_gpu_tree_past(t, keeps));
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
    return t->built || (cells && t->linked) ? t->n : (int)SAP_TREE_NONE;
}

/* ---- what a tree is -------------------------------------------------------------------- */

static int statistics(struct sap_tree *tree, sapporo_tree_statistics *s)
{
    struct sap_gpu_host_tree *const t = of(tree);
    if (t->built) *s = t->done;
    s->host_bytes = memory((void *)t->session.set, &t->settings, t->given.room, &s->device_bytes);
    const int status = sap_session_begin(&t->session);
    if (status) return status;
    return sap_session_end(&t->session, t->built && t->n > 0 ? sap_gpu_tree_count(t, s) : (int)SAP_DRIVER_OK);
}

static void limit(struct sap_tree *tree, double group_extent)
{
    struct sap_gpu_host_tree *const t = of(tree);
    t->settings.group_extent = group_extent;
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
    t->is_part = whole != NULL;
    if (whole) t->whole = *whole;
}

static int import(struct sap_tree *tree, const struct sap_tree_halo *halo)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    return status ? status : sap_session_end(&t->session, sap_gpu_tree_import(t, halo));
}

static int walk(struct sap_tree *tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot, int *work)
{
    struct sap_gpu_host_tree *const t = of(tree);
    int status = sap_session_begin(&t->session);
    if (status) return status;
    if (pass->imported && t->halo.nodes == 0)
        return sap_session_refuse(&t->session, SAPPORO_ERR_ARGUMENT, "no nodes were imported");
    t->too_near = 0;
    status = sap_session_end(&t->session, sap_gpu_tree_walk_part(t, pass, acc, pot, work));
    if (!status && t->too_near) return sap_session_fail(&t->session, SAPPORO_ERR_NOT_FINITE, SAP_TREE_TOO_NEAR);
    return status;
}

static int regions(struct sap_tree *tree, int room, const struct sap_halo_targets *targets,
                   struct sap_halo_region *region, int *n)
{
    struct sap_gpu_host_tree *const t = of(tree);
    int status = sap_session_begin(&t->session);
    if (!status) status = sap_session_end(&t->session, sap_gpu_tree_regions(t, room, targets, region));
    *n = status ? 0 : t->selection.regions;
    return status;
}

static int select_for(struct sap_tree *tree, const struct sap_halo_wish *wish, int (*count)[2])
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    return status ? status : sap_session_end(&t->session, sap_gpu_tree_select(t, wish, count));
}

static int selected(struct sap_tree *tree, struct sap_halo_node *node, double (*x)[4])
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    return status ? status : sap_session_end(&t->session, sap_gpu_tree_selected(t, node, x));
}

static int force(struct sap_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot)
{
    return sap_gpu_tree_force(of(tree), request, acc, pot);
}

static void erase(struct sap_tree *tree, int ni, double (*acc)[3], double *pot)
{
    sap_gpu_tree_erase(of(tree), ni, acc, pot);
}

static int search(struct sap_tree *tree, int ni, sapporo_column x, sapporo_column h, long long *first, long long room,
                  int *list)
{
    return sap_gpu_tree_search(of(tree), ni, &x, &h, first, room, list);
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

static const struct sap_tree_ask_ops ask = {.force = force, .erase = erase, .search = search, .statistics = statistics};

static const struct sap_tree_part_ops part = {.join = join,
                                              .structure = sap_gpu_tree_structure,
                                              .regions = regions,
                                              .select = select_for,
                                              .selected = selected,
                                              .import = import,
                                              .walk = walk,
                                              .walked = walked};

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
    .extents = sap_gpu_tree_extents,
    .words = words,
    .ask = &ask,
    .part = &part,
};

const struct sap_tree_maker sap_gpu_tree_maker = {.able = able, .memory = memory, .kind = kind, .create = create};
