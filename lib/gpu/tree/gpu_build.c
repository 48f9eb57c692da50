/* gpu_build.c - builds a tree on an accelerator: cube, keys, order, nodes, moments, groups. */
#include <math.h>
#include <string.h>

#include "engine/pull.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kdtree.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_tree.h"
#include "physics/scalars.h"

enum { LEVELS = SAP_LINK_LEVELS };

static struct sap_gpu_tree_told *told(const struct sap_gpu_host_tree *t) { return t->told.host; }

/* Copies a result of the device to pinned memory. */
static int tell(const struct sap_gpu_host_tree *t, void *to, const struct sap_gpu_buffer *from, size_t at, size_t bytes)
{
    return sap_session_copy_out(&t->session, to, from->mem, at, bytes);
}

/* ---- cube and units ------------------------------------------------------------------- */

static int look_at_bounds(struct sap_gpu_host_tree *t, int members)
{
    const int n = t->given.n;
    const size_t parts = sizeof told(t)->bounds;
    TRY(sap_launch_tree_bounds(&t->session, t->f, SAP_TREE_PARTS, t->given.particle.mem, t->bounds.mem, n, members));
    TRY(tell(t, told(t)->bounds, &t->bounds, 0, parts));
    TRY(tell(t, told(t)->sample, &t->bounds, parts, 3 * (size_t)members * sizeof(double)));
    return sap_session_wait(&t->session);
}

/* A tree under construction. */
struct draft {
    struct sap_gpu_tree t;
    struct sap_cube cube;
    int levels, level_first[SAP_TREE_LEVELS + 1];
    double low[3], high[3]; /* box of all particles */
    int at;                 /* index of the sorted arrays in key and value of the tree's walkers */
    struct sap_gpu_cut cut;
};

/*
 * Computes the unit of masses; SAP_DRIVER_ERROR if the moments of particles within these bounds exceed the range of
 * double.
 */
static int take_bounds(struct sap_gpu_host_tree *t, double *low, double *high, double *mass_unit, double *weight)
{
    double sum = 0;
    for (int k = 0; k < SAP_TREE_PARTS; k++) sum += told(t)->bounds[6][k];
    *weight = sum;
    for (int k = 0; k < 3; k++) {
        low[k] = told(t)->bounds[k][0], high[k] = told(t)->bounds[3 + k][0];
        for (int p = 1; p < SAP_TREE_PARTS; p++) {
            low[k] = fmin(low[k], told(t)->bounds[k][p]);
            high[k] = fmax(high[k], told(t)->bounds[3 + k][p]);
        }
    }
    *mass_unit = sap_tree_mass_unit(t->is_part ? t->whole.weight : sum);
    t->out_of_range = !sap_tree_in_range(low, high, sum);
    return t->out_of_range ? (int)SAP_DRIVER_ERROR : (int)SAP_DRIVER_OK;
}

static void set_mass_unit(struct sap_gpu_tree *t, double mass_unit)
{
    t->mass_unit = mass_unit;
    t->true_mass = 1 / mass_unit;
}

/* Whether there are masses of both signs. */
static int have_signs(const struct sap_gpu_host_tree *t)
{
    double least = 0, most = 0;
    for (int p = 0; p < SAP_TREE_PARTS; p++) {
        least = fmin(least, told(t)->bounds[7][p]);
        most = fmax(most, told(t)->bounds[8][p]);
    }
    return least < 0 && most > 0;
}

/* Whether the tree needs the unit of MULTIPOLE's tolerance, and finds it itself. */
static int finds_pull(const struct sap_gpu_host_tree *t)
{
    return t->settings.mac == SAPPORO_MAC_MULTIPOLE && !t->is_part;
}

/* Copies the sample, per axis. */
static void take_sample(const struct sap_gpu_host_tree *t, double (*sample)[SAP_CUBE_SAMPLE], int members)
{
    for (int k = 0; k < 3; k++)
        memcpy(sample[k], told(t)->sample + (size_t)k * (size_t)members, (size_t)members * sizeof(double));
}

/* Returns the unit of MULTIPOLE's tolerance; weight: the sum of |m|. */
static double pull_of(const struct sap_gpu_host_tree *t, const double (*sample)[SAP_CUBE_SAMPLE], int members,
                      double weight)
{
    return t->is_part ? t->whole.pull : finds_pull(t) ? sap_tree_pull(sample, members, weight) : 1;
}

