/* cpu_tree.c - the CPU engine's tables for trees: memory, particles, build and refresh. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/pull.h"
#include "engine/tree_macs.h"
#include "engine/tree_options.h"
#include "engine/tree_structure.h"

enum { SPARE_NODES = 64 };

/* ---- memory ------------------------------------------------------------------------- */

/* Returns the nodes that a tree of n particles reserves from the start; it rarely needs more. */
static int usual_nodes(int n) { return n / 2 + SPARE_NODES; }

static size_t bytes_of_particles(size_t n)
{
    struct sap_cpu_tree *t = NULL;
    const size_t given = sizeof *t->given.x + sizeof *t->given.mass + sizeof *t->given.a;
    const size_t sorted = sizeof *t->own.x + 4 * sizeof *t->place + 2 * sizeof *t->order.key;
    return n * (given + sorted);
}

/* Bytes that only kd-trees need: per particle, and per node of two children. */
static size_t bytes_of_builder(const struct sap_tree_settings *settings, int n)
{
    const int kd = settings->kind == SAPPORO_TREE_KDTREE;
    return kd ? sap_kd_bytes(n) + (size_t)usual_nodes(n) * sizeof(struct sap_kd_node) : 0;
}

static size_t bytes_of_groups(const struct sap_tree_settings *settings, int n)
{
    return sap_tree_groups_most(settings, n) * sizeof(struct sap_cpu_group);
}

static size_t memory(const struct sap_device_set *opaque_set, const struct sap_tree_settings *settings, int n,
                     size_t *device_bytes)
{
    const struct sap_cpu_set *const devices = (const void *)opaque_set;
    (void)devices;
    if (device_bytes) *device_bytes = 0;
    return sizeof(struct sap_cpu_tree) + bytes_of_particles((size_t)n) +
           sap_cpu_bytes_of_nodes((size_t)usual_nodes(n)) + bytes_of_groups(settings, n) +
           bytes_of_builder(settings, n) + sap_cpu_bytes_of_lengths(settings, n, usual_nodes(n));
}

static void destroy(struct sap_tree *opaque_tree)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    free(t->given.x);
    free(t->given.mass);
    free(t->given.a);
    free(t->given.h);
    free(t->given.past_x[0]);
    free(t->given.past_x[1]);
    sap_cpu_tree_free_order(&t->order);
    sap_kd_free(&t->builder.kd);
    free(t->place);
    free(t->builder.spare_node);
    free(t->group);
    free(t->group_of);
    sap_cpu_free_nodes(&t->own);
    sap_cpu_free_nodes(&t->halo);
    free(t);
}

static int reserve_particles(struct sap_cpu_tree *t)
{
    const size_t room = (size_t)t->room + 1;
    t->given.x = malloc(room * sizeof *t->given.x);
    t->given.mass = malloc(room * sizeof *t->given.mass);
    t->given.a = malloc(room * sizeof *t->given.a);
    t->place = malloc(room * sizeof *t->place);
    t->own.x = malloc(room * sizeof *t->own.x);
    t->group = malloc(bytes_of_groups(&t->settings, t->room));
    t->group_of = malloc(room * sizeof *t->group_of);
    t->own.room = t->builder.spare_room = usual_nodes(t->room);
    t->own.node = malloc((size_t)t->own.room * sizeof *t->own.node);
    t->builder.spare_node = malloc((size_t)t->builder.spare_room * sizeof *t->builder.spare_node);
    if (!t->given.x || !t->given.mass || !t->given.a || !t->place || !t->own.x || !t->group || !t->group_of ||
        !t->own.node || !t->builder.spare_node)
        return SAPPORO_ERR_MEMORY;
    if (sap_cpu_new_lengths(t, room)) return SAPPORO_ERR_MEMORY;
    if (t->settings.kind == SAPPORO_TREE_KDTREE && sap_kd_reserve(&t->builder.kd, t->room)) return SAPPORO_ERR_MEMORY;
    return sap_cpu_tree_new_order(t->room, &t->order) || sap_cpu_reserve_cells(&t->own, t->own.room)
               ? SAPPORO_ERR_MEMORY
               : SAPPORO_OK;
}

