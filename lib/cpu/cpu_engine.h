/* cpu_engine.h - what the files of the CPU engine share. */
#ifndef SAP_CPU_ENGINE_H
#define SAP_CPU_ENGINE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "engine/engine.h"
#include "isa.h"
#include "kernel.h"

extern const struct sap_engine sap_engine_cpu;
extern const struct sap_tree_ops sap_tree_cpu; /* tree/cpu_tree.c */

struct sap_cpu_set {
    const struct sap_kernel *kernel;
    struct sap_kernel unbiased; /* that one, where scales of its own take the bias of this processor's seeds out */
    enum sap_isa isa;
    int precision;
    int fast; /* roots */
    int threads;
    struct sap_batch_worker **worker; /* [workers] memory of each thread for many small forces; NULL: not used yet */
    int workers;
    struct sap_rows *rows; /* for forces from lists (cpu_neighbour.h); NULL: there was none */
};

/* Predicted j of one tile in packet order, and what they were made of. */
struct sap_predicted {
    void *records; /* NULL: never made */
    double time;
    uint64_t version; /* of the tile in the host's copy; 0: nothing valid */
    int n;            /* addresses from the first of the tile that were predicted */
    int far;          /* some of them lie beyond SAP_FAR */
    int soft;         /* there is room for softening of their own */
};

struct sap_cpu_store {
    const struct sap_cpu_set *devices;
    struct sap_jstore *host;         /* of which only changes are taken, for rows */
    struct sap_predicted *predicted; /* one a tile */
    int tiles;
    struct {
        double speed, time;
        uint64_t version; /* of the host's copy; 0: nothing valid */
        int nj;
    } fastest; /* see sap_cpu_fastest */
};

struct sap_list {
    const int32_t *entries;
    int n;
};

struct sap_cpu_force {
    struct sap_lock lock; /* guards what threads add to: coincident, chunks */
    struct sap_force_request request;
    const double *scale; /* of the sums, from the kernel */
    int nj;              /* addresses that take part: not more than are loaded */
    unsigned have;       /* sap_extra */
    int failed;          /* status of a failure after `begin` that left no results */
    int coincident;      /* an i-particle that met another particle at zero distance, or -1 */
    int room;            /* rows that the arrays below can hold */
    int sums;            /* of a row */
    double *sum;         /* [room][sums] */
    int32_t *nearest;
    double *nearest_r2;
    struct sap_list *list;
    int32_t **chunk; /* memory of the lists */
    int chunks, chunk_room;
    struct sap_accum *accum; /* [room][sums]; NULL unless asked for */
};

/* Columns of a tile; NULL if nobody is there. */
const struct sap_columns *sap_cpu_columns(const struct sap_cpu_store *store, int tile, struct sap_columns *columns,
                                          int *terms);

/* Addresses of a tile that lie below nj. */
int sap_cpu_tile_count(int tile, int nj);

/* Whether a tile's predicted records can be used; somebody must be there. */
int sap_cpu_tile_valid(const struct sap_cpu_store *store, int tile, double time, int nj);

/* The same of tiles 0 .. tiles-1, as far as they hold particles. */
int sap_cpu_all_valid(const struct sap_cpu_store *store, int tiles, double time, int nj);

/* Makes tiles 0 .. tiles-1 valid for nj addresses at `time`. */
int sap_cpu_predict(struct sap_cpu_store *store, double time, int nj, int threads);

/* A bound of the coordinates of all predicted velocities: it depends on nothing but these particles and the time. */
double sap_cpu_fastest(struct sap_cpu_store *store, double time, int nj);

/* Computes sums and, if `extra` says so, neighbours; sums already there are left alone. */
int sap_cpu_compute(struct sap_cpu_store *store, struct sap_cpu_force *force, unsigned extra);

/* Many small forces (cpu_batch.c). */
int sap_cpu_batch(struct sap_device_set *devices, struct sap_store *store, const struct sap_jstore *host,
                  const struct sap_batch *batch);

/* Gives back the memory that sap_cpu_batch keeps with the devices. */
void sap_cpu_batch_free(struct sap_cpu_set *devices);

/* Neighbour forces, and the rows that other engines copy (cpu_neighbour.c): functions of the table. */
int sap_cpu_neighbour(struct sap_store *store, const struct sap_neighbour_context *context,
                      const struct sap_neighbour_request *request);
int sap_cpu_rows(struct sap_device_set *devices, struct sap_jstore *host, double time, struct sap_given *given);
void sap_cpu_rows_copied(struct sap_device_set *devices, int copied);

/* ---- neighbours (cpu_near.c) ---- */

/* Everything needed to decide who is near one i-particle. */
struct sap_judge {
    const struct sap_cpu_store *store;
    const struct sap_cpu_force *force;
    int use_records; /* predicted records of all tiles are valid */
    int holes;       /* some addresses below nj may hold no particle */
    double fastest;  /* sap_cpu_fastest, where the rule looks ahead */
};

/* Squared radius within which a kernel finds all members of a list with radius^2 h2 around i-particle i. */
double sap_near_reach(const struct sap_judge *judge, int i, double h2);

/* Squared radius within which it finds nobody else. */
double sap_near_sure(const struct sap_judge *judge, int i, double h2);

/*
 * The same of SAP_PAIRS_OUTSIDE: of the particle of mass m, candidates are within reach + m weight, and members within
 * sure + m sure_weight.  Margins are wide, since candidates that are no members after all are few.
 */
struct sap_sphere {
    double reach, weight, sure, sure_weight;
};
struct sap_sphere sap_near_reach_outside(const struct sap_judge *judge, int i);

/* Address of the nearest among all particles that can be it, or -1; *r2 is its squared distance. */
int sap_near_in_all(const struct sap_judge *judge, int i, double *r2);
int sap_near_in_hits(const struct sap_judge *judge, int i, uint32_t lane, const struct sap_hits *hits, double *r2);

/*
 * The same out of what a kernel found.  -2: particles outside the block may be as near, up to *reach (squared);
 * 0 if everybody must be looked at.
 */
int sap_near_of(const struct sap_judge *judge, int i, const struct sap_near *near, double *r2, double *reach);

/*
 * Writes the indices of those of n candidates that belong into the list of i; returns how many.  The addresses of the
 * others go before `out`, unless it is NULL; *nout is raised by their number.  n places are enough for both together.
 */
int sap_near_members(const struct sap_judge *judge, int i, const struct sap_hit *hit, int n, int32_t *entries,
                     int32_t *out, int *nout);

/*
 * The pair of i and a particle by address, in double and in true scale and sign: pot, acc[3], jerk[3]; 0: it does not
 * count, being at zero distance (cpu_outside.c).
 */
int sap_outside_pair(const struct sap_judge *judge, int i, int address, double *term);

/* Sorts and keeps each entry once; returns how many are left. */
int sap_sort_indices(const struct sap_kernel *kernel, int32_t *entries, int n);

#endif
