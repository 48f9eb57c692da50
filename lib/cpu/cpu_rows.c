/*
 * cpu_rows.c - results of a force: adds the states of an i-particle's tiles and converts them to sums, nearest
 * neighbours and lists.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "cpu/cpu_plan.h"

static struct sap_accum lane_accum(const struct sap_sum_lanes *s, int lane)
{
    struct sap_accum a = {.unit = s->unit[lane], .special = s->special[lane]};
    for (int k = 0; k < SAP_LIMBS; k++) a.limb[k] = s->limb[k][lane];
    return a;
}

static struct sap_accum single_accum(const struct sap_single *s, int q)
{
    struct sap_accum a = {.unit = s->unit[q], .special = s->special[q]};
    for (int k = 0; k < SAP_LIMBS; k++) a.limb[k] = s->limb[k][q];
    return a;
}

static void put_lane(struct sap_sum_lanes *s, int lane, const struct sap_accum *a)
{
    s->unit[lane] = a->unit;
    s->special[lane] = a->special;
    for (int k = 0; k < SAP_LIMBS; k++) s->limb[k][lane] = a->limb[k];
}

static void put_single(struct sap_single *s, int q, const struct sap_accum *a)
{
    s->unit[q] = a->unit;
    s->special[q] = a->special;
    for (int k = 0; k < SAP_LIMBS; k++) s->limb[k][q] = a->limb[k];
}

static void merge_near(struct sap_near *into, const struct sap_near *from)
{
    const double worse = from->best < into->best ? into->best : from->best;
    if (from->second < into->second) into->second = from->second;
    if (worse < into->second) into->second = worse;
    if (from->best < into->best) into->best = from->best, into->block = from->block;
}

/* Results of one i-particle after all its tiles have been summed. */
struct row {
    struct sap_accum sum[SAP_SUMS];
    struct sap_near near;
};

static void store_row(const struct sap_plan *p, int i, const struct row *row)
{
    struct sap_cpu_force *f = p->force;
    const ptrdiff_t at = (ptrdiff_t)i * f->sums;
    for (int q = 0; q < f->sums; q++) f->sum[at + q] = sap_accum_round(&row->sum[q]) * p->kernel->scale[q];
    if (p->extra & SAP_EXTRA_ACCUM) memcpy(f->accum + at, row->sum, (size_t)f->sums * sizeof *row->sum);
}

/* The results of one range for a lane of its group, or for one i-particle. */
static void row_of_lane(const struct sap_plan *p, const struct sap_group *g, int lane, struct row *row)
{
    row->near = p->kernel->near_group(g, lane);
    for (int q = 0; q < p->kernel->sums; q++) row->sum[q] = lane_accum(&g->sum[q], lane);
}

static void row_of_single(const struct sap_plan *p, const struct sap_single *s, struct row *row)
{
    row->near = p->kernel->near_single(s);
    for (int q = 0; q < p->kernel->sums; q++) row->sum[q] = single_accum(s, q);
}

/* Joins the results of another range to a row. */
static void join_row(const struct sap_plan *p, struct row *into, const struct row *from)
{
    merge_near(&into->near, &from->near);
    for (int q = 0; q < p->kernel->sums; q++) sap_accum_merge(&into->sum[q], &from->sum[q]);
}

static void store_nearest(const struct sap_plan *p, int i, int address, double r2)
{
    p->force->nearest[i] = address < 0 ? -1 : sap_jstore_index(p->store->host, address);
    p->force->nearest_address[i] = address;
    p->force->nearest_r2[i] = address < 0 ? INFINITY : r2;
}

/* Adds memory of lists to the force; items finish in any order. */
static int keep_chunk(struct sap_cpu_force *f, int32_t *chunk)
{
    sap_lock(&f->lock);
    if (f->chunks == f->chunk_room) {
        const int room = f->chunk_room ? 2 * f->chunk_room : 16;
        int32_t **more = realloc(f->chunk, (size_t)room * sizeof *more);
        if (more) f->chunk = more, f->chunk_room = room;
    }
    const int ok = f->chunks < f->chunk_room;
    if (ok) f->chunk[f->chunks++] = chunk;
    sap_unlock(&f->lock);
    return ok;
}

