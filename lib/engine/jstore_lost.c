/*
 * jstore_lost.c - records lost addresses: their particles could not be stored, and no particle is stored there yet.
 *
 * Segments have a lost bit per address.  Losses happen when memory is short, so lost addresses without a segment are
 * recorded as a few ranges inside struct sap_jstore.
 */
#include <string.h>

#include "engine/jstore.h"

enum { LANES = SAP_CPU_LANES, WORDS = SAP_SEGMENT / LANES };

/* ------------------------------------------------------------------ ranges */

/* The first address of a range without a segment; an address beyond r.last if there is none. */
static int first_without_segment(const struct sap_jstore *store, struct sap_range r)
{
    int address = r.first;
    while (address <= r.last && sap_jstore_segment(store, address)) address = (address / SAP_SEGMENT + 1) * SAP_SEGMENT;
    return address;
}

/* -------------------------------------------------------------------- bits */

/* The bits of addresses first .. last in word w of a segment that begins at address `base`. */
static unsigned bits_between(int base, int w, int first, int last)
{
    const int low = first - base - w * LANES, high = last - base - w * LANES;
    if (high < 0 || low >= LANES) return 0;
    const unsigned from = low > 0 ? 0xFFFFU << low : 0xFFFFU, to = high < LANES - 1 ? (2U << high) - 1 : 0xFFFFU;
    return from & to & 0xFFFFU;
}

/* Forgets the parts (sap_jstore_part) of lost addresses, which are recorded in the index column. */
static void forget_word(struct sap_segment *s, int w, unsigned bits)
{
    for (; bits; bits &= bits - 1) s->index[w * LANES + __builtin_ctz(bits)] = 0;
}

/* Marks addresses first .. last as lost in segment number `at`; addresses outside the segment are ignored. */
static void lose_in_segment(struct sap_jstore *store, int at, int first, int last)
{
    struct sap_segment *const s = store->segment[at];
    const int base = at * SAP_SEGMENT;
    const int from = first > base ? (first - base) / LANES : 0;
    const int to = last < base + SAP_SEGMENT - 1 ? (last - base) / LANES : WORDS - 1;
    store->version++;
    for (int w = from; w <= to; w++) {
        const unsigned bits = bits_between(base, w, first, last);
        store->count -= __builtin_popcount(bits & s->occupied[w]);
        store->lost += __builtin_popcount(bits & ~(unsigned)s->lost[w]);
        s->occupied[w] = (uint16_t)(s->occupied[w] & ~bits);
        s->changed[w] = (uint16_t)(s->changed[w] & ~bits);
        s->lost[w] = (uint16_t)(s->lost[w] | bits);
        if (s->ready[w * LANES / SAP_CPU_SUPERPACKET]) forget_word(s, w, bits);
        s->version[w * LANES / SAP_CPU_SUPERPACKET] = store->version;
    }
}

void sap_jstore_settle_ranges(struct sap_jstore *store, int at)
{
    const int base = at * SAP_SEGMENT, end = base + SAP_SEGMENT - 1;
    struct sap_ranges *const set = &store->lost_elsewhere;
    for (int k = set->n - 1; k >= 0; k--) {
        const struct sap_range r = set->range[k];
        if (r.first <= end && r.last >= base)
            lose_in_segment(store, at, r.first > base ? r.first : base, r.last < end ? r.last : end);
        if (first_without_segment(store, r) > r.last) set->range[k] = set->range[--set->n];
    }
}

void sap_jstore_found(struct sap_jstore *store, struct sap_segment *s, unsigned word, unsigned bits)
{
    store->lost -= __builtin_popcount(bits & s->lost[word]);
    s->lost[word] = (uint16_t)(s->lost[word] & ~bits);
}

/* -------------------------------------------------------------------- both */

void sap_jstore_lose(struct sap_jstore *store, int first, int n)
{
    store->losses++;
    for (int done = 0, part; done < n; done += part) {
        const int address = first + done, left = SAP_SEGMENT - address % SAP_SEGMENT;
        part = n - done < left ? n - done : left;
        if (sap_jstore_segment(store, address))
            lose_in_segment(store, address / SAP_SEGMENT, address, address + part - 1);
        else
            sap_ranges_add(&store->lost_elsewhere, (struct sap_range){address, address + part - 1});
    }
}

/* The lowest lost address below nj in a segment that begins at address `base`, or -1. */
static int first_in_segment(const struct sap_segment *s, int base, int nj)
{
    for (int w = 0; w < WORDS && base + w * LANES < nj; w++) {
        if (!s->lost[w]) continue;
        const int address = base + w * LANES + __builtin_ctz(s->lost[w]);
        return address < nj ? address : -1;
    }
    return -1;
}

int sap_jstore_first_lost(const struct sap_jstore *store, int nj)
{
    int first = nj;
    for (int at = 0; at < store->segments && at * SAP_SEGMENT < nj && store->lost > 0; at++) {
        const int found = store->segment[at] ? first_in_segment(store->segment[at], at * SAP_SEGMENT, nj) : -1;
        if (found < 0) continue;
        first = found;
        break;
    }
    for (int k = 0; k < store->lost_elsewhere.n; k++) {
        const struct sap_range r = store->lost_elsewhere.range[k];
        const int found = first_without_segment(store, r);
        if (found <= r.last && found < first) first = found;
    }
    return first < nj ? first : -1;
}

int sap_jstore_is_lost(const struct sap_jstore *store, int address)
{
    if (address < 0 || address >= SAP_ADDRESSES) return 0;
    const struct sap_segment *const s = sap_jstore_segment(store, address);
    const int in = address % SAP_SEGMENT;
    if (s) return s->lost[in / LANES] >> in % LANES & 1;
    return sap_ranges_have(&store->lost_elsewhere, address);
}