static int create(struct sap_device_set *opaque_set, const struct sap_tree_settings *settings, int n,
                  struct sap_tree **tree)
{
    struct sap_cpu_set *const devices = (void *)opaque_set;
    struct sap_cpu_tree *t = calloc(1, sizeof *t);
    *tree = NULL;
    if (!t) return SAPPORO_ERR_MEMORY;
    t->base.ops = &sap_cpu_tree_ops;
    t->settings = *settings;
    t->frame.settings = &t->settings;
    t->frame.narrow = sap_isa_tree_kernel(devices->isa, SAPPORO_SP);
    t->frame.wide = sap_isa_tree_kernel(devices->isa, SAPPORO_DP);
    t->threads = devices->threads;
    t->room = n;
    if (reserve_particles(t)) {
        destroy(&t->base);
        return SAPPORO_ERR_MEMORY;
    }
    *tree = &t->base;
    return SAPPORO_OK;
}

static void kind(const struct sap_device_set *opaque_set, const struct sap_tree_settings *settings, char *text,
                 size_t room)
{
    const struct sap_cpu_set *const devices = (const void *)opaque_set;
    const int dp = settings->precision == SAPPORO_DP;
    (void)snprintf(text, room, "cpu %s %s %s %s", sap_isa_name(devices->isa), dp ? "dp" : "sp",
                   sap_tree_kind_word(settings->kind), dp || devices->isa == SAP_ISA_SCALAR ? "any" : sap_isa_vendor());
}

static const char *words(const struct sap_tree *opaque_tree)
{
    const struct sap_cpu_tree *const t = (const void *)opaque_tree;
    return t->words;
}

int sap_cpu_tree_failed(struct sap_cpu_tree *t, int status, const char *why)
{
    (void)snprintf(t->words, sizeof t->words, "%s", why);
    return status;
}

/* ---- particles ------------------------------------------------------------------------ */

/* Returns the threads that are worth waking for n particles. */
static int threads_for(const struct sap_cpu_tree *t, int n)
{
    enum { A_THREAD = 16384 };
    const int most = 1 + n / A_THREAD;
    return sap_threads_now(most < t->threads ? most : t->threads);
}

/* Particles that threads take. */
struct taking {
    struct sap_cpu_tree *t;
    const sapporo_tree_particles *p;
};

static void take_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct taking *const taking = argument;
    struct sap_cpu_tree *const t = taking->t;
    const sapporo_tree_particles *const p = taking->p;
    const int is_new = p->n != t->given.n;
    for (int i = (int)from; i < to; i++) {
        memcpy(t->given.x[i], sap_column_at(&p->x, i, sizeof *t->given.x), sizeof *t->given.x);
        if (p->mass.base || is_new) t->given.mass[i] = sap_column_double(&p->mass, i);
        if (p->a.base || is_new) t->given.a[i] = p->a.base ? sap_column_double(&p->a, i) : -1;
        sap_cpu_take_length(t, p, i, is_new);
    }
}

static int set(struct sap_tree *opaque_tree, const sapporo_tree_particles *p)
{
    enum { AT_ONCE = 4096 };
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    if (p->memory != SAPPORO_MEMORY_HOST)
        return sap_cpu_tree_failed(t, SAPPORO_ERR_UNSUPPORTED, "the CPU engine works on host memory only");
    const int threads = threads_for(t, p->n);
    struct taking taking = {t, p};
    sap_team_for(threads, p->n, sap_team_chunk(p->n, threads, AT_ONCE), take_some, &taking);
    t->given.n = p->n;
    return SAPPORO_OK;
}

/* ---- build and refresh -------------------------------------------------------------------- */