/* Allocates memory for the lists of a group: as many entries as there are candidates. */
static int32_t *new_chunk(struct sap_cpu_force *f, int entries)
{
    int32_t *chunk = malloc((size_t)(entries + 1) * sizeof *chunk);
    if (chunk && keep_chunk(f, chunk)) return chunk;
    free(chunk);
    return NULL;
}

/* Destination of sums that are added after the kernel: a group or a single. */
struct late_sums {
    struct sap_group *group;
    struct sap_single *single;
};

/* Adds the pairs of i-particle i (of a lane) with n particles that the kernel excluded and that are no members. */
static void add_outside(const struct sap_plan *p, const struct late_sums *to, int i, int lane, const int32_t *address,
                        int n)
{
    double term[SAP_SUMS] = {0};
    for (int k = 0; k < n; k++) {
        if (!sap_outside_pair(&p->judge, i, address[k], term)) continue;
        for (int q = 0; q < p->kernel->sums; q++) {
            struct sap_accum a = to->group ? lane_accum(&to->group->sum[q], lane) : single_accum(to->single, q);
            sap_accum_add(&a, term[q] / p->kernel->scale[q]); /* scales are powers of two for this order */
            if (to->group)
                put_lane(&to->group->sum[q], lane, &a);
            else
                put_single(to->single, q, &a);
        }
    }
}

/* Makes the lists of n i-particles from `from` on, from candidates by lane. */
static int build_lists(const struct sap_plan *p, int from, int n, const struct sap_hits *hits,
                       const struct late_sums *late)
{
    int start[SAP_GROUP_MAX + 1] = {0}, end[SAP_GROUP_MAX];
    const struct sap_hit *const last = hits->hit + hits->n;
    if (hits->failed) return 0;
    for (const struct sap_hit *h = hits->hit; h < last; h += 1 + h->index) start[h->address + 1] += h->index;
    for (int lane = 0; lane < n; lane++) start[lane + 1] += start[lane];
    int32_t *const chunk = new_chunk(p->force, start[n]);
    if (!chunk) return 0;
    memcpy(end, start, sizeof end);
    for (const struct sap_hit *h = hits->hit; h < last; h += 1 + h->index) {
        const int lane = (int)h->address;
        int *const at = &end[lane], left = 0;
        /* the chunk has space for all candidates: enough before its end */
        int32_t *const out = chunk + start[lane + 1];
        *at += sap_near_members(&p->judge, from + lane, h + 1, h->index, chunk + *at, p->variant.outside ? out : NULL,
                                &left);
        if (left > 0) add_outside(p, late, from + lane, lane, out - left, left);
    }
    for (int lane = 0; lane < n; lane++) {
        int32_t *const entries = chunk + start[lane];
        const int members = sap_sort_indices(p->kernel, entries, end[lane] - start[lane]);
        p->force->list[from + lane] = (struct sap_list){entries, members};
    }
    return 1;
}

/*
 * Finds the nearest particle of lanes that one block does not determine, in another pass that lists all particles
 * within reach. This is rare; not inlined, so that its group does not enlarge the caller's stack.
 */
__attribute__((noinline)) static int settle_doubts(const struct sap_plan *p, int group, const double *reach,
                                                   unsigned doubtful)
{
    struct sap_group g;
    const int from = group * p->kernel->group;
    struct sap_variant variant = p->variant;
    variant.near = SAP_LISTS;
    memset(&g.hits, 0, sizeof g.hits);
    sap_plan_start_group(p, &g, group);
    for (int lane = 0; lane < p->kernel->group; lane++)
        sap_plan_set_reach(&g, lane, doubtful >> lane & 1 ? reach[lane] : 0, 0);
    sap_plan_run_many(p, &g, 0, p->tiles, variant);
    for (int lane = 0; lane < g.n; lane++)
        if (doubtful >> lane & 1) {
            double r2;
            const int address = sap_near_in_hits(&p->judge, from + lane, (uint32_t)lane, &g.hits, &r2);
            store_nearest(p, from + lane, address, r2);
        }
    const int ok = !g.hits.failed;
    sap_hits_free(&g.hits);
    return ok;
}

