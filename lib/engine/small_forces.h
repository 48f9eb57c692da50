/* small_forces.h - the requests to an engine for batches of small forces and for neighbour forces. */
#ifndef SAP_SMALL_FORCES_H
#define SAP_SMALL_FORCES_H

#include <stddef.h>
#include <stdint.h>

#include "base/structs.h"
#include "sapporo.h"

/* The addresses of sapporo_keep_addresses, which lists use repeatedly; n 0: none.  Each call has another `number`. */
struct sap_kept {
    const int *address;
    size_t n;
    uint64_t number;
};

/* Whether all addresses of a small force lie in the kept array. */
static inline int sap_is_kept(const struct sap_kept *kept, const sapporo_small_force *l)
{
    const uintptr_t from = (uintptr_t)kept->address, at = (uintptr_t)l->address;
    return l->address && at >= from && (at - from) / sizeof(int) + (size_t)l->nj <= kept->n;
}

/* A batch of small forces, checked.  The arrays are the caller's; the stride is the `size` of their first element.
 * Their structs may lack the members that the first version lacks (sap_struct_copy). */
struct sap_batch {
    int nlists;
    const sapporo_small_force *lists;
    const sapporo_result *results;
    struct sap_kept kept;
    int more; /* 1: some list asks for more than monopoles, so all lists are computed in double */
    long long by_address, own, targets; /* sources by address, own sources and targets of all lists */
    int soft_own;                       /* 1: some list's own sources have softening */
    /*
     * Above 0: the context has not looked at the addresses. Each must be below this, and none is negative; if not, the
     * engine returns SAPPORO_ERR_ARGUMENT.  Only for engines with `looks_at_addresses`.
     */
    int below;
};

/* Neighbour forces of order 4: each target particle is an address with a list of addresses of source particles.  The
 * arrays are the caller's.  An output that is NULL is not wanted. */
struct sap_neighbour_request {
    int ni;
    const int *address, *length; /* [ni] */
    const int *const *list;      /* [ni] of `length` addresses */
    double eps2, time;
    double (*acc)[3], (*jerk)[3], *pot;
    int *nearest;
    double *nearest_r2;
};

/* The particles of a store as rows (lib/cpu/cpu_neighbour.h), for engines that have a copy of the rows. */
struct sap_given {
    const double *row; /* [upper] of `words` doubles */
    int words, upper;
    const int32_t *changed; /* [nchanged] addresses whose rows have changed since the last call */
    int nchanged;           /* < 0: any row may have changed */
};

/* The squared floor of target i of a small force with all members: the larger of the common one and its own. */
static inline double sap_small_floor2(const sapporo_small_force *l, int i)
{
    const double own = sap_column_double(&l->floor2_i, i);
    return own > l->floor2 ? own : l->floor2;
}

/* Small force k of a batch. */
static inline const sapporo_small_force *sap_batch_force(const struct sap_batch *m, int k)
{
    return (const sapporo_small_force *)(const void *)((const char *)m->lists + (size_t)k * m->lists->size);
}

/* The result of small force k of a batch. */
static inline const sapporo_result *sap_batch_result(const struct sap_batch *m, int k)
{
    return (const sapporo_result *)(const void *)((const char *)m->results + (size_t)k * m->results->size);
}

#endif
