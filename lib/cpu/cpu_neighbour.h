/*
 * cpu_neighbour.h - particles in rows, for forces from lists.
 *
 * Columns of the host's copy serve forces of all on some.  Whoever is picked by a list would touch a dozen lines of
 * memory there, so a context whose forces come from lists keeps each particle once more in a row (kernel.h), and its
 * prediction in another, which is made when a list first names it.
 */
#ifndef SAP_CPU_NEIGHBOUR_H
#define SAP_CPU_NEIGHBOUR_H

#include <stdint.h>

#include "cpu/cpu_engine.h"

/* Arrays by address. */
enum {
    SAP_ROWS_GIVEN,
    SAP_ROWS_PREDICTED, /* with the row of no particle before them */
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
    int room, terms; /* addresses that there is memory for, and their highest derivative: 3 or 4 */
    int sparse;      /* most addresses are empty: memory is taken where it is written to */
    struct sap_rows_area area[SAP_ROWS_ARRAYS];
    double *given;   /* terms + 1 groups of four words each */
    void *predicted; /* that of address 0 */
    ptrdiff_t row_bytes;

    unsigned char *stamp; /* [room]: predicted if it is `now`, and the particle is there; bytes stay in the caches */
    unsigned char now;
    double time;      /* to which */
    uint64_t version; /* of the host's copy */
    int all;          /* all particles are predicted */
    int far;          /* one of those that are predicted lies beyond SAP_FAR */

    int32_t *wanted; /* [room + 1]: particles that are to be predicted */
    int nwanted;
    uint64_t seen; /* version of the host's copy of which changes were taken */

    int32_t *changed; /* [room]: rows that have since another copy of them was made */
    int nchanged;     /* -1: any may have */
};

static inline double *sap_rows_given(const struct sap_rows *rows, int address)
{
    return rows->given + (ptrdiff_t)address * 4 * (rows->terms + 1);
}

/* Whether so many addresses are empty that arrays of all addresses would be mostly holes. */
static inline int sap_rows_sparse(const struct sap_jstore *host)
{
    enum { SOME = 65536 };
    return host->upper - SOME > 2 * (int64_t)host->count;
}

void sap_rows_free(struct sap_rows *rows);

/*
 * The rows of `devices` for the particles of host at a time.  `changes` is host if its changes may be taken, or NULL:
 * then rows are copied whenever they are predicted.  NULL if memory is short.
 */
struct sap_rows *sap_rows_at(struct sap_cpu_set *devices, const struct sap_jstore *host, struct sap_jstore *changes,
                             double time);

/* Notes which of n addresses are to be predicted and are not yet; 0 if one of them is beyond the end of the store. */
int sap_rows_want(struct sap_rows *rows, int upper, const int *address, int n);

/* Functions that only ask the caches have no effect that gcc knows: where it did not inline them first, they were gone.
 */
#define SAP_ONLY_FETCHES __attribute__((always_inline)) static inline

/* Asks the caches for a list that will be needed soon. */
SAP_ONLY_FETCHES void sap_rows_fetch_list(const int *list, int n)
{
    enum { LINE = 64 / sizeof *list, LINES = 16 };
    for (int k = 0; k < n && k < LINES * LINE; k += LINE) __builtin_prefetch(list + k);
}

/* Asks for a given row; the address may be none. */
SAP_ONLY_FETCHES void sap_rows_fetch_given(const struct sap_rows *rows, int address)
{
    const double *const row = sap_rows_given(rows, address);
    __builtin_prefetch(row);
    __builtin_prefetch(row + 8);
}

/* Forgets what was noted and predicted. */
void sap_rows_forget(struct sap_rows *rows);

/* Predicts n particles, copied before that from `host` if it is not NULL. */
void sap_rows_predict_these(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host,
                            const int32_t *address, int n, int threads);

/* Leaves out noted addresses where nobody is: they are not stamped.  0 if there are some. */
int sap_rows_leave_out(struct sap_rows *rows, const struct sap_jstore *host);

/* Predicts those that were noted. */
void sap_rows_predict(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host, int copy,
                      int threads);

/* Predicts all; there must be no gaps. */
void sap_rows_predict_all(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host,
                          int copy, int threads);

#endif
