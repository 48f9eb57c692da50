/* batch_units.c - batches of small forces in units that single precision can hold. */
#include "context/batch_units.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "context/job_rows.h"

/* ---- looking -------------------------------------------------------------------------------- */

static const void *row_of(const sapporo_column *column, int k, size_t size)
{
    return column->base ? sap_column_at(column, k, size) : NULL;
}

/* Adds own source k of a list. */
static void add_source(struct sap_spread *s, struct sap_sizes *sizes, const sapporo_small_force *l, int k)
{
    double x[3];
    const struct sap_numbers p = {.derivative = {x},
                                  .stride = 1,
                                  .mass = sap_column_double(&l->mass_j, k),
                                  .eps2 = sap_column_double(&l->eps2_j, k)};
    memcpy(x, row_of(&l->x_j, k, sizeof x), sizeof x);
    sap_spread_add(s, sizes, &p);
}

/* Whether a few sources of a list, and its softening, fit as they are. */
static int is_plain(const sapporo *c, const sapporo_small_force *l)
{
    struct sap_spread s;
    if (l->ni == 0 || l->nj == 0 || sap_small_force_glance(l)) return 1;
    sap_spread_clear(&s);
    sap_spread_soften(&s, l->eps2 + sap_column_double(&l->eps2_i, 0));
    const int last = l->nj - 1, places[] = {0, last / 2, last};
    for (int look = 0; look < 3 && !l->address; look++) add_source(&s, NULL, l, places[look]);
    sap_spread_close(&s, NULL, (const int[2]){sap_exponent_of_column(&l->x, l->ni), SAP_UNITS_NONE});
    return sap_spread_is_plain(&s, c->settings.order);
}

/* One look at all lists. */
struct plain_look {
    const sapporo *c;
    const struct sap_batch *m;
    atomic_int odd; /* 1: some list does not fit as it is */
};

static void look_at_lists(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct plain_look *const look = argument;
    for (int k = (int)from; k < to && !atomic_load_explicit(&look->odd, memory_order_relaxed); k++)
        if (!is_plain(look->c, sap_batch_force(look->m, k))) atomic_store_explicit(&look->odd, 1, memory_order_relaxed);
}

/* Whether all lists seem to fit as they are.  One thread would take longer than a GPU for the forces. */
static int seem_plain(const sapporo *c, const struct sap_batch *m)
{
    enum { LISTS_PER_THREAD = 256 };
    const int threads = sap_threads_few(m->nlists / LISTS_PER_THREAD);
    struct plain_look look = {.c = c, .m = m, .odd = 0};
    sap_team_for(threads, m->nlists, sap_team_chunk(m->nlists, threads, 1), look_at_lists, &look);
    return !atomic_load(&look.odd);
}

/* Reads all sources of lists; returns the softening of all, and the largest of a target. */
static struct sap_targets read_lists(const struct sap_batch *m, struct sap_spread *s, struct sap_sizes *sizes)
{
    struct sap_targets targets = {0, 0, NULL, NULL, 0};
    int any = 0;
    for (int k = 0; k < m->nlists; k++) {
        const sapporo_small_force *const l = sap_batch_force(m, k);
        for (int j = 0; j < l->nj && l->ni > 0 && !l->address; j++) add_source(s, sizes, l, j);
        for (int i = 0; i < l->ni; i++) {
            const double eps2 = l->eps2 + sap_column_double(&l->eps2_i, i);
            if (eps2 > targets.most) targets.most = eps2;
            if (!any++ || eps2 < targets.common) targets.common = eps2;
            if (!l->eps2_i.base) break;
        }
    }
    return targets;
}

/* Where targets are, if all sources are at the origin. */
static int elsewhere(const struct sap_batch *m)
{
    int most = SAP_UNITS_NONE;
    for (int k = 0; k < m->nlists; k++) {
        const int e = sap_exponent_of_column(&sap_batch_force(m, k)->x, sap_batch_force(m, k)->ni);
        if (e > most) most = e;
    }
    return most;
}

/* ---- copies --------------------------------------------------------------------------------- */

