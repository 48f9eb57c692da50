/*
 * cpu_force.c - forces and tidal tensors on particles of the tree or on positions: target particles, their order, and
 * known accelerations.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "base/structs.h"
#include "base/threads.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/periodic.h"
#include "engine/tree_macs.h"

/* Positions from the caller, sorted like the tree's particles. */
struct places {
    double (*given)[3];
    double (*x)[4];
    double *h;          /* in trees with spline softening: lengths in units, sorted; else NULL */
    unsigned char *bad; /* not finite; such a position is replaced by the corner of the cube */
    int nbad;
    struct sap_cpu_order order;
    struct sap_cpu_group *group;
    struct sap_cpu_walkers walkers;
};

/* Temporary data of a force. */
struct force_data {
    struct places places;
    struct sap_cpu_slots slots;
    double (*acc)[3];    /* accelerations that the method needs and the caller does not */
    double *a;           /* of positions */
    const double *known; /* the same, if the caller has them */
    int most;            /* positions per group */
};

static void free_pass(struct force_data *p)
{
    free(p->places.given);
    free(p->places.x);
    free(p->places.h);
    free(p->places.bad);
    free(p->places.group);
    sap_cpu_tree_free_order(&p->places.order);
    sap_cpu_tree_free_slots(&p->slots);
    free(p->acc);
    free(p->a);
}

/* ---- target particles ------------------------------------------------------------- */

/* Whether a force can be computed at position i of targets. */
static int is_good(const struct sap_cpu_tree *t, const struct sap_cpu_targets *targets, int i, const double *x)
{
    const double unit = t->own.n > 0 ? t->frame.unit : 0, h = sap_column_double(&targets->h, i);
    if (t->settings.period > 0 && !(2 * h < t->settings.period)) return 0;
    return sap_cube_is_position(&t->frame.cube, unit, x) && sap_cube_is_length(h, unit);
}

static int take_places(const struct sap_cpu_tree *t, const struct sap_cpu_targets *targets, struct places *p, int most,
                       int threads)
{
    const int n = targets->n;
    const size_t room = (size_t)n + 1;
    p->given = malloc(room * sizeof *p->given);
    p->x = malloc(room * sizeof *p->x);
    p->bad = calloc(room, 1);
    p->group = malloc(room * sizeof *p->group);
    if (!p->given || !p->x || !p->bad || !p->group || sap_cpu_tree_new_order(n, &p->order)) return SAPPORO_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        memcpy(p->given[i], sap_column_at(&targets->x, i, sizeof *p->given), sizeof *p->given);
        sap_periodic_inside(t->settings.period, p->given[i]);
        if (is_good(t, targets, i, p->given[i])) continue;
        p->bad[i] = 1;
        p->nbad++;
        memcpy(p->given[i], t->frame.cube.low, sizeof *p->given);
    }
    sap_cpu_tree_sort(&t->frame.cube, (int)t->settings.curve, (const double(*)[3])p->given, NULL, n, &p->order,
                      threads);
    for (int k = 0; k < n; k++) {
        for (int c = 0; c < 3; c++) p->x[k][c] = p->given[p->order.address[k]][c];
        p->x[k][3] = 1; /* mass, for the centre of mass of a group */
    }
    const int groups = sap_cpu_tree_cut_runs(0, n, most, p->group);
    sap_cpu_tree_groups(&t->frame, (const double(*)[4])p->x, groups, p->group, threads);
    p->walkers = (struct sap_cpu_walkers){.n = n, .groups = groups, .x = (const double(*)[4])p->x, .group = p->group};
    const int status = sap_cpu_lengths_of(t, &targets->h, &p->walkers, p->order.address, p->bad, p->group, &p->h);
    p->walkers.h = p->h;
    return status;
}

void sap_cpu_tree_free_slots(struct sap_cpu_slots *s)
{
    free(s->row);
    free(s->walker);
    free(s->first);
}