static void gather_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    enum { AHEAD = 16 }; /* addresses lie anywhere: their particles are asked for so many turns before */
    struct sap_cpu_tree *const t = argument;
    for (int k = (int)from; k < to; k++) {
        const int i = t->order.address[k], next = k + AHEAD < to ? t->order.address[k + AHEAD] : i;
        __builtin_prefetch(t->given.x[next]);
        __builtin_prefetch(t->given.x[next] + 2);
        __builtin_prefetch(t->given.mass + next);
        for (int c = 0; c < 3; c++) t->own.x[k][c] = t->given.x[i][c];
        t->own.x[k][3] = t->given.mass[i] * t->frame.mass_unit;
    }
}

/* Notes the index of each particle, by address. */
static void note_places(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct sap_cpu_tree *const t = argument;
    for (int k = (int)from; k < to; k++) t->place[t->order.address[k]] = k;
}

/* Copies the given particles in sorted order, which is new after a build. */
static void gather(struct sap_cpu_tree *t, double mass_unit, int is_new, int threads)
{
    enum { AT_ONCE = 1024 };
    t->frame.mass_unit = mass_unit;
    sap_team_for(threads, t->own.n, sap_team_chunk(t->own.n, threads, AT_ONCE), gather_some, t);
    if (is_new) sap_team_for(threads, t->own.n, sap_team_chunk(t->own.n, threads, AT_ONCE), note_places, t);
}

/* Sets the units of walks for the cube and the box of the given particles, or of the whole. */
static void take_units(struct sap_cpu_tree *t, const struct sap_cpu_box *box)
{
    const double *const low = t->is_part ? t->whole.low : box->low, *const high =
                                                                        t->is_part ? t->whole.high : box->high;
    t->frame.soft = sap_softening_of(&t->settings, t->given.h, t->own.n);
    const struct sap_tree_units units = sap_tree_units_of(&t->frame.cube, low, high, t->frame.soft.longest_2);
    memcpy(t->frame.middle, units.middle, sizeof t->frame.middle);
    t->frame.unit = units.unit;
    t->frame.soft.eps2 = fmin(t->frame.soft.eps2, units.eps2); /* 0 where it is too small */
    t->frame.is_point = units.is_point;
}

/* What a build or a refresh must know of the given particles. */
struct given_look {
    struct sap_cpu_box box;
    double mass_unit, pull;
    int members; /* of the sample */
    int signs;   /* masses have both signs */
};

/* Computes moments; this completes the tree. */
static void finish(struct sap_cpu_tree *t, const struct given_look *look, int is_new, int threads)
{
    const double start = sap_clock_seconds();
    sap_cpu_free_nodes(&t->halo); /* its words are in the units of the tree before */
    t->frame.pull = look->pull;
    take_units(t, &look->box);
    gather(t, look->mass_unit, is_new, threads);
    sap_cpu_tree_gather_lengths(t);
    if (t->own.nodes > 0) sap_cpu_tree_moments(t, threads);
    t->built = 1;
    t->done.seconds[SAPPORO_PHASE_MOMENTS] = sap_clock_seconds() - start;
}

/* Computes the sum of |m|; signs: whether there are masses of both signs. */
static double sum_masses(const struct sap_cpu_tree *t, int *signs)
{
    double sum = 0, least = 0, most = 0;
    for (int i = 0; i < t->given.n; i++) {
        const double mass = t->given.mass[i];
        sum += fabs(mass);
        least = mass < least ? mass : least;
        most = mass > most ? mass : most;
    }
    *signs = least < 0 && most > 0;
    return sum;
}

