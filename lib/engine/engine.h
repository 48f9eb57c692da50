/*
 * engine.h - the tables of functions through which a context computes.
 *
 * An engine computes forces on i-particles from j-particles.  A context knows engines only through these tables.  An
 * entry that is NULL is not supported by the engine, and the context handles the call.  The CPU engine is
 * lib/cpu/cpu_engine.c.  Accelerators share their host code (lib/gpu) over a small driver interface.  Trees, steppers
 * and transfers from device to device have tables of their own.  Results of several devices or ranks are merged as
 * accumulators.
 *
 * Functions that return int return a sapporo_status unless their comment says otherwise.  A context serialises the
 * calls on its own objects; different contexts call concurrently.
 */
#ifndef SAP_ENGINE_H
#define SAP_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/accum.h"
#include "engine/caller_ops.h"
#include "engine/jstore.h"
#include "engine/options.h"
#include "engine/small_forces.h"
#include "engine/stepper_ops.h"
#include "engine/travel_ops.h"
#include "engine/tree_ops.h"
#include "sapporo.h"

/*
 * Objects that an engine creates.  These types are never completed: each engine casts the pointers to its own types,
 * so no two engines define the same struct.
 */
struct sap_device_set; /* the devices of one context */
struct sap_store;      /* the j-particles of one context */
struct sap_force;      /* a force that was begun */
struct sap_tree;       /* a tree with its particles */
struct sap_flight;     /* a batch of small forces that is being computed */

/* Which j-particles exert a force on i-particle i. */
enum sap_pair_rule {
    SAP_PAIRS_ALL,      /* all j-particles */
    SAP_PAIRS_SKIP_OWN, /* all but j-particles with the index of i */
    SAP_PAIRS_OUTSIDE   /* regular force of Ahmad-Cohen schemes, order 4: all but j-particles within h; these form the
                           neighbour list of i */
};

/* Outputs in addition to the sums. */
enum sap_extra {
    SAP_EXTRA_NEAREST = SAPPORO_WANT_NEAREST,
    SAP_EXTRA_LISTS = SAPPORO_WANT_LISTS,
    SAP_EXTRA_ACCUM = 4 /* sums as accumulators, which can be merged over devices or ranks */
};

/*
 * The i-particles of a force and the outputs that are wanted.  The arrays belong
 * to the context and do not change until the force is dropped.
 */
struct sap_force_request {
    int nj, ni;
    double time;             /* j-particles are predicted to this time; 0 in order 2, which does not predict */
    const double (*x)[3];    /* [ni] */
    const double (*v)[3];    /* [ni] */
    const double (*a)[3];    /* [ni] of orders 6 and 8, else NULL */
    const double (*jerk)[3]; /* [ni] of order 8, else NULL */
    const int32_t *index;    /* [ni], or NULL */
    const double *h2;        /* [ni] squared radii >= 0, or NULL: no lists */
    double eps2;             /* squared softening, common */
    const double *eps2_i;    /* [ni] sum of common and individual eps2; NULL: all is common */
    int far;                 /* 1: some coordinate is beyond SAP_FAR */
    enum sap_pair_rule rule; /* SAP_PAIRS_SKIP_OWN needs index; SAP_PAIRS_OUTSIDE needs extra lists if any h2 > 0 */
    const double *dtr; /* [ni] or NULL; SAP_PAIRS_OUTSIDE: j within h at time + dtr on straight lines counts too */
    int h2_by_mass;    /* SAP_PAIRS_OUTSIDE: 1: h2 is multiplied by the mass of j */
    int spline;        /* SAP_SPLINE_... of physics/spline.h: then eps2_i is there; 0: Plummer's */
    unsigned extra;    /* sap_extra that the engine computes at once */
};

/* Results in arrays of the engine, valid until the force is begun again or dropped.  NULL: not computed. */
struct sap_force_output {
    int rows;                      /* number of rows that are complete; [ni] below means these rows */
    const double *sum;             /* pot, acc[3], jerk[3], ... of the order, in true scale and sign: sum q of row i */
    ptrdiff_t sum_row, sum_column; /* is sum[i * sum_row + q * sum_column] */
    const struct sap_accum *accum; /* sums as accumulators: sum q is accum[i * accum_row + q], rounded, times scale q */
    ptrdiff_t accum_row;
    double accum_scale[13];
    const int32_t *nearest;         /* [ni] index of the nearest neighbour; -1: none */
    const double *nearest_r2;       /* [ni] squared distance of the nearest neighbour; infinity: none */
    const int32_t *nearest_address; /* [ni] -1: none */
    int coincident;                 /* row of an i-particle at zero distance from a j-particle, or -1 */
};