/* Whether some particle of a whole is beyond the range of float, in units. */
static int reaches_far(const struct sap_tree_whole *whole, const struct sap_tree_units *units)
{
    return sap_tree_reach(&whole->cube, units->middle, whole->low, whole->high) * units->unit > SAP_TREE_NEAR;
}

/* Sets the units for the cube and the box of the given particles, or of the whole. */
static void set_units(const struct sap_gpu_host_tree *h, struct sap_gpu_tree *t, const struct sap_cube *cube,
                      const double *low, const double *high)
{
    const struct sap_tree_whole *const whole = h->is_part ? &h->whole : NULL;
    const struct sap_tree_units units =
        sap_tree_units_of(cube, whole ? whole->low : low, whole ? whole->high : high, sap_gpu_most_softening(h));
    for (int k = 0; k < 3; k++) t->middle[k] = units.middle[k];
    t->unit = units.unit;
    t->eps2 = h->lengths.f ? 0 : units.eps2;
    t->flat = units.is_point || (whole && reaches_far(whole, &units)) || sap_gpu_lengths_short(h, units.unit);
}

static int make_cube(struct sap_gpu_host_tree *t, struct draft *d, int members)
{
    double sample[3][SAP_CUBE_SAMPLE], mass_unit, weight;
    TRY(take_bounds(t, d->low, d->high, &mass_unit, &weight));
    take_sample(t, sample, members);
    d->t.pull = pull_of(t, (const double(*)[SAP_CUBE_SAMPLE])sample, members, weight);
    d->t.signs = have_signs(t);
    d->cube = t->is_part ? t->whole.cube : sap_tree_cube(d->low, d->high, sample, members);
    d->t.gaps = d->cube.gaps;
    d->t.cells = d->cube.cells;
    for (int k = 0; k < 3; k++) d->t.low[k] = d->cube.low[k];
    set_units(t, &d->t, &d->cube, d->low, d->high);
    set_mass_unit(&d->t, mass_unit);
    return SAP_DRIVER_OK;
}

/* ---- order ------------------------------------------------------------------------------- */

static int gather(struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *given,
                  const struct sap_gpu_buffer *place, double mass_unit, int n)
{
    const int has_place = place != NULL;
    const struct sap_gpu_buffer *const where = place ? place : &w->sorted;
    return sap_launch_tree_gather(&t->session, t->f, n, given->mem, w->address.mem, w->sorted.mem, where->mem,
                                  has_place, mass_unit, n);
}

int sap_gpu_tree_reserve_sort(struct sap_gpu_host_tree *t, struct sap_gpu_buffer *key, struct sap_gpu_buffer *value,
                              int n)
{
    for (int k = 0; k < 2; k++) {
        TRY(sap_session_reserve(&t->session, &key[k], (size_t)n * sizeof(uint64_t)));
        TRY(sap_session_reserve(&t->session, &value[k], (size_t)n * sizeof(int)));
    }
    return sap_session_reserve(&t->session, &t->session.scratch, sap_primitives_scratch(n));
}

/* Sorts keys and addresses into key[*at] and value[*at]; changes nothing else of the walkers. */
static int sort_keys(struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *given,
                     const struct sap_gpu_tree *how, int n, int *at)
{
    TRY(sap_gpu_tree_reserve_sort(t, w->key, w->value, n));
    const struct sap_sort sort = {.key = {w->key[0].mem, w->key[1].mem},
                                  .value = {w->value[0].mem, w->value[1].mem},
                                  .n = n,
                                  .to = 63,
                                  .places = 1};
    TRY(sap_launch_tree_keys(&t->session, t->f, n, given->mem, w->key[0].mem, *how, n));
    return sap_primitives_sort(t->session.primitives, t->session.stream, &sort, t->session.scratch.mem, at);
}

static void exchange(struct sap_gpu_buffer *a, struct sap_gpu_buffer *b)
{
    const struct sap_gpu_buffer was = *a;
    *a = *b;
    *b = was;
}

/* Makes the sorted order of sort_keys the order of the walkers. */
static void take_order(struct sap_gpu_walkers *w, int n, int groups, int at)
{
    exchange(&w->address, &w->value[at]);
    w->n = n;
    w->groups = groups;
}

/* Returns the number of groups of n positions that are cut into runs of `run`. */
static int runs_of(int run, int n) { return n / run + (n % run > 0); }

