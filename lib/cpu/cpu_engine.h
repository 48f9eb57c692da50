/* cpu_engine.h - shared declarations of the CPU engine. */
#ifndef SAP_CPU_ENGINE_H
#define SAP_CPU_ENGINE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "engine/engine.h"
#include "isa.h"
#include "kernel.h"

extern const struct sap_engine sap_engine_cpu;
extern const struct sap_tree_maker sap_cpu_tree_maker; /* tree/cpu_tree.c */
extern const struct sap_tree_ops sap_cpu_tree_ops;

struct sap_cpu_set {
    const struct sap_kernel *kernel;
    /* the same kernel; its own scales remove the mean error of this processor's root seeds */
    struct sap_kernel unbiased;
    enum sap_isa isa;
    int precision;
    int fast;  /* reciprocal square roots are fast */
    int mixed; /* forces of few particles are computed by other devices, in dp */
    int threads;
    /* [workers] memory of each thread for batches of small forces; NULL: not used yet */
    struct sap_batch_worker **worker;
    int workers;
    struct sap_rows *rows; /* for neighbour forces (cpu_neighbour.h); NULL: none yet */
};

/* Memory of one thread for lists in double that ask for more than monopoles (cpu_batch_more.c): a list's sources. */
struct sap_more_memory {
    double *column;
    size_t room; /* elements per column */
    struct sap_more_args args;
};

/* Loads the sources of such a list, a struct with all members, for rows of it. */
int sap_cpu_more_load(struct sap_more_memory *memory, const struct sap_jstore *host, const sapporo_small_force *list);

/* Computes row i of the list that is loaded; NaN and -1 if the target is not finite, and returns whether it is finite.
 */
int sap_cpu_more_row(const struct sap_more_memory *memory, const struct sap_kernel *kernel,
                     const sapporo_small_force *list, int i, const sapporo_result *result);

/* Computes a list; both structs have all members. */
int sap_cpu_batch_more(struct sap_more_memory *memory, const struct sap_kernel *kernel, const struct sap_jstore *host,
                       const sapporo_small_force *list, const sapporo_result *result);

/* Predicted j-particles of one tile in packet order, and their validity. */
struct sap_predicted {
    void *records; /* NULL: not allocated yet */
    double time;
    uint64_t version; /* of the tile in the host's copy; 0: not valid */
    int n;            /* predicted addresses, counted from the first of the tile */
    int far;          /* some predicted particle lies beyond SAP_FAR */
    int soft;         /* the records have space for softening per j-particle */
};

struct sap_cpu_store {
    const struct sap_cpu_set *devices;
    struct sap_jstore *host;         /* the host's copy; the store only takes its changes, for rows */
    struct sap_predicted *predicted; /* one per tile */
    int tiles;
    struct {
        double speed, time;
        uint64_t version; /* of the host's copy; 0: not valid */
        int nj;
    } fastest; /* see sap_cpu_fastest */
};

struct sap_list {
    const int32_t *entries;
    int n;
};

struct sap_cpu_force {
    struct sap_lock lock; /* guards the members that threads change: coincident, chunks */
    struct sap_force_request request;
    const double *scale; /* factors of the sums, from the kernel */
    int nj;              /* addresses that take part: at most as many as are loaded */
    unsigned have;       /* sap_extra */
    int failed;          /* status of a failure after `begin` that left no results */
    int coincident;      /* an i-particle at zero distance from another particle, or -1 */
    int room;            /* rows that the arrays below can hold */
    int sums;            /* per row */
    double *sum;         /* [room][sums] */
    int32_t *nearest, *nearest_address;
    double *nearest_r2;
    struct sap_list *list;
    int32_t **chunk; /* memory of the lists */
    int chunks, chunk_room;
    struct sap_accum *accum; /* [room][sums]; NULL unless requested */
};

/* Returns the columns of a tile; NULL if it has no particles. */
const struct sap_columns *sap_cpu_columns(const struct sap_cpu_store *store, int tile, struct sap_columns *columns,
                                          int *terms);

/* Returns the number of addresses of a tile below nj. */
int sap_cpu_tile_count(int tile, int nj);

