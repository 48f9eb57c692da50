/* gpu_tree.c - the table for the trees of the accelerator engines: memory, creation, and calls that others implement.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "engine/tree_ops.h"
#include "engine/tree_options.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_engine.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_status.h"
#include "gpu/tree/gpu_kdtree.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_tree.h"
#include "physics/scalars.h"

enum { CHUNK = SAP_TREE_CHUNK, STOP_BYTES = SAP_STOP_PARTS * 2 * sizeof(double) };

_Static_assert(SAP_GPU_CELL == sizeof(struct sap_cell), "cells lie as kernels see them");

void *sap_tree_host_memory(struct sap_gpu_host_tree *t, size_t n, size_t each)
{
    void *const memory = calloc(n, each);
    t->host_full = !memory;
    return memory;
}

int sap_tree_judge(struct sap_gpu_host_tree *t, int status)
{
    const int host = t->host_full;
    t->host_full = 0;
    if (status == SAP_DRIVER_OK) return SAPPORO_OK;
    if (host && status == SAP_DRIVER_MEMORY) return sap_tree_fail(t, SAPPORO_ERR_MEMORY, "memory of the host");
    (void)snprintf(t->words, sizeof t->words, "device %d: %s", t->device->number, t->driver->error_text());
    /* work in flight reads the tree's pinned memory and writes to the caller's arrays */
    if (t->stream) (void)t->driver->stream_finish(t->stream);
    if (status == SAP_DRIVER_LOST) {
        t->broken = 1;
        sap_gpu_lose(t->set, t->device);
    }
    return sap_gpu_status(status);
}

int sap_tree_fail(struct sap_gpu_host_tree *t, int status, const char *why)
{
    (void)snprintf(t->words, sizeof t->words, "%s", why);
    return status;
}

/* ---- memory ------------------------------------------------------------------------- */

static size_t memory(const struct sap_device_set *opaque_set, const struct sap_tree_settings *settings, int n,
                     size_t *device_bytes)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    const size_t size = (size_t)n, nodes = size / 2, groups = sap_tree_groups_most(settings, n);
    const size_t particles = 4 * sizeof(double) * 2 + sizeof(double) + 2 * sizeof(uint64_t) + 6 * sizeof(int);
    const size_t stops = settings->walk == SAPPORO_WALK_STACKLESS ? size * (2 * sizeof(int) + 2 * STOP_BYTES) : 0;
    const size_t each =
        sizeof(struct sap_tree_link) + sizeof(int) + SAP_GPU_CELL + 4 * sizeof(double) + 16 * sizeof(float);
    (void)set;
    if (device_bytes)
        *device_bytes = size * particles + nodes * each + groups * (6 * sizeof(double) + sizeof(int)) +
                        sap_primitives_scratch(n) + sap_gpu_kd_bytes(settings, n) + stops;
    const size_t lengths = settings->softening ? sap_gpu_lengths_bytes(n, device_bytes) : 0;
    return lengths + sizeof(struct sap_gpu_host_tree) + size * sizeof(double) + sizeof(struct sap_gpu_tree_told) +
           CHUNK * 4 * sizeof(double);
}

static void free_walkers(const struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w)
{
    struct sap_gpu_buffer *const all[] = {&w->key[0],   &w->key[1], &w->value[0], &w->value[1], &w->address,
                                          &w->sorted,   &w->bound,  &w->heavy,    &w->strict,   &w->group_first,
                                          &w->group_of, &w->length, &w->longest};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(t->driver, all[k]);
}

static void free_buffers(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_buffer *const all[] = {
        &t->particle,    &t->past_x[0],   &t->past_x[1],   &t->a,           &t->chunk,       &t->told,
        &t->place,       &t->scratch,     &t->span,        &t->count,       &t->first,       &t->bounds,
        &t->node,        &t->node_level,  &t->cell,        &t->word,        &t->source,      &t->moments,
        &t->place_given, &t->place_a,     &t->row_key[0],  &t->row_key[1],  &t->row[0],      &t->row[1],
        &t->slot,        &t->slot_strict, &t->part_key[0], &t->part_key[1], &t->part[0],     &t->part[1],
        &t->picked_acc,  &t->picked_pot,  &t->active,      &t->next,        &t->query,       &t->found,
        &t->begin,       &t->list,        &t->left,        &t->acc,         &t->pot,         &t->new_first,
        &t->halo.sorted, &t->halo.node,   &t->halo.cell,   &t->halo.word,   &t->halo.source, &t->halo.moments,
        &t->stop_begin,  &t->stop_top,    &t->stop,        &t->kept_acc,    &t->kept_pot,    &t->kept_work};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(t->driver, all[k]);
    sap_tree_free_selection(t);
    free_walkers(t, &t->own);
    free_walkers(t, &t->places);
}

