/* tree_split.c - divides the particles of all ranks into runs along the curve, one per rank, of about equal weight. */
#include <stdlib.h>
#include <string.h>

#include "context/partial.h"
#include "mpi/tree.h"
#include "physics/scalars.h"

/* The boundaries are found digit by digit: few rounds, since each waits for all ranks. */
enum { DIGIT_BITS = 7, DIGIT = 1 << DIGIT_BITS, ROUNDS = SAP_KEY_BITS / DIGIT_BITS };
enum { RADIX_BITS = 11, RADIX = 1 << RADIX_BITS };

/* A particle on the curve. */
struct spot {
    sap_key key;
    int number;
};

/* Memory of a division.  The first and last arrays are those that MPI reads and writes. */
struct division {
    uint64_t *mine, *all; /* [boundaries][DIGIT] weights of the cells below each boundary's prefix */
    sap_key *boundary;    /* [boundaries] digits that are known; those that follow are 0 */
    uint64_t *before;     /* [boundaries] weight of all particles with keys below */
    struct spot *spot, *spare;
    uint64_t *weight; /* [n + 1] of the sorted particles before this one */
};

static void free_division(const sapporo_mpi_tree *h, struct division *d)
{
    if (!d) return;
    sap_mpi_tree_release(h, d->mine);
    sap_mpi_tree_release(h, d->all);
    free(d->boundary);
    free(d->before);
    free(d->spot);
    free(d->spare);
    free(d->weight);
    free(d);
}

static struct division *new_division(int boundaries, int n)
{
    const size_t many = (size_t)boundaries + 1, room = (size_t)n + 1;
    struct division *const d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->mine = calloc(many * DIGIT, sizeof *d->mine);
    d->all = calloc(many * DIGIT, sizeof *d->all);
    d->boundary = calloc(many, sizeof *d->boundary);
    d->before = calloc(many, sizeof *d->before);
    d->spot = calloc(room, sizeof *d->spot);
    d->spare = calloc(room, sizeof *d->spare);
    d->weight = calloc(room, sizeof *d->weight);
    return d;
}

static int is_complete(const struct division *d)
{
    return d && d->mine && d->all && d->boundary && d->before && d->spot && d->spare && d->weight;
}

/* ------------------------------------------------------------------ my part */

static sap_key key_of(const struct sap_cube *cube, const double *x)
{
    sap_cell_number c[3];
    for (int k = 0; k < 3; k++) c[k] = sap_key_cell(x[k], cube->low[k], cube->cells);
    return sap_key_hilbert(c[0], c[1], c[2]);
}

/* Sorts the particles by key, in passes of RADIX_BITS bits. */
static void sort_spots(struct division *d, int n)
{
    for (int shift = 0; shift < SAP_KEY_BITS; shift += RADIX_BITS) {
        int at[RADIX] = {0}, sum = 0;
        for (int i = 0; i < n; i++) at[d->spot[i].key >> shift & (RADIX - 1)]++;
        for (int k = 0; k < RADIX; k++) {
            const int here = at[k];
            at[k] = sum;
            sum += here;
        }
        for (int i = 0; i < n; i++) d->spare[at[d->spot[i].key >> shift & (RADIX - 1)]++] = d->spot[i];
        struct spot *const sorted = d->spare;
        d->spare = d->spot;
        d->spot = sorted;
    }
}

/*
 * The weight of a particle: twice its interactions in the forces that are known, and the mean once, for what a particle
 * costs besides.  So no rank gets more than three times the mean number of particles, and one.
 */
static uint64_t weight_of(const sapporo_mpi_tree *h, int i, uint64_t mean)
{
    return (h->work[i] >= 0 ? 2 * (uint64_t)h->work[i] : 2 * mean) + mean;
}

/* Particles whose keys threads find. */
struct keys {
    const struct sap_cube *cube;
    const double (*body)[SAP_BODY];
    struct spot *spot;
};

static void find_some_keys(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct keys *const k = argument;
    for (int i = (int)from; i < to; i++) k->spot[i] = (struct spot){key_of(k->cube, k->body[i]), i};
}

