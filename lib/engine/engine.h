/*
 * engine.h - the tables of functions through which a context computes.
 *
 * An engine answers one question: the force on these i-particles from those
 * j-particles.  A context knows engines only through these tables; an entry
 * that is NULL is not supported, and the context answers for it.  The CPU
 * engine is lib/cpu/cpu_engine.c.  Accelerators share one host flow (lib/gpu) over a
 * small driver interface; trees have a table of their own beside `force`, and several devices or ranks meet in the
 * accumulators.
 *
 * All functions return a sapporo_status.  A context serialises the calls on
 * its own objects; different contexts call concurrently.
 */
#ifndef SAP_ENGINE_H
#define SAP_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/accum.h"
#include "engine/jstore.h"
#include "engine/options.h"
#include "engine/small_forces.h"
#include "engine/tree_ops.h"
#include "sapporo.h"

/*
 * What an engine makes.  These types are never completed: an engine casts a pointer to a type of its own in each
 * function of its tables, so no two engines define the same struct.
 */
struct sap_device_set; /* the devices of one context */
struct sap_store;      /* the j-particles of one context */
struct sap_force;      /* a force that was begun */
struct sap_tree;       /* a tree with its particles */

/* Which pairs count. */
enum sap_pair_rule {
    SAP_PAIRS_ALL,      /* every j */
    SAP_PAIRS_SKIP_OWN, /* not those with the index of i */
    SAP_PAIRS_OUTSIDE /* not those within h of i, which make its list (regular force of Ahmad-Cohen schemes); order 4 */
};

/* Softening beyond the common one. */
enum sap_soft {
    SAP_SOFT_I = 1, /* of each i-particle */
    SAP_SOFT_J = 2  /* of each j-particle */
};

/* Outputs beyond the sums. */
enum sap_extra {
    SAP_EXTRA_NEAREST = SAPPORO_WANT_NEAREST,
    SAP_EXTRA_LISTS = SAPPORO_WANT_LISTS,
    SAP_EXTRA_ACCUM = 4 /* sums as accumulators, for merging with those of other devices or ranks */
};

/*
 * i-particles and what is wanted of them.  The arrays belong to the context and
 * stay as they are until the force is dropped.
 */
struct sap_force_request {
    int nj, ni;
    double time;             /* to which j-particles are predicted; 0 in order 2, which does not predict */
    const double (*x)[3];    /* [ni] */
    const double (*v)[3];    /* [ni] */
    const double (*a)[3];    /* [ni] of orders 6 and 8, else NULL */
    const double (*jerk)[3]; /* [ni] of order 8, else NULL */
    const int32_t *index;    /* [ni], or NULL */
    const double *h2;        /* [ni] squared radii >= 0, or NULL: no lists */
    double eps2;             /* squared softening, common */
    const double *eps2_i;    /* [ni] that and the i-particle's own together, NULL: all is common; needs SAP_SOFT_I */
    int far;                 /* 1: some coordinate is beyond SAP_FAR */
    enum sap_pair_rule rule; /* SAP_PAIRS_SKIP_OWN needs index; SAP_PAIRS_OUTSIDE needs extra lists if any h2 > 0 */
    const double *dtr;       /* [ni] of SAP_PAIRS_OUTSIDE: also within h this time later, on straight lines; or NULL */
    int h2_by_mass;          /* of SAP_PAIRS_OUTSIDE: h2 is multiplied by the mass of j */
    unsigned extra;          /* sap_extra: to be computed at once */
};

/* Results, in arrays of the engine: valid until the force is begun anew or dropped.  NULL: not computed. */
struct sap_force_output {
    int rows;                      /* [ni] below means these: rows that are complete */
    const double *sum;             /* pot, acc[3], jerk[3], ... as the order has, in true scale and sign: number q of */
    ptrdiff_t sum_row, sum_column; /* row i is sum[i * sum_row + q * sum_column] */
    const struct sap_accum *accum; /* the same as accumulators: round that at i * accum_row + q, multiply by scale q */
    ptrdiff_t accum_row;
    double accum_scale[13];
    const int32_t *nearest;   /* [ni] index of the nearest, -1: none */
    const double *nearest_r2; /* [ni] its squared distance, infinity: none */
    int coincident;           /* an i-particle (its place) that met another at zero distance, or -1 */
};

struct sap_store_ops {
    /* `host` outlives the store; engines that work on it directly copy nothing, others take its changes. */
    int (*create)(struct sap_device_set *devices, struct sap_jstore *host, struct sap_store **store);
    void (*destroy)(struct sap_store *store);
    /*
     * Takes particles that will be stored in the host's copy, at addresses that hold one, once the next force has
     * begun; later ones replace earlier ones of the same address.  `rest` are their further derivatives, NULL where the
     * order has none.  On failure nothing was taken.  NULL: the engine works on the host's copy, or finds out itself
     * what changed there.
     */
    int (*put)(struct sap_store *store, const struct sap_staged *particles,
               const double (*rest)[SAP_DERIVATIVES_REST][3], int n);
    /* Bytes that nj particles take on the devices and beyond the host's copy on the host. */
    size_t (*memory)(const struct sap_device_set *devices, int nj, size_t *device_bytes);
    /* Why the last call on the store or on one of its forces failed, "": nothing to add to its status; NULL: never. */
    const char *(*words)(const struct sap_store *store);
};

