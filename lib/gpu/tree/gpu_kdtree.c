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
    PLACE_BITS = 31,
    THREADS = SAP_TREE_THREADS
};

/* ---- kernels ---------------------------------------------------------------------------- */

struct kd_kernels {
    struct sap_module *module;
    struct sap_function *start, *boxes, *join, *planes, *sort_keys, *sort_places, *sort_move, *sides, *children, *move,
        *small_nodes, *levels, *level_firsts, *link, *count_children, *breaks, *group_links, *group_marks,
        *group_begins;
};

static void drop(const struct sap_driver *driver, void *kept)
{
    struct kd_kernels *const f = kept;
    if (f->module) driver->module_unload(f->module);
    free(f);
}

static int get_functions(const struct sap_driver *driver, struct kd_kernels *f)
{
    const struct {
        const char *name;
        struct sap_function **function;
    } wanted[] = {{"kd_start", &f->start},
                  {"kd_boxes", &f->boxes},
                  {"kd_join", &f->join},
                  {"kd_planes", &f->planes},
                  {"kd_sort_keys", &f->sort_keys},
                  {"kd_sort_places", &f->sort_places},
                  {"kd_sort_move", &f->sort_move},
                  {"kd_sides", &f->sides},
                  {"kd_children", &f->children},
                  {"kd_move", &f->move},
                  {"kd_small", &f->small_nodes},
                  {"kd_levels", &f->levels},
                  {"kd_level_firsts", &f->level_firsts},
                  {"kd_link", &f->link},
                  {"kd_count_children", &f->count_children},
                  {"kd_breaks", &f->breaks},
                  {"kd_group_links", &f->group_links},
                  {"kd_group_marks", &f->group_marks},
                  {"kd_group_begins", &f->group_begins}};
    for (int k = 0; k < COUNT(wanted); k++) TRY(driver->function(f->module, wanted[k].name, wanted[k].function));
    return SAP_DRIVER_OK;
}

static int make(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct kd_kernels *const f = calloc(1, sizeof *f);
    (void)number;
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    int status = sap_gpu_tree_load_module(driver, dev, "kdtree", &f->module);
    if (!status) status = get_functions(driver, f);
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
    struct sap_gpu_buffer point[2], address[2], node_of[2], large[2], root, box, joined, before, inner, leaf, counter;
    struct sap_gpu_buffer key[2], value[2]; /* of rounds that sort */
};

int sap_gpu_kd_new(struct sap_gpu_host_tree *t)
{
    t->kd = calloc(1, sizeof *t->kd);
    return t->kd ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
}

int sap_gpu_kd_open(struct sap_gpu_host_tree *t)
{
    void *kept;
    TRY(sap_gpu_keep(t->session.set, t->session.device, make, drop, &kept));
    t->kd->f = kept;
    return SAP_DRIVER_OK;
}