static int reserve_slots(struct sap_cpu_slots *s, int n, int groups)
{
    s->n = n;
    s->row = malloc(((size_t)n + 1) * sizeof *s->row);
    s->walker = malloc(((size_t)n + 1) * sizeof *s->walker);
    s->first = calloc((size_t)groups + 2, sizeof *s->first);
    return s->row && s->walker && s->first ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

int sap_cpu_tree_all_slots(const struct sap_cpu_walkers *w, const int *row_of, struct sap_cpu_slots *s)
{
    if (reserve_slots(s, w->n, w->groups)) return SAPPORO_ERR_MEMORY;
    for (int k = 0; k < w->n; k++) {
        s->walker[k] = k;
        s->row[k] = row_of[k];
    }
    for (int g = 0; g < w->groups; g++) s->first[g] = w->group[g].first;
    s->first[w->groups] = w->n;
    return SAPPORO_OK;
}

int sap_cpu_tree_active_slots(const struct sap_cpu_tree *t, const int *active, int ni, struct sap_cpu_slots *s)
{
    const int groups = t->self.groups;
    if (reserve_slots(s, ni, groups)) return SAPPORO_ERR_MEMORY;
    for (int i = 0; i < ni; i++) s->first[t->group_of[t->place[active ? active[i] : i]] + 2]++;
    for (int g = 0; g < groups; g++) s->first[g + 1] += s->first[g];
    for (int i = 0; i < ni; i++) {
        const int walker = t->place[active ? active[i] : i], at = s->first[t->group_of[walker] + 1]++;
        s->row[at] = i;
        s->walker[at] = walker;
    }
    return SAPPORO_OK;
}

/* ---- forces ---------------------------------------------------------------------------- */

int sap_cpu_tree_threads_for_rows(const struct sap_cpu_tree *t, int rows)
{
    enum { A_THREAD = 128 };
    const int most = 1 + rows / A_THREAD;
    return sap_threads_now(most < t->threads ? most : t->threads);
}

/* Walks for the target particles, of a periodic cube also for their near images. */
static int walk_near(const struct sap_cpu_tree *t, struct sap_cpu_run *run, int threads)
{
    if (t->settings.walk != SAPPORO_WALK_STACKLESS) return sap_cpu_walk(&t->own, &t->frame, run, threads);
    sap_cpu_walk_alone(&t->own, &t->frame, run, threads);
    return SAPPORO_OK;
}

static int walk(struct sap_cpu_tree *t, struct sap_cpu_run *run, int threads)
{
    run->period = t->settings.period;
    int status = run->period > 0 ? sap_cpu_periodic_field(t, threads) : (int)SAPPORO_OK;
    if (!status) status = walk_near(t, run, threads);
    if (!status && run->period > 0) sap_cpu_periodic_add(t, run, threads);
    return status;
}

static double size_of(const double *a) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

/* Computes accelerations of all particles with an opening angle of 1, if they are unknown. */
static int start_particles(struct sap_cpu_tree *t, int threads)
{
    struct sap_cpu_slots slots = {0};
    int unknown = 0, status;
    for (int i = 0; i < t->own.n; i++) unknown += !(t->given.a[i] >= 0);
    if (unknown == 0) return SAPPORO_OK;
    sap_cpu_tree_need_bounds(t, NULL, threads);
    double(*acc)[3] = malloc((size_t)t->own.n * sizeof *acc);
    status = sap_cpu_tree_all_slots(&t->self, t->order.address, &slots);
    if (!acc) status = SAPPORO_ERR_MEMORY;
    struct sap_cpu_run run = {.walkers = &t->self, .slots = &slots, .acc = acc};
    if (!status) status = walk(t, &run, threads);
    for (int i = 0; i < t->own.n && !status; i++)
        if (!(t->given.a[i] >= 0)) t->given.a[i] = size_of(acc[i]);
    free(acc);
    sap_cpu_tree_free_slots(&slots);
    return status;
}

static int start_places(struct sap_cpu_tree *t, struct force_data *p, struct sap_cpu_run *run, int threads)
{
    p->a = malloc(((size_t)run->slots->n + 1) * sizeof *p->a);
    const int status = p->a ? walk(t, run, threads) : SAPPORO_ERR_MEMORY;
    for (int i = 0; i < run->slots->n && !status; i++) p->a[i] = size_of(run->acc[i]);
    return status;
}

/* For ACCELERATION: computes the accelerations that the criterion needs, and allocates memory for new ones. */
static int start(struct sap_cpu_tree *t, struct force_data *p, struct sap_cpu_run *run, int threads)
{
    int status = SAPPORO_OK;
    if (!run->acc) {
        p->acc = malloc(((size_t)run->slots->n + 1) * sizeof *p->acc);
        run->acc = p->acc;
        if (!run->acc) return SAPPORO_ERR_MEMORY;
    }
    if (run->walkers->own) {
        status = start_particles(t, threads);
        run->a = t->given.a;
        run->a_of = t->order.address;
    } else {
        if (!p->known) status = start_places(t, p, run, threads);
        run->a = p->known ? p->known : p->a;
        run->a_of = p->places.order.address;
    }
    return status;
}

static int who_walks(struct sap_cpu_tree *t, const struct sap_cpu_targets *targets, struct force_data *p,
                     struct sap_cpu_run *run, int threads)
{
    run->slots = &p->slots;
    run->walkers = &t->self;
    if (!targets->x.base) return sap_cpu_tree_active_slots(t, targets->active, targets->n, &p->slots);
    run->walkers = &p->places.walkers;
    const int status = take_places(t, targets, &p->places, p->most, threads);
    return status ? status : sap_cpu_tree_all_slots(&p->places.walkers, p->places.order.address, &p->slots);
}

/* Results for the caller: forces, or tidal tensors alone. */
struct results {
    double (*acc)[3], *pot, (*tidal)[6];
};

static void erase_bad(const struct places *p, int n, const struct results *to)
{
    for (int i = 0; i < n && p->nbad > 0; i++) {
        if (!p->bad[i]) continue;
        if (to->pot) to->pot[i] = NAN;
        for (int c = 0; c < 3 && to->acc; c++) to->acc[i][c] = NAN;
        for (int q = 0; q < SAP_MOMENTS2 && to->tidal; q++) to->tidal[i][q] = NAN;
    }
}

static void remember(struct sap_cpu_tree *t, const struct sap_cpu_targets *targets, const struct sap_cpu_run *run)
{
    for (int i = 0; i < targets->n && run->walkers->own && !run->tidal; i++)
        t->given.a[targets->active ? targets->active[i] : i] = size_of(run->acc[i]);
}

/* Notes what a force did. */
static void tell(struct sap_cpu_tree *t, const struct sap_cpu_run *run, double seconds)
{
    t->done.stackless = t->settings.walk == SAPPORO_WALK_STACKLESS;
    t->done.rows = run->slots->n;
    t->done.particle_particle = run->particle;
    t->done.particle_cell = run->cell;
    t->done.seconds[SAPPORO_PHASE_WALK] = seconds;
}

/* Computes the results on targets whose positions have groups of `group`; a: sizes of accelerations there, or NULL. */
static int compute(struct sap_cpu_tree *t, const struct sap_cpu_targets *targets, int group, const double *a,
                   const struct results *to)
{
    const int threads = sap_cpu_tree_threads_for_rows(t, targets->n);
    const int by_acceleration = sap_mac_row(t->settings.mac).by_a;
    const double begin = sap_clock_seconds();
    const sap_fpenv callers = sap_fp_enter();
    struct force_data p = {.known = a, .most = group};
    struct sap_cpu_run run = {.acc = to->acc, .pot = to->pot};
    t->words[0] = '\0';
    int status = who_walks(t, targets, &p, &run, threads);
    if (!status && run.walkers->own) sap_cpu_tree_need_bounds(t, &p.slots, threads);
    if (!status && by_acceleration) status = start(t, &p, &run, threads);
    run.tidal = to->tidal;
    if (!status) status = walk(t, &run, threads);
    if (!status && by_acceleration) remember(t, targets, &run);
    if (!status && p.places.nbad > 0) {
        erase_bad(&p.places, targets->n, to);
        status = SAPPORO_PARTIAL;
    }
    if (!status && run.beyond > 0) status = SAPPORO_PARTIAL;
    if (status >= 0 && !run.tidal) tell(t, &run, sap_clock_seconds() - begin);
    free_pass(&p);
    sap_fp_leave(callers);
    return status;
}

int sap_cpu_force(struct sap_cpu_tree *t, const struct sap_cpu_targets *targets, double (*acc)[3], double *pot)
{
    const struct results to = {.acc = acc, .pot = pot};
    return compute(t, targets, t->settings.group_size, NULL, &to);
}

static struct sap_cpu_targets targets_of(const sapporo_tree_request *r)
{
    return (struct sap_cpu_targets){.n = r->ni, .active = r->active, .x = r->x, .h = r->h};
}

int sap_cpu_tree_force(struct sap_tree *opaque_tree, const sapporo_tree_request *request, double (*acc)[3], double *pot)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    const struct sap_cpu_targets targets = targets_of(request);
    if (request->memory != SAPPORO_MEMORY_HOST)
        return sap_cpu_tree_failed(t, SAPPORO_ERR_UNSUPPORTED, SAP_CPU_HOST_ONLY);
    return sap_cpu_force(t, &targets, acc, pot);
}

