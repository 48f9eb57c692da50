/* ranges.h - sets of addresses of j-particles that need no allocated memory. */
#ifndef SAP_RANGES_H
#define SAP_RANGES_H

#include <stdint.h>

enum {
    SAP_ADDRESSES = 1 << 30, /* number of addresses: an address is below it */
    SAP_RANGES_MOST = 16     /* largest number of ranges in a set */
};

/* The addresses first .. last. */
struct sap_range {
    int32_t first, last;
};

/* A set of addresses in fixed memory.  It is approximate: it may also have addresses that lie between added ranges. */
struct sap_ranges {
    int n;
    struct sap_range range[SAP_RANGES_MOST];
};

/* The number of addresses between two ranges; 0 if they touch or overlap. */
static inline int sap_ranges_gap(struct sap_range a, struct sap_range b)
{
    if (a.first > b.last) return a.first - b.last - 1;
    return b.first > a.last ? b.first - a.last - 1 : 0;
}

/* The index of the range of a set that is nearest to r; the set must not be empty. */
static inline int sap_ranges_nearest(const struct sap_ranges *set, struct sap_range r)
{
    int best = 0;
    for (int k = 1; k < set->n; k++)
        if (sap_ranges_gap(set->range[k], r) < sap_ranges_gap(set->range[best], r)) best = k;
    return best;
}

/* Adds a range.  If the set is full, the range is merged with the nearest one, and the gap between them is added too.
 */
static inline void sap_ranges_add(struct sap_ranges *set, struct sap_range r)
{
    while (set->n > 0) {
        const int k = sap_ranges_nearest(set, r);
        const struct sap_range near = set->range[k];
        if (sap_ranges_gap(near, r) > 0 && set->n < SAP_RANGES_MOST) break;
        r.first = near.first < r.first ? near.first : r.first;
        r.last = near.last > r.last ? near.last : r.last;
        set->range[k] = set->range[--set->n];
    }
    set->range[set->n++] = r;
}

/* 1 if an address is in a set. */
static inline int sap_ranges_have(const struct sap_ranges *set, int address)
{
    for (int k = 0; k < set->n; k++)
        if (set->range[k].first <= address && address <= set->range[k].last) return 1;
    return 0;
}

#endif