struct sap_store_ops {
    /* Creates a store on the particles of `host`, which outlives it.  Some engines compute directly from `host`; others
     * copy the particles and take the changes of `host`. */
    int (*create)(struct sap_device_set *devices, struct sap_jstore *host, struct sap_store **store);
    void (*destroy)(struct sap_store *store);
    /*
     * Takes staged particles for addresses that hold a particle.  The context stores them in `host` after the next
     * force has begun.  A later particle replaces an earlier one of the same address.  Records lie as many bytes apart
     * as `host` has derivatives for (sap_staged_bytes).  On failure the engine has taken no particle.  NULL: the engine
     * computes from `host` or takes its changes.
     */
    int (*put)(struct sap_store *store, const struct sap_staged *particles, int n);
    /* Bytes of host memory that nj particles take in addition to `host`; *device_bytes: of device memory. */
    size_t (*memory)(const struct sap_device_set *devices, int nj, size_t *device_bytes);
    /* Text why the last call on the store or one of its forces failed; "": none.  NULL: there never is a text. */
    const char *(*words)(const struct sap_store *store);
};

struct sap_force_ops {
    /* Starts a force; the store must not change until `begin` returns.  *force is reused if it is not NULL. */
    int (*begin)(struct sap_store *store, const struct sap_force_request *request, struct sap_force **force);
    /*
     * Computes more outputs; the store must hold the same particles as at `begin`.  If it fails, the force keeps its
     * outputs or `end` fails too; the call may be tried again.
     */
    int (*extra)(struct sap_store *store, struct sap_force *force, unsigned extra);
    unsigned (*have)(const struct sap_force *force); /* sap_extra that are computed */
    int (*done)(struct sap_force *force);            /* 1: `end` would not wait */
    /*
     * Waits for at least one row beyond `from` and delivers all complete rows from row 0 on.  More rows may follow in
     * further calls, so that the caller copies rows while the device computes the others.  `coincident` is known once
     * all rows are complete.
     */
    int (*end)(struct sap_force *force, int from, struct sap_force_output *output);
    /* The list of i-particle i, sorted by index, each once; needs SAP_EXTRA_LISTS. */
    int (*list)(struct sap_force *force, int i, const int32_t **entries, int *n);
    void (*drop)(struct sap_force *force);
};

/* Batches of small forces that are computed while the caller does something else. */
struct sap_flight_ops {
    /*
     * Like `batch` of struct sap_engine, but may return before the results are written.  The lists and what they point
     * to may change after the call; `batch` itself and the results stay until the flight ends or is dropped.  Several
     * flights may be under way, and the store may change meanwhile.  If it fails, *flight is NULL.
     */
    int (*begin)(struct sap_device_set *devices, struct sap_store *store, const struct sap_jstore *host,
                 const struct sap_batch *batch, struct sap_flight **flight);
    int (*done)(const struct sap_flight *flight); /* 1: `end` would not wait */
    int (*end)(struct sap_flight *flight);        /* waits until all results are written; called once */
    void (*drop)(struct sap_flight *flight);      /* waits for the devices; frees the flight, ended or not */
};

/* What an engine returns if it leaves a call to the CPU fallback; no sapporo_status has this value. */
enum { SAP_LEFT = 100 };

/* The CPU fallback, opened beside an engine, which computes the calls that the engine leaves. */
struct sap_fallback {
    const struct sap_engine *engine;
    struct sap_device_set *devices; /* NULL: not opened yet */
};

/* The parts of a context that a neighbour force needs. */
struct sap_neighbour_context {
    struct sap_device_set *devices;
    struct sap_jstore *host;
    int takes_changes;                   /* 1: the call may take the changes of `host` */
    const struct sap_fallback *fallback; /* opened; NULL: the engine itself is the fallback */
    struct sap_notes *notes;             /* for warnings */
};