static void free_tree(struct sap_gpu_host_tree *t)
{
    if (t->stream) (void)t->driver->stream_finish(t->stream);
    free_buffers(t);
    sap_gpu_lengths_free(t);
    for (int k = 0; k < COUNT(t->mark); k++)
        if (t->mark[k]) t->driver->event_destroy(t->mark[k]);
    for (int k = 0; k < COUNT(t->copied); k++)
        if (t->copied[k]) t->driver->event_destroy(t->copied[k]);
    if (t->stream) t->driver->stream_destroy(t->stream);
    sap_gpu_kd_free(t);
    free(t->mass);
    free(t);
}

static void destroy(struct sap_tree *opaque_tree)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    const sap_fpguard caller = sap_fp_guard();
    free_tree(t);
    sap_fp_release(caller);
}

/* ---- creation -------------------------------------------------------------------------- */

static int open_device(struct sap_gpu_host_tree *t)
{
    struct sap_dev *const dev = t->device->dev;
    TRY(t->driver->stream_create(dev, &t->stream));
    for (int k = 0; k < COUNT(t->mark); k++) TRY(t->driver->event_create_timed(dev, &t->mark[k]));
    for (int k = 0; k < COUNT(t->copied); k++) TRY(t->driver->event_create(dev, &t->copied[k]));
    TRY(sap_tree_kernels(t));
    if (t->kd) TRY(sap_gpu_kd_open(t));
    if (t->settings.softening) TRY(sap_gpu_lengths_open(t));
    TRY(sap_gpu_reserve_pinned(t->driver, dev, &t->told, sizeof(struct sap_gpu_tree_told)));
    TRY(sap_gpu_reserve_pinned(t->driver, dev, &t->chunk, CHUNK * 4 * sizeof(double)));
    TRY(sap_tree_reserve(t, &t->bounds, sizeof(struct sap_gpu_tree_told)));
    TRY(sap_tree_reserve(t, &t->particle, ((size_t)t->room + 1) * 4 * sizeof(double)));
    return sap_tree_reserve(t, &t->a, ((size_t)t->room + 1) * sizeof(double));
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

static int create(struct sap_device_set *opaque_set, const struct sap_tree_settings *settings, int n,
                  struct sap_tree **tree)
{
    struct sap_gpu_set *const set = (void *)opaque_set;
    *tree = NULL;
    struct sap_gpu_host_tree *const t = calloc(1, sizeof *t);
    if (!t) return SAPPORO_ERR_MEMORY;
    const sap_fpguard caller = sap_fp_guard();
    t->set = set;
    t->driver = set->driver;
    t->device = &set->device[0];
    t->room = n;
    /* NVIDIA's OpenCL gives all markers of a stream the same time */
    t->events = strcmp(t->driver->name, "opencl") != 0;
    take_settings(t, settings);
    t->mass = calloc((size_t)n + 1, sizeof *t->mass);
    int status = t->mass ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
    if (!status && settings->softening) status = sap_gpu_lengths_new(t);
    if (!status && settings->kind == SAPPORO_TREE_KDTREE) status = sap_gpu_kd_new(t);
    if (!status) status = t->driver->enter(t->device->dev);
    if (!status) {
        status = open_device(t);
        t->driver->leave(t->device->dev);
    }
    const int result = sap_gpu_status(status);
    if (status) free_tree(t);
    sap_fp_release(caller);
    if (!status) *tree = (void *)t;
    return result;
}

/* ---- particles ------------------------------------------------------------------------ */

/* Calls `work` with the context of the device current. */
static int entered(struct sap_gpu_host_tree *t, int (*work)(struct sap_gpu_host_tree *))
{
    t->words[0] = '\0';
    if (t->broken) return sap_tree_fail(t, SAPPORO_ERR_DEVICE, "the device is gone: make the tree anew");
    if (t->torn) return sap_tree_fail(t, SAPPORO_ERR_DEVICE, "particles were not all taken: set them again");
    const sap_fpguard caller = sap_fp_guard();
    int status = t->driver->enter(t->device->dev);
    if (!status) {
        status = work(t);
        t->driver->leave(t->device->dev);
    }
    const int result = sap_tree_judge(t, status);
    sap_fp_release(caller);
    return result;
}

static int set(struct sap_tree *opaque_tree, const sapporo_tree_particles *p)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    if (t->broken) return sap_tree_fail(t, SAPPORO_ERR_DEVICE, "the device is gone: make the tree anew");
    const sap_fpguard caller = sap_fp_guard();
    const int result = sap_tree_set_gpu(t, p);
    sap_fp_release(caller);
    return result;
}

/* ---- build and refresh ------------------------------------------------------------------- */

