/*
 * gpu_force.c - forces from a tree on an accelerator: target particles, their acceptance criterion, and copies of the
 * results.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "engine/tree_options.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_tree.h"

enum { THREADS = SAP_TREE_THREADS, CHUNK = SAP_TREE_CHUNK };
enum { IDLE_GROUPS = 2048, IDLE_BUNCHES = 1024 }; /* of launches that mostly find no work left */
enum { LEFT_BUNCHES = 16384 };                    /* of a launch that may find all bunches of selected particles */
enum { PARTS_ORDERED = 1024 };                    /* fewer parts are all under way at once */
enum { FEW_ROWS = 4096 };                         /* rows that one launch sorts */

/* A force under computation. */
struct pass {
    const sapporo_tree_request *request;
    struct sap_gpu_walkers *walkers;
    struct sap_gpu_walk w;
    const struct sap_gpu_buffer *row, *slot, *strict;
    const struct sap_gpu_buffer *a; /* sizes of accelerations, by address; NULL: another criterion */
    int picked;                     /* forces on all particles are computed, and rows of them selected */
    int learned;                    /* accelerations of all particles are in t->a once the force is complete */
    int imported;                   /* the halo acts, not the tree itself */
    int bad;                        /* positions that are not finite */
    int bad_active;                 /* the first entry of the list that is no particle, or -1 */
};

/* ---- target particles ----------------------------------------------------------------- */

/* Cuts groups into parts.  Positions have groups of equal length in kd-trees, too. */
static void cut_parts(const struct sap_gpu_host_tree *t, const struct sap_gpu_walkers *w, struct sap_gpu_walk *walk)
{
    const int most = w == &t->own ? sap_tree_group_most(&t->settings) : w->run;
    walk->part = SAP_WALK_THREADS * (most > t->settings.group_size ? SAP_WALK_IPT : SAP_WALK_RUN_IPT);
    walk->group_parts = (most + walk->part - 1) / walk->part;
    walk->parts = w->groups * walk->group_parts;
}

/* Makes all particles targets, in tree order. */
static void all_walk(const struct sap_gpu_host_tree *t, struct pass *p)
{
    struct sap_gpu_walkers *const w = p->walkers;
    p->w.all_slots = 1;
    p->w.slots = w->n;
    cut_parts(t, w, &p->w);
    p->w.width = p->w.left_width = SAP_FEW_LEFT;
    p->w.left_room = p->w.parts * (p->w.part / SAP_FEW_LEFT);
    p->row = p->slot = &w->address;
    p->strict = &w->strict;
}

enum { PARTS_LEAST = 1 << 19 }; /* selected particles that keep a device busy in parts of SAP_WALK_SELECTED */
enum { SPAN = 8 };              /* sorted particles per slot of selected particles that walk together */

static int widest(int width, int n)
{
    while (width > 1 && n / width < 1024) width /= 2; /* fewer bunches leave a device idle */
    return width;
}

/*
 * Returns the slots of a bunch if n of `all` particles are targets, scattered over the model. A larger bunch shares
 * more of the walk, but its bound covers more particles that are not targets. At 1 % bunches of eight are fastest, and
 * below 0.2 % bunches of one.
 */
static int width_of(int n, int all)
{
    const double part = (double)n / all;
    return widest(part < 0.002 ? 1 : part < 0.03 ? 8 : part < 0.25 ? 16 : (int)SAP_FEW_MOST, n);
}

/* Whether so many targets are most particles: forces on all of them then cost less than a selection. */
static int most_walk(const struct sap_gpu_host_tree *t, int n) { return n / 7 >= t->n / 8; }

/* Reserves the memory of a sort of n values. */
static int reserve_sort(struct sap_gpu_host_tree *t, struct sap_gpu_buffer *key, struct sap_gpu_buffer *value, int n)
{
    for (int k = 0; k < 2; k++) {
        TRY(sap_tree_reserve(t, &key[k], (size_t)n * sizeof(uint64_t)));
        TRY(sap_tree_reserve(t, &value[k], (size_t)n * sizeof(int)));
    }
    return sap_tree_reserve(t, &t->scratch, sap_primitives_scratch(n));
}

