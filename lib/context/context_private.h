/* context_private.h - the object of a context and its internal functions, for the files of lib/context. */
#ifndef SAP_CONTEXT_PRIVATE_H
#define SAP_CONTEXT_PRIVATE_H

#include <stdatomic.h>

#include "base/handle.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/threads.h"
#include "context/context.h"
#include "engine/engine.h"
#include "engine/jstore.h"
#include "engine/options.h"
#include "engine/units.h"

/*
 * Devices and store of a mixed context for forces of fewer than SAP_FEW_J addresses.  The store holds the particles of
 * `host` below that address alone.  Only one of both stores takes the changes of `host` at a time.
 */
struct sap_few {
    struct sap_device_set *devices; /* NULL: not opened yet */
    struct sap_store *store;
};

/* What a request says of its targets: their squared softening, of all and the largest of one, positions, velocities. */
struct sap_targets {
    double common, most;
    const sapporo_column *x, *v; /* NULL: they are j-particles */
    int ni;
};

/* When a context last read all particles to choose its units, and for which force. */
struct sap_looked {
    int valid; /* 0: never, or the particles have changed much since */
    int nj, farthest, fastest, size, pace;
    double common, most;        /* as in sap_targets */
    int targets[2], by_targets; /* exponents of their coordinates and velocities, and whether these have decided */
    double faint;
    struct sap_units units;
    uint64_t version; /* of `host` */
};

/*
 * The object behind the handle of a context.  Handles have the same type.  Functions that are declared here take the
 * object; functions of context.h and of sapporo.h take the handle.
 */
struct sapporo {
    struct sap_handle self;
    struct sap_lock busy;       /* held during every call on the context (call.h) */
    _Atomic(const char *) kind; /* one of `kinds`, NULL: none yet; read without the lock */
    struct sap_notes notes;     /* retire_context clears this member and all that follow */
    int chosen;                 /* 1: a force has begun, so the engine does not change any more */
    struct sap_settings settings;
    const struct sap_engine *engine;
    struct sap_device_set *devices;
    struct sap_fallback fallback; /* beside another engine; its devices are opened when they are first needed */
    int store_used;               /* 1: a force has begun on `store`, which takes the changes of `host` */
    int rows_used;        /* 1: a neighbour force has run, which takes changes of `host` while store_used is 0 */
    struct sap_kept kept; /* addresses given to sapporo_keep_addresses */
    int kept_below;       /* > 0: kept addresses are below it, and each of them holds a particle; 0: unknown */
    struct sap_store *store;
    struct sap_jstore host;
    double time;
    struct sap_staged *staged; /* in order of arrival */
    size_t staged_bytes;       /* from one of them to the next */
    int nstaged, staged_room;
    int sends;             /* 1: the engine takes staged particles (store->put) */
    int next_address;      /* one above the last address set: the next one of a client that sets in order */
    sapporo_job *jobs;     /* list of all live jobs, the newest first */
    sapporo_job *spare[2]; /* lists of freed jobs whose memory new jobs reuse: [1] of jobs on the store of `few` */
    int spares[2];
    sapporo_batch *batches, *spare_batch; /* lists of all live batches and of freed ones whose memory new ones reuse */
    int spare_batches;
    int open_needs;               /* live jobs that may still need the store as it is */
    int nearest_left, lists_left; /* number of next forces that compute neighbours without being asked */
    char kinds[2][96];            /* texts of sapporo_kind: of the first engine, and of the engine that replaced it */
    int mixed;                    /* 1: forces of fewer than SAP_FEW_J addresses are dp, all others ds */
    int given;                    /* 1: all particles came from other processes; `host` has none of them */
    int away;                     /* 1: the device alone has the particles, all addresses below host.upper (away.c) */
    struct sap_caller_seen seen;  /* what the device saw of them */
    int wide;                     /* 1: some stored coordinate is large for single precision (SAP_WIDE) */
    struct sap_units units;       /* of what `host` and `staged` hold (context_units.h) */
    struct sap_looked looked;
    double faint; /* potentials below it, in these units, tell of forces that single precision loses; 0: of none */
    struct sap_few few;               /* for forces of few particles in dp, opened when they are first needed */
    struct sap_fallback few_fallback; /* the CPU fallback for neighbour forces of few particles in dp */
    int few_active; /* 1: the last force ran on the store of `few`, which has taken changes below SAP_FEW_J */
    int rows_few;   /* 1: the last neighbour force took the changes of `host` for the rows of few_fallback */
};

