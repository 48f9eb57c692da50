/* gpu_build.c - makes a tree on an accelerator: cube, keys, order, nodes, moments, groups. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>
#include <time.h>

#include "gpu_launch.h"
#include "tree/gpu_tree.h"

enum { THREADS = SAP_TREE_THREADS, LEVELS = SAP_LINK_LEVELS };

int sap_tree_launch(const struct sap_tree *t, struct sap_function *f, int groups, int threads,
                    const struct sap_argument *a, int arguments)
{
    const struct sap_launch l = {
        .groups = {(unsigned)groups, 1, 1}, .threads = (unsigned)threads, .argument = a, .arguments = arguments};
    return t->driver->launch(t->stream, f, &l);
}

int sap_tree_reserve(const struct sap_tree *t, struct sap_gpu_buffer *b, size_t bytes)
{
    return sap_gpu_reserve(t->driver, t->device->dev, b, bytes);
}

/* Launches a thread for each of n > 0. */
static int for_each(const struct sap_tree *t, struct sap_function *f, int n, const struct sap_argument *a,
                    int arguments)
{
    return sap_tree_launch(t, f, n / THREADS + (n % THREADS > 0), THREADS, a, arguments);
}

int sap_tree_mark(struct sap_tree *t, int phase)
{
    struct timespec now;
    if (t->events) return t->driver->event_record(t->mark[phase], t->stream);
    TRY(t->driver->stream_finish(t->stream));
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    t->clock[phase] = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    return SAP_DRIVER_OK;
}

int sap_tree_take_seconds(struct sap_tree *t, int from, int to)
{
    if (t->events) TRY(t->driver->event_wait(t->mark[to + 1]));
    for (int phase = from; phase <= to; phase++) {
        float ms = 0;
        if (t->events) TRY(t->driver->event_milliseconds(t->mark[phase], t->mark[phase + 1], &ms));
        t->done.seconds[phase] = t->events ? 1e-3 * (double)ms : t->clock[phase + 1] - t->clock[phase];
    }
    return SAP_DRIVER_OK;
}

static struct sap_gpu_tree_told *told(const struct sap_tree *t) { return t->told.host; }

/* Copies what the device tells into its place of the pinned memory. */
static int tell(const struct sap_tree *t, void *to, const struct sap_gpu_buffer *from, size_t at, size_t bytes)
{
    return t->driver->copy_out(t->stream, to, from->mem, at, bytes);
}

/* ---- cube and units ------------------------------------------------------------------- */

static int look_at_bounds(struct sap_tree *t, int members)
{
    const int n = t->given;
    const size_t parts = sizeof told(t)->bounds;
    const struct sap_argument a[] = {SAP_ARRAY(t->particle), SAP_ARRAY(t->bounds), VALUE(n), VALUE(members)};
    TRY(sap_tree_launch(t, t->f->bounds, SAP_TREE_PARTS, THREADS, a, COUNT(a)));
    TRY(tell(t, told(t)->bounds, &t->bounds, 0, parts));
    TRY(tell(t, told(t)->sample, &t->bounds, parts, 3 * (size_t)members * sizeof(double)));
    return t->driver->stream_finish(t->stream);
}

static double mass_unit_of(const struct sap_tree *t)
{
    double sum = 0;
    for (int k = 0; k < SAP_TREE_PARTS; k++) sum += told(t)->bounds[6][k];
    return sap_tree_mass_unit(sum);
}

