/* small_forces.h - what an engine is asked for in batches of small forces and in neighbour forces. */
#ifndef SAP_SMALL_FORCES_H
#define SAP_SMALL_FORCES_H

#include <stddef.h>
#include <stdint.h>

#include "sapporo.h"

/* Addresses that lists name again and again; n 0: none.  `number` tells them from all that were kept before. */
struct sap_kept {
    const int *address;
    size_t n;
    uint64_t number;
};

static inline int sap_is_kept(const struct sap_kept *kept, const sapporo_small_force *l)
{
    const uintptr_t from = (uintptr_t)kept->address, at = (uintptr_t)l->address;
    return l->address && at >= from && (at - from) / sizeof(int) + (size_t)l->nj <= kept->n;
}

/* Many small forces: arrays of the caller, whose elements lie their own `size` apart.  All have been checked. */
struct sap_batch {
    int nlists;
    const sapporo_small_force *lists;
    const sapporo_result *results;
    struct sap_kept kept;
};

/* Forces of order 4 on particles by address, each from a list of others.  Arrays of the caller; outputs NULL: not
 * wanted. */
struct sap_neighbour_request {
    int ni;
    const int *address, *length; /* [ni] */
    const int *const *list;      /* [ni] of `length` addresses */
    double eps2, time;
    double (*acc)[3], (*jerk)[3], *pot;
    int *nearest;
    double *nearest_r2;
};

/* The particles of a store in rows (lib/cpu/cpu_neighbour.h), for engines that keep a copy. */
struct sap_given {
    const double *row; /* [upper] of `words` doubles */
    int words, upper;
    const int32_t *changed; /* [nchanged] addresses whose rows have, since the last call */
    int nchanged;           /* < 0: any may have */
};

static inline const sapporo_small_force *sap_batch_force(const struct sap_batch *m, int k)
{
    return (const sapporo_small_force *)(const void *)((const char *)m->lists + (size_t)k * m->lists->size);
}

static inline const sapporo_result *sap_batch_result(const struct sap_batch *m, int k)
{
    return (const sapporo_result *)(const void *)((const char *)m->results + (size_t)k * m->results->size);
}

#endif
