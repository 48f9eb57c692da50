/* cpu_sort.c - keys of positions and their order: a radix sort whose result does not depend on the threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/team.h"
#include "cpu/tree/cpu_tree.h"

enum {
    DIGIT_BITS = 8,
    DIGITS = SAP_SORT_DIGITS,
    PASSES = (SAP_KEY_BITS + DIGIT_BITS - 1) / DIGIT_BITS,
    PARTS = SAP_SORT_PARTS
};

int sap_cpu_tree_new_order(int n, struct sap_cpu_order *o)
{
    const size_t room = (size_t)n + 1;
    *o = (struct sap_cpu_order){malloc(room * sizeof *o->key), malloc(room * sizeof *o->key),
                                malloc(room * sizeof *o->address), malloc(room * sizeof *o->address),
                                malloc((size_t)PARTS * DIGITS * sizeof *o->count)};
    return o->key && o->spare_key && o->address && o->spare_address && o->count ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

void sap_cpu_tree_free_order(struct sap_cpu_order *o)
{
    free(o->key);
    free(o->spare_key);
    free(o->address);
    free(o->spare_address);
    free(o->count);
}

/* Particles that a thread takes at a time. */
enum { AT_ONCE = 4096 };

/* The smallest and largest coordinates of n positions. */
struct bounds {
    const double (*x)[3];
    struct sap_lock lock; /* guards the members below */
    double low[3], high[3];
};

static void widen(double *low, double *high, const double *from, const double *to)
{
    for (int k = 0; k < 3; k++) {
        low[k] = from[k] < low[k] ? from[k] : low[k];
        high[k] = to[k] > high[k] ? to[k] : high[k];
    }
}

static void find_bounds(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct bounds *const b = argument;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (ptrdiff_t i = from; i < to; i++) widen(low, high, b->x[i], b->x[i]);
    sap_lock(&b->lock);
    widen(b->low, b->high, low, high);
    sap_unlock(&b->lock);
}

struct sap_cpu_box sap_cpu_tree_box_of(const double (*x)[3], int n, int threads)
{
    struct bounds b = {.x = x, .low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}};
    struct sap_cpu_box box;
    sap_team_for(threads, n, sap_team_chunk(n, threads, AT_ONCE), find_bounds, &b);
    memcpy(box.low, b.low, sizeof box.low);
    memcpy(box.high, b.high, sizeof box.high);
    return box;
}

int sap_cpu_tree_take_sample(const double (*x)[3], int n, double (*sample)[SAP_CUBE_SAMPLE])
{
    const int m = sap_cube_sample(n);
    for (int s = 0; s < m; s++)
        for (int k = 0; k < 3; k++) sample[k][s] = x[sap_cube_member(n, s)][k];
    return m;
}

/* Cells whose keys are computed side by side, which compilers do with vectors. */
enum { CELLS = 16 };

/* Writes the keys of the cells of n <= CELLS positions. */
static void keys_of(const struct sap_cube *cube, int curve, const double (*x)[3], int n, sap_key *key)
{
    sap_cell_number c[3][CELLS] = {{0}};
    for (int i = 0; i < n && !cube->gaps.any; i++)
        for (int k = 0; k < 3; k++) c[k][i] = sap_key_cell(x[i][k], cube->low[k], cube->cells);
    for (int i = 0; i < n && cube->gaps.any; i++)
        for (int k = 0; k < 3; k++)
            c[k][i] = sap_key_cell(sap_gaps_map(&cube->gaps, k, x[i][k]), cube->low[k], cube->cells);
    if (curve == SAPPORO_CURVE_MORTON) {
        for (int i = 0; i < n; i++) key[i] = sap_key_morton(c[0][i], c[1][i], c[2][i]);
        return;
    }
    for (int bit = SAP_KEY_LEVELS - 1; bit > 0; bit--)
        for (int i = 0; i < CELLS; i++) SAP_KEY_UNTURN(c[0][i], c[1][i], c[2][i], bit)
    for (int i = 0; i < n; i++) key[i] = sap_key_unturned(c[0][i], c[1][i], c[2][i]);
}