static int reserve_rows(struct sap_gpu_host_tree *t, int n)
{
    TRY(reserve_sort(t, t->row_key, t->row, n));
    TRY(sap_tree_reserve(t, &t->slot, (size_t)n * sizeof(int)));
    return sap_tree_reserve(t, &t->slot_strict, (size_t)n * sizeof(float));
}

/* Returns the bits that the indices of n particles need. */
static int bits_of(int n)
{
    int bits = 1;
    while ((n - 1) >> bits) bits++;
    return bits;
}

/* Sorts the rows by their sorted particles; *at: index of the sorted arrays in row_key and row. */
static int sort_rows(struct sap_gpu_host_tree *t, const struct pass *p, int *at)
{
    const int n = p->request->ni, has_active = p->request->active != NULL;
    const struct sap_argument keys[] = {SAP_ARRAY(t->place), SAP_ARRAY(t->active), VALUE(has_active),
                                        SAP_ARRAY(t->row_key[0]), VALUE(n)};
    const struct sap_argument few[] = {SAP_ARRAY(t->row_key[0]), SAP_ARRAY(t->row_key[1]), SAP_ARRAY(t->row[1]),
                                       VALUE(n)};
    const struct sap_sort sort = {.key = {t->row_key[0].mem, t->row_key[1].mem},
                                  .value = {t->row[0].mem, t->row[1].mem},
                                  .n = n,
                                  .to = bits_of(t->n),
                                  .places = 1};
    *at = 1;
    TRY(sap_tree_for_each(t, t->f->row_keys, n, THREADS, keys, COUNT(keys)));
    if (n <= FEW_ROWS) return sap_tree_for_each(t, t->f->row_order, n, THREADS, few, COUNT(few));
    return sap_primitives_sort(&t->f->primitives, t->stream, &sort, t->scratch.mem, at);
}

/*
 * Cuts the rows into parts, or, if they are few, into bunches.  Those whose particles are scattered are cut into
 * smaller bunches. Rows are in tree order unless each walks alone.
 */
static int some_walk(struct sap_gpu_host_tree *t, struct pass *p)
{
    const int n = p->request->ni, width = width_of(n, t->n), has_active = p->request->active != NULL;
    const int as_given = width == 1 && n <= FEW_ROWS;
    int at = 1;
    TRY(sap_tree_take_active(t, p->request, &p->bad_active));
    if (p->bad_active >= 0) return SAP_DRIVER_OK;
    p->picked = most_walk(t, n);
    if (p->picked) {
        all_walk(t, p);
        return SAP_DRIVER_OK;
    }
    TRY(reserve_rows(t, n));
    const struct sap_argument places[] = {SAP_ARRAY(t->place), SAP_ARRAY(t->active), VALUE(has_active),
                                          SAP_ARRAY(t->slot),  SAP_ARRAY(t->row[1]), VALUE(n)};
    if (as_given) TRY(sap_tree_for_each(t, t->f->row_places, n, THREADS, places, COUNT(places)));
    if (!as_given) TRY(sort_rows(t, p, &at));
    const struct sap_argument slots[] = {SAP_ARRAY(t->row_key[at]), SAP_ARRAY(t->slot), VALUE(n)};
    if (!as_given) TRY(sap_tree_for_each(t, t->f->row_slots, n, THREADS, slots, COUNT(slots)));
    p->w.slots = n;
    p->w.parts = n < PARTS_LEAST || t->lengths.f ? 0 : n / SAP_WALK_SELECTED + (n % SAP_WALK_SELECTED > 0);
    p->w.span = as_given ? 0 : SPAN;
    p->w.left_width = width;
    p->w.width = as_given ? width : widest(SAP_FEW_MOST, n);
    p->w.left_room = 2 * (n / width + 1);
    p->row = &t->row[at];
    p->slot = &t->slot;
    p->strict = &t->slot_strict;
    return SAP_DRIVER_OK;
}

/* Reads position i of the caller. A position that is not finite is replaced by the corner of the cube. */
static int place_of(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int i, double *x)
{
    memcpy(x, sap_column_at(&r->x, i, 3 * sizeof *x), 3 * sizeof *x);
    const double unit = t->n > 0 ? t->t.unit : 0;
    if (sap_tree_is_place(&t->cube, unit, x) && sap_tree_is_length(sap_column_double(&r->h, i), unit)) return 1;
    memcpy(x, t->cube.low, sizeof t->cube.low);
    return 0;
}