int sap_cpu_tree_tidal(struct sap_tree *opaque_tree, const sapporo_tree_request *request, double (*tidal)[6])
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    const struct sap_cpu_targets targets = targets_of(request);
    const struct results to = {.tidal = tidal};
    if (request->memory != SAPPORO_MEMORY_HOST)
        return sap_cpu_tree_failed(t, SAPPORO_ERR_UNSUPPORTED, SAP_CPU_HOST_ONLY);
    return compute(t, &targets, t->settings.group_size, NULL, &to);
}

/* Returns how many of ni massless particles share a walk. */
static int group_of_massless(const struct sap_cpu_tree *t, int ni)
{
    enum { LEAST = 8 }; /* vectors of that many float: fewer target particles cost the same */
    const long long as_dense = (long long)t->settings.group_size * ni / t->own.n;
    const int least = t->settings.group_size < LEAST ? t->settings.group_size : (int)LEAST;
    return as_dense < least ? least : as_dense < t->settings.group_size ? (int)as_dense : t->settings.group_size;
}

int sap_cpu_tree_force_massless(struct sap_cpu_tree *t, const struct sap_cpu_targets *targets, const double *a,
                                double (*acc)[3], double *pot)
{
    const sapporo_tree_statistics done = t->done;
    const struct results to = {.acc = acc, .pot = pot};
    const int status = compute(t, targets, group_of_massless(t, targets->n), a, &to);
    t->done = done;
    return status;
}