/* Returns the first element of part p when n elements are divided into PARTS parts. */
static int part_begin(int n, int p) { return (int)((long long)n * p / PARTS); }

static unsigned digit_of(sap_key key, int pass) { return (unsigned)(key >> (pass * DIGIT_BITS)) & (DIGITS - 1); }

/* Counts the elements of each digit in a part. */
static void count_part(const sap_key *key, int n, int p, int pass, int *count)
{
    memset(count, 0, DIGITS * sizeof *count);
    for (int i = part_begin(n, p); i < part_begin(n, p + 1); i++) count[digit_of(key[i], pass)]++;
}

/* Converts counts to the positions where each part's elements of a digit begin; 0: all elements have the same digit. */
static int places_of_counts(int (*count)[DIGITS], int n)
{
    int at = 0, most = 0;
    for (int d = 0; d < DIGITS; d++) {
        const int begin = at;
        for (int p = 0; p < PARTS; p++) {
            const int here = count[p][d];
            count[p][d] = at;
            at += here;
        }
        most = at - begin > most ? at - begin : most;
    }
    return most < n;
}

static void move_part(const struct sap_cpu_order *o, int n, int p, int pass, int *place)
{
    for (int i = part_begin(n, p); i < part_begin(n, p + 1); i++) {
        const int to = place[digit_of(o->key[i], pass)]++;
        o->spare_key[to] = o->key[i];
        o->spare_address[to] = o->address[i];
    }
}

static void exchange(struct sap_cpu_order *o)
{
    sap_key *const key = o->key;
    int *const address = o->address;
    o->key = o->spare_key;
    o->address = o->spare_address;
    o->spare_key = key;
    o->spare_address = address;
}

/* A sort that is distributed over threads. */
struct sorting {
    const struct sap_cube *cube;
    int curve, n, pass;
    const double (*x)[3], *mass;
    struct sap_cpu_order *order;
};

static void make_keys(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct sorting *const s = argument;
    for (ptrdiff_t i = from; i < to; i += CELLS)
        keys_of(s->cube, s->curve, s->x + i, to - i < CELLS ? (int)(to - i) : CELLS, s->order->key + i);
    for (ptrdiff_t i = from; i < to && s->mass; i++)
        s->order->key[i] = sap_key_with_sign(s->order->key[i], s->mass[i] < 0);
    for (ptrdiff_t i = from; i < to; i++) s->order->address[i] = (int)i;
}

static int *counts_of(const struct sorting *s, ptrdiff_t part) { return s->order->count + part * DIGITS; }

static void count_parts(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct sorting *const s = argument;
    for (ptrdiff_t p = from; p < to; p++) count_part(s->order->key, s->n, (int)p, s->pass, counts_of(s, p));
}

static void move_parts(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct sorting *const s = argument;
    for (ptrdiff_t p = from; p < to; p++) move_part(s->order, s->n, (int)p, s->pass, counts_of(s, p));
}

void sap_cpu_tree_sort(const struct sap_cube *cube, int curve, const double (*x)[3], const double *mass, int n,
                       struct sap_cpu_order *o, int threads)
{
    int(*const count)[DIGITS] = (int(*)[DIGITS])o->count;
    struct sorting s = {cube, curve, n, 0, x, mass, o};
    sap_team_for(threads, n, sap_team_chunk(n, threads, AT_ONCE), make_keys, &s);
    for (s.pass = 0; s.pass < PASSES; s.pass++) {
        sap_team_for(threads, PARTS, 1, count_parts, &s);
        if (!places_of_counts(count, n)) continue;
        sap_team_for(threads, PARTS, 1, move_parts, &s);
        exchange(o);
    }
}