/* Cuts the sorted positions of walkers into runs of `run`. */
static int cut_runs(const struct sap_gpu_host_tree *t, const struct sap_gpu_walkers *w, int run)
{
    return sap_launch_tree_runs(&t->session, t->f, w->n, w->group_first.mem, w->group_of.mem, run, w->n);
}

/* Halves groups whose extent exceeds the limit (physics/tree_parts.h); waits for their number. */
static int divide_groups(struct sap_gpu_host_tree *t, struct sap_gpu_cut *cut)
{
    const int size = cut->first ? 0 : t->settings.group_size;
    size_t at;
    TRY(sap_session_reserve(&t->session, &t->session.scratch, sap_primitives_scratch(cut->n)));
    TRY(sap_launch_tree_divide(&t->session, t->f, cut->groups, t->given.particle.mem, cut->order->mem,
                               cut->first ? cut->first->mem : cut->flag->mem, cut->flag->mem, t->settings.group_extent,
                               size, cut->groups, cut->n));
    TRY(sap_primitives_scan(t->session.primitives, t->session.stream, cut->flag->mem, cut->before->mem, cut->n,
                            t->session.scratch.mem, &at));
    TRY(tell(t, &told(t)->groups, &t->session.scratch, at, sizeof(int)));
    TRY(sap_session_wait(&t->session));
    cut->groups = told(t)->groups;
    return SAP_DRIVER_OK;
}

/* Writes the groups of a cut to the tree's arrays. */
static int write_groups(const struct sap_gpu_host_tree *t, const struct sap_gpu_cut *cut)
{
    return sap_launch_tree_flagged(&t->session, t->f, cut->n, cut->flag->mem, cut->before->mem, t->own.group_first.mem,
                                   t->own.group_of.mem, cut->n);
}