struct sap_engine {
    sapporo_backend backend;
    const char *name;
    int (*count)(void);          /* number of devices */
    const char *(*absent)(void); /* text why there is no device; NULL: there always is a device */
    int (*automatic)(void);      /* number of devices that may be used if no backend is named; NULL: all devices */
    int (*describe)(int number, sapporo_device *device);
    /* 1: a word of SAPPORO_DEVICES, no number, names a device: by uuid or name.  NULL: devices have no names. */
    int (*is_name)(const char *word, size_t length);
    /* Opens the devices that the settings name; on failure writes the reason to `why`. */
    int (*open)(const struct sap_settings *settings, struct sap_device_set **devices, char *why, size_t room);
    void (*close)(struct sap_device_set *devices);
    /* Writes a text that names everything on which the bits of results depend. */
    void (*kind)(const struct sap_device_set *devices, char *text, size_t room);
    /* 1: forces of few particles are dp (settings.mixed); the same settings then open devices for them.  0: no
     * precision is mixed in, because it was named, or because a device has no double precision. */
    int (*mixed)(const struct sap_device_set *devices);
    int (*threads)(const struct sap_device_set *devices);
    /* Number of j-particles below which the CPU engine is faster, from the tuning file; NULL: never. */
    int (*cpu_below)(const struct sap_device_set *devices);
    const struct sap_store_ops *store;
    const struct sap_force_ops *force;
    /*
     * Computes a batch of small forces of order 2.  Source particles by address come from `host`, which is complete,
     * or from `store`, which is NULL on the CPU fallback.  SAPPORO_PARTIAL: some i-particles are not finite.  NULL: the
     * CPU fallback computes batches.
     */
    int (*batch)(struct sap_device_set *devices, struct sap_store *store, const struct sap_jstore *host,
                 const struct sap_batch *batch);
    const struct sap_flight_ops *flight; /* NULL: `batch` serves batches that are begun */
    int looks_at_addresses; /* 1: `batch` and `flight` check the addresses of lists where the batch says so */
    /*
     * Computes neighbour forces, or returns SAP_LEFT.  All engines give the same bits.  SAPPORO_PARTIAL: some rows are
     * NaN, because an address holds no particle.  NULL: the CPU fallback computes neighbour forces.
     */
    int (*neighbour)(struct sap_store *store, const struct sap_neighbour_context *context,
                     const struct sap_neighbour_request *request);
    /*
     * CPU fallback only: gives the particles of `host` as rows and takes the changes of `host`.  SAP_LEFT: no other
     * engine may compute from rows, because its bits would differ or because most addresses are empty.
     */
    int (*rows)(struct sap_device_set *devices, struct sap_jstore *host, double time, struct sap_given *given);
    /* CPU fallback only: another engine tells whether it now has a copy of the rows. */
    void (*rows_copied)(struct sap_device_set *devices, int copied);
    const struct sap_tree_maker *tree;     /* NULL: none */
    const struct sap_stepper_ops *stepper; /* steppers over trees; NULL: none */
    const struct sap_travel_ops *travel;   /* particles go to other processes from device memory; NULL: never */
    const struct sap_caller_ops *caller;   /* columns and results in device memory of the caller; NULL: never */
};

/* The engines of this build in order of preference; ends with NULL (lib/engines.c). */
extern const struct sap_engine *const sap_engines[];

/* The last engine of sap_engines, the CPU engine: it has a device on every machine and computes calls that other
 * engines leave. */
const struct sap_engine *sap_fallback_engine(void);

/* Computes a neighbour force on the CPU fallback of the context. */
/* Whether an engine has a device for these settings: any device if the user named the backend, else one for `auto`. */
static inline int sap_engine_has_device(const struct sap_engine *engine, const struct sap_settings *settings)
{
    const int named = settings->backend_given || !engine->automatic;
    return (named ? engine->count() : engine->automatic()) > 0;
}

static inline int sap_neighbour_by_fallback(const struct sap_neighbour_context *context,
                                            const struct sap_neighbour_request *request)
{
    struct sap_neighbour_context own = *context;
    if (context->fallback) own.devices = context->fallback->devices;
    own.fallback = NULL;
    return sap_fallback_engine()->neighbour(NULL, &own, request);
}

#endif