void sap_gpu_kd_free(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_kd *const kd = t->kd;
    if (!kd) return;
    struct sap_gpu_buffer *const all[] = {
        &kd->point[0], &kd->point[1], &kd->address[0], &kd->address[1], &kd->node_of[0], &kd->node_of[1], &kd->large[0],
        &kd->large[1], &kd->root,     &kd->box,        &kd->joined,     &kd->before,     &kd->inner,      &kd->leaf,
        &kd->counter,  &kd->key[0],   &kd->key[1],     &kd->value[0],   &kd->value[1]};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(t->session.driver, all[k]);
    free(kd);
    t->kd = NULL;
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

static int reserve(const struct sap_gpu_host_tree *t, int n)
{
    struct sap_gpu_kd *const kd = t->kd;
    const size_t size = (size_t)n;
    for (int side = 0; side < 2; side++) {
        TRY(sap_session_reserve(&t->session, &kd->point[side], size * 4 * sizeof(double)));
        TRY(sap_session_reserve(&t->session, &kd->address[side], size * sizeof(int)));
        TRY(sap_session_reserve(&t->session, &kd->node_of[side], size * sizeof(int)));
        TRY(sap_session_reserve(&t->session, &kd->large[side], larges_of(n) * sizeof(struct sap_kd_large_node)));
    }
    TRY(sap_session_reserve(&t->session, &kd->root, roots_of(n) * sizeof(struct sap_kd_run)));
    TRY(sap_session_reserve(&t->session, &kd->box, tiles_of(n, TILE) * SAP_KD_BOX * sizeof(double)));
    TRY(sap_session_reserve(&t->session, &kd->joined,
                            tiles_of(n, TILE * SAP_KD_JOINED) * SAP_KD_BOX / 2 * sizeof(double)));
    TRY(sap_session_reserve(&t->session, &kd->before, (size + 1) * sizeof(int)));
    TRY(sap_session_reserve(&t->session, &kd->inner, size * sizeof(struct sap_kd_part)));
    TRY(sap_session_reserve(&t->session, &kd->leaf, size * sizeof(struct sap_kd_part)));
    return sap_session_reserve(&t->session, &kd->counter, SAP_KD_COUNTERS * sizeof(int));
}

/* ---- large nodes ---------------------------------------------------------------------------- */

static int start(const struct sap_gpu_host_tree *t)
{
    const struct sap_gpu_kd *const kd = t->kd;
    const struct sap_argument a[] = {SAP_ARRAY(t->given.particle), SAP_ARRAY(kd->point[0]),
                                     SAP_ARRAY(kd->address[0]),    SAP_ARRAY(kd->node_of[0]),
                                     SAP_ARRAY(kd->inner),         SAP_ARRAY(kd->leaf),
                                     SAP_ARRAY(kd->large[0]),      SAP_ARRAY(kd->root),
                                     SAP_ARRAY(kd->counter),       VALUE(kd->b)};
    return sap_session_for_each(&t->session, kd->f->start, kd->b.n, TILE, a, COUNT(a));
}

/* Moves the particles of halved nodes to the other arrays in the order of value[], and back. */
static int move_sorted(const struct sap_gpu_host_tree *t, int side, const struct sap_gpu_buffer *value)
{
    const struct sap_gpu_kd *const kd = t->kd;
    for (int back = 0; back < 2; back++) {
        const int has_values = !back, from = side ^ back, to = from ^ 1;
        const struct sap_argument a[] = {SAP_ARRAY(kd->node_of[side]),
                                         SAP_ARRAY(kd->large[side]),
                                         SAP_ARRAY(*value),
                                         VALUE(has_values),
                                         SAP_ARRAY(kd->point[from]),
                                         SAP_ARRAY(kd->address[from]),
                                         SAP_ARRAY(kd->point[to]),
                                         SAP_ARRAY(kd->address[to]),
                                         VALUE(kd->b.n)};
        TRY(sap_session_for_each(&t->session, kd->f->sort_move, kd->b.n, TILE, a, COUNT(a)));
    }
    return SAP_DRIVER_OK;
}

/* Sorts the particles of each node that is halved in this round. */
static int sort_halved(struct sap_gpu_host_tree *t, int side)
{
    struct sap_gpu_kd *const kd = t->kd;
    const int n = kd->b.n;
    int at, then;
    for (int k = 0; k < 2; k++) {
        TRY(sap_session_reserve(&t->session, &kd->key[k], (size_t)n * sizeof(uint64_t)));
        TRY(sap_session_reserve(&t->session, &kd->value[k], (size_t)n * sizeof(int)));
    }
    const struct sap_argument keys[] = {SAP_ARRAY(kd->point[side]), SAP_ARRAY(kd->node_of[side]),
                                        SAP_ARRAY(kd->large[side]), SAP_ARRAY(kd->key[0]), VALUE(n)};
    const struct sap_sort by_coordinate = {.key = {kd->key[0].mem, kd->key[1].mem},
                                           .value = {kd->value[0].mem, kd->value[1].mem},
                                           .n = n,
                                           .to = KEY_BITS,
                                           .places = 1};
    TRY(sap_session_for_each(&t->session, kd->f->sort_keys, n, TILE, keys, COUNT(keys)));
    TRY(sap_primitives_sort(t->session.primitives, t->session.stream, &by_coordinate, t->session.scratch.mem, &at));
    const struct sap_argument places[] = {SAP_ARRAY(kd->node_of[side]), SAP_ARRAY(kd->large[side]),
                                          SAP_ARRAY(kd->value[at]), SAP_ARRAY(kd->key[at]), VALUE(n)};
    const struct sap_sort by_place = {.key = {kd->key[at].mem, kd->key[at ^ 1].mem},
                                      .value = {kd->value[at].mem, kd->value[at ^ 1].mem},
                                      .n = n,
                                      .to = PLACE_BITS};
    TRY(sap_session_for_each(&t->session, kd->f->sort_places, n, TILE, places, COUNT(places)));
    TRY(sap_primitives_sort(t->session.primitives, t->session.stream, &by_place, t->session.scratch.mem, &then));
    return move_sorted(t, side, &kd->value[at ^ then]);
}

/* Computes boxes and planes of the large nodes of a round, of which there are at most `most`. */
static int find_planes(struct sap_gpu_host_tree *t, int round, int most, int sorts)
{
    const struct sap_gpu_kd *const kd = t->kd;
    const int side = round & 1, n = kd->b.n, runs = n / (TILE * SAP_KD_JOINED);
    const struct sap_argument boxes[] = {SAP_ARRAY(kd->point[side]), SAP_ARRAY(kd->node_of[side]), SAP_ARRAY(kd->box),
                                         VALUE(n)};
    const struct sap_argument join[] = {SAP_ARRAY(kd->box), SAP_ARRAY(kd->node_of[side]), SAP_ARRAY(kd->joined),
                                        VALUE(n)};
    const struct sap_argument planes[] = {SAP_ARRAY(kd->box),
                                          SAP_ARRAY(kd->joined),
                                          SAP_ARRAY(kd->large[side]),
                                          SAP_ARRAY(kd->leaf),
                                          SAP_ARRAY(kd->counter),
                                          VALUE(kd->b),
                                          VALUE(round),
                                          VALUE(sorts)};
    TRY(sap_session_launch(&t->session, kd->f->boxes, n / TILE + (n % TILE > 0), SAP_KD_NODE_THREADS, boxes,
                           COUNT(boxes)));
    if (runs > 0) TRY(sap_session_launch(&t->session, kd->f->join, runs, SAP_KD_JOINED, join, COUNT(join)));
    TRY(sap_session_launch(&t->session, kd->f->planes, most, SAP_KD_NODE_THREADS, planes, COUNT(planes)));
    return sorts ? sort_halved(t, side) : (int)SAP_DRIVER_OK;
}

/* Makes the children of the large nodes of a round, and moves their particles to the other arrays. */
static int divide(const struct sap_gpu_host_tree *t, int round, int most, const struct sap_gpu_buffer *order)
{
    const struct sap_gpu_kd *const kd = t->kd;
    const int side = round & 1, other = side ^ 1, n = kd->b.n, groups = most / SAP_KD_NODE_THREADS + 1;
    const struct sap_argument sides[] = {SAP_ARRAY(t->given.particle), SAP_ARRAY(kd->point[side]),
                                         SAP_ARRAY(kd->node_of[side]), SAP_ARRAY(kd->large[side]),
                                         SAP_ARRAY(kd->before),        VALUE(n)};
    const struct sap_argument children[] = {SAP_ARRAY(kd->point[side]),
                                            SAP_ARRAY(kd->large[side]),
                                            SAP_ARRAY(kd->large[other]),
                                            SAP_ARRAY(kd->root),
                                            SAP_ARRAY(kd->inner),
                                            SAP_ARRAY(kd->leaf),
                                            SAP_ARRAY(kd->counter),
                                            SAP_ARRAY(kd->before),
                                            VALUE(kd->b),
                                            VALUE(round),
                                            VALUE(side)};
    const struct sap_argument move[] = {SAP_ARRAY(kd->point[side]),
                                        SAP_ARRAY(kd->address[side]),
                                        SAP_ARRAY(kd->node_of[side]),
                                        SAP_ARRAY(kd->large[side]),
                                        SAP_ARRAY(kd->before),
                                        SAP_ARRAY(kd->point[other]),
                                        SAP_ARRAY(kd->address[other]),
                                        SAP_ARRAY(kd->node_of[other]),
                                        SAP_ARRAY(*order),
                                        VALUE(n)};
    TRY(sap_session_for_each(&t->session, kd->f->sides, n + 1, TILE, sides, COUNT(sides)));
    TRY(sap_primitives_scan(t->session.primitives, t->session.stream, kd->before.mem, kd->before.mem, n + 1,
                            t->session.scratch.mem, NULL));
    TRY(sap_session_launch(&t->session, kd->f->children, groups, SAP_KD_NODE_THREADS, children, COUNT(children)));
    return sap_session_for_each(&t->session, kd->f->move, n, TILE, move, COUNT(move));
}

/* Returns the number of levels until nodes of n particles are small, if all planes halve them. */
static int usual_rounds(int n)
{
    int rounds = 1;
    while (n >> rounds >= LARGE) rounds++;
    return rounds;
}

/* Splits all large nodes; *roots: small subtrees that remain. */
static int split_large(struct sap_gpu_host_tree *t, const struct sap_gpu_buffer *order, int *roots)
{
    int *const counter = ((struct sap_gpu_tree_told *)t->told.host)->kd_counter;
    const int n = t->kd->b.n;
    int sorts = 0, round = 0, batch = usual_rounds(n) + 2;
    *roots = 1;
    if (n < LARGE) return SAP_DRIVER_OK;
    for (; round < SAP_KD_ROUNDS; batch = BATCH) {
        for (int end = round + batch < SAP_KD_ROUNDS ? round + batch : SAP_KD_ROUNDS; round < end; round++) {
            const int most = round < 30 && 1 << round < n / LARGE ? 1 << round : n / LARGE;
            TRY(find_planes(t, round, most, sorts));
            TRY(divide(t, round, most, order));
        }
        TRY(sap_session_copy_out(&t->session, counter, t->kd->counter.mem, 0, SAP_KD_COUNTERS * sizeof *counter));
        TRY(sap_session_wait(&t->session));
        *roots = counter[SAP_KD_ROOTS];
        sorts = counter[SAP_KD_WAITING];
        if (counter[SAP_KD_LARGE + round] == 0) return SAP_DRIVER_OK;
    }
    return SAP_DRIVER_ERROR; /* levels are bounded, so the rounds suffice */
}

/* ---- groups ------------------------------------------------------------------------------------- */

/* The arrays of particles are free once all nodes are split. */
struct group_memory {
    const struct sap_gpu_buffer *flag, *before, *at, *mark, *link[2];
};

static struct group_memory group_memory_of(const struct sap_gpu_kd *kd)
{
    return (struct group_memory){.flag = &kd->before,
                                 .before = &kd->node_of[0],
                                 .mark = &kd->node_of[0], /* it is read for the last time when `before` is written */
                                 .at = &kd->address[0],
                                 .link = {&kd->address[1], &kd->node_of[1]}};
}

/* Launches enough groups of threads to keep a device busy; the kernels read the number of breaks themselves. */
static int for_each_break(const struct sap_gpu_host_tree *t, struct sap_function *f, const struct sap_argument *a,
                          int arguments)
{
    const int groups = t->kd->b.n / TILE + 1;
    return sap_session_launch(&t->session, f, groups < BREAK_GROUPS ? groups : (int)BREAK_GROUPS, TILE, a, arguments);
}

/* Marks the breaks at which groups begin. */
static int mark_begins(const struct sap_gpu_host_tree *t, const struct group_memory *m, int count_at, int most)
{
    const struct kd_kernels *const f = t->kd->f;
    const int n = t->kd->b.n;
    const size_t groups = sap_tree_groups_most(&t->settings, n);
    const struct sap_argument links[] = {SAP_ARRAY(*m->at),
                                         SAP_ARRAY(t->session.scratch),
                                         SAP_ARRAY(*m->link[0]),
                                         SAP_ARRAY(*m->mark),
                                         VALUE(count_at),
                                         VALUE(most),
                                         VALUE(n)};
    const struct sap_argument begins[] = {SAP_ARRAY(*m->at), SAP_ARRAY(t->session.scratch), SAP_ARRAY(*m->mark),
                                          SAP_ARRAY(*m->flag), VALUE(count_at)};
    TRY(for_each_break(t, f->group_links, links, COUNT(links)));
    for (int round = 0; (size_t)1 << round < groups; round++) {
        const struct sap_argument marks[] = {SAP_ARRAY(t->session.scratch), SAP_ARRAY(*m->link[round & 1]),
                                             SAP_ARRAY(*m->link[~round & 1]), SAP_ARRAY(*m->mark), VALUE(count_at)};
        TRY(for_each_break(t, f->group_marks, marks, COUNT(marks)));
    }
    return for_each_break(t, f->group_begins, begins, COUNT(begins));
}

/* Finds where groups begin, and copies their number to told->groups; the caller waits. */
static int find_groups(struct sap_gpu_host_tree *t)
{
    const struct sap_gpu_kd *const kd = t->kd;
    const struct group_memory m = group_memory_of(kd);
    const struct sap_primitives *const p = t->session.primitives;
    const int n = kd->b.n, most = sap_tree_group_most(&t->settings);
    const struct sap_argument breaks[] = {SAP_ARRAY(kd->inner), SAP_ARRAY(kd->leaf), SAP_ARRAY(*m.flag), VALUE(most),
                                          VALUE(n)};
    size_t at;
    TRY(sap_session_reserve(&t->session, &t->session.scratch, sap_primitives_scratch(n)));
    TRY(sap_session_fill(&t->session, m.flag->mem, 0, 0, (size_t)n * sizeof(int)));
    TRY(sap_session_for_each(&t->session, kd->f->breaks, n, TILE, breaks, COUNT(breaks)));
    TRY(sap_primitives_compact(p, t->session.stream, m.flag->mem, NULL, m.before->mem, m.at->mem, n,
                               t->session.scratch.mem, &at));
    TRY(mark_begins(t, &m, (int)(at / sizeof(int)), most));
    TRY(sap_primitives_scan(p, t->session.stream, m.flag->mem, m.before->mem, n, t->session.scratch.mem, &at));
    return sap_session_copy_out(&t->session, &((struct sap_gpu_tree_told *)t->told.host)->groups,
                                t->session.scratch.mem, at, sizeof(int));
}

int sap_gpu_kd_cut(struct sap_gpu_host_tree *t, const struct sap_gpu_buffer *order, int groups, struct sap_gpu_cut *cut)
{
    const struct group_memory m = group_memory_of(t->kd);
    const int n = t->kd->b.n, is_limited = t->settings.group_extent > 0;
    size_t at;
    *cut = (struct sap_gpu_cut){
        .order = order, .flag = m.flag, .before = m.before, .first = m.link[0], .n = n, .groups = groups};
    return is_limited ? sap_primitives_compact(t->session.primitives, t->session.stream, m.flag->mem, NULL,
                                               m.before->mem, m.link[0]->mem, n, t->session.scratch.mem, &at)
                      : (int)SAP_DRIVER_OK;
}

/* ---- small nodes, cells -------------------------------------------------------------------------- */

static int split_small(const struct sap_gpu_host_tree *t, const struct sap_gpu_buffer *order, int roots)
{
    const struct sap_gpu_kd *const kd = t->kd;
    const struct sap_argument a[] = {SAP_ARRAY(kd->point[0]),   SAP_ARRAY(kd->point[1]), SAP_ARRAY(kd->address[0]),
                                     SAP_ARRAY(kd->address[1]), SAP_ARRAY(kd->root),     SAP_ARRAY(kd->inner),
                                     SAP_ARRAY(kd->leaf),       SAP_ARRAY(*order),       VALUE(kd->b)};
    return roots > 0 ? sap_session_launch(&t->session, kd->f->small_nodes, roots, SAP_KD_SMALL, a, COUNT(a))
                     : (int)SAP_DRIVER_OK;
}

int sap_gpu_kd_split(struct sap_gpu_host_tree *t, const double *low, const double *high, double mass_unit, int signs,
                     const struct sap_gpu_buffer *order)
{
    struct sap_gpu_kd *const kd = t->kd;
    const int merge = t->settings.walk == SAPPORO_WALK_STACKLESS ? 1 : 3, n = t->given.n;
    int roots;
    kd->b = (struct sap_kd_arguments){.low = {low[0], low[1], low[2]},
                                      .high = {high[0], high[1], high[2]},
                                      .mass_unit = mass_unit,
                                      .signs = signs,
                                      .n = n,
                                      .leaf_size = t->settings.leaf_size,
                                      .merge = merge,
                                      .cell_levels = (SAP_KD_LEVELS + merge - 2) / merge + 1,
                                      .tiles = n / SAP_LINK_TILE + (n % SAP_LINK_TILE > 0)};
    TRY(reserve(t, n));
    TRY(sap_session_reserve(&t->session, &t->session.scratch, sap_primitives_scratch(n + 1)));
    TRY(start(t));
    TRY(split_large(t, order, &roots));
    return split_small(t, order, roots);
}

int sap_gpu_kd_count(struct sap_gpu_host_tree *t, int *level_first, int *groups)
{
    const struct sap_gpu_kd *const kd = t->kd;
    struct sap_gpu_tree_told *const told = t->told.host;
    const int counts = kd->b.cell_levels * kd->b.tiles;
    size_t total_at;
    TRY(sap_session_reserve(&t->session, &t->span, (size_t)kd->b.n * sizeof(int)));
    TRY(sap_session_reserve(&t->session, &t->count, (size_t)counts * sizeof(int)));
    TRY(sap_session_reserve(&t->session, &t->new_first, sizeof told->kd_first));
    TRY(sap_session_reserve(&t->session, &t->session.scratch, sap_primitives_scratch(counts)));
    const struct sap_argument levels[] = {SAP_ARRAY(kd->inner), SAP_ARRAY(kd->leaf), SAP_ARRAY(t->span),
                                          SAP_ARRAY(t->count), VALUE(kd->b)};
    TRY(sap_session_launch(&t->session, kd->f->levels, kd->b.tiles, THREADS, levels, COUNT(levels)));
    TRY(sap_primitives_scan(t->session.primitives, t->session.stream, t->count.mem, t->count.mem, counts,
                            t->session.scratch.mem, &total_at));
    const int total = (int)(total_at / sizeof(int));
    const struct sap_argument firsts[] = {SAP_ARRAY(t->count), SAP_ARRAY(t->session.scratch), SAP_ARRAY(t->new_first),
                                          VALUE(total), VALUE(kd->b)};
    TRY(sap_session_launch(&t->session, kd->f->level_firsts, 1, THREADS, firsts, COUNT(firsts)));
    TRY(sap_session_copy_out(&t->session, told->kd_first, t->new_first.mem, 0, sizeof told->kd_first));
    TRY(find_groups(t));
    TRY(sap_session_wait(&t->session));
    *groups = told->groups;
    memcpy(level_first, told->kd_first, sizeof told->kd_first);
    return SAP_DRIVER_OK;
}

int sap_gpu_kd_link(struct sap_gpu_host_tree *t)
{
    const struct sap_gpu_kd *const kd = t->kd;
    const struct sap_argument link[] = {SAP_ARRAY(kd->inner), SAP_ARRAY(kd->leaf), SAP_ARRAY(t->span),
                                        SAP_ARRAY(t->count),  SAP_ARRAY(t->node),  SAP_ARRAY(t->node_level),
                                        VALUE(kd->b)};
    const struct sap_argument children[] = {SAP_ARRAY(t->node), SAP_ARRAY(t->node_level), SAP_ARRAY(t->first),
                                            VALUE(t->t.nodes)};
    TRY(sap_session_launch(&t->session, kd->f->link, kd->b.tiles, THREADS, link, COUNT(link)));
    return sap_session_for_each(&t->session, kd->f->count_children, t->t.nodes, TILE, children, COUNT(children));
}