int sap_gpu_tree_sort_places(struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *given,
                             int n, int run)
{
    const size_t groups = (size_t)runs_of(run, n);
    int at;
    TRY(sap_session_reserve(&t->session, &w->sorted, (size_t)n * 4 * sizeof(double)));
    TRY(sap_session_reserve(&t->session, &w->group_of, (size_t)n * sizeof(int)));
    TRY(sap_session_reserve(&t->session, &w->group_first, (groups + 1) * sizeof(int)));
    TRY(sap_session_reserve(&t->session, &w->bound, groups * SAP_GROUP_WORDS * sizeof(double)));
    TRY(sap_session_reserve(&t->session, &w->heavy, groups * sizeof(int)));
    TRY(sap_session_reserve(&t->session, &w->strict, groups * sizeof(float)));
    struct sap_gpu_tree how = t->t;
    how.signs = 0; /* positions have none */
    TRY(sort_keys(t, w, given, &how, n, &at));
    take_order(w, n, (int)groups, at);
    w->run = run;
    TRY(cut_runs(t, w, run));
    return gather(t, w, given, NULL, 1, n);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* A buffer of the tree and the bytes that it needs. */
struct need {
    struct sap_gpu_buffer *buffer;
    size_t bytes;
};

/*
 * Enlarges buffers of the tree. While there is a tree, all new buffers are allocated before an old one is freed; so the
 * tree survives a failure.
 */
static int enlarge(const struct sap_gpu_host_tree *t, const struct need *need, int needs)
{
    struct sap_gpu_buffer larger[16] = {{0}};
    int status = SAP_DRIVER_OK;
    for (int k = 0; k < needs; k++)
        if (!t->linked && need[k].bytes > need[k].buffer->bytes) sap_gpu_free(t->session.driver, need[k].buffer);
    for (int k = 0; k < needs && !status; k++)
        if (need[k].bytes > need[k].buffer->bytes) status = sap_session_reserve(&t->session, &larger[k], need[k].bytes);
    for (int k = 0; k < needs; k++) {
        if (!status && larger[k].mem) exchange(need[k].buffer, &larger[k]);
        sap_gpu_free(t->session.driver, &larger[k]);
    }
    return status;
}

/* Reserves memory for the tree, whose nodes have been counted. */
static int reserve_tree(struct sap_gpu_host_tree *t, const struct draft *d)
{
    const size_t n = (size_t)d->t.n, nodes = (size_t)d->t.nodes, groups = (size_t)d->cut.groups;
    const struct need all[] = {{&t->place, n * sizeof(int)},
                               {&t->own.sorted, n * 4 * sizeof(double)},
                               {&t->own.group_of, n * sizeof(int)},
                               {&t->own.group_first, (groups + 1) * sizeof(int)},
                               {&t->own.bound, groups * SAP_GROUP_WORDS * sizeof(double)},
                               {&t->own.heavy, groups * sizeof(int)},
                               {&t->own.strict, groups * sizeof(float)},
                               {&t->node, nodes * sizeof(struct sap_tree_link)},
                               {&t->node_level, nodes * sizeof(int)},
                               {&t->cell, nodes * SAP_GPU_CELL},
                               {&t->word, nodes * 8 * sizeof(float)},
                               {&t->source, nodes * 4 * sizeof(double)},
                               {&t->moments, nodes * 8 * sizeof(float)},
                               {&t->own.length, t->lengths.f ? n * sizeof(double) : 0},
                               {&t->own.longest, t->lengths.f ? groups * sizeof(float) : 0},
                               {&t->lengths.of_node, t->lengths.f ? nodes * sizeof(double) : 0}};
    _Static_assert(sizeof all / sizeof all[0] <= 16, "enlarge has room for them");
    return enlarge(t, all, COUNT(all));
}

/* Takes the numbers of nodes and of levels from level_first[most + 1]. */
static void count_levels(struct draft *d, int most)
{
    d->t.nodes = d->level_first[most];
    for (d->levels = 0; d->levels < most && d->level_first[d->levels] < d->t.nodes;) d->levels++;
}

/* Counts the nodes of each level that begin in each tile, and numbers them; waits for the counts. */
static int count_nodes(struct sap_gpu_host_tree *t, struct draft *d)
{
    const int counts = LEVELS * d->t.tiles;
    size_t total_at;
    TRY(sap_launch_tree_levels(&t->session, t->f, d->t.tiles, t->own.key[d->at].mem, t->span.mem, t->count.mem, d->t));
    TRY(sap_primitives_scan(t->session.primitives, t->session.stream, t->count.mem, t->count.mem, counts,
                            t->session.scratch.mem, &total_at));
    const int total = (int)(total_at / sizeof(int));
    TRY(sap_launch_tree_level_firsts(&t->session, t->f, 1, t->count.mem, t->session.scratch.mem, t->new_first.mem,
                                     total, d->t.tiles));
    TRY(tell(t, told(t)->level_first, &t->new_first, 0, sizeof told(t)->level_first));
    TRY(sap_session_wait(&t->session));
    memcpy(d->level_first, told(t)->level_first, sizeof told(t)->level_first);
    count_levels(d, LEVELS);
    return SAP_DRIVER_OK;
}

static int link_nodes(struct sap_gpu_host_tree *t, int at)
{
    return sap_launch_tree_link(&t->session, t->f, t->t.tiles, t->own.key[at].mem, t->span.mem, t->count.mem,
                                t->node.mem, t->node_level.mem, t->t);
}

/* ---- moments ---------------------------------------------------------------------------------- */

int sap_gpu_tree_make_groups(struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *a)
{
    const int has_a = a != NULL;
    const struct sap_gpu_buffer *const sizes = a ? a : &w->sorted;
    TRY(sap_launch_tree_groups(&t->session, t->f, w->groups, w->sorted.mem, t->cell.mem, w->group_first.mem,
                               w->bound.mem, w->heavy.mem, sizes->mem, w->address.mem, w->strict.mem, has_a, t->t));
    return t->lengths.f ? sap_gpu_lengths_groups(t, w) : (int)SAP_DRIVER_OK;
}

int sap_gpu_tree_words(struct sap_gpu_host_tree *t, const struct sap_gpu_halo *of)
{
    return sap_launch_tree_words(&t->session, t->f, of->nodes, of->node.mem, of->cell.mem, t->cell.mem, of->word.mem,
                                 of->source.mem, of->moments.mem, of->nodes, t->t);
}

/* linked: the children have been counted. */
static int make_moments(struct sap_gpu_host_tree *t, int linked)
{
    TRY(sap_launch_tree_leaves(&t->session, t->f, t->t.nodes, t->own.sorted.mem, t->node.mem, t->node_level.mem,
                               t->first.mem, t->cell.mem, linked, t->t));
    for (int level = t->levels - 2; level >= 0; level--) {
        const int from = t->level_first[level], to = t->level_first[level + 1];
        TRY(sap_launch_tree_cells(&t->session, t->f, to - from, t->node.mem, t->cell.mem, from, to));
    }
    const struct sap_gpu_halo own = {.node = t->node,
                                     .cell = t->cell,
                                     .word = t->word,
                                     .source = t->source,
                                     .moments = t->moments,
                                     .nodes = t->t.nodes};
    TRY(sap_gpu_tree_words(t, &own));
    if (t->lengths.f) TRY(sap_gpu_lengths_nodes(t));
    return sap_gpu_tree_make_groups(t, &t->own, NULL);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

/*
 * Reserves the memory of a build of an octree that does not depend on the number of nodes. None of it belongs to the
 * present tree.
 */
static int reserve(struct sap_gpu_host_tree *t, const struct draft *d)
{
    const size_t n = (size_t)d->t.n, counts = (size_t)LEVELS * (size_t)d->t.tiles;
    const size_t scan = sap_primitives_scratch((int)counts), sort = sap_primitives_scratch(d->t.n);
    TRY(sap_session_reserve(&t->session, &t->span, n * sizeof(int)));
    TRY(sap_session_reserve(&t->session, &t->count, counts * sizeof(int)));
    TRY(sap_session_reserve(&t->session, &t->new_first, (LEVELS + 1) * sizeof(int)));
    return sap_session_reserve(&t->session, &t->session.scratch, scan > sort ? scan : sort);
}

int sap_gpu_tree_make_next(struct sap_gpu_host_tree *t)
{
    if (t->has_next) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(&t->session, &t->next, (size_t)t->t.nodes * sizeof(int)));
    for (int level = 0; level < t->levels; level++) {
        const int from = t->level_first[level], to = t->level_first[level + 1];
        TRY(sap_launch_tree_next(&t->session, t->f, to - from, t->node.mem, t->next.mem, from, to));
    }
    t->has_next = 1;
    return SAP_DRIVER_OK;
}

/* Computes order and numbers of cells and of groups of a kd-tree. */
static int make_kdtree(struct sap_gpu_host_tree *t, struct draft *d)
{
    d->at = 0;
    TRY(sap_session_reserve(&t->session, &t->own.value[d->at], (size_t)d->t.n * sizeof(int)));
    TRY(sap_gpu_kd_split(t, d->low, d->high, d->t.mass_unit, d->t.signs, &t->own.value[d->at]));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_LINK));
    int groups;
    TRY(sap_gpu_kd_count(t, d->level_first, &groups));
    count_levels(d, SAP_TREE_LEVELS);
    return sap_gpu_kd_cut(t, &t->own.value[d->at], groups, &d->cut);
}