static int places_walk(struct sap_gpu_host_tree *t, struct pass *p)
{
    const sapporo_tree_request *const r = p->request;
    double(*const chunk)[4] = t->chunk.host;
    TRY(sap_tree_reserve(t, &t->place_given, (size_t)r->ni * sizeof *chunk));
    for (int first = 0; first < r->ni; first += CHUNK) {
        const int n = r->ni - first < CHUNK ? r->ni - first : CHUNK;
        for (int k = 0; k < n; k++) {
            p->bad += !place_of(t, r, first + k, chunk[k]);
            chunk[k][3] = 1; /* mass, for the centre of mass of a group */
        }
        TRY(t->driver->copy_in(t->stream, t->place_given.mem, (size_t)first * sizeof *chunk, chunk,
                               (size_t)n * sizeof *chunk));
        TRY(t->driver->stream_finish(t->stream));
    }
    TRY(sap_tree_sort_places(t, p->walkers, &t->place_given, r->ni, t->settings.group_size));
    if (t->lengths.f) TRY(sap_gpu_lengths_of_places(t, r->h.base ? &r->h : NULL, r->ni));
    TRY(sap_tree_make_groups(t, p->walkers, NULL));
    all_walk(t, p);
    return SAP_DRIVER_OK;
}

/* Makes massless particles, n positions in device memory, targets: groups, or bunches if there are few. */
static int massless_walk(struct sap_gpu_host_tree *t, struct pass *p, int n)
{
    const int dense = n >= t->n / 4, run = dense ? t->settings.group_size : width_of(n, t->n);
    TRY(sap_tree_sort_places(t, p->walkers, &t->place_given, n, run));
    TRY(sap_tree_make_groups(t, p->walkers, NULL));
    all_walk(t, p);
    if (dense) return SAP_DRIVER_OK;
    p->w.parts = 0;
    p->w.width = p->w.left_width = run;
    p->w.left_room = n / run + 1;
    return SAP_DRIVER_OK;
}

/* ---- the walk --------------------------------------------------------------------------- */

enum { WALK_ARGUMENTS = 18, SPLINE_ARGUMENTS = 4 };

/* Lists the arguments of a kernel that walks. Returns their number. */
static int list_arguments(const struct sap_gpu_host_tree *t, const struct pass *p, const struct sap_gpu_walk *how,
                          struct sap_argument *a)
{
    const struct sap_gpu_walkers *const w = p->walkers;
    const struct sap_gpu_halo *const h = p->imported ? &t->halo : NULL;
    const struct sap_gpu_buffer *const buffers[] = {h ? &h->sorted : &t->own.sorted,
                                                    &w->sorted,
                                                    h ? &h->word : &t->word,
                                                    h ? &h->source : &t->source,
                                                    h ? &h->moments : &t->moments,
                                                    h ? &h->cell : &t->cell,
                                                    &w->group_first,
                                                    &w->group_of,
                                                    &w->bound,
                                                    &w->heavy,
                                                    p->strict,
                                                    p->slot,
                                                    p->row,
                                                    &t->acc,
                                                    &t->pot,
                                                    &t->left};
    int n = 0;
    _Static_assert(sizeof buffers / sizeof buffers[0] + 2 == WALK_ARGUMENTS, "buffers, and two values");
    for (int k = 0; k < COUNT(buffers); k++) a[n++] = (struct sap_argument)SAP_ARRAY(*buffers[k]);
    if (t->lengths.f) {
        a[n++] = (struct sap_argument)SAP_ARRAY(t->own.length);
        a[n++] = (struct sap_argument)SAP_ARRAY(w->length);
        a[n++] = (struct sap_argument)SAP_ARRAY(w->longest);
        a[n++] = (struct sap_argument)VALUE(t->lengths.mean);
    }
    a[n++] = (struct sap_argument)VALUE(*how);
    a[n++] = (struct sap_argument)VALUE(t->t);
    return n;
}