static void take_cube(struct sap_tree *t, int members)
{
    double low[3], high[3], sample[3][SAP_CUBE_SAMPLE];
    for (int k = 0; k < 3; k++) {
        low[k] = told(t)->bounds[k][0], high[k] = told(t)->bounds[3 + k][0];
        for (int p = 1; p < SAP_TREE_PARTS; p++) {
            low[k] = fmin(low[k], told(t)->bounds[k][p]);
            high[k] = fmax(high[k], told(t)->bounds[3 + k][p]);
        }
        memcpy(sample[k], told(t)->sample + (size_t)k * (size_t)members, (size_t)members * sizeof(double));
    }
    t->cube = sap_tree_cube(low, high, sample, members);
    t->t.cells = t->cube.cells;
    t->t.unit = sap_tree_unit(&t->cube, t->settings.eps2);
    t->t.flat = !(t->cube.edge > 0);
    for (int k = 0; k < 3; k++) {
        t->t.low[k] = t->cube.low[k];
        t->t.middle[k] = t->cube.low[k] + 0.5 * t->cube.edge;
    }
}

static void take_masses(struct sap_tree *t)
{
    t->t.mass_unit = mass_unit_of(t);
    t->t.true_mass = 1 / t->t.mass_unit;
}

/* ---- order ------------------------------------------------------------------------------- */

static int gather(struct sap_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *given,
                  const struct sap_gpu_buffer *place, double mass_unit, int n)
{
    const int has_place = place != NULL;
    const struct sap_gpu_buffer *const where = place ? place : &w->sorted;
    const struct sap_argument a[] = {SAP_ARRAY(*given),
                                     SAP_ARRAY(w->address[w->at]),
                                     SAP_ARRAY(w->sorted),
                                     SAP_ARRAY(*where),
                                     VALUE(has_place),
                                     VALUE(mass_unit),
                                     VALUE(n)};
    return for_each(t, t->f->gather, n, a, COUNT(a));
}

static int reserve_walkers(struct sap_tree *t, struct sap_gpu_walkers *w, int n)
{
    const size_t size = (size_t)n, groups = (size_t)n / (size_t)t->settings.group_size + 1;
    for (int k = 0; k < 2; k++) {
        TRY(sap_tree_reserve(t, &w->key[k], size * sizeof(uint64_t)));
        TRY(sap_tree_reserve(t, &w->address[k], size * sizeof(int)));
    }
    TRY(sap_tree_reserve(t, &w->sorted, size * 4 * sizeof(double)));
    TRY(sap_tree_reserve(t, &w->ball, groups * SAP_GROUP_WORDS * sizeof(double)));
    TRY(sap_tree_reserve(t, &w->heavy, groups * sizeof(int)));
    TRY(sap_tree_reserve(t, &w->strict, groups * sizeof(float)));
    return sap_tree_reserve(t, &t->scratch, sap_primitives_scratch(n));
}