struct sap_force_ops {
    /* sap_soft that it can do; NULL: none. */
    unsigned (*softening)(const struct sap_device_set *devices);
    /* Starts; the store must not change until `begin` returns.  *force is reused if it is not NULL. */
    int (*begin)(struct sap_store *store, const struct sap_force_request *request, struct sap_force **force);
    /*
     * Supplies more outputs; the store must hold what it held at `begin`.  If it fails the force has what it had,
     * or `end` fails too; `extra` may be tried again.
     */
    int (*extra)(struct sap_store *store, struct sap_force *force, unsigned extra);
    unsigned (*have)(const struct sap_force *force); /* sap_extra that were computed */
    int (*done)(struct sap_force *force);            /* 1: `end` would not wait */
    /*
     * Waits for rows beyond `from` and delivers those from the first on, perhaps not all, so that they can be copied
     * while the rest is computed; may be repeated.  `coincident` is known once all are there.
     */
    int (*end)(struct sap_force *force, int from, struct sap_force_output *output);
    /* The list of i-particle i, sorted by index, each once; needs SAP_EXTRA_LISTS. */
    int (*list)(struct sap_force *force, int i, const int32_t **entries, int *n);
    void (*drop)(struct sap_force *force);
};

/* What an engine answers where it leaves a call to the fallback engine; no sapporo_status has this value. */
enum { SAP_LEFT = 100 };

/* The engine that computes what another one leaves, opened beside it. */
struct sap_fallback {
    const struct sap_engine *engine;
    struct sap_device_set *devices; /* NULL: not opened yet */
};

/* Where neighbour forces are computed. */
struct sap_neighbour_context {
    struct sap_device_set *devices;
    struct sap_jstore *host;
    int takes_changes;                   /* 1: the call may consume the list of changes of `host` */
    const struct sap_fallback *fallback; /* opened; NULL: the engine itself is the fallback */
    struct sap_notes *notes;             /* for warnings */
};

struct sap_engine {
    sapporo_backend backend;
    const char *name;
    int (*count)(void);          /* devices; 0: none */
    const char *(*absent)(void); /* why there are none; NULL: there always are some */
    int (*automatic)(void);      /* of them, those that may be used where no backend is named; NULL: all */
    int (*describe)(int number, sapporo_device *device);
    /* Opens on the devices that the settings name; on failure `why` tells. */
    int (*open)(const struct sap_settings *settings, struct sap_device_set **devices, char *why, size_t room);
    void (*close)(struct sap_device_set *devices);
    /* What the bits of results depend on. */
    void (*kind)(const struct sap_device_set *devices, char *text, size_t room);
    int (*threads)(const struct sap_device_set *devices);
    /* j-particles below which the CPU engine is faster, as the tuning file says; NULL: never. */
    int (*cpu_below)(const struct sap_device_set *devices);
    const struct sap_store_ops *store;
    const struct sap_force_ops *force;
    /*
     * Computes a batch of small forces of order 2.  Sources by address come from `host`, which is complete, or from
     * `store`, which is NULL on the fallback.  SAPPORO_PARTIAL: some i-particles are not finite.  NULL: left to the
     * fallback.
     */
    int (*batch)(struct sap_device_set *devices, struct sap_store *store, const struct sap_jstore *host,
                 const struct sap_batch *batch);
    /*
     * Computes neighbour forces, or answers SAP_LEFT.  All engines that compute them give the same bits.
     * SAPPORO_PARTIAL: some rows are NaN, since an address holds no particle.  NULL: left to the fallback.
     */
    int (*neighbour)(struct sap_store *store, const struct sap_neighbour_context *context,
                     const struct sap_neighbour_request *request);
    /*
     * Of the fallback only: the particles of `host` in rows, whose changes are consumed.  SAP_LEFT: no other engine
     * may compute from rows, because its bits would differ or because most addresses are empty.
     */
    int (*rows)(struct sap_device_set *devices, struct sap_jstore *host, double time, struct sap_given *given);
    /* Tells the fallback whether another engine now has a copy of the rows. */
    void (*rows_copied)(struct sap_device_set *devices, int copied);
    const struct sap_tree_ops *tree; /* NULL: none */
};

/* The engines of this build in order of preference; ends with NULL (lib/engines.c). */
extern const struct sap_engine *const sap_engines[];

/* The last of these: it has a device on every machine, and computes what others leave. */
const struct sap_engine *sap_fallback_engine(void);

static inline int sap_neighbour_by_fallback(const struct sap_neighbour_context *context,
                                            const struct sap_neighbour_request *request)
{
    struct sap_neighbour_context own = *context;
    if (context->fallback) own.devices = context->fallback->devices;
    own.fallback = NULL;
    return sap_fallback_engine()->neighbour(NULL, &own, request);
}

#endif
