/*
 * jstore.h - stores the j-particles of a context by address in host memory.
 *
 * A store consists of segments of 16,384 addresses.  Each segment has its own
 * columns, so growing moves no data, empty segments take no memory, and unused
 * columns (snap, for example) do not exist.  Within a column, 16 consecutive
 * addresses are contiguous per axis:
 * derivative[k][(a / 16) * 48 + axis * 16 + a % 16].
 *
 * Derivatives have the form of GRAPE-6 clients (x, v, acc/2, jerk/6, snap/18),
 * so that storing is copying.  Stores of orders 6 and 8 have full derivatives
 * and all columns of their order.  No function of this module does
 * floating-point arithmetic, so the caller's rounding mode and traps do not
 * matter.
 */
#ifndef SAP_JSTORE_H
#define SAP_JSTORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/ranges.h"
#include "physics/arithmetic.h"
#include "sapporo.h"

enum {
    SAP_DERIVATIVES = 5,                        /* x to snap/18 */
    SAP_DERIVATIVES_MOST = SAPPORO_DERIVATIVES, /* of any order */
    SAP_SEGMENT_TILES = 8,
    SAP_SEGMENT = SAP_SEGMENT_TILES * SAP_CPU_SUPERPACKET,
    SAP_SEGMENTS_KEPT = 16 /* largest number of freed segments that are kept for reuse: 37 MB */
};

struct sap_segment {
    double *derivative[SAP_DERIVATIVES_MOST]; /* NULL: zero for all addresses of the segment; not NULL up to `terms` */
    double *mass, *time;
    double *eps2; /* NULL: zero for all */
    int32_t *index;
    uint16_t *occupied;                     /* bit a % 16 of word a / 16 */
    uint16_t *changed;                      /* likewise: 1: the particle changed since its change was taken */
    uint16_t *lost;                         /* likewise: 1: its last store failed; then it is not occupied or changed */
    int terms;                              /* number of the highest derivative that exists, at least 1 */
    unsigned char ready[SAP_SEGMENT_TILES]; /* 1: the tile is initialised with empty particles */
    uint64_t version[SAP_SEGMENT_TILES];    /* version of the store when a particle of the tile last changed */

    double *spare[SAP_DERIVATIVES_MOST]; /* memory of columns that are not in use */
    void *whole;                         /* one block for the first five derivatives and the masses, or NULL */
    struct sap_segment *next;            /* in the list of kept segments */
};

struct sap_jstore {
    struct sap_segment **segment; /* NULL: no particle there */
    int segments;
    int upper;        /* one above the highest address set */
    int count;        /* addresses that hold a particle */
    int far;          /* 1: some coordinate that was stored is beyond SAP_FAR */
    int open;         /* tile (address / 2,048) + 1 whose empty slots are not initialised yet; 0: none */
    int full;         /* 6 or 8: number of columns of full derivatives in every segment; 0: GRAPE-6 factors */
    double soft;      /* largest eps2 that was stored; 0: no segment has an eps2 column */
    uint64_t version; /* increases with every change */
    uint64_t cleared; /* version when all particles were last cleared; 0: never */
    size_t bytes;     /* memory in use */
    int lost;         /* number of addresses that are marked as lost in segments */
    struct sap_ranges lost_elsewhere; /* lost addresses without a segment; entries with a segment have no meaning */
    uint64_t losses;                  /* increases with every loss */
};

/* A particle that is being stored: pointers to double[3], NULL for zero. */
struct sap_jparticle {
    const double *derivative[SAP_DERIVATIVES_MOST];
    double mass, time, eps2;
    int32_t index;
};

/* Frees all particles and keeps the memory of a few segments for reuse.  An empty store is all zeros except `full`. */
void sap_jstore_free(struct sap_jstore *store);

/* Frees the memory of kept segments. */
void sap_jstore_trim(void);

/*
 * A particle that waits to be stored, in the shape in which accelerators take it (struct sap_gpu_update).  A record has
 * as many derivatives as its store, so that records lie sap_staged_bytes apart.
 */
struct sap_staged {
    double derivative[SAP_DERIVATIVES][3];
    double mass, time, eps2;
    int32_t address, index;
    double further[][3]; /* derivatives from number SAP_DERIVATIVES on, of stores with full derivatives */
};

/* Returns the bytes of a record for a store whose member `full` has this value. */
static inline size_t sap_staged_bytes(int full)
{
    const size_t further = full > SAP_DERIVATIVES ? (size_t)(full - SAP_DERIVATIVES) : 0;
    return sizeof(struct sap_staged) + further * 3 * sizeof(double);
}

/* Returns record k of records that lie so many bytes apart. */
static inline const struct sap_staged *sap_staged_at(const struct sap_staged *first, size_t bytes, int k)
{
    return (const struct sap_staged *)(const void *)((const char *)first + (size_t)k * bytes);
}