static int launch_groups(struct sap_gpu_host_tree *t, const struct pass *p, int wide, int from)
{
    struct sap_argument a[WALK_ARGUMENTS + SPLINE_ARGUMENTS];
    struct sap_gpu_walk how = p->w;
    how.from = from;
    const int n = list_arguments(t, p, &how, a);
    const struct sap_gpu_spline_kernels *const spline = t->lengths.f;
    const int whole = p->w.part == SAP_WALK_THREADS * SAP_WALK_IPT;
    struct sap_function *const of_groups = spline ? wide ? spline->walk_dp : spline->walk_sp[whole]
                                           : wide ? t->f->walk_dp
                                                  : t->f->walk_sp[whole];
    return sap_tree_launch(t, p->w.all_slots ? of_groups : t->f->selected[wide],
                           from < 0 || from == SAP_LEFT_ORDER ? p->w.parts : (int)IDLE_GROUPS, SAP_WALK_THREADS, a, n);
}

/* Returns the number of groups of threads that compute bunches. */
static int groups_of_few(const struct pass *p, int width, int from)
{
    const int bunches = p->w.slots / width + (p->w.slots % width > 0);
    const int apart = p->w.every ? SAP_LEFT_WIDE : SAP_LEFT_APART;
    const int most = from == SAP_LEFT_BOTH || (from == apart && !p->w.all_slots) ? LEFT_BUNCHES : IDLE_BUNCHES;
    return from < 0 || bunches < most ? bunches : most;
}

static int launch_few(struct sap_gpu_host_tree *t, const struct pass *p, int wide, int from)
{
    const int least = from < 0 ? p->w.width : p->w.left_width;
    struct sap_argument a[WALK_ARGUMENTS + SPLINE_ARGUMENTS];
    struct sap_gpu_walk how = p->w;
    how.from = from;
    if (from != SAP_LEFT_BOTH) how.width = least;
    const int n = list_arguments(t, p, &how, a);
    /* many bunches of one row keep a device busy with one warp each; otherwise four warps per bunch are faster */
    const struct sap_gpu_spline_kernels *const spline = t->lengths.f;
    const int large = !wide && !spline && (least > 1 || p->w.slots <= FEW_ROWS);
    struct sap_function *const of_warps = spline ? spline->few[wide] : t->f->few[wide];
    return sap_tree_launch(t, large ? t->f->large : of_warps, groups_of_few(p, least, from),
                           large ? SAP_LARGE_THREADS : SAP_FEW_THREADS, a, n);
}

/* Lists the bunches of selected particles. */
static int list_bunches(struct sap_gpu_host_tree *t, const struct pass *p)
{
    const struct sap_argument a[] = {SAP_ARRAY(*p->slot), SAP_ARRAY(t->left), VALUE(p->w)};
    const int bunches = p->w.slots / p->w.width + (p->w.slots % p->w.width > 0);
    return sap_tree_for_each(t, t->f->bunches[p->w.every], bunches, THREADS, a, COUNT(a));
}

/* Lists the parts in the order in which they walk, where it matters; *from: that list, or -1. */
static int order_parts(struct sap_gpu_host_tree *t, const struct pass *p, int *from)
{
    const int parts = p->w.parts;
    int at;
    *from = -1;
    if (!p->w.strict || !p->w.all_slots || parts < PARTS_ORDERED) return SAP_DRIVER_OK;
    TRY(reserve_sort(t, t->part_key, t->part, parts));
    const struct sap_argument keys[] = {SAP_ARRAY(*p->strict), SAP_ARRAY(t->part_key[0]), VALUE(p->w.group_parts),
                                        VALUE(parts)};
    const struct sap_sort sort = {.key = {t->part_key[0].mem, t->part_key[1].mem},
                                  .value = {t->part[0].mem, t->part[1].mem},
                                  .n = parts,
                                  .to = 8,
                                  .places = 1};
    TRY(sap_tree_for_each(t, t->f->part_keys, parts, THREADS, keys, COUNT(keys)));
    TRY(sap_primitives_sort(&t->f->primitives, t->stream, &sort, t->scratch.mem, &at));
    const struct sap_argument order[] = {SAP_ARRAY(t->part[at]), SAP_ARRAY(t->left), VALUE(parts), VALUE(p->w)};
    *from = SAP_LEFT_ORDER;
    return sap_tree_for_each(t, t->f->part_order, parts, THREADS, order, COUNT(order));
}