/* Looks at the given particles; fails if their moments exceed the range of double.  is_new: for a build. */
static int look_at_given(struct sap_cpu_tree *t, struct given_look *look, int is_new, int threads)
{
    const double(*const x)[3] = (const double(*)[3])t->given.x;
    const int by_pull = sap_mac_row(t->settings.mac).by_pull && !t->is_part;
    const double sum = sum_masses(t, &look->signs);
    look->mass_unit = sap_tree_mass_unit(t->is_part ? t->whole.weight : sum);
    look->box = sap_cpu_tree_box_of(x, t->given.n, threads);
    if (!sap_tree_in_range(look->box.low, look->box.high, sum))
        return sap_cpu_tree_failed(t, SAPPORO_ERR_NOT_FINITE, SAP_TREE_OUT_OF_RANGE);
    look->members = (is_new && !t->is_part) || by_pull ? sap_cpu_tree_take_sample(x, t->given.n, t->builder.sample) : 0;
    look->pull = t->is_part ? t->whole.pull
                 : by_pull  ? sap_tree_pull((const double(*)[SAP_CUBE_SAMPLE])t->builder.sample, look->members, sum)
                            : 1;
    return SAPPORO_OK;
}

/* Restores the order of the present tree, since a failed build has sorted its own keys into the same array. */
static void restore_order(struct sap_cpu_tree *t)
{
    for (int i = 0; i < t->own.n && t->built; i++) t->order.address[t->place[i]] = i;
}

/* Makes the nodes of an octree from sorted keys. */
static int make_octree(struct sap_cpu_tree *t, const struct sap_cube *cube, int signs, struct sap_tree_nodes *made,
                       int threads)
{
    const double(*const x)[3] = (const double(*)[3])t->given.x;
    const double start = sap_clock_seconds();
    sap_cpu_tree_sort(cube, (int)t->settings.curve, x, signs ? t->given.mass : NULL, t->given.n, &t->order, threads);
    t->builder.sorted_seconds = sap_clock_seconds() - start;
    struct sap_cpu_draft d = {t->given.n, t->settings.leaf_size, t->order.key, made};
    return sap_cpu_tree_link(&d, threads);
}

/* Makes the nodes of a kd-tree. A particle that walks alone needs no cells of eight children. */
static int make_kdtree(struct sap_cpu_tree *t, const struct given_look *look, struct sap_tree_nodes *made, int threads)
{
    const struct sap_kd_input in = {.n = t->given.n,
                                    .x = t->given.x[0],
                                    .mass = t->given.mass,
                                    .x_stride = 3,
                                    .mass_stride = 1,
                                    .mass_unit = look->mass_unit,
                                    .signs = look->signs,
                                    .low = look->box.low,
                                    .high = look->box.high,
                                    .leaf_size = t->settings.leaf_size,
                                    .levels = t->settings.walk == SAPPORO_WALK_STACKLESS ? 1 : 3};
    return sap_kd_build(&t->builder.kd, &in, made, threads);
}

/* Gives the tree the nodes of a build. */
static void take_nodes(struct sap_cpu_tree *t, const struct sap_cube *cube, const struct sap_tree_nodes *made,
                       int threads)
{
    t->own.n = t->given.n;
    t->frame.cube = *cube;
    t->builder.spare_node = t->own.node;
    t->builder.spare_room = t->own.room;
    t->own.node = made->node;
    t->own.room = made->room;
    t->own.nodes = made->nodes;
    t->own.levels = made->levels;
    memcpy(t->own.level_first, made->level_first, sizeof t->own.level_first);
    for (int k = 0; k < t->own.n && t->settings.kind == SAPPORO_TREE_KDTREE; k++)
        t->order.address[k] = t->builder.kd.point[k].address;
    sap_cpu_tree_cut_groups(t, threads);
}

/* Makes the nodes of a tree in the spare array, and allocates memory for their cells. */
static int make_nodes(struct sap_cpu_tree *t, const struct given_look *look, const struct sap_cube *cube,
                      struct sap_tree_nodes *made, int threads)
{
    const int kd = t->settings.kind == SAPPORO_TREE_KDTREE;
    *made = (struct sap_tree_nodes){.room = t->builder.spare_room, .node = t->builder.spare_node};
    int status = kd ? make_kdtree(t, look, made, threads) : make_octree(t, cube, look->signs, made, threads);
    t->builder.spare_node = made->node;
    t->builder.spare_room = made->room;
    if (!status) status = sap_cpu_reserve_cells(&t->own, made->room);
    if (status && !kd) restore_order(t);
    return status ? sap_cpu_tree_failed(t, status, "for cells") : SAPPORO_OK;
}

