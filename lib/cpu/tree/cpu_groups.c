/* cpu_groups.c - groups of sorted particles that share a walk: which particles they have, and their bounds. */
#include <math.h>
#include <string.h>

#include "base/team.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/tree_options.h"

/* ---- which particles -------------------------------------------------------------- */

/* Adds n particles behind those of the last group: to that group if it has room for all of them, else as a new group.
 */
static int add_particles(struct sap_cpu_group *group, int groups, int first, int n, int most)
{
    if (groups > 0 && group[groups - 1].count + n <= most) {
        group[groups - 1].count += n;
        return groups;
    }
    group[groups].first = first;
    group[groups].count = n;
    return groups + 1;
}

int sap_cpu_tree_cut_runs(int first, int n, int most, struct sap_cpu_group *group)
{
    int groups = 0;
    for (int done = 0; done < n; done += most)
        groups = add_particles(group, groups, first + done, n - done < most ? n - done : most, most);
    return groups;
}

/*
 * Cuts a kd-tree: each of the largest nodes with at most `most` particles is in one group, and nodes that follow each
 * other share a group while they fit.  Bounds of such groups are smaller than those of runs of equal length, which cut
 * nodes in two, so forces need fewer interactions (docs/tree.md).
 */
static int cut_nodes(const struct sap_kd_builder *b, int most, struct sap_cpu_group *group)
{
    int groups = 0;
    for (int k = 0; k < b->nodes;) {
        const struct sap_kd_node *const node = &b->node[k];
        const int leaf = node->size == 1;
        if (node->count <= most)
            groups = add_particles(group, groups, node->first, node->count, most);
        else if (leaf)
            groups += sap_cpu_tree_cut_runs(node->first, node->count, most, group + groups);
        k += leaf || node->count <= most ? node->size : 1;
    }
    return groups;
}

/*
 * Cuts sorted particles into runs.  All runs of a part but the first and the last begin and end where they would in one
 * tree of all parts, so the interactions of a group hardly depend on where the whole is divided.
 */
static int cut_curve(const struct sap_cpu_tree *t, int most, struct sap_cpu_group *group)
{
    const int n = t->own.n, behind = t->is_part ? (int)(t->whole.before % most) : 0;
    const int rest = behind > 0 ? most - behind : 0, first = rest < n ? rest : n;
    const int groups = sap_cpu_tree_cut_runs(0, first, most, group);
    return groups + sap_cpu_tree_cut_runs(first, n - first, most, group + groups);
}

/* Returns whether the box of sorted particles has a longer diagonal than the limit; they are not gathered yet. */
static int is_long(const struct sap_cpu_tree *t, int first, int end)
{
    const double limit = t->settings.group_extent;
    double low[3], high[3];
    memcpy(low, t->given.x[t->order.address[first]], sizeof low);
    memcpy(high, low, sizeof high);
    for (int k = first + 1; k < end; k++)
        for (int c = 0; c < 3; c++) {
            const double at = t->given.x[t->order.address[k]][c];
            low[c] = fmin(low[c], at);
            high[c] = fmax(high[c], at);
        }
    return sap_box_diagonal2(low, high) > limit * limit;
}

/* Sets group_of to 1 where a part of some groups begins, else to 0. */
static void mark_parts(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct sap_cpu_tree *const t = argument;
    for (ptrdiff_t g = from; g < to; g++) {
        struct sap_parts part;
        sap_parts_start(&part, t->group[g].first, t->group[g].first + t->group[g].count);
        memset(t->group_of + part.at, 0, (size_t)t->group[g].count * sizeof *t->group_of);
        while (sap_parts_left(&part)) {
            if (sap_parts_halves(&part) && is_long(t, part.at, part.end)) {
                sap_parts_halve(&part);
                continue;
            }
            t->group_of[part.at] = 1;
            sap_parts_next(&part);
        }
    }
}

/* Divides groups whose extent exceeds the limit; returns the number of groups. */
static int divide_groups(struct sap_cpu_tree *t, int groups, int threads)
{
    int parts = 0;
    sap_team_for(threads, groups, sap_team_chunk(groups, threads, 1), mark_parts, t);
    for (int k = 0; k < t->own.n; k++) {
        if (t->group_of[k]) t->group[parts++] = (struct sap_cpu_group){.first = k};
        t->group[parts - 1].count++;
    }
    return parts;
}

void sap_cpu_tree_cut_groups(struct sap_cpu_tree *t, int threads)
{
    const int most = sap_tree_group_most(&t->settings), kd = t->settings.kind == SAPPORO_TREE_KDTREE;
    int groups = kd ? cut_nodes(&t->builder.kd, most, t->group) : cut_curve(t, most, t->group);
    if (t->settings.group_extent > 0) groups = divide_groups(t, groups, threads);
    for (int g = 0; g < groups; g++)
        for (int k = 0; k < t->group[g].count; k++) t->group_of[t->group[g].first + k] = g;
    t->self = (struct sap_cpu_walkers){
        .n = t->own.n, .groups = groups, .x = (const double(*)[4])t->own.x, .group = t->group, .own = 1, .h = t->own.h};
}

