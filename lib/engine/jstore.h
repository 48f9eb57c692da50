/*
 * jstore.h - the j-particles of a context by address: the host's copy.
 *
 * Particles lie in segments of 16,384 addresses, each with its own columns, so
 * that growing moves nothing, gaps cost nothing and columns that nobody uses
 * (snap, say) do not exist.  Within a column, 16 consecutive addresses lie side
 * by side for each axis: derivative[k][(a / 16) * 48 + axis * 16 + a % 16].
 *
 * Derivatives are kept as GRAPE-6 clients send them (x, v, acc/2, jerk/6,
 * snap/18), so that storing is copying.  Stores of orders 6 and 8 keep full
 * derivatives, and all columns of their order.  Nothing here does floating-point
 * arithmetic: callers' rounding modes and traps do not matter.
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
    SAP_DERIVATIVES_REST = SAP_DERIVATIVES_MOST - SAP_DERIVATIVES,
    SAP_SEGMENT_TILES = 8,
    SAP_SEGMENT = SAP_SEGMENT_TILES * SAP_CPU_SUPERPACKET,
    SAP_SEGMENTS_KEPT = 16 /* of stores that were freed, at most: 37 MB */
};

struct sap_segment {
    double *derivative[SAP_DERIVATIVES_MOST]; /* NULL: zero for all addresses of the segment; no gaps below `terms` */
    double *mass, *time;
    double *eps2; /* NULL: zero for all */
    int32_t *index;
    uint16_t *occupied;                     /* bit a % 16 of word a / 16 */
    uint16_t *changed;                      /* the same: set since its changes were taken */
    uint16_t *lost;                         /* the same: its last store failed; then neither occupied nor changed */
    int terms;                              /* highest derivative that exists, at least 1 */
    unsigned char ready[SAP_SEGMENT_TILES]; /* tile has been set to empty particles */
    uint64_t version[SAP_SEGMENT_TILES];    /* of the store when a particle of the tile changed last */

    double *spare[SAP_DERIVATIVES_MOST]; /* columns that there is memory for already */
    void *whole;                         /* memory of the first five derivatives and masses in one, or NULL */
    struct sap_segment *next;            /* of those that are kept */
};

struct sap_jstore {
    struct sap_segment **segment; /* NULL: no particle there */
    int segments;
    int upper;        /* one above the highest address set */
    int count;        /* addresses that hold a particle */
    int far;          /* 1: some coordinate was ever beyond SAP_FAR */
    int open;         /* tile (address / 2,048) + 1 whose empty places are not set yet; 0: none */
    int full;         /* 6 or 8: columns of full derivatives that all segments have; 0: GRAPE-6's factors */
    double soft;      /* the largest eps2 that was ever stored; 0: there are no such columns */
    uint64_t version; /* rises with every change */
    uint64_t cleared; /* version when all particles were cleared last, 0: never */
    size_t bytes;     /* memory in use */
    int lost;         /* addresses that segments have as lost */
    struct sap_ranges lost_elsewhere; /* lost addresses for which there is no segment; void for those with one */
    uint64_t losses;                  /* rises with every loss */
};

/* A particle on its way: pointers to double[3], NULL for zero. */
struct sap_jparticle {
    const double *derivative[SAP_DERIVATIVES_MOST];
    double mass, time, eps2;
    int32_t index;
};

/* An empty store is all zeros but `full`.  Freeing it keeps the memory of a few segments for the next. */
void sap_jstore_free(struct sap_jstore *store);

/* Gives back the memory of segments that is kept. */
void sap_jstore_trim(void);

/* A particle that waits to be stored. */
struct sap_staged {
    double derivative[SAP_DERIVATIVES][3];
    double mass, time, eps2;
    int32_t address, index;
};

/*
 * Makes room for a particle with derivatives up to `terms` at 0 <= address < SAP_ADDRESSES; 0, or -1 if memory
 * is short: then nothing has changed.
 */
int sap_jstore_reserve(struct sap_jstore *store, int address, int terms);

/*
 * The same for a particle that is stored next, and others after it in order: where nobody is, the tile is set to empty
 * particles only by sap_jstore_finish, which must come before anyone reads whole tiles.
 */
int sap_jstore_open(struct sap_jstore *store, int address, int terms);
void sap_jstore_finish(struct sap_jstore *store);
/* Makes room for softening up to eps2 > 0 where room has been made for a particle; 0, or -1 if memory is short. */
int sap_jstore_reserve_eps2(struct sap_jstore *store, int address, double eps2);

/* Stores a particle where room has been made. */
void sap_jstore_put(struct sap_jstore *store, const struct sap_staged *particle);

/* The same at an address that holds a particle, for engines that have the new one already: it is no change to them. */
void sap_jstore_replace(struct sap_jstore *store, const struct sap_staged *particle);

/* Further derivatives of a particle that has just been put, where the store keeps full ones: from number 5 on. */
void sap_jstore_put_rest(struct sap_jstore *store, int address, const double (*rest)[3]);