/*
 * Makes room for a particle with derivatives up to `terms` at 0 <= address < SAP_ADDRESSES.  Returns 0, or -1 if memory
 * is short; then no particle has changed.
 */
int sap_jstore_reserve(struct sap_jstore *store, int address, int terms);

/*
 * Like sap_jstore_reserve, for a particle that is stored next and followed by others in order.  It does not initialise
 * the empty slots of the tile; sap_jstore_finish does, and must be called before any code reads whole tiles.
 */
int sap_jstore_open(struct sap_jstore *store, int address, int terms);
void sap_jstore_finish(struct sap_jstore *store);
/* Makes room for a softening eps2 > 0 at an address that has room for a particle; 0, or -1 if memory is short. */
int sap_jstore_reserve_eps2(struct sap_jstore *store, int address, double eps2);

/* Stores a particle where room has been made. */
void sap_jstore_put(struct sap_jstore *store, const struct sap_staged *particle);

/* Replaces a particle without marking it as changed, for engines that have the new particle already. */
void sap_jstore_replace(struct sap_jstore *store, const struct sap_staged *particle);

/* Prefetches the memory of a particle that will be stored soon. */
void sap_jstore_fetch(const struct sap_jstore *store, int address);

/* 1 if the address holds a particle. */
int sap_jstore_has(const struct sap_jstore *store, int address);

/* The lowest address from `from` on that holds a particle, or `upper`.  It skips missing segments at no cost. */
int sap_jstore_next(const struct sap_jstore *store, int from);

/*
 * Copies out a particle as it is stored: derivative[k][axis] for k < SAP_DERIVATIVES, or for k < `full` if that is not
 * 0.  The address must hold a particle.
 */
void sap_jstore_get(const struct sap_jstore *store, int address, double (*derivative)[3], double *mass, double *time,
                    int32_t *index);

/*
 * Parts of a particle of order 2 whose position and mass come in separate calls.  The address holds no particle until
 * both parts are given.  Until then put_part keeps the given part in columns that order 2 does not use; room must have
 * been made.  get_part copies the parts out and returns which parts are given.
 */
enum sap_jstore_part { SAP_JSTORE_MASS = 1, SAP_JSTORE_POSITION = 2, SAP_JSTORE_BOTH = 3 };

unsigned sap_jstore_get_part(const struct sap_jstore *store, int address, double *x, double *mass);
void sap_jstore_put_part(struct sap_jstore *store, int address, enum sap_jstore_part part, const double *x,
                         double mass);

/* The squared softening of an address that holds a particle. */
double sap_jstore_eps2(const struct sap_jstore *store, int address);

/* Bytes of a segment with derivatives up to `terms`. */
size_t sap_jstore_segment_bytes(int terms);

/* The segment of an address, or NULL. */
static inline const struct sap_segment *sap_jstore_segment(const struct sap_jstore *store, int address)
{
    const int s = address / SAP_SEGMENT;
    return s < store->segments ? store->segment[s] : NULL;
}

/* Offset of the x axis of an address within its segment (in = address % SAP_SEGMENT) in a derivative's column. */
static inline size_t sap_jstore_offset(unsigned in)
{
    return (size_t)(in / SAP_CPU_LANES) * 3 * SAP_CPU_LANES + in % SAP_CPU_LANES;
}

/* Whether there is room for a particle with all derivatives at 0 <= address < SAP_ADDRESSES. */
static inline int sap_jstore_ready(const struct sap_jstore *store, int address)
{
    const unsigned at = (unsigned)address / SAP_SEGMENT, in = (unsigned)address % SAP_SEGMENT;
    const struct sap_segment *s = (int)at < store->segments ? store->segment[at] : NULL;
    return s && s->terms >= SAP_DERIVATIVES - 1 && s->ready[in / SAP_CPU_SUPERPACKET];
}

/*
 * Marks addresses as lost (jstore_lost.c), because their particles could not be stored.  A lost address holds no
 * particle until one is stored there: a force from the old particle would look right and be wrong.  Losing needs no
 * memory: addresses without a segment are recorded as ranges, and ranges are merged when there are too many.
 */
void sap_jstore_lose(struct sap_jstore *store, int first, int n);

/* The lowest address below nj that is lost, or -1. */
int sap_jstore_first_lost(const struct sap_jstore *store, int nj);

/* 1 if this address is lost. */
int sap_jstore_is_lost(const struct sap_jstore *store, int address);

/* 1 if any address is lost. */
static inline int sap_jstore_any_lost(const struct sap_jstore *store)
{
    return store->lost > 0 || store->lost_elsewhere.n > 0;
}

/* Moves lost addresses of the new segment number `at` from the ranges to the segment's bits. */
void sap_jstore_settle_ranges(struct sap_jstore *store, int at);

/* Clears the lost bits of addresses in a word of 16, because particles are stored there now. */
void sap_jstore_found(struct sap_jstore *store, struct sap_segment *s, unsigned word, unsigned bits);

