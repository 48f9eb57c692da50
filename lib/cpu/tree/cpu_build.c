/* cpu_build.c - builds and refreshes the tree of the particles that were set. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/team.h"
#include "base/threads.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/periodic.h"
#include "engine/pull.h"
#include "engine/tree_macs.h"

int sap_cpu_tree_failed(struct sap_cpu_tree *t, int status, const char *why)
{
    (void)snprintf(t->words, sizeof t->words, "%s", why);
    return status;
}

int sap_cpu_tree_threads(const struct sap_cpu_tree *t, int n)
{
    enum { A_THREAD = 16384 };
    const int most = 1 + n / A_THREAD;
    return sap_threads_now(most < t->threads ? most : t->threads);
}

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
    t->own.lengths = t->given.lengths;
    t->frame.pairs = sap_cpu_pairs_of(&t->settings, t->own.lengths);
    t->self.h = t->own.h;
    t->frame.soft = sap_softening_of(&t->settings, t->own.lengths ? t->given.h : NULL, t->own.n);
    if (t->is_part && t->own.lengths) t->frame.soft.longest_2 = sap_softening_longest_2(&t->settings, t->whole.longest);
    const double period = t->settings.period; /* images are as far: units are not smaller */
    const struct sap_tree_units units =
        sap_cube_units(&t->frame.cube, low, high, fmax(t->frame.soft.longest_2, period * period));
    memcpy(t->frame.middle, units.middle, sizeof t->frame.middle);
    t->frame.unit = units.unit;
    t->frame.soft.eps2 = sap_softening_eps2(&t->frame.soft, &units);
    t->frame.is_point = units.is_point;
}

/* What a build or a refresh must know of the given particles. */
struct given_look {
    struct sap_cpu_box box;
    double mass_unit, pull, least; /* least: acceleration (sap_periodic_least) */
    int members;                   /* of the sample */
    int signs;                     /* masses have both signs */
};

/* Computes moments; this completes the tree. */
static void finish(struct sap_cpu_tree *t, const struct given_look *look, int is_new, int threads)
{
    const double start = sap_clock_seconds();
    sap_cpu_free_nodes(&t->halo); /* its words are in the units of the tree before */
    t->frame.pull = look->pull;
    t->frame.least = look->least;
    t->far.known = 0;
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
    look->mass_unit = sap_cube_mass_unit(t->is_part ? t->whole.weight : sum);
    look->least = sap_periodic_least(t->settings.period, sum, t->given.n);
    look->box = sap_cpu_tree_box_of(x, t->given.n, threads);
    if (!sap_cube_in_range(look->box.low, look->box.high, sum))
        return sap_cpu_tree_failed(t, SAPPORO_ERR_NOT_FINITE, SAP_TREE_OUT_OF_RANGE);
    look->members = (is_new && !t->is_part) || by_pull ? sap_cpu_tree_take_sample(x, t->given.n, t->builder.sample) : 0;
    look->pull = t->is_part ? t->whole.pull
                 : by_pull  ? sap_pull_of((const double(*)[SAP_CUBE_SAMPLE])t->builder.sample, look->members, sum)
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
int sap_cpu_tree_build(struct sap_tree *opaque_tree)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    const int threads = sap_cpu_tree_threads(t, t->given.n);
    const double start = sap_clock_seconds();
    struct sap_tree_nodes made;
    struct given_look look;
    t->words[0] = '\0';
    sap_cpu_periodic_inside(t, threads);
    int status = look_at_given(t, &look, 1, threads);
    if (status) return status;
    const struct sap_cube cube =
        t->is_part ? t->whole.cube : sap_cube_of(look.box.low, look.box.high, t->builder.sample, look.members);
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

int sap_cpu_tree_refresh(struct sap_tree *opaque_tree)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    const int threads = sap_cpu_tree_threads(t, t->own.n);
    struct given_look look;
    t->words[0] = '\0';
    if (!t->built || t->given.n != t->own.n)
        return sap_cpu_tree_failed(t, SAPPORO_ERR_ARGUMENT, "there is no tree of so many particles");
    sap_cpu_periodic_follow(t, threads);
    const int status = look_at_given(t, &look, 0, threads);
    if (status) return status;
    t->done.seconds[SAPPORO_PHASE_SORT] = t->done.seconds[SAPPORO_PHASE_LINK] = 0;
    finish(t, &look, 0, threads);
    return SAPPORO_OK;
}