/* Asks the caches for the place of a particle that will be stored soon. */
void sap_jstore_fetch(const struct sap_jstore *store, int address);

/* 1 if the address holds a particle. */
int sap_jstore_has(const struct sap_jstore *store, int address);

/* The lowest address from `from` on that holds a particle, or `upper`.  Segments that do not exist cost nothing. */
int sap_jstore_next(const struct sap_jstore *store, int from);

/*
 * Copies out what is stored: derivative[k][axis], SAP_DERIVATIVES of them, or `full`; the address must hold a particle.
 */
void sap_jstore_get(const struct sap_jstore *store, int address, double (*derivative)[3], double *mass, double *time,
                    int32_t *index);

/*
 * Parts of a particle of order 2, whose position and mass come one after the other.  The address holds no particle
 * until both are there; where there is room for it and no particle, what was given is kept in columns that order 2 does
 * not use.  get_part copies it out and returns which parts there are.
 */
enum sap_jstore_part { SAP_JSTORE_MASS = 1, SAP_JSTORE_POSITION = 2, SAP_JSTORE_BOTH = 3 };

unsigned sap_jstore_get_part(const struct sap_jstore *store, int address, double *x, double *mass);
void sap_jstore_put_part(struct sap_jstore *store, int address, enum sap_jstore_part part, const double *x,
                         double mass);

/* Its squared softening. */
double sap_jstore_eps2(const struct sap_jstore *store, int address);

/* Bytes of a segment with derivatives up to `terms`. */
size_t sap_jstore_segment_bytes(int terms);

/* The segment of an address, or NULL. */
static inline const struct sap_segment *sap_jstore_segment(const struct sap_jstore *store, int address)
{
    const int s = address / SAP_SEGMENT;
    return s < store->segments ? store->segment[s] : NULL;
}

/* Place of an address of a segment (address % SAP_SEGMENT) in a derivative's column: the x axis. */
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
 * Lost particles (jstore_lost.c): a store that fails takes what was there with it, since a force of the old particle
 * would look right.  From then on the address holds no particle, until one is stored there.  This needs no memory:
 * where even a segment is missing, ranges of addresses are kept, which become one where there are too many.
 */
void sap_jstore_lose(struct sap_jstore *store, int first, int n);

/* The lowest address below nj that is lost, or -1. */
int sap_jstore_first_lost(const struct sap_jstore *store, int nj);

/* 1 if this address is. */
int sap_jstore_is_lost(const struct sap_jstore *store, int address);

/* 1 if any is. */
static inline int sap_jstore_any_lost(const struct sap_jstore *store)
{
    return store->lost > 0 || store->lost_elsewhere.n > 0;
}

/* For segment number `at`, which is new: what ranges say goes to it. */
void sap_jstore_settle_ranges(struct sap_jstore *store, int at);

/* Addresses of a word of 16 are stored, and so not lost any more. */
void sap_jstore_found(struct sap_jstore *store, struct sap_segment *s, unsigned word, unsigned bits);

/* Notes that an address now holds a (new) particle.  A lost one has not changed. */
static inline void sap_jstore_mark(struct sap_jstore *store, struct sap_segment *s, int address)
{
    const unsigned in = (unsigned)address % SAP_SEGMENT, word = in / SAP_CPU_LANES;
    const unsigned bit = 1U << in % SAP_CPU_LANES;
    if (!(s->changed[word] & bit)) { /* whoever has changed is there */
        store->count += !(s->occupied[word] & bit);
        s->occupied[word] = (uint16_t)(s->occupied[word] | bit);
        s->changed[word] = (uint16_t)(s->changed[word] | bit);
        if (address >= store->upper) store->upper = address + 1;
        if (store->lost > 0) sap_jstore_found(store, s, word, bit);
    }
    s->version[in / SAP_CPU_SUPERPACKET] = ++store->version;
}

/* The same for n addresses from `address` on, all in one word of 16. */
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
    s->version[in / SAP_CPU_SUPERPACKET] = ++store->version;
}

/*
 * For engines with a copy of their own: takes up to `room` changed addresses, not below `from`, in rising order, and
 * forgets that they changed.  Returns how many; fewer than `room`: none is left.  Tiles whose version is not above
 * `seen` are passed over, so `seen` may rise to the store's version only when none is left.
 */
int sap_jstore_take_changes(struct sap_jstore *store, uint64_t seen, int from, int32_t *address, int room);

/*
 * The same for a run of n addresses of one tile (multiples of 64): 1 if all of them hold particles that changed; then
 * that is forgotten, else nothing happens.
 */
int sap_jstore_take_whole(struct sap_jstore *store, uint64_t seen, int first, int n);

/* Marks every particle as changed, for an engine that lost its copy. */
void sap_jstore_change_all(struct sap_jstore *store);

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

/* Segments of stores that were freed, kept for the next. */
struct sap_segments {
    struct sap_lock lock; /* guards list and n */
    struct sap_segment *list;
    int n;
};
extern struct sap_segments sap_segments;

#endif