/* Copies n rows of `width` doubles, multiplied by 2^exponent, to *at, and points the column to them. */
static void copy_column(sapporo_column *column, int n, size_t width, int exponent, double **at)
{
    if (!column->base) return;
    double *const to = *at;
    for (int k = 0; k < n; k++)
        memcpy(to + (size_t)k * width, row_of(column, k, width * sizeof *to), width * sizeof *to);
    sap_scale_given(to, (size_t)n * width, exponent);
    *column = (sapporo_column){to, 0};
    *at = to + (size_t)n * width;
}

static void copy_list(sapporo_small_force *l, const struct sap_units *u, double **at)
{
    const int square = sap_units_square(u);
    copy_column(&l->x, l->ni, 3, u->length, at);
    copy_column(&l->eps2_i, l->ni, 1, square, at);
    sap_scale_given(&l->eps2, 1, square);
    if (l->address) return;
    copy_column(&l->x_j, l->nj, 3, u->length, at);
    copy_column(&l->mass_j, l->nj, 1, u->mass, at);
    copy_column(&l->eps2_j, l->nj, 1, square, at);
}

static int copy_lists(sapporo *c, struct sap_batch *m, struct sap_batch_copy *copy)
{
    size_t numbers = 1;
    for (int k = 0; k < m->nlists; k++) {
        const sapporo_small_force *const l = sap_batch_force(m, k);
        numbers += 4 * (size_t)l->ni + (l->address ? 0 : 5 * (size_t)l->nj);
    }
    copy->lists = calloc((size_t)(unsigned)m->nlists, sizeof *copy->lists);
    copy->numbers = malloc(numbers * sizeof *copy->numbers);
    if (!copy->lists || !copy->numbers)
        return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for %d lists in other units", m->nlists);
    double *at = copy->numbers;
    for (int k = 0; k < m->nlists; k++) {
        (void)sap_struct_copy(&copy->lists[k], sizeof copy->lists[k], sap_batch_force(m, k), SAP_SMALL_FORCE_LEAST);
        copy->lists[k].size = sizeof copy->lists[k];
        copy_list(&copy->lists[k], &copy->units, &at);
    }
    m->lists = copy->lists;
    return SAPPORO_OK;
}

void sap_batch_free_copy(struct sap_batch_copy *copy)
{
    free(copy->lists);
    free(copy->numbers);
}

int sap_batch_take_units(sapporo *c, struct sap_batch *m, struct sap_batch_copy *copy)
{
    *copy = (struct sap_batch_copy){.lists = NULL};
    const int in_double = m->more || c->settings.precision == SAPPORO_DP;
    if (m->by_address > 0)
        sap_context_take_units(c, c->host.upper, (struct sap_targets){0, 0, NULL, NULL, 0}, in_double);
    if (in_double) return SAPPORO_OK;
    if (seem_plain(c, m) && (m->by_address == 0 || sap_units_are_plain(&c->units))) return SAPPORO_OK;
    struct sap_sizes sizes = {0};
    struct sap_spread s;
    sap_spread_clear(&s);
    const struct sap_targets targets = read_lists(m, &s, &sizes);
    sap_spread_soften(&s, targets.common);
    if (m->by_address > 0) sap_context_add_all(c, &s, &sizes);
    sap_spread_close(&s, &sizes, (const int[2]){elsewhere(m), SAP_UNITS_NONE});
    copy->units = sap_spread_units(&s, c->settings.order);
    if (m->by_address > 0) sap_context_set_units(c, &copy->units);
    sap_context_judge_units(c, &s, &copy->units, targets.most);
    return sap_units_are_plain(&copy->units) ? SAPPORO_OK : copy_lists(c, m, copy);
}

void sap_batch_leave_units(const sapporo *c, const struct sap_batch *m, const int *ni, const struct sap_units *u)
{
    const double gravity = c->settings.gravity;
    if (sap_units_are_plain(u) && gravity == 1) return;
    for (int k = 0; k < m->nlists; k++) {
        sapporo_result r;
        const size_t n = (size_t)(ni ? ni[k] : sap_batch_force(m, k)->ni);
        (void)sap_result_copy(&r, sap_batch_result(m, k));
        if (r.acc) sap_scale_sums(r.acc[0], 3 * n, -sap_units_field(u, 0), gravity);
        if (r.pot) sap_scale_sums(r.pot, n, -sap_units_potential(u), gravity);
    }
}
