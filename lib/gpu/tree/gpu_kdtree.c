/*
 * gpu_kdtree.c - builds the order and the cells of a kd-tree on an accelerator, in three phases: large nodes round by
 * round, small nodes, cells; and cuts the particles into groups of whole nodes.
 *
 * The host waits for counts once per batch of rounds, and once for the numbers of cells and of groups.
 */
#include "gpu/tree/gpu_kdtree.h"

#include <stdlib.h>
#include <string.h>

#include "engine/tree_options.h"
#include "gpu/gpu_kernel_list.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "physics/tree_split.h"

_Static_assert((int)SAP_KD_TILE <= (int)SAP_SPLIT_LARGE, "at most two large nodes overlap a tile");
_Static_assert((int)SAP_KD_SMALL >= (int)SAP_SPLIT_LARGE - 1, "a group has a thread for each particle of a small node");
_Static_assert((int)SAP_KD_LEVELS == (int)SAP_SPLIT_DEPTH + 1, "kernels count all levels");

enum {
    TILE = SAP_KD_TILE,
    LARGE = SAP_SPLIT_LARGE,
    BATCH = 6, /* rounds per wait, after the rounds that any particles need */
    BREAK_GROUPS = 256,
    KEY_BITS = 64,
    PLACE_BITS = 31
};

/* ---- kernels ---------------------------------------------------------------------------- */