int sap_tree_sort_walkers(struct sap_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *given,
                          const struct sap_gpu_buffer *place, double mass_unit, int n)
{
    TRY(reserve_walkers(t, w, n));
    const struct sap_argument keys[] = {SAP_ARRAY(*given), SAP_ARRAY(w->key[0]), VALUE(t->t), VALUE(n)};
    const struct sap_sort sort = {.key = {w->key[0].mem, w->key[1].mem},
                                  .value = {w->address[0].mem, w->address[1].mem},
                                  .n = n,
                                  .to = 63,
                                  .places = 1};
    w->n = n;
    w->groups = n / t->settings.group_size + (n % t->settings.group_size > 0);
    TRY(for_each(t, t->f->keys, n, keys, COUNT(keys)));
    TRY(sap_primitives_sort(&t->f->primitives, t->stream, &sort, t->scratch.mem, &w->at));
    return gather(t, w, given, place, mass_unit, n);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static int reserve_nodes(struct sap_tree *t, int nodes)
{
    const size_t room = (size_t)nodes;
    TRY(sap_tree_reserve(t, &t->node, room * sizeof(struct sap_tree_link)));
    TRY(sap_tree_reserve(t, &t->node_level, room * sizeof(int)));
    TRY(sap_tree_reserve(t, &t->cell, room * SAP_GPU_CELL));
    TRY(sap_tree_reserve(t, &t->word, room * 4 * sizeof(float)));
    TRY(sap_tree_reserve(t, &t->turn, room * sizeof(float)));
    TRY(sap_tree_reserve(t, &t->source, room * 4 * sizeof(double)));
    return sap_tree_reserve(t, &t->moments, room * 8 * sizeof(float));
}

/* Counts the nodes of each level that begin in each tile, and numbers them; waits for how many there are. */
static int count_nodes(struct sap_tree *t)
{
    const int counts = LEVELS * t->t.tiles;
    size_t total_at;
    const struct sap_argument levels[] = {SAP_ARRAY(t->own.key[t->own.at]), SAP_ARRAY(t->span), SAP_ARRAY(t->count),
                                          VALUE(t->t)};
    TRY(sap_tree_launch(t, t->f->levels, t->t.tiles, THREADS, levels, COUNT(levels)));
    TRY(sap_primitives_scan(&t->f->primitives, t->stream, t->count.mem, t->count.mem, counts, t->scratch.mem,
                            &total_at));
    const int total = (int)(total_at / sizeof(int));
    const struct sap_argument firsts[] = {SAP_ARRAY(t->count), SAP_ARRAY(t->scratch), SAP_ARRAY(t->first), VALUE(total),
                                          VALUE(t->t.tiles)};
    TRY(sap_tree_launch(t, t->f->firsts, 1, 32, firsts, COUNT(firsts)));
    TRY(tell(t, told(t)->level_first, &t->first, 0, sizeof told(t)->level_first));
    TRY(t->driver->stream_finish(t->stream));
    memcpy(t->level_first, told(t)->level_first, sizeof t->level_first);
    t->t.nodes = t->level_first[LEVELS];
    for (t->levels = 0; t->levels < LEVELS && t->level_first[t->levels] < t->t.nodes;) t->levels++;
    return SAP_DRIVER_OK;
}

static int link_nodes(struct sap_tree *t)
{
    TRY(reserve_nodes(t, t->t.nodes));
    const struct sap_argument a[] = {
        SAP_ARRAY(t->own.key[t->own.at]), SAP_ARRAY(t->span), SAP_ARRAY(t->count), SAP_ARRAY(t->node),
        SAP_ARRAY(t->node_level),         VALUE(t->t)};
    return sap_tree_launch(t, t->f->link, t->t.tiles, THREADS, a, COUNT(a));
}

/* ---- moments ---------------------------------------------------------------------------------- */

int sap_tree_make_groups(struct sap_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *a)
{
    const int has_a = a != NULL;
    const struct sap_gpu_buffer *const sizes = a ? a : &w->sorted;
    const struct sap_argument args[] = {
        SAP_ARRAY(w->sorted),         SAP_ARRAY(t->cell),   SAP_ARRAY(w->ball), SAP_ARRAY(w->heavy), SAP_ARRAY(*sizes),
        SAP_ARRAY(w->address[w->at]), SAP_ARRAY(w->strict), VALUE(has_a),       VALUE(w->n),         VALUE(t->t)};
    return sap_tree_launch(t, t->f->groups, w->groups, 32, args, COUNT(args));
}

/* linked: children have been counted. */
static int make_moments(struct sap_tree *t, int linked)
{
    const struct sap_argument leaves[] = {SAP_ARRAY(t->own.sorted),
                                          SAP_ARRAY(t->node),
                                          SAP_ARRAY(t->node_level),
                                          SAP_ARRAY(t->first),
                                          SAP_ARRAY(t->cell),
                                          VALUE(linked),
                                          VALUE(t->t)};
    const struct sap_argument words[] = {SAP_ARRAY(t->cell),   SAP_ARRAY(t->word),    SAP_ARRAY(t->turn),
                                         SAP_ARRAY(t->source), SAP_ARRAY(t->moments), VALUE(t->t)};
    TRY(for_each(t, t->f->leaves, t->t.nodes, leaves, COUNT(leaves)));
    for (int level = t->levels - 2; level >= 0; level--) {
        const int from = t->level_first[level], to = t->level_first[level + 1];
        const struct sap_argument cells[] = {SAP_ARRAY(t->node), SAP_ARRAY(t->cell), VALUE(from), VALUE(to)};
        TRY(for_each(t, t->f->cells, to - from, cells, COUNT(cells)));
    }
    TRY(for_each(t, t->f->words, t->t.nodes, words, COUNT(words)));
    return sap_tree_make_groups(t, &t->own, NULL);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

/* Memory of all that is known before nodes are counted. */
static int reserve(struct sap_tree *t)
{
    const size_t n = (size_t)t->n, counts = (size_t)LEVELS * (size_t)t->t.tiles;
    const size_t scan = sap_primitives_scratch((int)counts), sort = sap_primitives_scratch(t->n);
    TRY(sap_tree_reserve(t, &t->place, n * sizeof(int)));
    TRY(sap_tree_reserve(t, &t->span, n * sizeof(int)));
    TRY(sap_tree_reserve(t, &t->count, counts * sizeof(int)));
    TRY(sap_tree_reserve(t, &t->first, (LEVELS + 1) * sizeof(int)));
    return sap_tree_reserve(t, &t->scratch, scan > sort ? scan : sort);
}

int sap_tree_make_next(struct sap_tree *t)
{
    if (t->has_next) return SAP_DRIVER_OK;
    TRY(sap_tree_reserve(t, &t->next, (size_t)t->t.nodes * sizeof(int)));
    for (int level = 0; level < t->levels; level++) {
        const int from = t->level_first[level], to = t->level_first[level + 1];
        const struct sap_argument a[] = {SAP_ARRAY(t->node), SAP_ARRAY(t->next), VALUE(from), VALUE(to)};
        TRY(for_each(t, t->f->next, to - from, a, COUNT(a)));
    }
    t->has_next = 1;
    return SAP_DRIVER_OK;
}

int sap_tree_build_gpu(struct sap_tree *t)
{
    const int members = sap_cube_sample(t->given);
    t->built = 0;
    t->n = t->t.n = t->given;
    t->levels = t->t.nodes = t->has_next = 0;
    if (t->n == 0) return SAP_DRIVER_OK;
    t->t.tiles = t->n / SAP_LINK_TILE + (t->n % SAP_LINK_TILE > 0);
    TRY(reserve(t));
    TRY(sap_tree_mark(t, SAPPORO_PHASE_SORT));
    TRY(look_at_bounds(t, members));
    take_cube(t, members);
    take_masses(t);
    TRY(sap_tree_sort_walkers(t, &t->own, &t->particle, &t->place, t->t.mass_unit, t->n));
    TRY(sap_tree_mark(t, SAPPORO_PHASE_LINK));
    TRY(count_nodes(t));
    TRY(link_nodes(t));
    TRY(sap_tree_mark(t, SAPPORO_PHASE_MOMENTS));
    TRY(make_moments(t, 0));
    TRY(sap_tree_mark(t, SAPPORO_PHASE_WALK));
    return sap_tree_take_seconds(t, SAPPORO_PHASE_SORT, SAPPORO_PHASE_MOMENTS);
}

int sap_tree_refresh_gpu(struct sap_tree *t)
{
    if (t->n == 0) return SAP_DRIVER_OK;
    TRY(look_at_bounds(t, 1));
    take_masses(t);
    for (int phase = SAPPORO_PHASE_SORT; phase <= SAPPORO_PHASE_MOMENTS; phase++) TRY(sap_tree_mark(t, phase));
    TRY(gather(t, &t->own, &t->particle, &t->place, t->t.mass_unit, t->n));
    TRY(make_moments(t, 1));
    TRY(sap_tree_mark(t, SAPPORO_PHASE_WALK));
    return sap_tree_take_seconds(t, SAPPORO_PHASE_SORT, SAPPORO_PHASE_MOMENTS);
}