/* The object behind the handle of a force. */
struct sapporo_job {
    struct sap_handle self;
    _Atomic(sapporo *) context;   /* the object whose lock guards all members that follow */
    sapporo_job *previous, *next; /* free_job clears these members and all that follow */
    int ni, room;
    int few; /* 1: the force runs on the store of `few` */
    struct sap_force *force;
    double (*x)[3], (*v)[3];    /* [room], like all arrays below */
    double (*a)[3], (*jerk)[3]; /* NULL: the order does not use them */
    int32_t *index;
    double *h2;
    int h2_by_mass;     /* 1: h2 is multiplied by the mass of j */
    double *dtr;        /* NULL unless needed */
    double *eps2_i;     /* sum of common and individual squared softening; NULL unless needed */
    int vectors;        /* half the order: number of x, v, a, jerk and of acc, jerk, snap, crackle that are in use */
    unsigned char *bad; /* 1: this i-particle is not finite */
    int nbad;
    unsigned useful; /* sap_extra that the client can ask for: no lists without a radius */
    int needs_store; /* 1: the job may still need the j-particles with which it was begun */
    int delivered;   /* 1: sapporo_force_end was called */
    int failed;      /* status of the last sap_job_extra */
    int reported;    /* 1: warnings about the results have been given */
    double time;     /* in these units, like all arrays above */
    struct sap_units units;
    double faint; /* as in a context, when the force began */
    int nj;
    enum sap_pair_rule rule;
};

/* The object behind the handle of a batch of small forces. */
struct sapporo_batch {
    struct sap_handle self;
    _Atomic(sapporo *) context;     /* the object whose lock guards all members that follow */
    sapporo_batch *previous, *next; /* retire_batch clears these members and all that follow, unless memory is kept */
    struct sap_flight *flight;      /* NULL: the engine had computed everything when the batch was begun */
    int status;                     /* of the results; until the flight has ended, of its begin */
    int ended;                      /* 1: all results are there, or the flight failed */
    struct sap_units units;         /* of the results of the flight */
    struct sap_batch work;          /* the lists are the caller's and are used while the batch begins only */
    int *ni;                        /* [work.nlists] */
    sapporo_result *result;         /* [work.nlists] on acc and pot */
    double (*acc)[3], *pot;         /* of the targets of all lists, one list behind the other */
    int *count;                     /* likewise; NULL unless a batch needed it */
    int lists;                      /* room of ni and result */
    size_t rows;                    /* room of acc, pot and count */
};

/* Number of forces that compute neighbours without being asked, after a force whose neighbours were asked for. */
enum { SAP_NEIGHBOUR_MEMORY = 64 };

/*
 * Computes the missing outputs of jobs that are not delivered, then stores the staged particles.  After this no job
 * needs the store.  If the outputs of a job cannot be computed, a later call that asks for them reports the error; the
 * particles are stored all the same.  Context locked.
 */
void sap_context_settle(sapporo *context);

/*
 * Makes sure that `host` has the particles: copies those that the device alone has (away.c).  If that fails, all are
 * lost.  Context locked.
 */
int sap_context_fetch(sapporo *context);

/* Empties all addresses; no job needs the store.  Context locked. */
void sap_context_empty(sapporo *context);

/* Empties all addresses.  Context locked. */
void sap_context_clear(sapporo *context);

/*
 * Marks n addresses from `first` on as lost, because their particles could not be stored.  Lost addresses hold no
 * particle, and forces of them fail until a particle is stored there (lost.c).  Needs no memory.  Context locked.
 */
void sap_context_lose(sapporo *context, int first, int n);

/* Fails if an address below nj is lost.  Context locked; no particle is staged. */
int sap_context_check_lost(sapporo *context, int nj);

/*
 * Prepares the use of a store: that of `few`, or the other one.  It marks particles as changed again if neighbour
 * forces or the other store have taken changes of the host's copy; from the first use on, neighbour forces take no more
 * changes.  Context locked.
 */
void sap_context_use_store(sapporo *context, int few);

/* Opens devices and store of `few`, unless they are open.  Context locked. */
int sap_context_open_few(sapporo *context);

/* 1: forces of nj addresses are computed in dp, by `few`.  Context locked. */
static inline int sap_context_is_few(const sapporo *c, int nj) { return c->mixed && nj > 0 && nj < SAP_FEW_J; }

/* The store of a job of a locked context. */
static inline struct sap_store *sap_job_store(const sapporo *c, const sapporo_job *j)
{
    return j->few ? c->few.store : c->store;
}

/* Fails if the time that was set is not finite.  No floating-point arithmetic.  Context locked. */
int sap_context_check_time(sapporo *context, const char *caller);

/* Warns once of coordinates that are too large for single precision, if a mixed context holds some.  Context locked. */
void sap_context_warn_wide(sapporo *context);

