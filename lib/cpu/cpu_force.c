/*
 * cpu_force.c - a force on the CPU: division into items, threads, and sums.
 *
 * Work is divided into items: a group of i-particles (many_i) or all of them (few_i), against a range of tiles. Each
 * item has its own state. If several items share a group's tiles, their states are added in reproducible accumulators.
 * So the results depend neither on the division nor on the threads.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/team.h"
#include "base/threads.h"
#include "cpu/cpu_plan.h"
#include "physics/interaction.h"

enum { TILE = SAP_CPU_SUPERPACKET };

/*
 * Pair interactions that make another thread worth waking (some 70 us of work), and those below which one thread is
 * enough. Waking costs microseconds on an idle machine. On a busy one, the threads of a short force wait for each
 * other's time slices, which take milliseconds.
 */
static const double pairs_per_thread = 131072, pairs_alone = 393216;

/* Cost of a prediction, in pair interactions. */
static const double pairs_per_prediction = 4;

/* -------------------------------------------------------------------- plan */

/*
 * Chooses the variant for the softening. Roots may need seeds in double: each tile knows whether its own particles do.
 */
static void plan_softening(struct sap_variant *v, const struct sap_cpu_store *store, const struct sap_force_request *r)
{
    double least = r->eps2, most = store->host->soft;
    for (int i = 0; i < r->ni && r->eps2_i; i++)
        if (i == 0 || r->eps2_i[i] < least) least = r->eps2_i[i];
    for (int i = 0; i < r->ni && r->eps2_i; i++)
        if (r->eps2_i[i] > most) most = r->eps2_i[i];
    if (r->eps2 > most) most = r->eps2;
    v->spline = r->spline;
    v->zero = least < SAP_TINY_R2;
    v->wide = r->far || most > SAP_FAR * SAP_FAR;
    v->soft = !r->eps2_i ? 0 : store->host->soft > 0 ? 2 : 1;
}

/* Returns the number of groups of many_i. */
static int groups_of(const struct sap_plan *p)
{
    return (p->force->request.ni + p->kernel->group - 1) / p->kernel->group;
}

/*
 * Returns whether few_i is faster than many_i. Costs are in units of one source on one group, and were measured with
 * both on 1 to 47 targets and 16 to 3,000 sources (docs/measurements.md, small calls).
 */
static int is_few(const struct sap_plan *p)
{
    const struct sap_kernel *const k = p->kernel;
    const int ni = p->force->request.ni, nj = p->force->nj, is_order2 = k->sums == SAP_SUMS2;
    const double per_target = 5, per_group = 40; /* of starts, sums of packets, and results */
    const double pair = (is_order2 ? 1.15 : 1) / k->group, prediction = is_order2 ? 0.1 : 0.4;
    if (ni >= k->few) return 0; /* their states leave the cache */
    const int last = ni - (groups_of(p) - 1) * k->group, saved = last <= k->half && !p->variant.near;
    const double few = ni * (per_target + pair * nj), many = groups_of(p) * (per_group + nj) - 0.45 * saved * nj;
    if (few >= many) return 0;
    /* few_i predicts the sources of each call */
    return few + prediction * nj < many || !sap_cpu_all_valid(p->store, p->tiles, p->force->request.time, nj);
}

static void make_plan(struct sap_plan *p, struct sap_cpu_store *store, struct sap_cpu_force *f, unsigned extra)
{
    const struct sap_force_request *r = &f->request;
    memset(p, 0, sizeof *p);
    p->store = store;
    p->force = f;
    p->kernel = store->devices->kernel;
    p->extra = extra;
    p->i = (struct sap_i){.x = r->x,
                          .v = r->v,
                          .index = r->rule == SAP_PAIRS_SKIP_OWN ? r->index : NULL,
                          .eps2 = r->eps2_i,
                          .a = r->a,
                          .jerk = r->jerk,
                          .dtr = r->dtr};
    plan_softening(&p->variant, store, r);
    p->variant.near = (extra & SAP_EXTRA_LISTS ? SAP_LISTS : 0) | (extra & SAP_EXTRA_NEAREST ? SAP_NEAREST : 0);
    p->variant.skip_own = r->rule == SAP_PAIRS_SKIP_OWN;
    /* without lists, no i-particle has a sphere */
    p->variant.outside = r->rule == SAP_PAIRS_OUTSIDE && extra & SAP_EXTRA_LISTS;
    p->tiles = (f->nj + TILE - 1) / TILE;
    p->few = is_few(p);
    p->groups = p->few ? 1 : groups_of(p);
    const double pairs = f->nj * (r->ni + pairs_per_prediction);
    const double useful = pairs < pairs_alone ? 1 : pairs / pairs_per_thread + 1;
    p->threads = sap_threads_now(useful < store->devices->threads ? (int)useful : store->devices->threads);
    p->ranges = p->groups >= 2 * p->threads ? 1 : p->threads;
    if (p->ranges > p->tiles) p->ranges = p->tiles > 0 ? p->tiles : 1;
    p->alone = p->tiles == 1 && !(extra & SAP_EXTRA_ACCUM) && !p->variant.outside;
    p->judge = (struct sap_judge){store, f, !p->few, store->host->count != store->host->upper, 0};
    if (p->variant.outside && r->dtr) p->judge.fastest = sap_cpu_fastest(store, r->time, f->nj);
}