/* Computes keys, order and numbers of nodes and of groups of an octree. */
static int make_octree(struct sap_gpu_host_tree *t, struct draft *d)
{
    TRY(sort_keys(t, &t->own, &t->given.particle, &d->t, d->t.n, &d->at));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_LINK));
    d->cut = (struct sap_gpu_cut){
        .order = &t->own.value[d->at], .n = d->t.n, .groups = runs_of(t->settings.group_size, d->t.n)};
    TRY(count_nodes(t, d));
    if (!(t->settings.group_extent > 0)) return SAP_DRIVER_OK;
    /* the other half of the arrays that were sorted is free */
    d->cut.flag = &t->own.key[!d->at];
    d->cut.before = &t->own.value[!d->at];
    return sap_session_fill(&t->session, d->cut.flag->mem, 0, 0, (size_t)d->t.n * sizeof(int));
}

/* Computes order and number of nodes. It does not change the present tree. */
static int prepare(struct sap_gpu_host_tree *t, struct draft *d)
{
    const int members = sap_cube_sample(d->t.n);
    d->t.tiles = d->t.n / SAP_LINK_TILE + (d->t.n % SAP_LINK_TILE > 0);
    if (!t->kd) TRY(reserve(t, d)); /* kd-trees: gpu_kdtree.c */
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_SORT));
    TRY(look_at_bounds(t, members));
    TRY(make_cube(t, d, members));
    TRY(t->kd ? make_kdtree(t, d) : make_octree(t, d));
    if (t->settings.group_extent > 0) TRY(divide_groups(t, &d->cut));
    return reserve_tree(t, d);
}