static int made(struct sap_gpu_host_tree *t, int (*work)(struct sap_gpu_host_tree *))
{
    t->out_of_range = 0;
    const int status = entered(t, work);
    return t->out_of_range ? sap_tree_fail(t, SAPPORO_ERR_NOT_FINITE, SAP_TREE_OUT_OF_RANGE) : status;
}

static int build(struct sap_tree *opaque_tree)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    return made(t, sap_tree_build_gpu);
}

static int refresh(struct sap_tree *opaque_tree)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    if (!t->linked || t->given != t->n)
        return sap_tree_fail(t, SAPPORO_ERR_ARGUMENT, "there is no tree of so many particles");
    return made(t, sap_tree_refresh_gpu);
}

/* Work of `past` and `build_ahead`. */
static int room_for_past(struct sap_gpu_host_tree *t) { return sap_tree_past_gpu(t, 0); }
static int keep_past(struct sap_gpu_host_tree *t) { return sap_tree_past_gpu(t, 1); }
static int build_later(struct sap_gpu_host_tree *t) { return sap_tree_build_ahead_gpu(t, t->lead); }

static int past(struct sap_tree *opaque_tree, int keeps)
{
    return entered((void *)opaque_tree, keeps ? keep_past : room_for_past);
}

static int build_ahead(struct sap_tree *opaque_tree, double lead)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    t->lead = lead;
    return made(t, build_later);
}

static int count(const struct sap_tree *opaque_tree, int cells)
{
    const struct sap_gpu_host_tree *const t = (const void *)opaque_tree;
    if (t->broken) return SAP_TREE_GONE;
    return t->built || (cells && t->linked) ? t->n : (int)SAP_TREE_NONE;
}

/* ---- what a tree is -------------------------------------------------------------------- */

static int statistics(struct sap_tree *opaque_tree, sapporo_tree_statistics *s)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    int status = SAP_DRIVER_OK;
    t->words[0] = '\0';
    const sap_fpguard caller = sap_fp_guard();
    if (t->built) *s = t->done;
    if (t->built && t->n > 0) {
        status = t->driver->enter(t->device->dev);
        if (!status) {
            status = sap_tree_count_gpu(t, s);
            t->driver->leave(t->device->dev);
        }
    }
    s->host_bytes = memory((void *)t->set, &t->settings, t->room, &s->device_bytes);
    const int result = sap_tree_judge(t, status);
    sap_fp_release(caller);
    return result;
}

static void limit(struct sap_tree *opaque_tree, double group_extent)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    t->settings.group_extent = group_extent;
}

static double interactions(const struct sap_tree *opaque_tree)
{
    const struct sap_gpu_host_tree *const t = (const void *)opaque_tree;
    return (double)(t->done.particle_particle + t->done.particle_cell) / (double)t->done.rows;
}

static void walked(const struct sap_tree *opaque_tree, long long *particles, long long *cells)
{
    const struct sap_gpu_host_tree *const t = (const void *)opaque_tree;
    *particles = t->done.particle_particle;
    *cells = t->done.particle_cell;
}

/* ---- parts of a whole, and forces --------------------------------------------------------- */

static void join(struct sap_tree *opaque_tree, const struct sap_tree_whole *whole)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    t->is_part = whole != NULL;
    if (whole) t->whole = *whole;
}

static int import(struct sap_tree *opaque_tree, const struct sap_tree_halo *halo)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    if (t->broken) return sap_tree_fail(t, SAPPORO_ERR_DEVICE, "the device is gone: make the tree anew");
    const sap_fpguard caller = sap_fp_guard();
    int status = t->driver->enter(t->device->dev);
    if (!status) {
        status = sap_tree_import_gpu(t, halo);
        t->driver->leave(t->device->dev);
    }
    const int result = sap_tree_judge(t, status);
    sap_fp_release(caller);
    return result;
}

static int walk(struct sap_tree *opaque_tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot,
                int *work)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    if (t->broken) return sap_tree_fail(t, SAPPORO_ERR_DEVICE, "the device is gone: make the tree anew");
    if (pass->imported && t->halo.nodes == 0) return sap_tree_fail(t, SAPPORO_ERR_ARGUMENT, "no nodes were imported");
    const sap_fpguard caller = sap_fp_guard();
    t->too_near = 0;
    int status = t->driver->enter(t->device->dev);
    if (!status) {
        status = sap_tree_walk_part(t, pass, acc, pot, work);
        t->driver->leave(t->device->dev);
    }
    const int result = sap_tree_judge(t, status);
    sap_fp_release(caller);
    if (!result && t->too_near) return sap_tree_fail(t, SAPPORO_ERR_NOT_FINITE, SAP_TREE_TOO_NEAR);
    return result;
}

