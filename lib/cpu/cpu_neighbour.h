/*
 * cpu_neighbour.h - particles in rows, for neighbour forces.
 *
 * The columns of the host's copy serve forces of all particles on some. A member of a list would touch a dozen cache
 * lines in them. So a context that computes neighbour forces keeps each particle once more in a row (kernel.h), and its
 * prediction in another row, which is computed when a list first names the particle.
 */
#ifndef SAP_CPU_NEIGHBOUR_H
#define SAP_CPU_NEIGHBOUR_H

#include <stdint.h>

#include "cpu/cpu_engine.h"

/* Arrays by address. */
enum {
    SAP_ROWS_GIVEN,
    SAP_ROWS_PREDICTED, /* preceded by the row of no particle */
    SAP_ROWS_STAMP,
    SAP_ROWS_WANTED,
    SAP_ROWS_CHANGED,
    SAP_ROWS_ARRAYS
};

/* Memory of an array. */
struct sap_rows_area {
    void *memory;
    size_t mapped; /* bytes of a mapping; 0: from malloc */
};

struct sap_rows {
    int room, terms; /* addresses that fit, and their highest derivative: 3 or 4 */
    int sparse;      /* most addresses are empty: memory is mapped, and takes pages only where it is written */
    struct sap_rows_area area[SAP_ROWS_ARRAYS];
    double *given;   /* terms + 1 groups of four words each */
    void *predicted; /* row of address 0 */
    ptrdiff_t row_bytes;

    /* [room]: `now` if the particle exists and is predicted; bytes, so that the array stays in the caches */
    unsigned char *stamp;
    unsigned char now;
    double time;      /* of the predictions */
    uint64_t version; /* of the host's copy */
    int all;          /* all particles are predicted */
    int far;          /* some predicted particle lies beyond SAP_FAR */

    int32_t *wanted; /* [room + 1]: particles to be predicted */
    int nwanted;
    uint64_t seen; /* version of the host's copy whose changes were taken */

    int32_t *changed; /* [room]: rows that changed since the last copy of the rows was made */
    int nchanged;     /* -1: all may have changed */
};

static inline double *sap_rows_given(const struct sap_rows *rows, int address)
{
    return rows->given + (ptrdiff_t)address * 4 * (rows->terms + 1);
}

/* Returns whether most addresses are empty, so that arrays of all addresses would be mostly holes. */
static inline int sap_rows_sparse(const struct sap_jstore *host)
{
    enum { SOME = 65536 };
    return host->upper - SOME > 2 * (int64_t)host->count;
}

void sap_rows_free(struct sap_rows *rows);

/*
 * Returns the rows of `devices` for the particles of host at a time, or NULL if memory is short. `changes` is host if
 * its changes may be taken. If it is NULL, rows are copied whenever they are predicted.
 */
struct sap_rows *sap_rows_at(struct sap_cpu_set *devices, const struct sap_jstore *host, struct sap_jstore *changes,
                             double time);

/* Notes which of n addresses still need a prediction; 0 if an address is beyond the end of the store. */
int sap_rows_want(struct sap_rows *rows, int upper, const int *address, int n);

/*
 * gcc deletes calls to functions that only prefetch, because it takes them for pure; these are therefore always
 * inlined.
 */
#define SAP_ONLY_FETCHES __attribute__((always_inline)) static inline

/* Prefetches a list that will be needed soon. */
SAP_ONLY_FETCHES void sap_rows_fetch_list(const int *list, int n)
{
    enum { LINE = 64 / sizeof *list, LINES = 16 };
    for (int k = 0; k < n && k < LINES * LINE; k += LINE) __builtin_prefetch(list + k);
}

/* Prefetches a given row; the address may be invalid. */
SAP_ONLY_FETCHES void sap_rows_fetch_given(const struct sap_rows *rows, int address)
{
    const double *const row = sap_rows_given(rows, address);
    __builtin_prefetch(row);
    __builtin_prefetch(row + 8);
}

/* Discards the noted addresses and the predictions. */
void sap_rows_forget(struct sap_rows *rows);

/* Removes noted addresses without a particle: they are not stamped. Returns 0 if there are some. */
int sap_rows_leave_out(struct sap_rows *rows, const struct sap_jstore *host);

/* Predicts the noted particles. */
void sap_rows_predict(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host, int copy,
                      int threads);

/* Predicts all particles; no address may be empty. */
void sap_rows_predict_all(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host,
                          int copy, int threads);

#endif
