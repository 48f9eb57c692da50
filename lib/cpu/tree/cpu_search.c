/* cpu_search.c - finds the particles within a radius of a position: exact, in double. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/periodic.h"
#include "engine/tree_limits.h"

/* As `search`; period: 0, a constant, in open space, so that its code has nothing else. */
SAP_INLINE long long search_ball(const struct sap_cpu_tree *t, const double *x, int own, double h, double period,
                                 long long room, int *list)
{
    const double h2 = h * h;
    long long found = 0;
    for (int k = t->own.nodes > 0 ? 0 : -1; k >= 0;) {
        const struct sap_tree_node *const node = &t->own.node[k];
        const int near = sap_box_near2(&t->own.cell[k], x, period) < h2;
        if (near && node->children) {
            k = node->child;
            continue;
        }
        for (int j = node->first; near && j < node->first + node->count; j++) {
            if (j == own || !(sap_apart2(x, t->own.x[j], period) < h2)) continue;
            if (found < room) list[found] = t->order.address[j];
            found++;
        }
        k = node->next;
    }
    return found;
}

/* A target: its position, the sorted particle that it is, or -1, and the radius around it to search. */
struct target {
    double x[3], h;
    int own;
};

/* Writes the addresses within the radius of a target, as many as fit, unsorted; returns how many there are. */
static long long search(const struct sap_cpu_tree *t, const struct target *p, long long room, int *list)
{
    const double period = t->settings.period;
    return period > 0 ? search_ball(t, p->x, p->own, p->h, period, room, list)
                      : search_ball(t, p->x, p->own, p->h, 0, room, list);
}

static int by_number(const void *a, const void *b)
{
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* A search that is distributed over threads. */
struct searching {
    const struct sap_cpu_tree *tree;
    const sapporo_tree_request *request;
    const sapporo_column *radius;
    int all; /* rows are all particles: they are taken in the order of the tree */
    long long *first, room;
    int *list;
    atomic_int failed; /* 1: memory ran out */
};

int sap_cpu_tree_target(const struct sap_cpu_tree *t, const sapporo_tree_request *r, int i, double *x)
{
    const int own = r->x.base ? -1 : t->place[r->active ? r->active[i] : i];
    memcpy(x, own >= 0 ? (const void *)t->own.x[own] : sap_column_at(&r->x, i, 3 * sizeof *x), 3 * sizeof *x);
    if (own < 0) sap_periodic_inside(t->settings.period, x);
    return own;
}

/* The row that is the k-th to be searched. */
static int row_of(const struct searching *s, ptrdiff_t k) { return s->all ? s->tree->order.address[k] : (int)k; }

static struct target target_of(const struct searching *s, int row)
{
    struct target p;
    p.own = sap_cpu_tree_target(s->tree, s->request, row, p.x);
    p.h = fmin(sap_column_double(s->radius, row), SAP_TREE_REACH); /* its square is finite */
    return p;
}

/* Writes one list. A list that does not fit is made in temporary memory, so that its sorted beginning is written. */
static int fill(const struct sap_cpu_tree *t, const struct target *p, long long n, long long room, int *list)
{
    if (n <= room) {
        (void)search(t, p, n, list);
        qsort(list, (size_t)n, sizeof *list, by_number);
        return 1;
    }
    if (room <= 0) return 1;
    int *const whole = malloc((size_t)n * sizeof *whole);
    if (!whole) return 0;
    (void)search(t, p, n, whole);
    qsort(whole, (size_t)n, sizeof *whole, by_number);
    memcpy(list, whole, (size_t)room * sizeof *list);
    free(whole);
    return 1;
}

static void count_lists(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct searching *const s = argument;
    for (ptrdiff_t k = from; k < to; k++) {
        const int row = row_of(s, k);
        const struct target p = target_of(s, row);
        s->first[row + 1] = search(s->tree, &p, 0, NULL);
    }
}

static void fill_lists(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct searching *const s = argument;
    for (ptrdiff_t k = from; k < to; k++) {
        const int row = row_of(s, k);
        const struct target p = target_of(s, row);
        const long long first = s->first[row];
        if (first < s->room && !fill(s->tree, &p, s->first[row + 1] - first, s->room - first, s->list + first))
            atomic_store(&s->failed, 1);
    }
}

int sap_cpu_tree_within(struct sap_tree *opaque_tree, const sapporo_tree_request *request, const sapporo_column *radius,
                        long long *first, long long room, int *list)
{
    enum { AT_ONCE = 16 };
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    const int ni = request->ni, threads = sap_threads_now(t->threads);
    struct searching s = {t, request, radius, 0, first, room, list, 0};
    s.all = !request->x.base && !request->active && ni == t->own.n;
    if (request->memory != SAPPORO_MEMORY_HOST)
        return sap_cpu_tree_failed(t, SAPPORO_ERR_UNSUPPORTED, SAP_CPU_HOST_ONLY);
    t->words[0] = '\0';
    first[0] = 0;
    sap_team_for(threads, ni, AT_ONCE, count_lists, &s);
    for (int i = 0; i < ni; i++) first[i + 1] += first[i];
    sap_team_for(threads, ni, AT_ONCE, fill_lists, &s);
    if (atomic_load(&s.failed)) return SAPPORO_ERR_MEMORY;
    return first[ni] > room ? SAPPORO_TRUNCATED : SAPPORO_OK;
}
