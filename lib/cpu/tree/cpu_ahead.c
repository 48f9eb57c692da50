/* cpu_ahead.c - a build for a later time, from positions extrapolated from those of an earlier call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "base/threads.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/periodic.h"

enum { AT_ONCE = 4096, A_THREAD = 65536 };

static int threads_for(const struct sap_cpu_tree *t)
{
    const int most = 1 + t->given.n / A_THREAD;
    return sap_threads_now(most < t->threads ? most : t->threads);
}

struct looking_ahead {
    struct sap_cpu_tree *tree;
    double lead;
};

static void look_ahead(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct looking_ahead *const l = argument;
    const struct sap_cpu_tree *const t = l->tree;
    const int bends = t->given.past[1] == t->given.n;
    for (ptrdiff_t i = from; i < to; i++) {
        const double *const x = t->given.x[i];
        double past[3], older[3];
        for (int c = 0; c < 3; c++) {
            past[c] = sap_periodic_beside(t->settings.period, t->given.past_x[0][i][c], x[c]);
            older[c] = bends ? sap_periodic_beside(t->settings.period, t->given.past_x[1][i][c], x[c]) : past[c];
        }
        sap_tree_ahead(x, past, older, bends, l->lead, SAP_TREE_LIMIT, t->given.past_x[1][i]);
    }
}

static void keep_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct sap_cpu_tree *const t = argument;
    memcpy(t->given.past_x[0] + from, t->given.x + from, (size_t)(to - from) * sizeof *t->given.x);
}

int sap_cpu_tree_past(struct sap_tree *opaque_tree, int keeps)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    for (int k = 0; k < 2; k++) {
        if (!t->given.past_x[k]) t->given.past_x[k] = malloc(((size_t)t->room + 1) * sizeof *t->given.past_x[k]);
        if (!t->given.past_x[k]) return sap_cpu_tree_failed(t, SAPPORO_ERR_MEMORY, "for earlier positions");
    }
    if (!keeps) return SAPPORO_OK;
    double(*const oldest)[3] = t->given.past_x[1];
    t->given.past_x[1] = t->given.past_x[0];
    t->given.past_x[0] = oldest;
    t->given.past[1] = t->given.past[0];
    const int threads = threads_for(t);
    sap_team_for(threads, t->given.n, sap_team_chunk(t->given.n, threads, AT_ONCE), keep_some, t);
    t->given.past[0] = t->given.n;
    return SAPPORO_OK;
}

static void exchange_positions(struct sap_cpu_tree *t)
{
    double(*const x)[3] = t->given.x;
    t->given.x = t->given.past_x[1];
    t->given.past_x[1] = x;
}

/* Whether the moments of the particles set last fit into double: a build for a later time must not hide that. */
static int is_in_range(const struct sap_cpu_tree *t, int threads)
{
    const struct sap_cpu_box box = sap_cpu_tree_box_of((const double(*)[3])t->given.x, t->given.n, threads);
    double sum = 0;
    for (int i = 0; i < t->given.n; i++) sum += fabs(t->given.mass[i]);
    return sap_cube_in_range(box.low, box.high, sum);
}

int sap_cpu_tree_build_ahead(struct sap_tree *opaque_tree, double lead)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    struct looking_ahead l = {t, lead};
    const int threads = threads_for(t);
    if (!t->given.past_x[1] || t->given.past[0] != t->given.n || !is_in_range(t, threads))
        return sap_cpu_tree_build(opaque_tree);
    sap_team_for(threads, t->given.n, sap_team_chunk(t->given.n, threads, AT_ONCE), look_ahead, &l);
    t->given.past[1] = -1;
    exchange_positions(t);
    int status = sap_cpu_tree_build(opaque_tree);
    exchange_positions(t);
    if (status == SAPPORO_ERR_NOT_FINITE) return sap_cpu_tree_build(opaque_tree);
    if (status) return status;
    const sapporo_tree_statistics built = t->done;
    status = sap_cpu_tree_refresh(opaque_tree);
    if (status) return status;
    for (int phase = SAPPORO_PHASE_SORT; phase <= SAPPORO_PHASE_MOMENTS; phase++)
        t->done.seconds[phase] += built.seconds[phase];
    return SAPPORO_OK;
}
