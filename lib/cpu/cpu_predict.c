/* cpu_predict.c - predicted j-particles in packet order, kept per tile while they are valid. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
#include "base/team.h"
#include "cpu/cpu_engine.h"

enum { TILE = SAP_CPU_SUPERPACKET };

const struct sap_columns *sap_cpu_columns(const struct sap_cpu_store *store, int tile, struct sap_columns *c,
                                          int *terms)
{
    const struct sap_segment *s = sap_jstore_segment(store->host, tile * TILE);
    const int t = tile % SAP_SEGMENT_TILES;
    if (!s || !s->ready[t]) return NULL;
    const ptrdiff_t at = (ptrdiff_t)t * TILE;
    *c = (struct sap_columns){
        .mass = s->mass + at, .time = s->time + at, .index = s->index + at, .eps2 = s->eps2 ? s->eps2 + at : NULL};
    for (int k = 0; k <= SAP_TERMS_MOST; k++) c->derivative[k] = s->derivative[k] ? s->derivative[k] + 3 * at : NULL;
    *terms = s->terms;
    return c;
}

static int reserve_tiles(struct sap_cpu_store *store, int tiles)
{
    if (tiles > store->tiles) {
        struct sap_predicted *p = realloc(store->predicted, (size_t)tiles * sizeof *p);
        if (!p) return SAPPORO_ERR_MEMORY;
        memset(p + store->tiles, 0, (size_t)(tiles - store->tiles) * sizeof *p);
        store->predicted = p;
        store->tiles = tiles;
    }
    for (int t = 0; t < tiles; t++) {
        struct sap_columns c;
        int terms;
        struct sap_predicted *const p = &store->predicted[t];
        if (!sap_cpu_columns(store, t, &c, &terms) || (p->records && p->soft >= (c.eps2 != NULL))) continue;
        const struct sap_kernel *const k = store->devices->kernel;
        free(p->records);
        p->version = 0;
        p->soft = c.eps2 != NULL;
        p->records = aligned_alloc(64, (k->tile_bytes + (p->soft ? k->soft_bytes : 0) + 63) / 64 * 64);
        if (!p->records) return SAPPORO_ERR_MEMORY;
    }
    return SAPPORO_OK;
}

static uint64_t tile_version(const struct sap_cpu_store *store, int tile)
{
    return sap_jstore_segment(store->host, tile * TILE)->version[tile % SAP_SEGMENT_TILES];
}

int sap_cpu_tile_count(int tile, int nj) { return nj - tile * TILE < TILE ? nj - tile * TILE : TILE; }

int sap_cpu_tile_valid(const struct sap_cpu_store *store, int tile, double time, int nj)
{
    const struct sap_predicted *p = &store->predicted[tile];
    return p->version == tile_version(store, tile) && p->time == time && p->n >= sap_cpu_tile_count(tile, nj);
}

int sap_cpu_all_valid(const struct sap_cpu_store *store, int tiles, double time, int nj)
{
    struct sap_columns c;
    int terms;
    if (tiles > store->tiles) return 0;
    for (int t = 0; t < tiles; t++)
        if (sap_cpu_columns(store, t, &c, &terms) && !sap_cpu_tile_valid(store, t, time, nj)) return 0;
    return 1;
}

static void predict_tile(struct sap_cpu_store *store, int tile, double time, int nj)
{
    struct sap_predicted *p = &store->predicted[tile];
    struct sap_columns c;
    int terms;
    if (!sap_cpu_columns(store, tile, &c, &terms) || sap_cpu_tile_valid(store, tile, time, nj)) return;
    p->n = sap_cpu_tile_count(tile, nj);
    p->far = store->devices->kernel->predict(&c, terms, time, p->n, p->records);
    p->time = time;
    p->version = tile_version(store, tile);
}

/* Arguments of predict_tiles, which several threads run. */
struct tile_prediction {
    struct sap_cpu_store *store;
    double time;
    int nj;
};