/* Launches the walks. Each launch computes the rows that earlier launches have left. */
static int launch_walks(struct sap_gpu_host_tree *t, const struct pass *p)
{
    const int parts = p->w.parts > 0, listed = !parts && p->w.span > 0, every = p->w.every;
    const int apart = every ? SAP_LEFT_WIDE : SAP_LEFT_APART;
    int order;
    if (parts) TRY(order_parts(t, p, &order));
    if (parts) TRY(launch_groups(t, p, every, order));
    if (listed) TRY(list_bunches(t, p));
    TRY(launch_few(t, p, every, parts ? apart : listed ? (int)SAP_LEFT_BOTH : -1));
    if (every) return SAP_DRIVER_OK;
    if (parts) TRY(launch_groups(t, p, 1, SAP_LEFT_PARTS));
    return launch_few(t, p, 1, SAP_LEFT_WIDE);
}

static int launch_alone_spline(struct sap_gpu_host_tree *t, const struct pass *p, const struct sap_gpu_buffer *sizes)
{
    const struct sap_gpu_walkers *const w = p->walkers;
    const struct sap_argument a[] = {SAP_ARRAY(w->sorted),
                                     SAP_ARRAY(t->stop),
                                     SAP_ARRAY(t->cell),
                                     SAP_ARRAY(*sizes),
                                     SAP_ARRAY(w->address),
                                     SAP_ARRAY(*p->slot),
                                     SAP_ARRAY(*p->row),
                                     SAP_ARRAY(t->acc),
                                     SAP_ARRAY(t->pot),
                                     SAP_ARRAY(t->left),
                                     VALUE(t->stops),
                                     SAP_ARRAY(t->word),
                                     SAP_ARRAY(t->own.length),
                                     SAP_ARRAY(w->length),
                                     VALUE(t->lengths.mean),
                                     VALUE(p->w),
                                     VALUE(t->t)};
    return sap_tree_for_each(t, t->lengths.f->alone, p->w.slots, SAP_ALONE_THREADS, a, COUNT(a));
}

static int launch_alone(struct sap_gpu_host_tree *t, const struct pass *p)
{
    const struct sap_gpu_walkers *const w = p->walkers;
    const struct sap_gpu_buffer *const sizes = p->a ? p->a : &w->sorted;
    TRY(sap_tree_make_stops(t));
    if (t->lengths.f) return launch_alone_spline(t, p, sizes);
    const struct sap_argument a[] = {
        SAP_ARRAY(w->sorted), SAP_ARRAY(t->stop), SAP_ARRAY(t->cell), SAP_ARRAY(*sizes), SAP_ARRAY(w->address),
        SAP_ARRAY(*p->slot),  SAP_ARRAY(*p->row), SAP_ARRAY(t->acc),  SAP_ARRAY(t->pot), SAP_ARRAY(t->left),
        VALUE(t->stops),      VALUE(p->w),        VALUE(t->t)};
    return sap_tree_for_each(t, t->f->alone[t->settings.order > 1], p->w.slots, SAP_ALONE_THREADS, a, COUNT(a));
}

/* The words of what a force leaves, without the interactions of rows. */
static size_t left_words(const struct sap_gpu_walk *w)
{
    return SAP_LEFT_FIRST + (size_t)SAP_LEFT_LISTS * (size_t)w->left_room;
}

static int walk(struct sap_gpu_host_tree *t, const struct pass *p)
{
    const size_t rows = (size_t)p->w.slots;
    TRY(sap_tree_reserve(t, &t->acc, rows * 3 * sizeof(double)));
    TRY(sap_tree_reserve(t, &t->pot, rows * sizeof(double)));
    const size_t left = left_words(&p->w) + (p->w.work > 0 ? rows : 0);
    TRY(sap_tree_reserve(t, &t->left, left * sizeof(int)));
    TRY(t->driver->fill(t->stream, t->left.mem, 0, 0, SAP_LEFT_FIRST * sizeof(int)));
    return t->settings.walk == SAPPORO_WALK_STACKLESS ? launch_alone(t, p) : launch_walks(t, p);
}

static int sizes(struct sap_gpu_host_tree *t, const struct sap_gpu_buffer *a, int has_active, int n)
{
    const struct sap_argument args[] = {SAP_ARRAY(t->acc), SAP_ARRAY(has_active ? t->active : t->acc),
                                        VALUE(has_active), SAP_ARRAY(*a), VALUE(n)};
    return sap_tree_for_each(t, t->f->sizes, n, THREADS, args, COUNT(args));
}

