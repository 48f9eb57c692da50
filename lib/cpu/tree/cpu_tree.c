/* cpu_tree.c - the CPU engine's tables for trees: memory, particles, and what a tree is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "cpu/tree/cpu_tree.h"
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
    (void)opaque_set;
    if (device_bytes) *device_bytes = 0;
    return sizeof(struct sap_cpu_tree) + bytes_of_particles((size_t)n) +
           sap_cpu_bytes_of_nodes((size_t)usual_nodes(n)) + bytes_of_groups(settings, n) +
           bytes_of_builder(settings, n) + sap_cpu_bytes_of_lengths(settings, n, usual_nodes(n)) +
           sap_cpu_far_bytes(settings);
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
    sap_cpu_far_free(&t->far);
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
    if (sap_cpu_want_lengths(t, 0)) return SAPPORO_ERR_MEMORY;
    if (t->settings.period > 0 && sap_cpu_far_reserve(&t->far)) return SAPPORO_ERR_MEMORY;
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
    t->frame.pairs = sap_cpu_pairs_of(settings, 0);
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
                   sap_tree_kind_word(settings->kind), dp ? "any" : sap_isa_vendor(devices->isa));
}

static const char *words(const struct sap_tree *opaque_tree)
{
    const struct sap_cpu_tree *const t = (const void *)opaque_tree;
    return t->words;
}

/* ---- particles ------------------------------------------------------------------------ */

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
        if (p->mass.base || is_new) t->given.mass[i] = sap_column_double(&p->mass, i) * t->settings.gravity;
        if (p->a.base || is_new) t->given.a[i] = p->a.base ? sap_column_double(&p->a, i) : -1;
    }
    sap_cpu_take_lengths(t, p, (int)from, (int)to, is_new);
}

static int set(struct sap_tree *opaque_tree, const sapporo_tree_particles *p)
{
    enum { AT_ONCE = 4096 };
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    if (p->memory != SAPPORO_MEMORY_HOST) return sap_cpu_tree_failed(t, SAPPORO_ERR_UNSUPPORTED, SAP_CPU_HOST_ONLY);
    const int threads = sap_cpu_tree_threads(t, p->n), keeps = t->given.lengths && p->n == t->given.n;
    if (sap_cpu_want_lengths(t, p->h.base || keeps))
        return sap_cpu_tree_failed(t, SAPPORO_ERR_MEMORY, "for softening lengths");
    struct taking taking = {t, p};
    sap_team_for(threads, p->n, sap_team_chunk(p->n, threads, AT_ONCE), take_some, &taking);
    t->given.n = p->n;
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
    sap_cpu_tree_need_bounds(t, NULL, sap_cpu_tree_threads(t, t->own.n));
    for (int g = 0; g < s->groups; g++) s->wide_groups += t->group[g].wide != 0;
    s->depth = s->cells > 0 ? t->own.levels - 1 : 0;
    s->host_bytes = sizeof *t + bytes_of_particles((size_t)t->room) + sap_cpu_bytes_of_nodes((size_t)t->own.room) +
                    bytes_of_groups(&t->settings, t->room) + bytes_of_builder(&t->settings, t->room) +
                    sap_cpu_far_bytes(&t->settings);
    return SAPPORO_OK;
}

static void limit(struct sap_tree *opaque_tree, double group_extent)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    t->settings.group_extent = group_extent;
}

static void aim(struct sap_tree *opaque_tree, double accuracy)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    t->settings.accuracy = accuracy;
}

static int extents(struct sap_tree *opaque_tree, double *median, double *largest)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    const int groups = t->built ? t->self.groups : 0;
    double *const extent = malloc(((size_t)groups + 1) * sizeof *extent);
    t->words[0] = '\0';
    if (!extent) return sap_cpu_tree_failed(t, SAPPORO_ERR_MEMORY, "for extents of groups");
    sap_cpu_tree_need_bounds(t, NULL, sap_cpu_tree_threads(t, t->own.n));
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
    const int threads = sap_cpu_tree_threads(t, s->n);
    sap_team_for(threads, s->nodes, sap_team_chunk(s->nodes, threads, AT_ONCE), copy_some_nodes, &c);
    memcpy(s->address, t->order.address, (size_t)s->n * sizeof *s->address);
    memcpy(s->group, t->group_of, (size_t)s->n * sizeof *s->group);
    if (s->bound) sap_cpu_tree_need_bounds(t, NULL, threads);
    for (int g = 0; g < s->groups && s->bound; g++) s->bound[g] = t->group[g].bound;
    return SAPPORO_OK;
}

static const struct sap_tree_ask_ops ask = {.force = sap_cpu_tree_force,
                                            .tidal = sap_cpu_tree_tidal,
                                            .within = sap_cpu_tree_within,
                                            .nearest = sap_cpu_tree_nearest,
                                            .statistics = statistics};

static const struct sap_tree_part_ops part = {.join = sap_cpu_tree_join,
                                              .structure = structure,
                                              .import = sap_cpu_tree_import,
                                              .walk = sap_cpu_tree_walk,
                                              .walked = walked};

const struct sap_tree_ops sap_cpu_tree_ops = {
    .destroy = destroy,
    .set = set,
    .build = sap_cpu_tree_build,
    .refresh = sap_cpu_tree_refresh,
    .past = sap_cpu_tree_past,
    .build_ahead = sap_cpu_tree_build_ahead,
    .count = count,
    .interactions = interactions,
    .limit = limit,
    .aim = aim,
    .extents = extents,
    .words = words,
    .ask = &ask,
    .part = &part,
};

const struct sap_tree_maker sap_cpu_tree_maker = {.memory = memory, .kind = kind, .create = create};