struct kd_kernels {
    struct sap_module *module;
    SAP_KERNELS_KDTREE(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
};

SAP_KERNELS_KDTREE(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct kd_kernels)

static void drop(const struct sap_driver *driver, void *kept)
{
    struct kd_kernels *const f = kept;
    if (f->module) driver->module_unload(f->module);
    free(f);
}

static int make(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct kd_kernels *const f = calloc(1, sizeof *f);
    (void)number;
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    const struct sap_wanted_kernel wanted[] = {SAP_KERNELS_KDTREE(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const int status =
        sap_gpu_load_module(driver, dev, sap_gpu_embedded(driver), "kdtree", wanted, COUNT(wanted), &f->module);
    if (status)
        drop(driver, f);
    else
        *kept = f;
    return status;
}

/* ---- memory ------------------------------------------------------------------------------ */

/* Device memory of a build. */
struct sap_gpu_kd {
    const struct kd_kernels *f;
    struct sap_kd_arguments b; /* argument of kernels */
    struct sap_gpu_buffer point[2], address[2], node_of[2], large[2], roots, box, joined, before, inner, leaf, counter;
    struct sap_gpu_buffer key[2], value[2]; /* of rounds that sort */
};

int sap_gpu_kd_new(struct sap_gpu_kd **kd)
{
    *kd = calloc(1, sizeof **kd);
    return *kd ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
}

int sap_gpu_kd_open(const struct sap_gpu_session *s, struct sap_gpu_kd *kd)
{
    void *kept;
    TRY(sap_gpu_keep(s->set, s->device, make, drop, &kept));
    kd->f = kept;
    return SAP_DRIVER_OK;
}

void sap_gpu_kd_free(const struct sap_driver *driver, struct sap_gpu_kd *kd)
{
    if (!kd) return;
    struct sap_gpu_buffer *const all[] = {
        &kd->point[0], &kd->point[1], &kd->address[0], &kd->address[1], &kd->node_of[0], &kd->node_of[1], &kd->large[0],
        &kd->large[1], &kd->roots,    &kd->box,        &kd->joined,     &kd->before,     &kd->inner,      &kd->leaf,
        &kd->counter,  &kd->key[0],   &kd->key[1],     &kd->value[0],   &kd->value[1]};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
    free(kd);
}

/* Largest numbers of large nodes of a round, of roots of small subtrees, and of tiles. */
static size_t larges_of(int n) { return (size_t)n / LARGE + 1; }
static size_t roots_of(int n) { return (size_t)n / LARGE * SAP_KD_LEVELS + 1; }
static size_t tiles_of(int n, int tile) { return (size_t)n / (size_t)tile + 1; }

size_t sap_gpu_kd_bytes(const struct sap_tree_settings *settings, int n)
{
    const size_t particle = 2 * (4 * sizeof(double) + 2 * sizeof(int)) + sizeof(int) + 2 * sizeof(struct sap_kd_part);
    if (settings->kind != SAPPORO_TREE_KDTREE) return 0;
    return (size_t)n * particle + 2 * larges_of(n) * sizeof(struct sap_kd_large_node) +
           roots_of(n) * sizeof(struct sap_kd_run) + tiles_of(n, TILE) * SAP_KD_BOX * sizeof(double) +
           tiles_of(n, TILE * SAP_KD_JOINED) * SAP_KD_BOX / 2 * sizeof(double) +
           tiles_of(n, SAP_LINK_TILE) * SAP_KD_LEVELS * sizeof(int);
}

static int reserve(const struct sap_gpu_session *s, struct sap_gpu_kd *kd, int n)
{
    const size_t size = (size_t)n;
    for (int side = 0; side < 2; side++) {
        TRY(sap_session_reserve(s, &kd->point[side], size * 4 * sizeof(double)));
        TRY(sap_session_reserve(s, &kd->address[side], size * sizeof(int)));
        TRY(sap_session_reserve(s, &kd->node_of[side], size * sizeof(int)));
        TRY(sap_session_reserve(s, &kd->large[side], larges_of(n) * sizeof(struct sap_kd_large_node)));
    }
    TRY(sap_session_reserve(s, &kd->roots, roots_of(n) * sizeof(struct sap_kd_run)));
    TRY(sap_session_reserve(s, &kd->box, tiles_of(n, TILE) * SAP_KD_BOX * sizeof(double)));
    TRY(sap_session_reserve(s, &kd->joined, tiles_of(n, TILE * SAP_KD_JOINED) * SAP_KD_BOX / 2 * sizeof(double)));
    TRY(sap_session_reserve(s, &kd->before, (size + 1) * sizeof(int)));
    TRY(sap_session_reserve(s, &kd->inner, size * sizeof(struct sap_kd_part)));
    TRY(sap_session_reserve(s, &kd->leaf, size * sizeof(struct sap_kd_part)));
    return sap_session_reserve(s, &kd->counter, SAP_KD_COUNTERS * sizeof(int));
}

/* ---- large nodes ---------------------------------------------------------------------------- */

static int start(const struct sap_gpu_session *s, const struct sap_gpu_kd *kd, const struct sap_gpu_buffer *given)
{
    return sap_launch_kd_start(s, kd->f, kd->b.n, given->mem, kd->point[0].mem, kd->address[0].mem, kd->node_of[0].mem,
                               kd->inner.mem, kd->leaf.mem, kd->large[0].mem, kd->roots.mem, kd->counter.mem, kd->b);
}

/* Moves the particles of halved nodes to the other arrays in the order of value[], and back. */
static int move_sorted(const struct sap_gpu_session *s, const struct sap_gpu_kd *kd, int side,
                       const struct sap_gpu_buffer *value)
{
    for (int back = 0; back < 2; back++) {
        const int has_values = !back, from = side ^ back, to = from ^ 1;
        TRY(sap_launch_kd_sort_move(s, kd->f, kd->b.n, kd->node_of[side].mem, kd->large[side].mem, value->mem,
                                    has_values, kd->point[from].mem, kd->address[from].mem, kd->point[to].mem,
                                    kd->address[to].mem, kd->b.n));
    }
    return SAP_DRIVER_OK;
}

/* Sorts the particles of each node that is halved in this round. */
static int sort_halved(const struct sap_gpu_session *s, struct sap_gpu_kd *kd, int side)
{
    const int n = kd->b.n;
    int at, then;
    for (int k = 0; k < 2; k++) {
        TRY(sap_session_reserve(s, &kd->key[k], (size_t)n * sizeof(uint64_t)));
        TRY(sap_session_reserve(s, &kd->value[k], (size_t)n * sizeof(int)));
    }
    const struct sap_sort by_coordinate = {.key = {kd->key[0].mem, kd->key[1].mem},
                                           .value = {kd->value[0].mem, kd->value[1].mem},
                                           .n = n,
                                           .to = KEY_BITS,
                                           .places = 1};
    TRY(sap_launch_kd_sort_keys(s, kd->f, n, kd->point[side].mem, kd->node_of[side].mem, kd->large[side].mem,
                                kd->key[0].mem, n));
    TRY(sap_primitives_sort(s->primitives, s->stream, &by_coordinate, s->scratch.mem, &at));
    const struct sap_sort by_place = {.key = {kd->key[at].mem, kd->key[at ^ 1].mem},
                                      .value = {kd->value[at].mem, kd->value[at ^ 1].mem},
                                      .n = n,
                                      .to = PLACE_BITS};
    TRY(sap_launch_kd_sort_places(s, kd->f, n, kd->node_of[side].mem, kd->large[side].mem, kd->value[at].mem,
                                  kd->key[at].mem, n));
    TRY(sap_primitives_sort(s->primitives, s->stream, &by_place, s->scratch.mem, &then));
    return move_sorted(s, kd, side, &kd->value[at ^ then]);
}

/* Computes boxes and planes of the large nodes of a round, of which there are at most `most`. */
static int find_planes(const struct sap_gpu_session *s, struct sap_gpu_kd *kd, int round, int most, int sorts)
{
    const int side = round & 1, n = kd->b.n, runs = n / (TILE * SAP_KD_JOINED);
    TRY(sap_launch_kd_boxes(s, kd->f, n / TILE + (n % TILE > 0), kd->point[side].mem, kd->node_of[side].mem,
                            kd->box.mem, n));
    if (runs > 0) TRY(sap_launch_kd_join(s, kd->f, runs, kd->box.mem, kd->node_of[side].mem, kd->joined.mem, n));
    TRY(sap_launch_kd_planes(s, kd->f, most, kd->box.mem, kd->joined.mem, kd->large[side].mem, kd->leaf.mem,
                             kd->counter.mem, kd->b, round, sorts));
    return sorts ? sort_halved(s, kd, side) : (int)SAP_DRIVER_OK;
}

/* Makes the children of the large nodes of a round, and moves their particles to the other arrays. */
static int divide(const struct sap_gpu_session *s, const struct sap_gpu_kd *kd, const struct sap_gpu_buffer *given,
                  int round, int most, const struct sap_gpu_buffer *order)
{
    const int side = round & 1, other = side ^ 1, n = kd->b.n, groups = most / SAP_KD_NODE_THREADS + 1;
    TRY(sap_launch_kd_sides(s, kd->f, n + 1, given->mem, kd->point[side].mem, kd->node_of[side].mem,
                            kd->large[side].mem, kd->before.mem, n));
    TRY(sap_primitives_scan(s->primitives, s->stream, kd->before.mem, kd->before.mem, n + 1, s->scratch.mem, NULL));
    TRY(sap_launch_kd_children(s, kd->f, groups, kd->point[side].mem, kd->large[side].mem, kd->large[other].mem,
                               kd->roots.mem, kd->inner.mem, kd->leaf.mem, kd->counter.mem, kd->before.mem, kd->b,
                               round, side));
    return sap_launch_kd_move(s, kd->f, n, kd->point[side].mem, kd->address[side].mem, kd->node_of[side].mem,
                              kd->large[side].mem, kd->before.mem, kd->point[other].mem, kd->address[other].mem,
                              kd->node_of[other].mem, order->mem, n);
}

/* Returns the number of levels until nodes of n particles are small, if all planes halve them. */
static int usual_rounds(int n)
{
    int rounds = 1;
    while (n >> rounds >= LARGE) rounds++;
    return rounds;
}

/* Splits all large nodes; *roots: small subtrees that remain. */
static int split_large(const struct sap_gpu_session *s, const struct sap_gpu_builder *builder,
                       const struct sap_gpu_buffer *given, const struct sap_gpu_buffer *order, int *roots)
{
    struct sap_gpu_kd *const kd = builder->kd;
    int *const counter = sap_gpu_builder_read(builder)->kd_counter;
    const int n = kd->b.n;
    int sorts = 0, round = 0, batch = usual_rounds(n) + 2;
    *roots = 1;
    if (n < LARGE) return SAP_DRIVER_OK;
    for (; round < SAP_KD_ROUNDS; batch = BATCH) {
        for (int end = round + batch < SAP_KD_ROUNDS ? round + batch : SAP_KD_ROUNDS; round < end; round++) {
            const int most = round < 30 && 1 << round < n / LARGE ? 1 << round : n / LARGE;
            TRY(find_planes(s, kd, round, most, sorts));
            TRY(divide(s, kd, given, round, most, order));
        }
        TRY(sap_session_copy_out(s, counter, kd->counter.mem, 0, SAP_KD_COUNTERS * sizeof *counter));
        TRY(sap_session_wait(s));
        *roots = counter[SAP_KD_ROOTS];
        sorts = counter[SAP_KD_WAITING];
        if (counter[SAP_KD_LARGE + round] == 0) return SAP_DRIVER_OK;
    }
    return SAP_DRIVER_ERROR; /* levels are bounded, so the rounds suffice */
}

/* ---- groups ------------------------------------------------------------------------------------- */

/* The arrays of particles are free once all nodes are split. */
struct group_memory {
    const struct sap_gpu_buffer *flag, *before, *at, *mark, *jump[2];
};

static struct group_memory group_memory_of(const struct sap_gpu_kd *kd)
{
    return (struct group_memory){.flag = &kd->before,
                                 .before = &kd->node_of[0],
                                 .mark = &kd->node_of[0], /* it is read for the last time when `before` is written */
                                 .at = &kd->address[0],
                                 .jump = {&kd->address[1], &kd->node_of[1]}};
}

/* Returns enough groups of threads to keep a device busy; kernels read the number of breaks themselves. */
static int groups_of_breaks(const struct sap_gpu_kd *kd)
{
    const int groups = kd->b.n / TILE + 1;
    return groups < BREAK_GROUPS ? groups : (int)BREAK_GROUPS;
}

/* Marks the breaks at which groups begin. */
static int mark_begins(const struct sap_gpu_session *s, const struct sap_gpu_kd *kd,
                       const struct sap_tree_settings *settings, int count_at)
{
    const struct group_memory memory = group_memory_of(kd), *const m = &memory;
    const struct kd_kernels *const f = kd->f;
    const int n = kd->b.n, groups = groups_of_breaks(kd), most = sap_tree_group_most(settings);
    const size_t most_groups = sap_tree_groups_most(settings, n);
    TRY(sap_launch_kd_group_links(s, f, groups, m->at->mem, s->scratch.mem, m->jump[0]->mem, m->mark->mem, count_at,
                                  most, n));
    for (int round = 0; (size_t)1 << round < most_groups; round++) {
        TRY(sap_launch_kd_group_marks(s, f, groups, s->scratch.mem, m->jump[round & 1]->mem, m->jump[~round & 1]->mem,
                                      m->mark->mem, count_at));
    }
    return sap_launch_kd_group_begins(s, f, groups, m->at->mem, s->scratch.mem, m->mark->mem, m->flag->mem, count_at);
}

/* Finds where groups begin, and copies their number to pinned memory; the caller waits. */
static int find_groups(struct sap_gpu_session *s, const struct sap_gpu_builder *builder,
                       const struct sap_tree_settings *settings)
{
    const struct sap_gpu_kd *const kd = builder->kd;
    const struct group_memory m = group_memory_of(kd);
    const struct sap_primitives *const p = s->primitives;
    const int n = kd->b.n, most = sap_tree_group_most(settings);
    size_t at;
    TRY(sap_session_reserve(s, &s->scratch, sap_primitives_scratch(n)));
    TRY(sap_session_fill(s, m.flag->mem, 0, 0, (size_t)n * sizeof(int)));
    TRY(sap_launch_kd_breaks(s, kd->f, n, kd->inner.mem, kd->leaf.mem, m.flag->mem, most, n));
    TRY(sap_primitives_compact(p, s->stream, m.flag->mem, NULL, m.before->mem, m.at->mem, n, s->scratch.mem, &at));
    TRY(mark_begins(s, kd, settings, (int)(at / sizeof(int))));
    TRY(sap_primitives_scan(p, s->stream, m.flag->mem, m.before->mem, n, s->scratch.mem, &at));
    return sap_session_copy_out(s, &sap_gpu_builder_read(builder)->groups, s->scratch.mem, at, sizeof(int));
}

int sap_gpu_kd_cut(const struct sap_gpu_session *s, const struct sap_gpu_kd *kd, int is_limited,
                   const struct sap_gpu_buffer *order, int groups, struct sap_gpu_cut *cut)
{
    const struct group_memory m = group_memory_of(kd);
    const int n = kd->b.n;
    size_t at;
    *cut = (struct sap_gpu_cut){
        .order = order, .flag = m.flag, .before = m.before, .first = m.jump[0], .n = n, .groups = groups};
    return is_limited ? sap_primitives_compact(s->primitives, s->stream, m.flag->mem, NULL, m.before->mem,
                                               m.jump[0]->mem, n, s->scratch.mem, &at)
                      : (int)SAP_DRIVER_OK;
}

/* ---- small nodes, cells -------------------------------------------------------------------------- */

static int split_small(const struct sap_gpu_session *s, const struct sap_gpu_kd *kd, const struct sap_gpu_buffer *order,
                       int roots)
{
    return roots > 0
               ? sap_launch_kd_small(s, kd->f, roots, kd->point[0].mem, kd->point[1].mem, kd->address[0].mem,
                                     kd->address[1].mem, kd->roots.mem, kd->inner.mem, kd->leaf.mem, order->mem, kd->b)
               : (int)SAP_DRIVER_OK;
}

int sap_gpu_kd_split(struct sap_gpu_session *s, struct sap_gpu_builder *builder,
                     const struct sap_tree_settings *settings, const struct sap_gpu_kd_input *split,
                     const struct sap_gpu_buffer *order)
{
    struct sap_gpu_kd *const kd = builder->kd;
    const int merge = settings->walk == SAPPORO_WALK_STACKLESS ? 1 : 3, n = split->n;
    const double *const low = split->low, *const high = split->high;
    int roots;
    kd->b = (struct sap_kd_arguments){.low = {low[0], low[1], low[2]},
                                      .high = {high[0], high[1], high[2]},
                                      .mass_unit = split->mass_unit,
                                      .signs = split->signs,
                                      .n = n,
                                      .leaf_size = settings->leaf_size,
                                      .merge = merge,
                                      .cell_levels = (SAP_KD_LEVELS + merge - 2) / merge + 1,
                                      .tiles = n / SAP_LINK_TILE + (n % SAP_LINK_TILE > 0)};
    TRY(reserve(s, kd, n));
    TRY(sap_session_reserve(s, &s->scratch, sap_primitives_scratch(n + 1)));
    TRY(start(s, kd, split->given));
    TRY(split_large(s, builder, split->given, order, &roots));
    return split_small(s, kd, order, roots);
}

int sap_gpu_kd_count(struct sap_gpu_session *s, struct sap_gpu_builder *builder,
                     const struct sap_tree_settings *settings, int *level_first, int *groups)
{
    const struct sap_gpu_kd *const kd = builder->kd;
    struct sap_gpu_readback *const read = sap_gpu_builder_read(builder);
    const int counts = kd->b.cell_levels * kd->b.tiles;
    size_t total_at;
    TRY(sap_session_reserve(s, &builder->span, (size_t)kd->b.n * sizeof(int)));
    TRY(sap_session_reserve(s, &builder->count, (size_t)counts * sizeof(int)));
    TRY(sap_session_reserve(s, &builder->new_first, sizeof read->kd_first));
    TRY(sap_session_reserve(s, &s->scratch, sap_primitives_scratch(counts)));
    TRY(sap_launch_kd_levels(s, kd->f, kd->b.tiles, kd->inner.mem, kd->leaf.mem, builder->span.mem, builder->count.mem,
                             kd->b));
    TRY(sap_primitives_scan(s->primitives, s->stream, builder->count.mem, builder->count.mem, counts, s->scratch.mem,
                            &total_at));
    const int total = (int)(total_at / sizeof(int));
    TRY(sap_launch_kd_level_firsts(s, kd->f, 1, builder->count.mem, s->scratch.mem, builder->new_first.mem, total,
                                   kd->b));
    TRY(sap_session_copy_out(s, read->kd_first, builder->new_first.mem, 0, sizeof read->kd_first));
    TRY(find_groups(s, builder, settings));
    TRY(sap_session_wait(s));
    *groups = read->groups;
    memcpy(level_first, read->kd_first, sizeof read->kd_first);
    return SAP_DRIVER_OK;
}

int sap_gpu_kd_link(const struct sap_gpu_session *s, const struct sap_gpu_builder *builder,
                    const struct sap_gpu_nodes *nodes)
{
    const struct sap_gpu_kd *const kd = builder->kd;
    TRY(sap_launch_kd_link(s, kd->f, kd->b.tiles, kd->inner.mem, kd->leaf.mem, builder->span.mem, builder->count.mem,
                           nodes->link.mem, nodes->level.mem, kd->b));
    return sap_launch_kd_count_children(s, kd->f, nodes->n, nodes->link.mem, nodes->level.mem, builder->first.mem,
                                        nodes->n);
}