/* Builds a tree. All steps that can fail come before the first change of the present tree. */
static int build(struct sap_tree *opaque_tree)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    const int threads = threads_for(t, t->given.n);
    const double start = sap_clock_seconds();
    struct sap_tree_nodes made;
    struct given_look look;
    t->words[0] = '\0';
    int status = look_at_given(t, &look, 1, threads);
    if (status) return status;
    const struct sap_cube cube =
        t->is_part ? t->whole.cube : sap_tree_cube(look.box.low, look.box.high, t->builder.sample, look.members);
    const double looked = sap_clock_seconds() - start;
    t->builder.sorted_seconds = 0;
    status = make_nodes(t, &look, &cube, &made, threads);
    if (status) return status;
    take_nodes(t, &cube, &made, threads);
    const double sorted = looked + t->builder.sorted_seconds;
    t->done = (sapporo_tree_statistics){
        .group_extent = t->settings.group_extent,
        .seconds = {[SAPPORO_PHASE_SORT] = sorted, [SAPPORO_PHASE_LINK] = sap_clock_seconds() - start - sorted}};
    finish(t, &look, 1, threads);
    return SAPPORO_OK;
}

static int refresh(struct sap_tree *opaque_tree)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    const int threads = threads_for(t, t->own.n);
    struct given_look look;
    t->words[0] = '\0';
    if (!t->built || t->given.n != t->own.n)
        return sap_cpu_tree_failed(t, SAPPORO_ERR_ARGUMENT, "there is no tree of so many particles");
    const int status = look_at_given(t, &look, 0, threads);
    if (status) return status;
    t->done.seconds[SAPPORO_PHASE_SORT] = t->done.seconds[SAPPORO_PHASE_LINK] = 0;
    finish(t, &look, 0, threads);
    return SAPPORO_OK;
}

static int count(const struct sap_tree *opaque_tree, int cells)
{
    const struct sap_cpu_tree *const t = (const void *)opaque_tree;
    (void)cells;
    return t->built ? t->own.n : (int)SAP_TREE_NONE;
}

/* ---- properties and copies of the tree ----------------------------------------------------- */

static int statistics(struct sap_tree *opaque_tree, sapporo_tree_statistics *s)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    *s = t->done;
    s->n = t->built ? t->own.n : 0;
    s->cells = t->built ? t->own.nodes : 0;
    for (int k = 0; k < s->cells; k++) {
        if (t->own.node[k].children) continue;
        s->leaves++;
        if (t->own.node[k].count > s->largest_leaf) s->largest_leaf = t->own.node[k].count;
    }
    s->groups = t->built ? t->self.groups : 0;
    sap_cpu_tree_need_bounds(t, NULL, threads_for(t, t->own.n));
    for (int g = 0; g < s->groups; g++) s->wide_groups += t->group[g].wide != 0;
    s->depth = s->cells > 0 ? t->own.levels - 1 : 0;
    s->host_bytes = sizeof *t + bytes_of_particles((size_t)t->room) + sap_cpu_bytes_of_nodes((size_t)t->own.room) +
                    bytes_of_groups(&t->settings, t->room) + bytes_of_builder(&t->settings, t->room);
    return SAPPORO_OK;
}

static void limit(struct sap_tree *opaque_tree, double group_extent)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    t->settings.group_extent = group_extent;
}

static int extents(struct sap_tree *opaque_tree, double *median, double *largest)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    const int groups = t->built ? t->self.groups : 0;
    double *const extent = malloc(((size_t)groups + 1) * sizeof *extent);
    t->words[0] = '\0';
    if (!extent) return sap_cpu_tree_failed(t, SAPPORO_ERR_MEMORY, "for extents of groups");
    sap_cpu_tree_need_bounds(t, NULL, threads_for(t, t->own.n));
    for (int g = 0; g < groups; g++) extent[g] = 2 * sap_bound_size(&t->group[g].bound);
    sap_tree_extents(extent, groups, median, largest);
    free(extent);
    return SAPPORO_OK;
}

