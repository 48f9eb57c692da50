/*
 * jstore.c - the j-particles of a context by address.
 *
 * The first access to a page costs as much as storing the particles that fit
 * into the page.  Therefore a segment that follows a full segment is allocated
 * in a huge page if the system has huge pages, and a few freed segments are kept
 * for reuse.
 */
#define _DEFAULT_SOURCE
#include "engine/jstore.h"

#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/lock.h"
#include "base/process.h"

enum { LANES = SAP_CPU_LANES, TILE = SAP_CPU_SUPERPACKET };

/* Elements of a derivative's column.  The first five derivatives and the masses of a segment fill a 2 MB huge page. */
static const size_t column_room = (size_t)SAP_SEGMENT * 3, huge_page = (size_t)1 << 21;
_Static_assert(SAP_SEGMENT *(3 * SAP_DERIVATIVES + 1) * sizeof(double) == 1 << 21, "a segment fills a huge page");

#if defined(MADV_HUGEPAGE)

/* Maps 2 MB aligned for a huge page and asks the system for one; NULL: no memory. */
static void *map_huge_page(void)
{
    char *const p = mmap(NULL, 2 * huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    const size_t before = (huge_page - (uintptr_t)p % huge_page) % huge_page;
    if (before > 0) (void)munmap(p, before);
    (void)munmap(p + before + huge_page, huge_page - before);
    (void)madvise(p + before, huge_page, MADV_HUGEPAGE);
    return p + before;
}

static void unmap_huge_page(void *page) { (void)munmap(page, huge_page); }

#else

static void *map_huge_page(void) { return NULL; }
static void unmap_huge_page(void *page) { (void)page; }

#endif

static void discard(struct sap_segment *s)
{
    for (int k = s->whole ? SAP_DERIVATIVES : 0; k < SAP_DERIVATIVES_MOST; k++) {
        free(s->derivative[k]);
        free(s->spare[k]);
    }
    if (s->whole)
        unmap_huge_page(s->whole);
    else
        free(s->mass);
    free(s->time);
    free(s->eps2);
    free(s->index);
    free(s->occupied);
    free(s->changed);
    free(s->lost);
    free(s);
}

struct sap_segments sap_segments;

SAP_GUARD_AT_FORK(segments, SAP_LOCK_SEGMENTS, &sap_segments.lock)

/* Keeps a segment for the next store, or frees it. */
static void retire(struct sap_segment *s)
{
    if (!s) return;
    free(s->eps2);
    s->eps2 = NULL;
    for (int k = 2; k <= s->terms; k++) {
        if (k < SAP_DERIVATIVES)
            s->spare[k] = s->derivative[k];
        else
            free(s->derivative[k]); /* few stores need these columns */
        s->derivative[k] = NULL;
    }
    sap_lock(&sap_segments.lock);
    const int keep = sap_segments.n < SAP_SEGMENTS_KEPT;
    if (keep) {
        s->next = sap_segments.list;
        sap_segments.list = s;
        sap_segments.n++;
    }
    sap_unlock(&sap_segments.lock);
    if (!keep) discard(s);
}

/* Takes a kept segment; NULL: there is none. */
static struct sap_segment *take_kept(void)
{
    sap_lock(&sap_segments.lock);
    struct sap_segment *s = sap_segments.list;
    if (s) {
        sap_segments.list = s->next;
        sap_segments.n--;
    }
    sap_unlock(&sap_segments.lock);
    return s;
}

void sap_jstore_trim(void)
{
    for (struct sap_segment *s = take_kept(); s; s = take_kept()) discard(s);
}

void sap_jstore_free(struct sap_jstore *store)
{
    for (int k = 0; k < store->segments; k++) retire(store->segment[k]);
    const int full = store->full;
    free(store->segment);
    memset(store, 0, sizeof *store);
    store->full = full;
}

/* Allocates the first five derivatives and the masses of a segment in one huge page.  If it fails, columns are
 * allocated one by one. */
static void make_whole(struct sap_segment *s)
{
    double *at = s->whole = map_huge_page();
    if (!at) return;
    for (int k = 0; k < SAP_DERIVATIVES; k++, at += column_room) s->spare[k] = at;
    s->mass = at;
}

/* Allocates the column of derivative k, or takes the spare one; NULL: no memory. */
static double *make_column(struct sap_jstore *store, struct sap_segment *s, int k)
{
    double *column = s->spare[k] ? s->spare[k] : aligned_alloc(64, column_room * sizeof *column);
    s->spare[k] = NULL;
    if (column) store->bytes += column_room * sizeof *column;
    return column;
}

/* Allocates a segment with its columns.  It does not touch the pages of the columns, so unused pages take no memory. */
static struct sap_segment *make_segment(struct sap_jstore *store, int whole)
{
    struct sap_segment *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    if (whole) make_whole(s);
    for (int k = 0; k < 2; k++) s->derivative[k] = make_column(store, s, k);
    if (!s->mass) s->mass = aligned_alloc(64, SAP_SEGMENT * sizeof(double));
    s->time = aligned_alloc(64, SAP_SEGMENT * sizeof(double));
    s->index = aligned_alloc(64, SAP_SEGMENT * sizeof(int32_t));
    s->occupied = calloc(SAP_SEGMENT / LANES, sizeof(uint16_t));
    s->changed = calloc(SAP_SEGMENT / LANES, sizeof(uint16_t));
    s->lost = calloc(SAP_SEGMENT / LANES, sizeof(uint16_t));
    const int numbers = s->derivative[0] && s->derivative[1] && s->mass && s->time && s->index;
    if (numbers && s->occupied && s->changed && s->lost) return s;
    discard(s);
    return NULL;
}

/* Empties a kept segment for reuse. */
static void renew(struct sap_segment *s)
{
    memset(s->occupied, 0, SAP_SEGMENT / LANES * sizeof *s->occupied);
    memset(s->changed, 0, SAP_SEGMENT / LANES * sizeof *s->changed);
    memset(s->lost, 0, SAP_SEGMENT / LANES * sizeof *s->lost);
    memset(s->ready, 0, sizeof s->ready);
    memset(s->version, 0, sizeof s->version);
}

/* A new, empty segment: a kept one if there is one; NULL: no memory. */
static struct sap_segment *new_segment(struct sap_jstore *store, int whole)
{
    const size_t before = store->bytes;
    struct sap_segment *s = take_kept();
    if (s)
        renew(s);
    else
        s = make_segment(store, whole);
    store->bytes = s ? before + sap_jstore_segment_bytes(1) : before;
    if (s) s->terms = 1;
    return s;
}

size_t sap_jstore_segment_bytes(int terms)
{
    const size_t words = 3 * ((size_t)terms + 1) + 2; /* derivatives, mass, time */
    return sizeof(struct sap_segment) + SAP_SEGMENT * (words * sizeof(double) + sizeof(int32_t)) +
           SAP_SEGMENT / LANES * 3 * sizeof(uint16_t); /* occupied, changed, lost */
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

/* Adds the missing columns up to derivative `terms` to a segment. */
static int reserve_terms(struct sap_jstore *store, struct sap_segment *s, int terms)
{
    for (int k = s->terms + 1; k <= terms; k++) {
        double *column = make_column(store, s, k);
        if (!column) return -1;
        for (int t = 0; t < SAP_SEGMENT_TILES; t++)
            if (s->ready[t]) memset(column + (ptrdiff_t)t * TILE * 3, 0, TILE * 3 * sizeof(double));
        s->derivative[k] = column;
        s->terms = k;
    }
    return 0;
}

/* Fills those of a word's 16 slots that are not `taken` with empty particles: massless and at SAP_EMPTY_X. */
static void clear_word(struct sap_segment *s, int w, unsigned taken)
{
    for (int lane = 0; lane < LANES; lane++) {
        const size_t in = (size_t)w * LANES + (size_t)lane, at = sap_jstore_offset((unsigned)in);
        if (taken >> lane & 1) continue;
        for (size_t axis = 0; axis < 3 * (size_t)LANES; axis += LANES) {
            s->derivative[0][at + axis] = SAP_EMPTY_X;
            for (int k = 1; k <= s->terms; k++) s->derivative[k][at + axis] = 0;
        }
        s->mass[in] = s->time[in] = 0;
        s->index[in] = 0;
    }
}

/* Fills the slots of a tile that hold no particle with empty particles. */
static void clear_tile(struct sap_segment *s, int tile)
{
    enum { WORDS = TILE / LANES };
    for (int w = tile * WORDS; w < (tile + 1) * WORDS; w++) clear_word(s, w, s->occupied[w]);
}

/* Whether the preceding segment is in use up to its end, with all derivatives; then this one is likely to fill too. */
static int follows(const struct sap_jstore *store, int at)
{
    const struct sap_segment *before = at > 0 ? store->segment[at - 1] : NULL;
    return before && before->ready[SAP_SEGMENT_TILES - 1] && before->terms >= SAP_DERIVATIVES - 1;
}

/* The segment of an address, with columns up to derivative `terms`; NULL: memory is short. */
static struct sap_segment *segment_for(struct sap_jstore *store, int address, int terms)
{
    const int at = address / SAP_SEGMENT;
    if (reserve_table(store, at + 1)) return NULL;
    if (!store->segment[at] && (store->segment[at] = new_segment(store, follows(store, at))) &&
        store->lost_elsewhere.n > 0)
        sap_jstore_settle_ranges(store, at);
    struct sap_segment *s = store->segment[at];
    if (store->full) terms = store->full - 1;
    return s && !reserve_terms(store, s, terms) ? s : NULL;
}

int sap_jstore_reserve(struct sap_jstore *store, int address, int terms)
{
    struct sap_segment *s = segment_for(store, address, terms);
    if (!s) return -1;
    const int tile = address % SAP_SEGMENT / TILE;
    if (!s->ready[tile]) clear_tile(s, tile);
    s->ready[tile] = 1;
    return 0;
}

int sap_jstore_open(struct sap_jstore *store, int address, int terms)
{
    struct sap_segment *s = segment_for(store, address, terms);
    if (!s) return -1;
    const int tile = address % SAP_SEGMENT / TILE;
    if (s->ready[tile]) return 0;
    sap_jstore_finish(store);
    s->ready[tile] = 1;
    store->open = address / TILE + 1;
    return 0;
}

void sap_jstore_finish(struct sap_jstore *store)
{
    const int tile = store->open - 1;
    if (tile < 0) return;
    clear_tile(store->segment[tile / SAP_SEGMENT_TILES], tile % SAP_SEGMENT_TILES);
    store->open = 0;
}

int sap_jstore_reserve_eps2(struct sap_jstore *store, int address, double eps2)
{
    struct sap_segment *s = store->segment[address / SAP_SEGMENT];
    if (!s->eps2) {
        s->eps2 = aligned_alloc(64, SAP_SEGMENT * sizeof(double));
        if (!s->eps2) return -1;
        memset(s->eps2, 0, SAP_SEGMENT * sizeof(double));
        store->bytes += SAP_SEGMENT * sizeof(double);
    }
    if (eps2 > store->soft) store->soft = eps2;
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
    for (int k = SAP_DERIVATIVES; k <= s->terms; k++)
        put_column(s->derivative[k] + to, p->further[k - SAP_DERIVATIVES]);
    s->mass[in] = p->mass;
    s->time[in] = p->time;
    s->index[in] = p->index;
    if (s->eps2) s->eps2[in] = p->eps2;
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

int sap_jstore_next(const struct sap_jstore *store, int from)
{
    for (int a = from; a < store->upper; a++) {
        if (!sap_jstore_segment(store, a)) /* also of particles that the host does not have */
            a |= SAP_SEGMENT - 1;
        else if (sap_jstore_has(store, a))
            return a;
    }
    return store->upper;
}

void sap_jstore_get(const struct sap_jstore *store, int address, double (*derivative)[3], double *mass, double *time,
                    int32_t *index)
{
    const struct sap_segment *s = sap_jstore_segment(store, address);
    const int in = address % SAP_SEGMENT;
    const ptrdiff_t at = (ptrdiff_t)(in / LANES) * 3 * LANES + in % LANES;
    for (int k = 0; k < (store->full ? store->full : SAP_DERIVATIVES); k++)
        for (int axis = 0; axis < 3; axis++)
            derivative[k][axis] = s->derivative[k] ? s->derivative[k][at + (ptrdiff_t)axis * LANES] : 0.0;
    *mass = s->mass[in];
    *time = s->time[in];
    *index = s->index[in];
}

/* Parts are stored in columns that are free: forces of order 2 read no velocity and no time, and the index of an
 * address without a particle has no meaning.  The position is in derivative 1, the mass in time, the parts in index. */

unsigned sap_jstore_get_part(const struct sap_jstore *store, int address, double *x, double *mass)
{
    const struct sap_segment *s = sap_jstore_segment(store, address);
    const unsigned in = (unsigned)address % SAP_SEGMENT, parts = (unsigned)s->index[in];
    const double *const from = s->derivative[1] + sap_jstore_offset(in);
    for (int axis = 0; axis < 3 && parts & SAP_JSTORE_POSITION; axis++) x[axis] = from[(ptrdiff_t)axis * LANES];
    if (parts & SAP_JSTORE_MASS) *mass = s->time[in];
    return parts;
}

void sap_jstore_put_part(struct sap_jstore *store, int address, enum sap_jstore_part part, const double *x, double mass)
{
    struct sap_segment *s = store->segment[address / SAP_SEGMENT];
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    if (part & SAP_JSTORE_POSITION) put_column(s->derivative[1] + sap_jstore_offset(in), x);
    if (part & SAP_JSTORE_MASS) s->time[in] = mass;
    s->index[in] = (int32_t)part;
}

double sap_jstore_eps2(const struct sap_jstore *store, int address)
{
    const struct sap_segment *s = sap_jstore_segment(store, address);
    return s->eps2 ? s->eps2[address % SAP_SEGMENT] : 0;
}

/* ----------------------------------------------------------------- changes */

/* Takes changes of words first .. last-1, from bit `skip` of the first word on.  `base` is the address of word 0. */
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

int sap_jstore_take_changes_below(struct sap_jstore *store, int below, uint64_t seen, int from, int32_t *address,
                                  int room)
{
    int n = 0;
    if (from < 0) from = 0;
    for (int a = from; a < store->upper && a < below && n < room; a = (a / TILE + 1) * TILE) {
        struct sap_segment *s = store->segment[a / SAP_SEGMENT];
        const int in = a % SAP_SEGMENT, tile = in / TILE, left = (below - (a - in) + LANES - 1) / LANES;
        const int end = (tile + 1) * (TILE / LANES);
        if (!s || s->version[tile] <= seen) continue;
        n += take_words(s, in / LANES, end < left ? end : left, (unsigned)in % LANES, a - in, address + n, room - n);
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

void sap_jstore_change_below(struct sap_jstore *store, int below)
{
    struct sap_segment *const s = store->segments > 0 ? store->segment[0] : NULL;
    store->version++;
    if (!s || s->version[0] == 0) return;
    memcpy(s->changed, s->occupied, (size_t)(below / LANES) * sizeof *s->changed);
    s->version[0] = store->version;
}

void sap_jstore_change_all(struct sap_jstore *store)
{
    enum { WORDS = TILE / LANES };
    store->version++;
    for (int k = 0; k < store->segments * SAP_SEGMENT_TILES; k++) {
        struct sap_segment *s = store->segment[k / SAP_SEGMENT_TILES];
        const int tile = k % SAP_SEGMENT_TILES;
        if (!s || s->version[tile] == 0) continue; /* the tile never held a particle */
        memcpy(s->changed + (ptrdiff_t)tile * WORDS, s->occupied + (ptrdiff_t)tile * WORDS, WORDS * sizeof *s->changed);
        s->version[tile] = store->version;
    }
}
