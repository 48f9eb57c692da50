/*
 * batch_lists.c - batches of small forces of the shape that tree codes make of them: plain, with a floor, with counts,
 * and with second moments, by precision.
 *
 *   cc -O2 -Iinclude test/perf/batch_lists.c lib/libsapporo.a -ldl -lpthread -lm -o batch_lists
 *   SAPPORO_BACKEND=cuda ./batch_lists [NI NJ [LISTS]]
 *
 * Each list has NI targets (default 64) and NJ sources of its own (default 3000); a call has LISTS of them (default
 * 256).  Printed are the least and the median time of a call, the least time per pair, and the largest difference from
 * `dp` of potentials.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sapporo.h"

enum { ROUNDS = 11, KINDS = 4 };

struct batch {
    int lists, ni, nj;
    double (*x)[3], *mass, *h2, (*quad)[6], (*acc)[3], *pot, *right;
    int *count;
    sapporo_small_force *list;
    sapporo_result *result;
};

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double draw(void) { return (double)rand() / RAND_MAX - 0.5; }

static void *reserve(size_t n, size_t size)
{
    void *const p = calloc(n, size);
    if (!p) exit(1);
    return p;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fills a cube with particles; lists begin at other sources. */
static struct batch new_batch(int lists, int ni, int nj)
{
    struct batch b = {.lists = lists, .ni = ni, .nj = nj};
    const size_t n = (size_t)(nj > ni ? nj : ni) + (size_t)lists, rows = (size_t)lists * (size_t)ni;
    b.x = reserve(n, sizeof *b.x), b.mass = reserve(n, sizeof *b.mass), b.h2 = reserve(n, sizeof *b.h2);
    b.quad = reserve(n, sizeof *b.quad);
    b.acc = reserve(rows, sizeof *b.acc), b.pot = reserve(rows, sizeof *b.pot), b.right = reserve(rows, sizeof *b.pot);
    b.count = reserve(rows, sizeof *b.count);
    b.list = reserve((size_t)lists, sizeof *b.list), b.result = reserve((size_t)lists, sizeof *b.result);
    for (size_t k = 0; k < n; k++) {
        for (int c = 0; c < 3; c++) b.x[k][c] = draw();
        for (int q = 0; q < 6; q++) b.quad[k][q] = 1e-8 * draw();
        b.mass[k] = 1.0 / (double)n;
        b.h2[k] = 0.002;
    }
    return b;
}

/* kind: 0 plain, 1 a floor, 2 a floor and counts, 3 second moments. */
static void ask(struct batch *b, int kind)
{
    for (int k = 0; k < b->lists; k++) {
        const size_t row = (size_t)k * (size_t)b->ni;
        sapporo_small_force *const l = &b->list[k];
        *l = (sapporo_small_force){.size = sizeof *l, .ni = b->ni, .nj = b->nj, .eps2 = 1e-6};
        l->x.base = b->x, l->x_j.base = b->x[k], l->mass_j.base = b->mass + k;
        b->result[k] = (sapporo_result){.size = sizeof b->result[k], .acc = b->acc + row, .pot = b->pot + row};
        if (kind == 1 || kind == 2) l->floor2 = 1e-4;
        if (kind == 2) l->h2_j.base = b->h2 + k, b->result[k].count = b->count + row;
        if (kind == 3) l->quad_j.base = b->quad[k];
    }
}

static double largest_error(const struct batch *b)
{
    double worst = 0;
    for (int k = 0; k < b->lists * b->ni; k++) {
        const double error = fabs(b->pot[k] / b->right[k] - 1);
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static void measure(sapporo *c, struct batch *b, const char *precision, const char *kind)
{
    double times[ROUNDS];
    for (int r = -1; r < ROUNDS; r++) {
        const double start = now();
        if (sapporo_force_batch(c, b->lists, b->list, b->result) != SAPPORO_OK) exit(1);
        if (r >= 0) times[r] = now() - start;
    }
    if (precision[0] == 'd' && precision[1] == 'p')
        for (int k = 0; k < b->lists * b->ni; k++) b->right[k] = b->pot[k];
    qsort(times, ROUNDS, sizeof *times, by_size);
    printf("%s %-8s least %9.3f ms, median %9.3f ms, %8.4f ns per pair, error %.1e\n", precision, kind, 1e3 * times[0],
           1e3 * times[ROUNDS / 2], 1e9 * times[0] / ((double)b->lists * b->ni * b->nj), largest_error(b));
}

static int number(int argc, char **argv, int k, int without)
{
    return argc > k ? (int)strtol(argv[k], NULL, 10) : without;
}

int main(int argc, char **argv)
{
    static const char *const kinds[KINDS] = {"plain", "floor", "counts", "moments"}, *const words[] = {"dp", "ds",
                                                                                                       "sp"};
    static const sapporo_precision precisions[] = {SAPPORO_DP, SAPPORO_DS, SAPPORO_SP};
    struct batch b = new_batch(number(argc, argv, 3, 256), number(argc, argv, 1, 64), number(argc, argv, 2, 3000));
    for (int kind = 0; kind < KINDS; kind++)
        for (int p = 0; p < 3; p++) {
            const sapporo_options options = {.size = sizeof options, .order = 2, .precision = precisions[p]};
            sapporo *c = NULL;
            if (sapporo_open(&options, &c) != SAPPORO_OK) continue;
            if (p == 0 && kind == 0) printf("%s\n", sapporo_kind(c));
            ask(&b, kind);
            measure(c, &b, words[p], kinds[kind]);
            sapporo_close(c);
        }
    free(b.x), free(b.mass), free(b.h2), free(b.quad), free(b.acc), free(b.pot), free(b.right), free(b.count);
    free(b.list), free(b.result);
}