static void predict_tiles(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct tile_prediction *const p = argument;
    for (ptrdiff_t t = from; t < to; t++) predict_tile(p->store, (int)t, p->time, p->nj);
}

int sap_cpu_predict(struct sap_cpu_store *store, double time, int nj, int threads)
{
    const int tiles = (nj + TILE - 1) / TILE;
    const int status = reserve_tiles(store, tiles);
    struct tile_prediction p = {store, time, nj};
    if (status) return status;
    if (threads > 1 && !sap_cpu_all_valid(store, tiles, time, nj))
        sap_team_for(threads, tiles, 1, predict_tiles, &p);
    else
        predict_tiles(&p, 0, tiles);
    return SAPPORO_OK;
}

/* The greater of two numbers in each lane; the second where one is NaN. */
static inline two greater(two a, two b)
{
    const pair first = (pair)(a > b);
    return (two)(((pair)a & first) | ((pair)b & ~first));
}

static inline two magnitude(two x) { return (two)((pair)x & (pair){INT64_MAX, INT64_MAX}); }

/* Writes to most[lane] the largest coordinates of the predicted velocities of 16 addresses, or bounds of them. */
static void note_speeds(const struct sap_columns *c, int terms, double time, ptrdiff_t block, double *most)
{
    enum { LANES = SAP_CPU_LANES };
    const double factor[SAP_TERMS] = {1, 2, 3, 3}; /* of v, a/2, j/6, s/18 in the series of the velocity */
    const int highest = terms < SAP_TERMS ? terms : SAP_TERMS;
    const two now = {time, time};
    for (int l = 0; l < LANES; l += 2) {
        const two dt = magnitude(now - two_at(c->time + block * LANES + l));
        two all = two_at(most + l);
        for (int axis = 0; axis < 3; axis++) {
            const ptrdiff_t at = (block * 3 + axis) * LANES + l;
            two speed = factor[highest - 1] * magnitude(two_at(c->derivative[highest] + at));
            for (int k = highest - 1; k >= 1; k--)
                speed = speed * dt + factor[k - 1] * magnitude(two_at(c->derivative[k] + at));
            all = greater(speed, all);
        }
        put_two(most + l, all);
    }
}

/* Returns the largest coordinate of the predicted velocities of n addresses of a tile, or a bound of it. */
static double fastest_of_tile(const struct sap_kernel *kernel, const struct sap_columns *c, int terms, double time,
                              int n)
{
    enum { LANES = SAP_CPU_LANES };
    const int blocks = n / LANES;
    double most[LANES] = {0}, rest[LANES] = {0};
    if (terms == 1 && blocks > 0) most[0] = kernel->largest(c->derivative[1], blocks * 3 * LANES);
    for (int block = 0; block < blocks && terms > 1; block++) note_speeds(c, terms, time, block, most);
    if (n % LANES) note_speeds(c, terms, time, blocks, rest);
    double all = 0;
    for (int l = 0; l < LANES; l++) all = most[l] > all ? most[l] : all;
    for (int l = 0; l < n % LANES; l++) all = rest[l] > all ? rest[l] : all;
    return all;
}

double sap_cpu_fastest(struct sap_cpu_store *store, double time, int nj)
{
    if (store->fastest.version == store->host->version && store->fastest.time == time && store->fastest.nj == nj)
        return store->fastest.speed;
    double all = 0;
    for (int t = 0; t * TILE < nj; t++) {
        struct sap_columns c;
        int terms;
        if (!sap_cpu_columns(store, t, &c, &terms)) continue;
        const double speed = fastest_of_tile(store->devices->kernel, &c, terms, time, sap_cpu_tile_count(t, nj));
        all = speed > all ? speed : all;
    }
    store->fastest.speed = all;
    store->fastest.time = time;
    store->fastest.version = store->host->version;
    store->fastest.nj = nj;
    return all;
}
