/* cpu_search.c - finds the particles within a radius of a position: exact, in double. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/periodic.h"
#include "engine/tree_limits.h"

/* As `search`; period: 0, a constant, in open space, so that its code has nothing else. */
SAP_INLINE long long search_ball(const struct sap_cpu_tree *t, const double *x, double h, double period, long long room,
                                 int *list)
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
            if (!(sap_apart2(x, t->own.x[j], period) < h2)) continue;
            if (found < room) list[found] = t->order.address[j];
            found++;
        }
        k = node->next;
    }
    return found;
}

/* Writes the addresses within a radius of a position, as many as fit, unsorted; returns how many there are. */
static long long search(const struct sap_cpu_tree *t, const double *x, double h, long long room, int *list)
{
    const double period = t->settings.period;
    return period > 0 ? search_ball(t, x, h, period, room, list) : search_ball(t, x, h, 0, room, list);
}

static int by_number(const void *a, const void *b)
{
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* A position, and the radius around it to search. */
struct query {
    double x[3], h;
};

/* A search that is distributed over threads. */
struct searching {
    const struct sap_cpu_tree *tree;
    const sapporo_column *x, *h;
    long long *first, room;
    int *list;
    atomic_int failed; /* 1: memory ran out */
};

static struct query query_of(const struct searching *s, int i)
{
    struct query p;
    memcpy(p.x, sap_column_at(s->x, i, sizeof p.x), sizeof p.x);
    sap_periodic_inside(s->tree->settings.period, p.x);
    memcpy(&p.h, sap_column_at(s->h, i, sizeof p.h), sizeof p.h);
    p.h = fmin(p.h, SAP_TREE_REACH); /* its square is finite */
    return p;
}

/* Writes one list. A list that does not fit is made in temporary memory, so that its sorted beginning is written. */
static int fill(const struct sap_cpu_tree *t, const struct query *p, long long n, long long room, int *list)
{
    if (n <= room) {
        (void)search(t, p->x, p->h, n, list);
        qsort(list, (size_t)n, sizeof *list, by_number);
        return 1;
    }
    if (room <= 0) return 1;
    int *const whole = malloc((size_t)n * sizeof *whole);
    if (!whole) return 0;
    (void)search(t, p->x, p->h, n, whole);
    qsort(whole, (size_t)n, sizeof *whole, by_number);
    memcpy(list, whole, (size_t)room * sizeof *list);
    free(whole);
    return 1;
}

static void count_lists(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct searching *const s = argument;
    for (ptrdiff_t i = from; i < to; i++) {
        const struct query p = query_of(s, (int)i);
        s->first[i + 1] = search(s->tree, p.x, p.h, 0, NULL);
    }
}

static void fill_lists(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct searching *const s = argument;
    for (ptrdiff_t i = from; i < to; i++) {
        const struct query p = query_of(s, (int)i);
        const long long first = s->first[i];
        if (first < s->room && !fill(s->tree, &p, s->first[i + 1] - first, s->room - first, s->list + first))
            atomic_store(&s->failed, 1);
    }
}

int sap_cpu_tree_search(struct sap_cpu_tree *t, int ni, sapporo_column x, sapporo_column h, long long *first,
                        long long room, int *list, int threads)
{
    enum { AT_ONCE = 16 };
    struct searching s = {t, &x, &h, first, room, list, 0};
    first[0] = 0;
    sap_team_for(threads, ni, AT_ONCE, count_lists, &s);
    for (int i = 0; i < ni; i++) first[i + 1] += first[i];
    sap_team_for(threads, ni, AT_ONCE, fill_lists, &s);
    if (atomic_load(&s.failed)) return SAPPORO_ERR_MEMORY;
    return first[ni] > room ? SAPPORO_TRUNCATED : SAPPORO_OK;
}
