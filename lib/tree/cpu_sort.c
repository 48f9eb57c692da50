/* cpu_sort.c - keys of positions and the order by them: a radix sort whose result does not depend on threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tree/cpu_tree.h"

#ifdef _OPENMP
#include <omp.h>
#endif

enum {
    DIGIT_BITS = 8,
    DIGITS = SAP_SORT_DIGITS,
    PASSES = (SAP_KEY_BITS + DIGIT_BITS - 1) / DIGIT_BITS,
    PARTS = SAP_SORT_PARTS
};

int sap_tree_new_order(int n, struct sap_tree_order *o)
{
    const size_t room = (size_t)n + 1;
    *o = (struct sap_tree_order){malloc(room * sizeof *o->key), malloc(room * sizeof *o->key),
                                 malloc(room * sizeof *o->address), malloc(room * sizeof *o->address),
                                 malloc((size_t)PARTS * DIGITS * sizeof *o->count)};
    return o->key && o->spare_key && o->address && o->spare_address && o->count ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

void sap_tree_free_order(struct sap_tree_order *o)
{
    free(o->key);
    free(o->spare_key);
    free(o->address);
    free(o->spare_address);
    free(o->count);
}

struct sap_cube sap_tree_cube_of(const double (*x)[3], int n, int threads)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    static const struct sap_cube none;
    double(*sample)[SAP_CUBE_SAMPLE] = malloc(3 * sizeof *sample);
    (void)threads;
    if (!sample || n == 0) {
        free(sample);
        return none;
    }
#pragma omp parallel for num_threads(threads) reduction(min : low) reduction(max : high) if (threads > 1)
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            low[k] = x[i][k] < low[k] ? x[i][k] : low[k];
            high[k] = x[i][k] > high[k] ? x[i][k] : high[k];
        }
    const int m = sap_cube_sample(n);
    for (int s = 0; s < m; s++)
        for (int k = 0; k < 3; k++) sample[k][s] = x[sap_cube_member(n, s)][k];
    const struct sap_cube cube = sap_tree_cube(low, high, sample, m);
    free(sample);
    return cube;
}

static sap_key key_of(const struct sap_cube *cube, int curve, const double *x)
{
    sap_cell_number c[3];
    for (int k = 0; k < 3; k++) c[k] = sap_key_cell(x[k], cube->low[k], cube->cells);
    return curve == SAPPORO_CURVE_MORTON ? sap_key_morton(c[0], c[1], c[2]) : sap_key_hilbert(c[0], c[1], c[2]);
}

/* The part of n elements that is number p of PARTS. */
static int part_begin(int n, int p) { return (int)((long long)n * p / PARTS); }

static unsigned digit_of(sap_key key, int pass) { return (unsigned)(key >> (pass * DIGIT_BITS)) & (DIGITS - 1); }

/* How many of each digit a part has. */
static void count_part(const sap_key *key, int n, int p, int pass, int *count)
{
    memset(count, 0, DIGITS * sizeof *count);
    for (int i = part_begin(n, p); i < part_begin(n, p + 1); i++) count[digit_of(key[i], pass)]++;
}

/* Counts become the places where each part's elements of a digit begin; 0: all elements have the same digit. */
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

static void move_part(const struct sap_tree_order *o, int n, int p, int pass, int *place)
{
    for (int i = part_begin(n, p); i < part_begin(n, p + 1); i++) {
        const int to = place[digit_of(o->key[i], pass)]++;
        o->spare_key[to] = o->key[i];
        o->spare_address[to] = o->address[i];
    }
}

static void exchange(struct sap_tree_order *o)
{
    sap_key *const key = o->key;
    int *const address = o->address;
    o->key = o->spare_key;
    o->address = o->spare_address;
    o->spare_key = key;
    o->spare_address = address;
}

void sap_tree_sort(const struct sap_cube *cube, int curve, const double (*x)[3], int n, struct sap_tree_order *o,
                   int threads)
{
    int(*const count)[DIGITS] = (int(*)[DIGITS])o->count;
    (void)threads;
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int i = 0; i < n; i++) {
        o->key[i] = key_of(cube, curve, x[i]);
        o->address[i] = i;
    }
    for (int pass = 0; pass < PASSES; pass++) {
#pragma omp parallel for num_threads(threads) if (threads > 1)
        for (int p = 0; p < PARTS; p++) count_part(o->key, n, p, pass, count[p]);
        if (!places_of_counts(count, n)) continue;
#pragma omp parallel for num_threads(threads) if (threads > 1)
        for (int p = 0; p < PARTS; p++) move_part(o, n, p, pass, count[p]);
        exchange(o);
    }
}