/* Returns whether a tile's predicted records are valid. The tile must have particles. */
int sap_cpu_tile_valid(const struct sap_cpu_store *store, int tile, double time, int nj);

/* Returns whether the records of all tiles 0 .. tiles-1 with particles are valid. */
int sap_cpu_all_valid(const struct sap_cpu_store *store, int tiles, double time, int nj);

/* Makes tiles 0 .. tiles-1 valid for nj addresses at `time`. */
int sap_cpu_predict(struct sap_cpu_store *store, double time, int nj, int threads);

/* Returns a bound of the coordinates of all predicted velocities. It depends only on these particles and the time. */
double sap_cpu_fastest(struct sap_cpu_store *store, double time, int nj);

/* Computes sums and, if `extra` asks for them, neighbours; existing sums are kept. */
int sap_cpu_compute(struct sap_cpu_store *store, struct sap_cpu_force *force, unsigned extra);

/* Computes a batch of small forces (cpu_batch.c). */
int sap_cpu_batch(struct sap_device_set *devices, struct sap_store *store, const struct sap_jstore *host,
                  const struct sap_batch *batch);

/* Frees the memory that sap_cpu_batch keeps with the devices. */
void sap_cpu_batch_free(struct sap_cpu_set *devices);

/* Entries of the engine table: neighbour forces, and the rows that other engines copy (cpu_neighbour.c). */
int sap_cpu_neighbour(struct sap_store *store, const struct sap_neighbour_context *context,
                      const struct sap_neighbour_request *request);
int sap_cpu_rows(struct sap_device_set *devices, struct sap_jstore *host, double time, struct sap_given *given);
void sap_cpu_rows_copied(struct sap_device_set *devices, int copied);

/* ---- neighbours (cpu_near.c) ---- */

/* The input for decisions about the neighbours of i-particles. */
struct sap_judge {
    const struct sap_cpu_store *store;
    const struct sap_cpu_force *force;
    int use_records; /* the predicted records of all tiles are valid */
    int holes;       /* some addresses below nj may hold no particle */
    double fastest;  /* sap_cpu_fastest, if the rule looks ahead in time */
};

/* Returns the squared radius within which a kernel finds all members of a list with radius^2 h2 around i-particle i. */
double sap_near_reach(const struct sap_judge *judge, int i, double h2);

/* Returns the squared radius within which a kernel finds only members. */
double sap_near_sure(const struct sap_judge *judge, int i, double h2);

/*
 * The same for SAP_PAIRS_OUTSIDE: for a particle of mass m, candidates are within reach + m weight, and certain members
 * within sure + m sure_weight. The margins are wide, since candidates that are no members are rare.
 */
struct sap_sphere {
    double reach, weight, sure, sure_weight;
};
struct sap_sphere sap_near_reach_outside(const struct sap_judge *judge, int i);

/* Returns the address of the nearest of all eligible particles, or -1; *r2 is its squared distance. */
int sap_near_in_all(const struct sap_judge *judge, int i, double *r2);
int sap_near_in_hits(const struct sap_judge *judge, int i, uint32_t lane, const struct sap_hits *hits, double *r2);

/*
 * The same, from the result of a kernel. -2: particles outside the block may be as near, up to *reach (squared); 0 if
 * all particles must be compared.
 */
int sap_near_of(const struct sap_judge *judge, int i, const struct sap_near *near, double *r2, double *reach);

/*
 * Writes the indices of those of n candidates that are members of the list of i; returns their number. The addresses of
 * the remaining candidates are stored before `out`, unless it is NULL; *nout is raised by their number. n entries are
 * enough for both together.
 */
int sap_near_members(const struct sap_judge *judge, int i, const struct sap_hit *hit, int n, int32_t *entries,
                     int32_t *out, int *nout);

/*
 * Computes the pair of i and the particle at an address, in double and in true scale and sign: pot, acc[3], jerk[3].
 * Returns 0 for a pair at zero distance, which does not count (cpu_outside.c).
 */
int sap_outside_pair(const struct sap_judge *judge, int i, int address, double *term);

/* Sorts the entries and removes duplicates; returns the number that remains. */
int sap_sort_indices(const struct sap_kernel *kernel, int32_t *entries, int n);

#endif