/* For ACCELERATION: computes how strict the acceptance criterion of each target particle is. */
static int make_strict(struct sap_gpu_host_tree *t, struct pass *p, const struct sap_gpu_buffer *a)
{
    p->w.strict = 1;
    p->a = a;
    if (t->settings.walk == SAPPORO_WALK_STACKLESS) return SAP_DRIVER_OK; /* each particle has its own */
    if (p->w.all_slots) return sap_tree_make_groups(t, p->walkers, a);
    const struct sap_gpu_buffer *const address = &p->walkers->address;
    const int n = p->w.slots;
    const struct sap_argument args[] = {SAP_ARRAY(t->cell),  SAP_ARRAY(*p->slot),   SAP_ARRAY(*a),
                                        SAP_ARRAY(*address), SAP_ARRAY(*p->strict), VALUE(n),
                                        VALUE(t->t)};
    return sap_tree_for_each(t, t->f->row_strict, n, THREADS, args, COUNT(args));
}

/* For ACCELERATION: computes accelerations with an opening angle of 1 if they are unknown. */
static int start(struct sap_gpu_host_tree *t, struct pass *p)
{
    struct pass first = {
        .request = p->request, .walkers = p->walkers, .w = {.own = p->w.own, .every = p->w.every}, .bad_active = -1};
    struct sap_gpu_buffer *const a = p->w.own ? &t->a : &t->place_a;
    if (!p->w.own) TRY(sap_tree_reserve(t, a, (size_t)p->walkers->n * sizeof(double)));
    if (!p->w.own || t->has_a < t->n) {
        all_walk(t, &first);
        TRY(walk(t, &first));
        TRY(sizes(t, a, 0, first.w.slots));
    }
    p->learned = p->w.own;
    return make_strict(t, p, a);
}

static int pick(struct sap_gpu_host_tree *t, const struct pass *p)
{
    const int n = p->request->ni, has_active = p->request->active != NULL;
    TRY(sap_tree_reserve(t, &t->picked_acc, (size_t)n * 3 * sizeof(double)));
    TRY(sap_tree_reserve(t, &t->picked_pot, (size_t)n * sizeof(double)));
    const struct sap_argument a[] = {SAP_ARRAY(t->acc), SAP_ARRAY(t->pot),        SAP_ARRAY(t->active),
                                     VALUE(has_active), SAP_ARRAY(t->picked_acc), SAP_ARRAY(t->picked_pot),
                                     VALUE(n)};
    return sap_tree_for_each(t, t->f->pick, n, THREADS, a, COUNT(a));
}

static int results(struct sap_gpu_host_tree *t, const struct pass *p, double (*acc)[3], double *pot)
{
    struct sap_gpu_tree_told *const told = t->told.host;
    if (p->picked) TRY(pick(t, p));
    TRY(sap_tree_mark(t, SAPPORO_PHASES));
    TRY(sap_tree_give(t, p->request, p->picked, acc, pot));
    TRY(t->driver->copy_out(t->stream, told->walked, t->left.mem, 0, sizeof told->walked));
    TRY(t->driver->stream_finish(t->stream));
    TRY(sap_tree_take_seconds(t, SAPPORO_PHASE_WALK, SAPPORO_PHASE_WALK));
    t->done.stackless = t->settings.walk == SAPPORO_WALK_STACKLESS;
    t->picked = p->picked;
    t->done.rows = p->request->ni;
    t->done.particle_particle = (long long)told->walked[0] + ((long long)told->walked[1] << 32);
    t->done.particle_cell = (long long)told->walked[2] + ((long long)told->walked[3] << 32);
    return SAP_DRIVER_OK;
}

