/* jstore.c - the j-particles of a context by address. */
#include "jstore.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = SAP_CPU_LANES, TILE = SAP_CPU_SUPERPACKET };

static void *allocate(struct sap_jstore *store, size_t bytes)
{
    void *p = aligned_alloc(64, bytes); /* all sizes here are multiples of 64 */
    if (p) store->bytes += bytes;
    return p;
}

static void free_segment(struct sap_segment *s)
{
    if (!s) return;
    for (int k = 0; k < SAP_DERIVATIVES; k++) free(s->derivative[k]);
    free(s->mass);
    free(s->time);
    free(s->index);
    free(s->occupied);
    free(s->changed);
    free(s);
}

void sap_jstore_free(struct sap_jstore *store)
{
    for (int k = 0; k < store->segments; k++) free_segment(store->segment[k]);
    free(store->segment);
    memset(store, 0, sizeof *store);
}

/* Columns are made with the segment, but their pages are touched only where particles come. */
static struct sap_segment *new_segment(struct sap_jstore *store)
{
    struct sap_segment *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    const size_t before = store->bytes;
    s->terms = 1;
    s->derivative[0] = allocate(store, SAP_SEGMENT * 3 * sizeof(double));
    s->derivative[1] = allocate(store, SAP_SEGMENT * 3 * sizeof(double));
    s->mass = allocate(store, SAP_SEGMENT * sizeof(double));
    s->time = allocate(store, SAP_SEGMENT * sizeof(double));
    s->index = allocate(store, SAP_SEGMENT * sizeof(int32_t));
    s->occupied = calloc(SAP_SEGMENT / LANES, sizeof(uint16_t));
    s->changed = calloc(SAP_SEGMENT / LANES, sizeof(uint16_t));
    if (s->derivative[0] && s->derivative[1] && s->mass && s->time && s->index && s->occupied && s->changed) return s;
    store->bytes = before;
    free_segment(s);
    return NULL;
}

size_t sap_jstore_segment_bytes(int terms)
{
    const size_t words = 3 * ((size_t)terms + 1) + 2; /* derivatives, mass, time */
    return sizeof(struct sap_segment) + SAP_SEGMENT * (words * sizeof(double) + sizeof(int32_t)) +
           SAP_SEGMENT / LANES * 2 * sizeof(uint16_t); /* occupied, changed */
}

static int reserve_table(struct sap_jstore *store, int segments)
{
    if (segments <= store->segments) return 0;
    const int room = segments > 2 * store->segments ? segments : 2 * store->segments;
    struct sap_segment **table = realloc(store->segment, (size_t)room * sizeof *table);
    if (!table) return -1;
    memset(table + store->segments, 0, (size_t)(room - store->segments) * sizeof *table);
    store->segment = table;
    store->segments = room;
    return 0;
}

/* Gives a segment the columns up to derivative `terms`. */
static int reserve_terms(struct sap_jstore *store, struct sap_segment *s, int terms)
{
    for (int k = s->terms + 1; k <= terms; k++) {
        double *column = allocate(store, SAP_SEGMENT * 3 * sizeof(double));
        if (!column) return -1;
        for (int t = 0; t < SAP_SEGMENT_TILES; t++)
            if (s->ready[t]) memset(column + (ptrdiff_t)t * TILE * 3, 0, TILE * 3 * sizeof(double));
        s->derivative[k] = column;
        s->terms = k;
    }
    return 0;
}

/* Fills a tile with empty particles: massless, and out of everyone's way. */
static void clear_tile(struct sap_segment *s, int t)
{
    double *x = s->derivative[0] + (ptrdiff_t)t * TILE * 3;
    for (int k = 0; k < TILE * 3; k++) x[k] = SAP_EMPTY_X;
    for (int k = 1; k <= s->terms; k++)
        memset(s->derivative[k] + (ptrdiff_t)t * TILE * 3, 0, TILE * 3 * sizeof(double));
    memset(s->mass + (ptrdiff_t)t * TILE, 0, TILE * sizeof(double));
    memset(s->time + (ptrdiff_t)t * TILE, 0, TILE * sizeof(double));
    memset(s->index + (ptrdiff_t)t * TILE, 0, TILE * sizeof(int32_t));
    s->ready[t] = 1;
}

int sap_jstore_reserve(struct sap_jstore *store, int address, int terms)
{
    const int at = address / SAP_SEGMENT;
    if (reserve_table(store, at + 1)) return -1;
    if (!store->segment[at]) store->segment[at] = new_segment(store);
    struct sap_segment *s = store->segment[at];
    if (!s || reserve_terms(store, s, terms)) return -1;
    const int tile = address % SAP_SEGMENT / TILE;
    if (!s->ready[tile]) clear_tile(s, tile);
    return 0;
}

static inline void put_column(double *column, const double *x)
{
    column[0] = x[0];
    column[LANES] = x[1];
    column[2 * LANES] = x[2];
}