static int first_tile(const struct sap_plan *p, int range) { return (int)((int64_t)p->tiles * range / p->ranges); }

/* ------------------------------------------------------------------- items */

void sap_plan_run_many(const struct sap_plan *p, struct sap_group *g, int from, int to, struct sap_variant variant)
{
    for (int t = from; t < to; t++) {
        struct sap_columns c;
        int terms;
        if (!sap_cpu_columns(p->store, t, &c, &terms)) continue;
        struct sap_many_args args = {.records = p->store->predicted[t].records,
                                     .first = (uint32_t)t * TILE,
                                     .n = sap_cpu_tile_count(t, p->force->nj),
                                     .eps2 = p->force->request.eps2,
                                     .variant = variant};
        if (p->store->predicted[t].far) args.variant.wide = 1;
        if (args.variant.soft == 2 && !c.eps2) args.variant.soft = 1;
        p->kernel->many_i(&args, g);
    }
}

static void run_few(const struct sap_plan *p, struct sap_single *singles, int from, int to)
{
    for (int t = from; t < to; t++) {
        struct sap_columns c;
        struct sap_few_args args = {.columns = &c,
                                    .time = p->force->request.time,
                                    .first = (uint32_t)t * TILE,
                                    .n = sap_cpu_tile_count(t, p->force->nj),
                                    .ni = p->force->request.ni,
                                    .eps2 = p->force->request.eps2,
                                    .variant = p->variant};
        if (sap_cpu_columns(p->store, t, &c, &args.terms)) p->kernel->few_i(&args, singles);
    }
}

/* Returns the squared radius in which i-particle i looks for list members. */
static double list_reach(const struct sap_plan *p, int i)
{
    const double *h2 = p->force->request.h2;
    return p->variant.near & SAP_LISTS && h2 ? sap_near_reach(&p->judge, i, h2[i]) : 0;
}

void sap_plan_set_reach(struct sap_group *g, int lane, double reach, double sure)
{
    g->sure[lane] = sure;
    g->reach_d[lane] = reach;
    g->reach_f[lane] = (float)(reach < FLT_MAX ? reach * (1 + 0x1p-22) : (double)FLT_MAX);
}

/* Does not round up: few_i must have the same numbers, and the margin is wide. */
static void set_reach_outside(struct sap_group *g, int lane, struct sap_sphere r)
{
    g->sure[lane] = r.sure;
    g->sure_weight[lane] = r.sure_weight;
    g->reach_d[lane] = r.reach;
    g->reach_f[lane] = (float)r.reach;
    g->weight_d[lane] = r.weight;
    g->weight_f[lane] = (float)r.weight;
}

void sap_plan_start_group(const struct sap_plan *p, struct sap_group *g, int group)
{
    const int from = group * p->kernel->group, left = p->force->request.ni - from;
    p->kernel->start_group(g, &p->i, from, left < p->kernel->group ? left : p->kernel->group, p->alone);
    g->hits.n = g->hits.failed = 0;
    for (int lane = 0; lane < p->kernel->group; lane++) {
        if (p->variant.outside) {
            set_reach_outside(g, lane, sap_near_reach_outside(&p->judge, from + (lane < g->n ? lane : 0)));
            continue;
        }
        const double reach = lane < g->n ? list_reach(p, from + lane) : 0;
        sap_plan_set_reach(g, lane, reach,
                           reach > 0 ? sap_near_sure(&p->judge, from + lane, p->force->request.h2[from + lane]) : 0);
    }
}

/* ------------------------------------------------------------------ running */