static int run(struct sap_gpu_host_tree *t, struct pass *p, double (*acc)[3], double *pot)
{
    const sapporo_tree_request *const r = p->request;
    const int by_acceleration = t->settings.mac == SAPPORO_MAC_ACCELERATION;
    p->w.own = !r->x.base;
    p->w.every = t->settings.precision == SAPPORO_DP;
    p->walkers = p->w.own ? &t->own : &t->places;
    TRY(sap_tree_mark(t, SAPPORO_PHASE_WALK));
    if (!p->w.own)
        TRY(places_walk(t, p));
    else if (r->active || r->ni < t->n)
        TRY(some_walk(t, p));
    else
        all_walk(t, p);
    if (p->bad_active >= 0) return SAP_DRIVER_OK;
    if (by_acceleration) TRY(start(t, p));
    TRY(walk(t, p));
    TRY(results(t, p, acc, pot));
    if (p->learned) t->has_a = t->n;
    /* last: a force that fails must leave the accelerations of the force before it */
    if (!by_acceleration || !p->w.own) return SAP_DRIVER_OK;
    return sizes(t, &t->a, !p->picked && r->active != NULL, p->picked ? t->n : r->ni);
}

/* ---- parts of a whole ---------------------------------------------------------------------- */

/* Copies the interactions of rows to the host; those of all particles if rows of them are selected. */
static int copy_work(struct sap_gpu_host_tree *t, const struct pass *p, int *work)
{
    const int slots = p->w.slots;
    int *const all = p->picked ? malloc((size_t)slots * sizeof *all) : work;
    if (!all) return SAP_DRIVER_MEMORY;
    const int status =
        sap_tree_download(t, all, &t->left, left_words(&p->w) * sizeof *all, (size_t)slots * sizeof *all);
    for (int k = 0; k < p->request->ni && p->picked && !status; k++) work[k] = all[p->request->active[k]];
    if (p->picked) free(all);
    return status;
}

static void exchange(struct sap_gpu_buffer *a, struct sap_gpu_buffer *b)
{
    const struct sap_gpu_buffer was = *a;
    *a = *b;
    *b = was;
}

/* Keeps the results of a walk in device memory, and the numbers of its interactions behind those of its rows. */
static int keep_results(struct sap_gpu_host_tree *t, const struct pass *p)
{
    const size_t bytes = (size_t)p->w.slots * sizeof(int), at = left_words(&p->w) * sizeof(int),
                 told = SAP_LEFT_COUNT * sizeof(int);
    exchange(&t->acc, &t->kept_acc);
    exchange(&t->pot, &t->kept_pot);
    TRY(sap_tree_reserve(t, &t->kept_work, bytes + told));
    TRY(t->driver->copy(t->stream, t->kept_work.mem, 0, t->left.mem, at, bytes));
    return t->driver->copy(t->stream, t->kept_work.mem, bytes, t->left.mem, SAP_LEFT_TOLD * sizeof(int), told);
}

/* Adds the results that a walk of the same rows has kept. */
static int add_kept(struct sap_gpu_host_tree *t, const struct pass *p)
{
    const int n = p->w.slots, work_at = p->w.work;
    const struct sap_argument a[] = {
        SAP_ARRAY(t->acc),      SAP_ARRAY(t->pot),       SAP_ARRAY(t->left), SAP_ARRAY(t->kept_acc),
        SAP_ARRAY(t->kept_pot), SAP_ARRAY(t->kept_work), VALUE(work_at),     VALUE(n)};
    return sap_tree_for_each(t, t->f->rows_add, n, THREADS, a, COUNT(a));
}

/* Adds the interactions of the walk whose results were kept to those of the last one. */
static int add_kept_counts(struct sap_gpu_host_tree *t, const struct pass *p)
{
    unsigned told[SAP_LEFT_COUNT];
    TRY(sap_tree_download(t, told, &t->kept_work, (size_t)p->w.slots * sizeof(int), sizeof told));
    t->done.particle_particle += (long long)told[0] + ((long long)told[1] << 32);
    t->done.particle_cell += (long long)told[2] + ((long long)told[3] << 32);
    return SAP_DRIVER_OK;
}

/* Ends a walk whose results stay on the device, which is not waited for: another walk adds its interactions. */
static int end_kept(struct sap_gpu_host_tree *t, struct pass *p)
{
    t->done.particle_particle = t->done.particle_cell = 0;
    return keep_results(t, p);
}