/* ---- their bounds ------------------------------------------------------------------- */

static double farthest(const double (*x)[4], int n, const double *centre, int *which)
{
    double most = 0;
    *which = 0;
    for (int k = 0; k < n; k++) {
        const double r2 = sap_ball_far(centre, x[k]);
        if (r2 > most) {
            most = r2;
            *which = k;
        }
    }
    return sqrt(most);
}

static void box_of(const double (*x)[4], int n, struct sap_bound *b)
{
    double low[3], high[3];
    memcpy(low, x[0], sizeof low);
    memcpy(high, x[0], sizeof high);
    for (int k = 1; k < n; k++)
        for (int c = 0; c < 3; c++) {
            low[c] = x[k][c] < low[c] ? x[k][c] : low[c];
            high[c] = x[k][c] > high[c] ? x[k][c] : high[c];
        }
    sap_bound_box(b, low, high);
}

/* Makes a bound the ball about its centre. */
static void ball_about(const double (*x)[4], int n, struct sap_bound *b)
{
    int unused;
    memset(b->extent, 0, sizeof b->extent);
    b->radius = farthest(x, n, b->centre, &unused);
}

static void ball_about_mass(const double (*x)[4], int n, struct sap_bound *b)
{
    struct sap_cell all;
    sap_cell_start(&all);
    for (int k = 0; k < n; k++) sap_cell_add(&all, x[k][3], fabs(x[k][3]), x[k], x[k], x[k]);
    sap_cell_centre(&all);
    memcpy(b->centre, all.centre, sizeof b->centre);
    ball_about(x, n, b);
}

static void ball_of_ritter(const double (*x)[4], int n, struct sap_bound *ball)
{
    int a = 0, b = 0;
    (void)farthest(x, n, x[0], &a);
    ball->radius = 0.5 * farthest(x, n, x[a], &b);
    for (int c = 0; c < 3; c++) ball->centre[c] = x[a][c] + 0.5 * (x[b][c] - x[a][c]);
    for (int k = 0; k < n; k++) sap_ball_widen(ball->centre, &ball->radius, x[k]);
    ball_about(x, n, ball); /* includes particles that rounding placed outside */
}

static void bound_of(int kind, const double (*x)[4], int n, struct sap_bound *b)
{
    struct sap_bound other;
    if (kind == SAP_BALL_RITTER) {
        ball_of_ritter(x, n, b);
        return;
    }
    box_of(x, n, b);
    if (kind == SAP_BALL_NONE) return;
    ball_about(x, n, b);
    if (kind == SAP_BALL_BOX) return;
    ball_about_mass(x, n, &other);
    if (kind == SAP_BALL_MASS || other.radius < b->radius) *b = other;
}

/* Returns the smallest |r|^2 + eps2 of consecutive particles. */
static double nearest_of(const double (*x)[4], int n, double eps2)
{
    double least = SAP_LARGEST;
    for (int k = 1; k < n; k++) {
        const double r2 = sap_ball_far(x[k - 1], x[k]) + eps2;
        if (r2 > 0 && r2 < least) least = r2;
    }
    return least;
}

static void make_group(const struct sap_cpu_frame *f, const double (*x)[4], int n, struct sap_cpu_group *g)
{
    bound_of((int)f->settings->ball, x, n, &g->bound);
    const double size = sap_cube_reach(&f->cube, f->middle, g->bound.centre, g->bound.centre);
    const double radius = sap_bound_size(&g->bound);
    g->wide = sap_group_wide(radius, nearest_of(x, n, f->soft.eps2)) || sap_group_small(radius, f->unit);
    if (f->far || (size + radius) * f->unit > SAP_TREE_NEAR) g->wide = SAP_WIDE_FAR;
    g->has_bound = 1;
}

struct grouping {
    const struct sap_cpu_frame *frame;
    const double (*x)[4];
    struct sap_cpu_group *group;
    const int *first; /* of the slots of each group; NULL: all groups are wanted */
};

static void make_groups(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct grouping *const s = argument;
    for (ptrdiff_t g = from; g < to; g++)
        if (!s->group[g].has_bound && (!s->first || s->first[g] < s->first[g + 1]))
            make_group(s->frame, s->x + s->group[g].first, s->group[g].count, &s->group[g]);
}

void sap_cpu_tree_groups(const struct sap_cpu_frame *f, const double (*x)[4], int groups, struct sap_cpu_group *group,
                         int threads)
{
    struct grouping s = {.frame = f, .x = x, .group = group};
    for (int g = 0; g < groups; g++) group[g].has_bound = 0;
    sap_team_for(threads, groups, sap_team_chunk(groups, threads, 1), make_groups, &s);
}

void sap_cpu_tree_need_bounds(struct sap_cpu_tree *t, const struct sap_cpu_slots *slots, int threads)
{
    enum { AT_ONCE = 16 };
    struct grouping s = {
        .frame = &t->frame, .x = (const double(*)[4])t->own.x, .group = t->group, .first = slots ? slots->first : NULL};
    const int groups = t->built ? t->self.groups : 0;
    sap_team_for(threads, groups, sap_team_chunk(groups, threads, AT_ONCE), make_groups, &s);
}