void sap_jstore_replace(struct sap_jstore *store, const struct sap_staged *p)
{
    const unsigned in = (unsigned)p->address % SAP_SEGMENT;
    struct sap_segment *s = store->segment[(unsigned)p->address / SAP_SEGMENT];
    const size_t to = sap_jstore_offset(in);
    put_column(s->derivative[0] + to, p->derivative[0]);
    put_column(s->derivative[1] + to, p->derivative[1]);
    if (s->terms >= 2) put_column(s->derivative[2] + to, p->derivative[2]);
    if (s->terms >= 3) put_column(s->derivative[3] + to, p->derivative[3]);
    if (s->terms >= 4) put_column(s->derivative[4] + to, p->derivative[4]);
    s->mass[in] = p->mass;
    s->time[in] = p->time;
    s->index[in] = p->index;
}

void sap_jstore_put(struct sap_jstore *store, const struct sap_staged *p)
{
    sap_jstore_replace(store, p);
    sap_jstore_mark(store, store->segment[(unsigned)p->address / SAP_SEGMENT], p->address);
}

void sap_jstore_fetch(const struct sap_jstore *store, int address)
{
    const int in = address % SAP_SEGMENT;
    const struct sap_segment *s = store->segment[address / SAP_SEGMENT];
    const ptrdiff_t to = (ptrdiff_t)(in / LANES) * 3 * LANES + in % LANES;
    for (int k = 0; k <= s->terms; k++)
        for (int axis = 0; axis < 3; axis++) __builtin_prefetch(s->derivative[k] + to + (ptrdiff_t)axis * LANES, 1);
    __builtin_prefetch(s->mass + in, 1);
    __builtin_prefetch(s->time + in, 1);
    __builtin_prefetch(s->index + in, 1);
}

int sap_jstore_has(const struct sap_jstore *store, int address)
{
    if (address < 0 || address >= store->upper) return 0;
    const struct sap_segment *s = sap_jstore_segment(store, address);
    const int in = address % SAP_SEGMENT;
    return s && (s->occupied[in / LANES] >> in % LANES & 1);
}

void sap_jstore_get(const struct sap_jstore *store, int address, double (*derivative)[3], double *mass, double *time,
                    int32_t *index)
{
    const struct sap_segment *s = sap_jstore_segment(store, address);
    const int in = address % SAP_SEGMENT;
    const ptrdiff_t at = (ptrdiff_t)(in / LANES) * 3 * LANES + in % LANES;
    for (int k = 0; k < SAP_DERIVATIVES; k++)
        for (int axis = 0; axis < 3; axis++)
            derivative[k][axis] = s->derivative[k] ? s->derivative[k][at + (ptrdiff_t)axis * LANES] : 0.0;
    *mass = s->mass[in];
    *time = s->time[in];
    *index = s->index[in];
}

/* ----------------------------------------------------------------- changes */

/* Takes changes of words first to last-1 (16 addresses each, `base` is that of word 0) from bit `skip` of the first. */
static int take_words(struct sap_segment *s, int first, int last, unsigned skip, int base, int32_t *address, int room)
{
    int n = 0;
    for (int w = first; w < last && n < room; w++, skip = 0) {
        unsigned bits = s->changed[w] & (0xFFFFU << skip);
        unsigned taken = 0;
        for (; bits && n < room; bits &= bits - 1) {
            address[n++] = base + w * LANES + __builtin_ctz(bits);
            taken |= bits & -bits;
        }
        s->changed[w] = (uint16_t)(s->changed[w] & ~taken);
    }
    return n;
}

int sap_jstore_take_changes(struct sap_jstore *store, uint64_t seen, int from, int32_t *address, int room)
{
    int n = 0;
    if (from < 0) from = 0;
    for (int a = from; a < store->upper && n < room; a = (a / TILE + 1) * TILE) {
        struct sap_segment *s = store->segment[a / SAP_SEGMENT];
        const int in = a % SAP_SEGMENT, tile = in / TILE;
        if (!s || s->version[tile] <= seen) continue;
        n +=
            take_words(s, in / LANES, (tile + 1) * (TILE / LANES), (unsigned)in % LANES, a - in, address + n, room - n);
    }
    return n;
}

int sap_jstore_take_whole(struct sap_jstore *store, uint64_t seen, int first, int n)
{
    struct sap_segment *s = first / SAP_SEGMENT < store->segments ? store->segment[first / SAP_SEGMENT] : NULL;
    const int in = first % SAP_SEGMENT;
    if (!s || s->version[in / TILE] <= seen) return 0;
    uint16_t *const changed = s->changed + in / LANES;
    unsigned all = 0xFFFF;
    for (int w = 0; w < n / LANES; w++) all &= changed[w];
    if (all != 0xFFFF) return 0;
    memset(changed, 0, (size_t)(n / LANES) * sizeof *changed);
    return 1;
}

void sap_jstore_change_all(struct sap_jstore *store)
{
    enum { WORDS = TILE / LANES };
    store->version++;
    for (int k = 0; k < store->segments * SAP_SEGMENT_TILES; k++) {
        struct sap_segment *s = store->segment[k / SAP_SEGMENT_TILES];
        const int tile = k % SAP_SEGMENT_TILES;
        if (!s || s->version[tile] == 0) continue; /* nobody ever came */
        memcpy(s->changed + (ptrdiff_t)tile * WORDS, s->occupied + (ptrdiff_t)tile * WORDS, WORDS * sizeof *s->changed);
        s->version[tile] = store->version;
    }
}