/* Replaces the tree by the draft. Later steps of the build write the tree's own arrays. */
static void take_draft(struct sap_gpu_host_tree *t, const struct draft *d)
{
    t->built = t->linked = t->has_next = t->stops = t->selection.regions_room = 0;
    t->t = d->t;
    t->n = d->t.n;
    t->cube = d->cube;
    t->levels = d->levels;
    memcpy(t->level_first, d->level_first, sizeof t->level_first);
    if (t->n == 0) return;
    exchange(&t->first, &t->new_first);
    take_order(&t->own, t->n, d->cut.groups, d->at);
}

static int write_tree(struct sap_gpu_host_tree *t, const struct draft *d)
{
    TRY(t->kd ? sap_gpu_kd_link(t) : link_nodes(t, d->at));
    TRY(d->cut.flag ? write_groups(t, &d->cut) : cut_runs(t, &t->own, t->settings.group_size));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_MOMENTS));
    TRY(gather(t, &t->own, &t->given.particle, &t->place, t->t.mass_unit, t->n));
    TRY(make_moments(t, t->kd != NULL));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_WALK));
    return sap_session_take_seconds(&t->session, SAPPORO_PHASE_SORT, SAPPORO_PHASE_MOMENTS, t->done.seconds);
}

static int build(struct sap_gpu_host_tree *t)
{
    struct draft d = {.t = t->t};
    d.t.n = t->given.n;
    d.t.nodes = 0;
    if (d.t.n > 0) TRY(prepare(t, &d));
    take_draft(t, &d);
    if (t->n > 0) TRY(write_tree(t, &d));
    t->built = t->linked = 1;
    t->done.group_extent = t->settings.group_extent;
    return SAP_DRIVER_OK;
}

/* Frees the present tree, so that there is memory for another. */
static void give_up(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_buffer *const all[] = {
        &t->own.address,  &t->own.sorted,  &t->own.bound,      &t->own.heavy,  &t->own.strict, &t->own.group_first,
        &t->own.group_of, &t->place,       &t->node,           &t->cell,       &t->word,       &t->source,
        &t->moments,      &t->next,        &t->node_level,     &t->stop_begin, &t->stop_top,   &t->stop,
        &t->own.length,   &t->own.longest, &t->lengths.of_node};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(t->session.driver, all[k]);
    t->built = t->linked = t->has_next = t->stops = 0;
}

/* Builds a tree. If the device cannot hold the new tree beside the present one, the present tree is lost. */
int sap_gpu_tree_build(struct sap_gpu_host_tree *t)
{
    const int status = build(t);
    if (status != SAP_DRIVER_MEMORY || !t->linked || t->session.host_full) return status;
    give_up(t);
    return build(t);
}

int sap_gpu_tree_check_range(struct sap_gpu_host_tree *t)
{
    double low[3], high[3], mass_unit, weight;
    TRY(look_at_bounds(t, 1));
    return take_bounds(t, low, high, &mass_unit, &weight);
}

int sap_gpu_tree_refresh(struct sap_gpu_host_tree *t)
{
    double low[3], high[3], mass_unit, weight, sample[3][SAP_CUBE_SAMPLE];
    const int members = finds_pull(t) ? sap_cube_sample(t->n) : 1;
    if (t->n == 0) return SAP_DRIVER_OK;
    TRY(look_at_bounds(t, members));
    TRY(take_bounds(t, low, high, &mass_unit, &weight));
    take_sample(t, sample, members);
    for (int phase = SAPPORO_PHASE_SORT; phase <= SAPPORO_PHASE_MOMENTS; phase++)
        TRY(sap_session_mark(&t->session, phase));
    t->built = t->stops = t->selection.regions_room = 0; /* particles and moments match only after the last step */
    set_mass_unit(&t->t, mass_unit);
    set_units(t, &t->t, &t->cube, low, high);
    t->t.pull = pull_of(t, (const double(*)[SAP_CUBE_SAMPLE])sample, members, weight);
    TRY(gather(t, &t->own, &t->given.particle, NULL, t->t.mass_unit, t->n)); /* places stay */
    TRY(make_moments(t, 1));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_WALK));
    TRY(sap_session_take_seconds(&t->session, SAPPORO_PHASE_SORT, SAPPORO_PHASE_MOMENTS, t->done.seconds));
    t->built = 1;
    return SAP_DRIVER_OK;
}