static void weigh(const sapporo_mpi_tree *h, const double (*body)[SAP_BODY], int n, double mean, struct division *d)
{
    struct keys keys = {&h->whole.cube, body, d->spot};
    sapporo_partial_loop(h->options.threads, n, find_some_keys, &keys);
    sort_spots(d, n);
    for (int k = 0; k < n; k++) d->weight[k + 1] = d->weight[k] + weight_of(h, d->spot[k].number, (uint64_t)mean);
}

/* The number of particles of this rank with keys below `key`. */
static int count_below(const struct division *d, int n, sap_key key)
{
    int from = 0;
    while (n > 0) {
        const int half = n / 2;
        if (d->spot[from + half].key < key)
            from += half + 1, n -= half + 1;
        else
            n = half;
    }
    return from;
}

/* --------------------------------------------------------------- boundaries */

/* Weighs the cells below the prefix of each boundary. */
static void weigh_cells(struct division *d, int boundaries, int n, int shift)
{
    for (int b = 0; b < boundaries; b++) {
        int from = count_below(d, n, d->boundary[b]);
        for (int c = 0; c < DIGIT; c++) {
            const int to = count_below(d, n, d->boundary[b] + ((sap_key)(c + 1) << shift));
            d->mine[b * DIGIT + c] = d->weight[to] - d->weight[from];
            from = to;
        }
    }
}

/* Adds a digit to each boundary: of the cell in which its share of the weight ends. */
static void add_digits(struct division *d, int boundaries, int shift, uint64_t total)
{
    const uint64_t ranks = (uint64_t)boundaries + 1, part = total / ranks, rest = total % ranks;
    for (int b = 0; b < boundaries; b++) {
        const uint64_t rank = (uint64_t)b + 1, share = part * rank + rest * rank / ranks;
        int c = 0;
        while (c < DIGIT - 1 && d->before[b] + d->all[b * DIGIT + c] <= share) d->before[b] += d->all[b * DIGIT + c++];
        d->boundary[b] += (sap_key)c << shift;
    }
}

/* Collective.  Finds the keys at which the runs of ranks 1, 2, ... begin, digit by digit. */
static int find_boundaries(sapporo_mpi_tree *h, struct division *d, int n)
{
    struct sap_link *const link = &h->link;
    const int boundaries = link->size - 1;
    uint64_t total = 0;
    _Static_assert(ROUNDS * DIGIT_BITS == SAP_KEY_BITS, "digits have all bits of a key");
    for (int round = 0; round < ROUNDS; round++) {
        const int shift = DIGIT_BITS * (ROUNDS - 1 - round);
        weigh_cells(d, boundaries, n, shift);
        const int bad = sap_link_finish(link, MPI_Iallreduce(d->mine, d->all, boundaries * DIGIT, MPI_UINT64_T, MPI_SUM,
                                                             link->communicator, &link->request));
        if (bad) return bad;
        for (int c = 0; c < DIGIT && round == 0; c++) total += d->all[c];
        add_digits(d, boundaries, shift, total);
    }
    return SAPPORO_OK;
}

/* Writes the rank of each particle: the number of boundaries at or below its key. */
static void write_ranks(const struct division *d, int boundaries, int n, int *to)
{
    for (int k = 0, rank = 0; k < n; k++) {
        while (rank < boundaries && d->boundary[rank] <= d->spot[k].key) rank++;
        to[d->spot[k].number] = rank;
    }
}

static int divide(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], int n, double mean, struct division *d, int *to)
{
    const int boundaries = h->link.size - 1, complete = is_complete(d);
    int status = sap_link_agree(&h->link, complete ? SAPPORO_OK : sap_mpi_tree_no_memory(h, n));
    if (status || !complete) return status;
    weigh(h, body, n, mean, d);
    if (boundaries > 0) status = find_boundaries(h, d, n);
    if (!status) write_ranks(d, boundaries, n, to);
    return status;
}

int sap_mpi_tree_split(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], int n, double mean, int *to)
{
    struct division *const d = new_division(h->link.size - 1, n);
    const int status = divide(h, body, n, mean, d, to);
    free_division(h, d);
    return status;
}