/* Computes one group; 1 if memory ran out. */
static int run_group(const struct sap_plan *p, struct sap_group *g, int group)
{
    struct sap_group *const states[1] = {g};
    sap_plan_start_group(p, g, group);
    sap_plan_run_many(p, g, 0, p->tiles, p->variant);
    return !sap_rows_finish_many(p, group, states);
}

/* Computes all groups in one thread. */
static void run_groups_alone(struct sap_plan *p)
{
    struct sap_group g;
    int failed = 0;
    memset(&g.hits, 0, sizeof g.hits);
    for (int group = 0; group < p->groups; group++) failed |= run_group(p, &g, group);
    sap_hits_free(&g.hits);
    if (failed) atomic_store(&p->failed, 1);
}

/* A plan whose items are distributed over threads. */
struct shared {
    struct sap_items items;
    struct sap_plan *plan;
    struct sap_group *states; /* of the items of run_shared_groups */
    struct sap_group **of;    /* pointers to them, for sap_rows_finish_many */
    atomic_int *left;         /* ranges of each group that are not yet summed */
};

static void take_groups(void *argument, int thread)
{
    struct shared *const s = argument;
    struct sap_group g;
    ptrdiff_t group, end;
    int failed = 0;
    (void)thread;
    memset(&g.hits, 0, sizeof g.hits);
    while (sap_items_take(&s->items, &group, &end)) failed |= run_group(s->plan, &g, (int)group);
    sap_hits_free(&g.hits);
    if (failed) atomic_store(&s->plan->failed, 1);
}

/* Distributes groups over threads. */
static void run_groups(struct sap_plan *p)
{
    struct shared s = {.plan = p};
    sap_items_start(&s.items, p->groups, 1);
    sap_team_run(p->threads, take_groups, &s);
}

/* Sums ranges of groups. The thread that sums the last range of a group joins all ranges. */
static void take_group_ranges(void *argument, int thread)
{
    struct shared *const s = argument;
    struct sap_plan *const p = s->plan;
    ptrdiff_t k, end;
    (void)thread;
    while (sap_items_take(&s->items, &k, &end)) {
        const int group = (int)k / p->ranges, range = (int)k % p->ranges;
        sap_plan_start_group(p, &s->states[k], group);
        sap_plan_run_many(p, &s->states[k], first_tile(p, range), first_tile(p, range + 1), p->variant);
        if (atomic_fetch_sub_explicit(&s->left[group], 1, memory_order_acq_rel) > 1) continue;
        if (!sap_rows_finish_many(p, group, s->of + (ptrdiff_t)group * p->ranges)) atomic_store(&p->failed, 1);
    }
}

/* Distributes the ranges of groups, if there are too few i-particles for the threads. */
static void run_shared_groups(struct sap_plan *p)
{
    const int items = p->groups * p->ranges;
    struct shared s = {.plan = p,
                       .states = aligned_alloc(64, (size_t)items * sizeof *s.states),
                       .of = malloc((size_t)items * sizeof *s.of),
                       .left = malloc((size_t)p->groups * sizeof *s.left)};
    const int ready = s.states && s.of && s.left;
    for (int group = 0; group < p->groups && ready; group++) atomic_init(&s.left[group], p->ranges);
    for (int k = 0; k < items && ready; k++) {
        s.of[k] = &s.states[k];
        memset(&s.states[k].hits, 0, sizeof s.states[k].hits);
    }
    if (ready) {
        sap_items_start(&s.items, items, 1);
        sap_team_run(p->threads, take_group_ranges, &s);
    } else {
        atomic_store(&p->failed, 1);
    }
    for (int k = 0; k < items && ready; k++) sap_hits_free(&s.states[k].hits);
    free(s.states);
    free(s.of);
    free(s.left);
}

static void set_single_reach(const struct sap_plan *p, struct sap_single *s, int i)
{
    if (p->variant.outside) {
        const struct sap_sphere r = sap_near_reach_outside(&p->judge, i);
        s->reach = r.reach;
        s->weight = r.weight;
        s->sure = r.sure;
        s->sure_weight = r.sure_weight;
    } else {
        s->reach = list_reach(p, i) * (1 + 0x1p-22);
        s->weight = s->sure = s->sure_weight = 0;
    }
}

