/* cpu_search.c - who is within a radius of a place: exact, in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fpenv.h"
#include "structs.h"
#include "tree/cpu_tree.h"

/* Squared distance of a place from a box, less than what rounding makes of it. */
static double box_distance2(const struct sap_cell *cell, const double *x)
{
    double r2 = 0;
    for (int c = 0; c < 3; c++) {
        const double d = fmax(fmax(cell->low[c] - x[c], x[c] - cell->high[c]), 0);
        r2 += d * d;
    }
    return r2 * (1 - 0x1p-48);
}

/* Addresses within a radius of a place, as many as there is room for, in no order; returns how many there are. */
static long long search(const struct sap_tree *t, const double *x, double h, long long room, int *list)
{
    const double h2 = h * h;
    long long found = 0;
    for (int k = t->nodes > 0 ? 0 : -1; k >= 0;) {
        const struct sap_tree_node *const node = &t->node[k];
        const int near = box_distance2(&t->cell[k], x) < h2;
        if (near && node->children) {
            k = node->child;
            continue;
        }
        for (int j = node->first; near && j < node->first + node->count; j++) {
            if (!(sap_ball_far(x, t->x[j]) < h2)) continue;
            if (found < room) list[found] = t->order.address[j];
            found++;
        }
        k = node->next;
    }
    return found;
}

static int by_number(const void *a, const void *b)
{
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

struct place {
    double x[3], h;
};

static struct place place_of(const sapporo_column *x, const sapporo_column *h, int i)
{
    struct place p;
    memcpy(p.x, sap_column_at(x, i, sizeof p.x), sizeof p.x);
    memcpy(&p.h, sap_column_at(h, i, sizeof p.h), sizeof p.h);
    return p;
}

/* Fills in one list; where it does not fit whole it is made aside, so that its beginning is that of the whole. */
static int fill(const struct sap_tree *t, const struct place *p, long long n, long long room, int *list)
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

int sap_tree_search(struct sap_tree *t, int ni, sapporo_column x, sapporo_column h, long long *first, long long room,
                    int *list, int threads)
{
    int ok = 1;
    (void)threads;
    first[0] = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) if (threads > 1 && ni > 16)
    for (int i = 0; i < ni; i++) {
        const sap_fpenv callers = sap_fp_enter();
        const struct place p = place_of(&x, &h, i);
        first[i + 1] = search(t, p.x, p.h, 0, NULL);
        sap_fp_leave(callers);
    }
    for (int i = 0; i < ni; i++) first[i + 1] += first[i];
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) reduction(&& : ok) if (threads > 1 && ni > 16)
    for (int i = 0; i < ni; i++) {
        const sap_fpenv callers = sap_fp_enter();
        const struct place p = place_of(&x, &h, i);
        const int filled = first[i] >= room || fill(t, &p, first[i + 1] - first[i], room - first[i], list + first[i]);
        ok = ok && filled;
        sap_fp_leave(callers);
    }
    if (!ok) return SAPPORO_ERR_MEMORY;
    return first[ni] > room ? SAPPORO_TRUNCATED : SAPPORO_OK;
}