int sap_tree_walk_part(struct sap_gpu_host_tree *t, const struct sap_tree_pass *how, double (*acc)[3], double *pot,
                       int *work)
{
    const sapporo_tree_request rows = {.size = sizeof rows, .ni = sap_tree_pass_rows(how, t->n), .active = how->active};
    const sapporo_column a = {how->a, 0};
    struct pass p = {.request = &rows, .walkers = &t->own, .imported = how->imported, .bad_active = -1};
    p.w.own = !how->imported;
    p.w.every = t->settings.precision == SAPPORO_DP;
    t->has_a = 0; /* the whole has other accelerations */
    TRY(sap_tree_mark(t, SAPPORO_PHASE_WALK));
    if (how->a && !how->knows_a)
        TRY(sap_tree_send_accelerations(t, &a, t->n)); /* before the list, which takes the same pinned memory */
    if (how->active)
        TRY(some_walk(t, &p));
    else
        all_walk(t, &p);
    if (how->active && how->keeps) TRY(t->driver->stream_finish(t->stream)); /* the list has left pinned memory */
    if (how->a) TRY(make_strict(t, &p, &t->a));
    p.w.work = work || how->keeps ? (int)left_words(&p.w) : 0;
    TRY(walk(t, &p));
    if (how->keeps) return end_kept(t, &p);
    if (how->adds) TRY(add_kept(t, &p));
    if (work) TRY(copy_work(t, &p, work));
    TRY(results(t, &p, acc, pot));
    return how->adds ? add_kept_counts(t, &p) : (int)SAP_DRIVER_OK;
}

static void erase_bad(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, double (*acc)[3], double *pot)
{
    double x[3];
    for (int i = 0; i < r->ni; i++) {
        if (place_of(t, r, i, x)) continue;
        if (pot) pot[i] = NAN;
        for (int c = 0; c < 3 && acc; c++) acc[i][c] = NAN;
    }
}

static int bad_active(struct sap_gpu_host_tree *t, int k)
{
    (void)snprintf(t->words, sizeof t->words, "active[%d] is none of the tree's %d particles", k, t->n);
    return SAPPORO_ERR_ARGUMENT;
}

/* Writes zero forces for a tree without particles. Returns the number of positions that are not finite. */
static int nothing(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, double (*acc)[3], double *pot)
{
    double x[3];
    int bad = 0;
    for (int i = 0; i < r->ni && r->x.base; i++) bad += !place_of(t, r, i, x);
    if (acc) memset(acc, 0, (size_t)r->ni * sizeof *acc);
    if (pot) memset(pot, 0, (size_t)r->ni * sizeof *pot);
    return bad;
}

int sap_tree_force_gpu(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, double (*acc)[3], double *pot)
{
    struct pass p = {.request = request, .bad_active = -1};
    int status = SAP_DRIVER_OK;
    if (t->n == 0 && request->memory == SAPPORO_MEMORY_DEVICE) return bad_active(t, 0);
    if (t->n == 0)
        p.bad = nothing(t, request, acc, pot);
    else
        status = t->driver->enter(t->device->dev);
    if (!status && t->n > 0) {
        status = run(t, &p, acc, pot);
        t->driver->leave(t->device->dev);
    }
    if (status) return sap_tree_judge(t, status);
    if (p.bad_active >= 0) return bad_active(t, p.bad_active);
    if (p.bad > 0) erase_bad(t, request, acc, pot);
    return p.bad > 0 ? SAPPORO_PARTIAL : SAPPORO_OK;
}

/* Computes sizes of accelerations by an opening angle of 1, if they are unknown, and the forces. */
static int massless_force(struct sap_gpu_host_tree *t, int n, int knows_a)
{
    const sapporo_tree_request request = {.size = sizeof request, .ni = n};
    const int every = t->settings.precision == SAPPORO_DP;
    struct pass p = {.request = &request, .walkers = &t->places, .w = {.every = every}, .bad_active = -1};
    TRY(massless_walk(t, &p, n));
    if (t->settings.mac == SAPPORO_MAC_ACCELERATION) {
        if (!knows_a) {
            TRY(sap_tree_reserve(t, &t->place_a, (size_t)n * sizeof(double)));
            TRY(walk(t, &p));
            TRY(sizes(t, &t->place_a, 0, n));
        }
        TRY(make_strict(t, &p, &t->place_a));
    }
    return walk(t, &p);
}

int sap_tree_force_massless_gpu(struct sap_gpu_host_tree *t, int n, int knows_a)
{
    const sapporo_tree_statistics done = t->done;
    const int status = massless_force(t, n, knows_a);
    t->done = done;
    return status;
}