/*
 * Begins a force like sapporo_force_begin.  all: number of j-particles of all parts, if it is part of a force of
 * several processes, else -1; it decides the precision of a mixed context.  `needed` are sap_extra that it surely
 * computes; if there are any, the context keeps its engine, as if a force had begun before.
 */
int sap_job_begin(sapporo *context, const sapporo_request *request, int all, unsigned needed, sapporo_job **job);

/* Warns about a pair at zero distance and names both particles; searches the j-particle that coincides with i. */
void sap_job_report_coincident(sapporo *context, const sapporo_job *job, int i);

/* Computes more outputs of a job.  Context locked. */
int sap_job_extra(sapporo *context, sapporo_job *job, unsigned extra);

/* Computes those outputs in `extra` that the job lacks; fails if the store has changed since.  Context locked. */
int sap_job_supply(sapporo *context, sapporo_job *job, unsigned extra);

/* Sets and prints the error of a failed engine call on a store, with the engine's own text; returns status.  Context
 * locked. */
int sap_engine_failed(sapporo *context, const struct sap_store *store, int status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * Does the work of sap_context_settle for a force that begins now.  If the engine takes staged particles, it gives them
 * to the engine and returns 1: the caller must then call sap_context_store_staged after the force was begun, or failed
 * to begin.  The particles are then stored on the host while the device computes.  Else it stores them and returns 0.
 * The force runs on the store of `few`, or on the other one, whose use it prepares.
 */
int sap_context_send(sapporo *context, int few);

/*
 * Stores the staged particles in order of arrival; no job needs the store.  Room in the store exists since they were
 * staged.  sent: sap_context_send has given them to the engine.  Context locked.
 */
void sap_context_store_staged(sapporo *context, int sent);

/* Opens the first engine that may be used and has a device, and its store.  Context locked. */
int sap_context_open_engine(sapporo *context);

/* Closes the engines, after all jobs and batches.  Context locked. */
void sap_context_close_engine(sapporo *context);

/*
 * Replaces an accelerator by the CPU engine at the first force, if the tuning file says that the CPU is faster for so
 * few j-particles.  A backend that the user named is kept.  Context locked.
 */
void sap_context_choose(sapporo *context, int nj);

/*
 * Chooses the engine for forces of nj j-particles, as the first force would; returns it, and its devices in *devices.
 * Both stay until the context is closed.  Takes the handle of an open context.
 */
const struct sap_engine *sap_context_engine(sapporo *context, int nj, struct sap_device_set **devices);

/* What sapporo_force_batch and sapporo_force_batch_begin do alike.  Context locked. */
/* Stores staged particles, and prepares and checks the lists and, unless NULL, the results of a batch. */
int sap_batch_prepare(sapporo *context, struct sap_batch *batch, const char *caller);
/*
 * Computes a batch.  flight: NULL, or where an engine may store what it has not finished; it stores NULL if it has.
 * The results of a flight are in *units.  The flight keeps the pointer to the batch.
 */
int sap_batch_run(sapporo *context, struct sap_batch *batch, struct sap_flight **flight, struct sap_units *units,
                  const char *caller);

/* Frees all batches and their memory, before the store.  Context locked. */
void sap_batches_free_all(sapporo *context);

/* A job for ni i-particles, linked to the context; few: on the store of few particles; NULL: out of memory. */
sapporo_job *sap_job_new(sapporo *context, int ni, int few);

/* Makes room for ni i-particles, at least one, so that no array in use is NULL.  Returns -1 if memory is short. */
int sap_job_reserve(sapporo_job *job, int ni);

/* Records that a job does not need the present store any more. */
void sap_job_release_store(sapporo *context, sapporo_job *job);

/* Ends a job: withdraws its handle and unlinks it.  Up to four jobs per store are kept with their memory for new
 * forces. */
void sap_job_retire(sapporo *context, sapporo_job *job);

/* Frees all jobs and their memory.  Context locked. */
void sap_jobs_free_all(sapporo *context);

/* The opened CPU fallback of a context on another engine; NULL after an error that names `caller`.  Context locked. */
const struct sap_fallback *sap_context_fallback(sapporo *context, const char *caller);

/* The opened CPU fallback for neighbour forces of few particles, in dp; NULL after an error.  Context locked. */
const struct sap_fallback *sap_context_few_fallback(sapporo *context, const char *caller);

/* Sets and prints the error of a locked context. */
#define sap_fail(context, ...) sap_error(&(context)->notes, __VA_ARGS__)

/* Threads of the host for work beside the engine of a context.  A GPU's `threads` are its units. */
static inline int sap_context_threads(const sapporo *c)
{
    return c->engine->backend == SAPPORO_BACKEND_CPU ? c->engine->threads(c->devices) : sap_threads_default();
}

#endif