static double interactions(const struct sap_tree *opaque_tree)
{
    const struct sap_cpu_tree *const t = (const void *)opaque_tree;
    return (double)(t->done.particle_particle + t->done.particle_cell) / (double)t->done.rows;
}

static void walked(const struct sap_tree *opaque_tree, long long *particles, long long *cells)
{
    const struct sap_cpu_tree *const t = (const void *)opaque_tree;
    *particles = t->done.particle_particle;
    *cells = t->done.particle_cell;
}

static void copy_node(const struct sap_cpu_tree *t, int k, struct sap_tree_structure *s)
{
    const struct sap_tree_node *const node = &t->own.node[k];
    s->first[k] = node->first;
    s->count[k] = node->count;
    s->child[k] = node->child;
    s->children[k] = node->children;
    s->level[k] = node->level;
    sap_tree_tell_cell(&t->own.cell[k], k, s);
}

/* A copy of a tree on several threads. */
struct copying {
    const struct sap_cpu_tree *t;
    struct sap_tree_structure *s;
};

static void copy_some_nodes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct copying *const c = argument;
    if (c->s->node) {
        const size_t n = (size_t)(to - from);
        memcpy(c->s->node + from, c->t->own.node + from, n * sizeof *c->s->node);
        memcpy(c->s->cell + from, c->t->own.cell + from, n * sizeof *c->s->cell);
        return;
    }
    for (int k = (int)from; k < to; k++) copy_node(c->t, k, c->s);
}

static int structure(struct sap_tree *opaque_tree, struct sap_tree_structure *s)
{
    enum { AT_ONCE = 4096 };
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    s->nodes = t->built ? t->own.nodes : 0;
    s->n = t->built ? t->own.n : 0;
    s->groups = t->built ? t->self.groups : 0;
    if (!s->address) return SAPPORO_OK;
    struct copying c = {t, s};
    const int threads = threads_for(t, s->n);
    sap_team_for(threads, s->nodes, sap_team_chunk(s->nodes, threads, AT_ONCE), copy_some_nodes, &c);
    memcpy(s->address, t->order.address, (size_t)s->n * sizeof *s->address);
    memcpy(s->group, t->group_of, (size_t)s->n * sizeof *s->group);
    if (s->bound) sap_cpu_tree_need_bounds(t, NULL, threads);
    for (int g = 0; g < s->groups && s->bound; g++) s->bound[g] = t->group[g].bound;
    return SAPPORO_OK;
}

static int search(struct sap_tree *opaque_tree, int ni, sapporo_column x, sapporo_column h, long long *first,
                  long long room, int *list)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    return sap_cpu_tree_search(t, ni, x, h, first, room, list, sap_threads_now(t->threads));
}

static const struct sap_tree_ask_ops ask = {.force = sap_cpu_tree_force, .search = search, .statistics = statistics};

static const struct sap_tree_part_ops part = {.join = sap_cpu_tree_join,
                                              .structure = structure,
                                              .import = sap_cpu_tree_import,
                                              .walk = sap_cpu_tree_walk,
                                              .walked = walked};

const struct sap_tree_ops sap_cpu_tree_ops = {
    .destroy = destroy,
    .set = set,
    .build = build,
    .refresh = refresh,
    .past = sap_cpu_tree_past,
    .build_ahead = sap_cpu_tree_build_ahead,
    .count = count,
    .interactions = interactions,
    .limit = limit,
    .extents = extents,
    .words = words,
    .ask = &ask,
    .part = &part,
};

const struct sap_tree_maker sap_cpu_tree_maker = {.memory = memory, .kind = kind, .create = create};