/* Sums a range of tiles for a few i-particles; their states are of[i * ranges + range]. */
static void run_range(const struct sap_plan *p, struct sap_single *states, struct sap_single **of, int range)
{
    const int ni = p->force->request.ni;
    struct sap_single *mine = states + (ptrdiff_t)range * ni;
    for (int i = 0; i < ni; i++) {
        p->kernel->start_single(&mine[i], &p->i, i, p->alone);
        memset(&mine[i].hits, 0, sizeof mine[i].hits);
        set_single_reach(p, &mine[i], i);
        of[(ptrdiff_t)i * p->ranges + range] = &mine[i];
    }
    run_few(p, mine, first_tile(p, range), first_tile(p, range + 1));
}

/* The states of a few i-particles: of[i * ranges + range]. */
struct singles {
    struct sap_plan *plan;
    struct sap_single *states, **of;
};

static void run_ranges(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct singles *const s = argument;
    for (ptrdiff_t r = from; r < to; r++) run_range(s->plan, s->states, s->of, (int)r);
}

static void finish_rows(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct singles *const s = argument;
    int failed = 0;
    for (ptrdiff_t i = from; i < to; i++) failed |= !sap_rows_finish_few(s->plan, (int)i, s->of + i * s->plan->ranges);
    if (failed) atomic_store(&s->plan->failed, 1);
}

/* Distributes ranges of tiles over threads, then rows. */
static void run_singles(struct sap_plan *p)
{
    const int ni = p->force->request.ni;
    const size_t items = (size_t)ni * (size_t)p->ranges;
    struct singles s = {p, aligned_alloc(64, items * sizeof *s.states), malloc(items * sizeof *s.of)};
    if (!s.states || !s.of) {
        atomic_store(&p->failed, 1);
    } else if (p->threads == 1) {
        run_ranges(&s, 0, p->ranges);
        finish_rows(&s, 0, ni);
    } else {
        sap_team_for(p->threads, p->ranges, 1, run_ranges, &s);
        sap_team_for(p->ranges > 1 ? p->threads : 1, ni, sap_team_chunk(ni, p->threads, 1), finish_rows, &s);
    }
    free(s.states);
    free(s.of);
}

/* Allocates arrays for outputs other than the sums, for as many rows as the sums have. */
static int reserve_extra(struct sap_cpu_force *f, unsigned extra)
{
    const size_t n = (size_t)f->room;
    if (extra & SAP_EXTRA_NEAREST) {
        if (!f->nearest) f->nearest = malloc(n * sizeof *f->nearest);
        if (!f->nearest_r2) f->nearest_r2 = malloc(n * sizeof *f->nearest_r2);
        if (!f->nearest_address) f->nearest_address = malloc(n * sizeof *f->nearest_address);
        if (!f->nearest || !f->nearest_r2 || !f->nearest_address) return SAPPORO_ERR_MEMORY;
    }
    if (extra & SAP_EXTRA_LISTS && !f->list && !(f->list = malloc(n * sizeof *f->list))) return SAPPORO_ERR_MEMORY;
    if (extra & SAP_EXTRA_ACCUM && !f->accum && !(f->accum = malloc(n * (size_t)f->sums * sizeof *f->accum)))
        return SAPPORO_ERR_MEMORY;
    return SAPPORO_OK;
}

/* Discards the lists of an earlier pass. */
static void forget_lists(struct sap_cpu_force *f, unsigned extra)
{
    for (int k = 0; k < f->chunks; k++) free(f->chunk[k]);
    f->chunks = 0;
    if (extra & SAP_EXTRA_LISTS)
        for (int i = 0; i < f->request.ni; i++) f->list[i] = (struct sap_list){NULL, 0};
}

int sap_cpu_compute(struct sap_cpu_store *store, struct sap_cpu_force *f, unsigned extra)
{
    struct sap_plan p;
    extra |= f->have; /* results that exist are kept */
    if (f->request.ni == 0) {
        f->have = extra;
        return SAPPORO_OK;
    }
    int status = reserve_extra(f, extra);
    if (status) return status;
    forget_lists(f, extra);
    const sap_fpenv caller = sap_fp_enter();
    make_plan(&p, store, f, extra);
    if (!p.few) status = sap_cpu_predict(store, f->request.time, f->nj, p.threads);
    if (!status) {
        if (p.few)
            run_singles(&p);
        else if (p.threads == 1)
            run_groups_alone(&p);
        else if (p.ranges == 1)
            run_groups(&p);
        else
            run_shared_groups(&p);
        if (atomic_load(&p.failed)) status = SAPPORO_ERR_MEMORY;
    }
    sap_fp_leave(caller);
    f->have = status ? 0 : extra;
    return status;
}