/* Marks an address as occupied and changed.  A lost address never has its changed bit set. */
static inline void sap_jstore_mark(struct sap_jstore *store, struct sap_segment *s, int address)
{
    const unsigned in = (unsigned)address % SAP_SEGMENT, word = in / SAP_CPU_LANES;
    const unsigned bit = 1U << in % SAP_CPU_LANES;
    if (!(s->changed[word] & bit)) { /* an address whose changed bit is set is occupied and not lost */
        store->count += !(s->occupied[word] & bit);
        s->occupied[word] = (uint16_t)(s->occupied[word] | bit);
        s->changed[word] = (uint16_t)(s->changed[word] | bit);
        if (address >= store->upper) store->upper = address + 1;
        if (store->lost > 0) sap_jstore_found(store, s, word, bit);
    }
    s->version[in / SAP_CPU_SUPERPACKET] = ++store->version;
}

/* Like n calls of sap_jstore_mark, for n addresses from `address` on, all in one word of 16. */
static inline void sap_jstore_mark_run(struct sap_jstore *store, struct sap_segment *s, int address, int n)
{
    const unsigned in = (unsigned)address % SAP_SEGMENT, word = in / SAP_CPU_LANES;
    const unsigned bits = ((1U << n) - 1U) << in % SAP_CPU_LANES;
    const unsigned more = bits & ~(unsigned)s->occupied[word];
    if (more) store->count += __builtin_popcount(more);
    if (store->lost > 0) sap_jstore_found(store, s, word, bits);
    s->occupied[word] = (uint16_t)(s->occupied[word] | bits);
    s->changed[word] = (uint16_t)(s->changed[word] | bits);
    if (address + n > store->upper) store->upper = address + n;
    store->version += (unsigned)n;
    s->version[in / SAP_CPU_SUPERPACKET] = store->version;
}

/* The same for all addresses of whole words that are in one segment; `address` is the first. */
static inline void sap_jstore_mark_words(struct sap_jstore *store, struct sap_segment *s, int address, int words)
{
    const unsigned all = 0xFFFF, in = (unsigned)address % SAP_SEGMENT, first = in / SAP_CPU_LANES;
    const unsigned end = in + (unsigned)words * SAP_CPU_LANES;
    for (unsigned w = first; w < first + (unsigned)words; w++) {
        if (s->changed[w] == all) continue; /* then all are occupied and none is lost */
        store->count += __builtin_popcount(all & ~(unsigned)s->occupied[w]);
        if (store->lost > 0) sap_jstore_found(store, s, w, all);
        s->occupied[w] = s->changed[w] = (uint16_t)all;
    }
    if (address + words * SAP_CPU_LANES > store->upper) store->upper = address + words * SAP_CPU_LANES;
    store->version += end - in;
    for (unsigned t = in / SAP_CPU_SUPERPACKET; t * SAP_CPU_SUPERPACKET < end; t++) s->version[t] = store->version;
}

/*
 * Takes up to `room` changed addresses from `from` to below - 1 in ascending order and clears their changed bits;
 * `below` is a multiple of 16, or at least `upper`.  Engines with a copy of the particles use it to update their copy.
 * Returns the number taken; if it is below `room`, no change is left. Tiles whose version is <= `seen` are skipped, so
 * the caller may raise `seen` to the store's version only when no change is left.
 */
int sap_jstore_take_changes_below(struct sap_jstore *store, int below, uint64_t seen, int from, int32_t *address,
                                  int room);

/* Like sap_jstore_take_changes_below for all addresses. */
static inline int sap_jstore_take_changes(struct sap_jstore *store, uint64_t seen, int from, int32_t *address, int room)
{
    return sap_jstore_take_changes_below(store, store->upper, seen, from, address, room);
}

/*
 * Like sap_jstore_take_changes for n addresses from `first` on in one tile; both numbers are multiples of 64.  If all n
 * addresses have changed it clears their changed bits and returns 1, else it changes nothing and returns 0.
 */
int sap_jstore_take_whole(struct sap_jstore *store, uint64_t seen, int first, int n);

/* Marks every particle as changed, for an engine whose copy is lost or that has none yet. */
void sap_jstore_change_all(struct sap_jstore *store);

/* Marks every particle of the first `below` addresses as changed; `below` is a multiple of 16 within the first tile. */
void sap_jstore_change_below(struct sap_jstore *store, int below);

/* The mass of an address that holds a particle. */
static inline double sap_jstore_mass(const struct sap_jstore *store, int address)
{
    return sap_jstore_segment(store, address)->mass[address % SAP_SEGMENT];
}

/* The index of an address that holds a particle. */
static inline int32_t sap_jstore_index(const struct sap_jstore *store, int address)
{
    return sap_jstore_segment(store, address)->index[address % SAP_SEGMENT];
}

/* Freed segments that are kept for reuse by any store of the process. */
struct sap_segments {
    struct sap_lock lock; /* guards list and n */
    struct sap_segment *list;
    int n;
};
extern struct sap_segments sap_segments;

#endif