/* Ends what enter_tree began; returns status. */
static int leave_tree(struct sap_gpu_host_tree *t, int status)
{
    t->driver->leave(t->device->dev);
    return status;
}

/* A call on a tree with particles: makes the context of the device current. */
static int enter_tree(struct sap_gpu_host_tree *t)
{
    t->words[0] = '\0';
    if (t->broken) return sap_tree_fail(t, SAPPORO_ERR_DEVICE, "the device is gone: make the tree anew");
    return sap_tree_judge(t, t->driver->enter(t->device->dev));
}

static int regions(struct sap_tree *opaque_tree, int room, const struct sap_halo_targets *targets,
                   struct sap_halo_region *region, int *n)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    const sap_fpguard caller = sap_fp_guard();
    int status = enter_tree(t);
    if (!status) status = sap_tree_judge(t, leave_tree(t, sap_tree_regions_gpu(t, room, targets, region)));
    *n = status ? 0 : t->selection.regions;
    sap_fp_release(caller);
    return status;
}

static int select_for(struct sap_tree *opaque_tree, const struct sap_halo_wish *wish, int (*count)[2])
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    const sap_fpguard caller = sap_fp_guard();
    int status = enter_tree(t);
    if (!status) status = sap_tree_judge(t, leave_tree(t, sap_tree_select_gpu(t, wish, count)));
    sap_fp_release(caller);
    return status;
}

static int selected(struct sap_tree *opaque_tree, struct sap_halo_node *node, double (*x)[4])
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    const sap_fpguard caller = sap_fp_guard();
    int status = enter_tree(t);
    if (!status) status = sap_tree_judge(t, leave_tree(t, sap_tree_selected_gpu(t, node, x)));
    sap_fp_release(caller);
    return status;
}

static int force(struct sap_tree *opaque_tree, const sapporo_tree_request *request, double (*acc)[3], double *pot)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    if (t->broken) return sap_tree_fail(t, SAPPORO_ERR_DEVICE, "the device is gone: make the tree anew");
    if (request->memory == SAPPORO_MEMORY_DEVICE && !t->driver->adopt)
        return sap_tree_fail(t, SAPPORO_ERR_UNSUPPORTED, "OpenCL works on host memory only");
    if (request->memory == SAPPORO_MEMORY_DEVICE && request->x.base)
        return sap_tree_fail(t, SAPPORO_ERR_UNSUPPORTED, "places are taken from host memory only");
    const sap_fpguard caller = sap_fp_guard();
    const int status = sap_tree_force_gpu(t, request, acc, pot);
    sap_fp_release(caller);
    return status;
}

static void erase(struct sap_tree *opaque_tree, int ni, double (*acc)[3], double *pot)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    const sap_fpguard caller = sap_fp_guard();
    sap_tree_erase_gpu(t, ni, acc, pot);
    sap_fp_release(caller);
}

static int search(struct sap_tree *opaque_tree, int ni, sapporo_column x, sapporo_column h, long long *first,
                  long long room, int *list)
{
    struct sap_gpu_host_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    if (t->broken) return sap_tree_fail(t, SAPPORO_ERR_DEVICE, "the device is gone: make the tree anew");
    const sap_fpguard caller = sap_fp_guard();
    const int status = sap_tree_search_gpu(t, ni, &x, &h, first, room, list);
    sap_fp_release(caller);
    return status;
}

static void kind(const struct sap_device_set *opaque_set, const struct sap_tree_settings *settings, char *text,
                 size_t room)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    (void)snprintf(text, room, "%s %s %s %s", set->driver->name, set->device[0].properties.architecture,
                   settings->precision == SAPPORO_DP ? "dp" : "sp", sap_tree_kind_word(settings->kind));
}

static const char *words(const struct sap_tree *opaque_tree)
{
    const struct sap_gpu_host_tree *const t = (const void *)opaque_tree;
    return t->words;
}

/* Returns whether the devices support trees: keys, cells and sums are in double. */
static int able(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return set->device[0].properties.has_fp64;
}

const struct sap_tree_ops sap_tree_gpu = {
    .able = able,
    .memory = memory,
    .create = create,
    .destroy = destroy,
    .set = set,
    .build = build,
    .refresh = refresh,
    .past = past,
    .build_ahead = build_ahead,
    .count = count,
    .limit = limit,
    .extents = sap_tree_extents_gpu,
    .force = force,
    .erase = erase,
    .search = search,
    .statistics = statistics,
    .interactions = interactions,
    .walked = walked,
    .structure = sap_tree_structure_gpu,
    .join = join,
    .regions = regions,
    .select = select_for,
    .selected = selected,
    .import = import,
    .walk = walk,
    .kind = kind,
    .words = words,
};