static int find_nearest(const struct sap_plan *p, int group, const struct sap_near *near, int n)
{
    double reach[SAP_GROUP_MAX];
    unsigned doubtful = 0;
    const int from = group * p->kernel->group;
    for (int lane = 0; lane < n; lane++) {
        double r2;
        int address = sap_near_of(&p->judge, from + lane, &near[lane], &r2, &reach[lane]);
        if (address == -2 && reach[lane] > 0) {
            doubtful |= 1U << lane;
            continue;
        }
        if (address == -2) address = sap_near_in_all(&p->judge, from + lane, &r2);
        store_nearest(p, from + lane, address, r2);
    }
    return doubtful ? settle_doubts(p, group, reach, doubtful) : 1;
}

static void note_coincident(const struct sap_plan *p, int i)
{
    if (!p->variant.zero || p->force->request.rule == SAP_PAIRS_OUTSIDE)
        return; /* softened: a kernel that serves both cases may report such pairs */
    sap_lock(&p->force->lock);
    if (p->force->coincident < 0 || i < p->force->coincident) p->force->coincident = i;
    sap_unlock(&p->force->lock);
}

/* Appends the candidates of later ranges to those of the first. */
static void gather_hits(struct sap_hits *into, struct sap_hits *from)
{
    if (from->n > 0 && sap_hits_reserve(into, from->n)) {
        memcpy(into->hit + into->n, from->hit, (size_t)from->n * sizeof *from->hit);
        into->n += from->n;
    }
    into->failed |= from->failed;
    sap_hits_free(from);
}

int sap_rows_finish_many(const struct sap_plan *p, int group, struct sap_group *const *g)
{
    const int from = group * p->kernel->group, n = g[0]->n;
    struct sap_near near[SAP_GROUP_MAX];
    int ok = 1;
    for (int r = 1; r < p->ranges; r++) gather_hits(&g[0]->hits, &g[r]->hits);
    if (p->variant.near & SAP_LISTS) ok = build_lists(p, from, n, &g[0]->hits, &(struct late_sums){g[0], NULL});
    if (p->ranges == 1 && !(p->extra & SAP_EXTRA_ACCUM)) {
        p->kernel->finish_group(g[0], p->kernel->scale, p->force->sum + (ptrdiff_t)from * p->kernel->sums);
        if (p->variant.near & SAP_NEAREST)
            for (int lane = 0; lane < n; lane++) near[lane] = p->kernel->near_group(g[0], lane);
    } else {
        for (int lane = 0; lane < n; lane++) {
            struct row row, later;
            row_of_lane(p, g[0], lane, &row);
            for (int r = 1; r < p->ranges; r++) {
                row_of_lane(p, g[r], lane, &later);
                join_row(p, &row, &later);
            }
            store_row(p, from + lane, &row);
            near[lane] = row.near;
        }
    }
    for (int r = 0; r < p->ranges; r++)
        for (int lane = 0; lane < n && g[r]->coincident; lane++)
            if (g[r]->coincident >> lane & 1) note_coincident(p, from + lane);
    if (p->extra & SAP_EXTRA_NEAREST) ok = find_nearest(p, group, near, n) && ok;
    return ok;
}

int sap_rows_finish_few(const struct sap_plan *p, int i, struct sap_single *const *s)
{
    struct row row, later;
    double r2, reach;
    int ok = 1;
    for (int r = 1; r < p->ranges; r++) gather_hits(&s[0]->hits, &s[r]->hits);
    if (p->variant.near & SAP_LISTS) ok = build_lists(p, i, 1, &s[0]->hits, &(struct late_sums){NULL, s[0]});
    if (p->ranges == 1 && !(p->extra & SAP_EXTRA_ACCUM)) {
        p->kernel->finish_single(s[0], p->kernel->scale, p->force->sum + (ptrdiff_t)i * p->kernel->sums);
        if (p->extra & SAP_EXTRA_NEAREST) row.near = p->kernel->near_single(s[0]);
    } else {
        row_of_single(p, s[0], &row);
        for (int r = 1; r < p->ranges; r++) {
            row_of_single(p, s[r], &later);
            join_row(p, &row, &later);
        }
        store_row(p, i, &row);
    }
    for (int r = 0; r < p->ranges; r++)
        if (s[r]->coincident) note_coincident(p, i);
    if (p->extra & SAP_EXTRA_NEAREST) {
        int address = sap_near_of(&p->judge, i, &row.near, &r2, &reach);
        if (address == -2) address = sap_near_in_all(&p->judge, i, &r2);
        store_nearest(p, i, address, r2);
    }
    sap_hits_free(&s[0]->hits);
    return ok;
}
