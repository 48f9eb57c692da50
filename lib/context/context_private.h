/* context_private.h - the inside of a context, for context.c, particles.c and jobs.c. */
#ifndef SAP_CONTEXT_PRIVATE_H
#define SAP_CONTEXT_PRIVATE_H

#include <stdatomic.h>

#include "base/handle.h"
#include "base/lock.h"
#include "base/log.h"
#include "context/context.h"
#include "engine/engine.h"
#include "engine/jstore.h"
#include "engine/options.h"

/*
 * The object behind the handle of a context.  Callers have handles, of the same type; functions of this library that
 * are declared here get the object, those of context.h and of sapporo.h the handle.
 */
struct sapporo {
    struct sap_handle self;
    struct sap_lock busy;       /* held during every call on the context */
    _Atomic(const char *) kind; /* one of `kinds`, NULL: none yet; read without the lock */
    struct sap_notes notes;     /* this and what follows is emptied by retire_context */
    int chosen;                 /* the engine stays: a force has begun */
    struct sap_settings settings;
    const struct sap_engine *engine;
    struct sap_device_set *devices;
    struct sap_fallback fallback; /* of another engine; its devices are opened when they are first needed */
    int store_used;               /* a force has begun on the store, which takes the changes of the host's copy */
    int rows_used;                /* before that, forces from lists have taken them */
    struct sap_kept kept;         /* of sapporo_keep_addresses */
    int kept_below;               /* those are addresses below, all of which hold a particle; 0: it is not known */
    struct sap_store *store;
    struct sap_jstore host;
    double time;
    struct sap_staged *staged;                      /* in order of arrival */
    double (*staged_rest)[SAP_DERIVATIVES_REST][3]; /* their further derivatives; NULL: the order has none */
    int nstaged, staged_room;
    int sends;          /* the engine takes particles as they are staged */
    int next_address;   /* that a client which sends in order sends next */
    sapporo_job *jobs;  /* all that live, the newest first */
    sapporo_job *spare; /* freed, their memory kept for the next */
    int spares;
    int open_needs;               /* live jobs that may still need the store as it is */
    int nearest_left, lists_left; /* forces that shall still bring neighbours unasked */
    char kinds[2][96];            /* texts of sapporo_kind: of the engine, and of the one that took its place */
};

/* The object behind the handle of a force. */
struct sapporo_job {
    struct sap_handle self;
    _Atomic(sapporo *) context;   /* the object whose lock guards what follows */
    sapporo_job *previous, *next; /* this and what follows is emptied by free_job */
    int ni, room;
    struct sap_force *force;
    double (*x)[3], (*v)[3];    /* [room], like all below */
    double (*a)[3], (*jerk)[3]; /* NULL: the order does not use them */
    int32_t *index;
    double *h2;
    double *dtr;        /* NULL unless needed */
    double *eps2_i;     /* common and own together; NULL unless needed */
    int vectors;        /* as many of x, v, a, jerk have a meaning, and of acc, jerk, snap, crackle: half the order */
    unsigned char *bad; /* i-particles that are not finite */
    int nbad;
    unsigned useful; /* sap_extra that can be asked for: no lists without a radius */
    int needs_store; /* may still need the j-particles it was begun with */
    int delivered;   /* sapporo_force_end was called */
    int failed;      /* status of sap_job_extra */
    int reported;    /* warnings about its results have been given */
    double time, eps2;
    int nj;
    enum sap_pair_rule rule;
};

/* Forces that bring neighbours unasked after the last one that was asked. */
enum { SAP_NEIGHBOUR_MEMORY = 64 };

/* The object of a context's handle, locked; NULL: the handle is of no open context. */
static inline sapporo *sap_context_hold(const sapporo *handle)
{
    sapporo *const c = sap_handle_find(SAP_HANDLE_CONTEXT, handle);
    if (!c) return NULL;
    sap_lock(&c->busy);
    if (sap_handle_is(&c->self, handle)) return c;
    sap_unlock(&c->busy);
    return NULL;
}

/* The object of a force's handle, its context locked; NULL: the handle is of no force that is there. */
static inline sapporo_job *sap_job_hold(const sapporo_job *handle)
{
    sapporo_job *const j = sap_handle_find(SAP_HANDLE_JOB, handle);
    if (!j) return NULL;
    sapporo *const c = atomic_load_explicit(&j->context, memory_order_acquire);
    sap_lock(&c->busy);
    if (sap_handle_is(&j->self, handle)) return j; /* so it is this context's: another's would have another handle */
    sap_unlock(&c->busy);
    return NULL;
}

/*
 * Lets go of the store: jobs not delivered get what they lack, then staged particles are stored.  A job for which that
 * fails will say so when it is asked; particles are stored all the same.  Context locked.
 */
void sap_context_settle(sapporo *context);

/*
 * n particles from address `first` on could not be stored: none is there any more, and forces of them fail until others
 * are stored (lost.c).  Needs no memory.  Context locked.
 */
void sap_context_lose(sapporo *context, int first, int n);

/* An error if one of the particles below nj was lost.  Context locked; nothing is staged. */
int sap_context_check_lost(sapporo *context, int nj);

/*
 * Before the store is used: what forces from lists have taken of the host's changes is given back, and they take no
 * more.  Context locked.
 */
void sap_context_use_store(sapporo *context);

/* Computes more outputs of a job.  Context locked. */
int sap_job_extra(sapporo *context, sapporo_job *job, unsigned extra);

/* Outputs that a job lacks and may be asked for; an error if it is too late.  Context locked. */
int sap_job_supply(sapporo *context, sapporo_job *job, unsigned extra);

/* Sets and prints the error of a call of the engine, with the engine's own words; returns status.  Context locked. */
int sap_engine_failed(sapporo *context, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * The same for a force that begins now, but staged particles go to the engine first if it takes them so: it returns 1,
 * and they must be stored with the second function once the force is on its way, whether it was begun or not.
 */
int sap_context_send(sapporo *context);
void sap_context_store_sent(sapporo *context);

/*
 * At the first force: takes the CPU engine in place of an accelerator that nobody named, if the tuning file says that
 * the CPU is faster for so few j-particles.  Context locked.
 */
void sap_context_choose(sapporo *context, int nj);

/* Frees all jobs and their memory.  Context locked. */
void sap_jobs_free_all(sapporo *context);

/* The fallback of a context on another engine, opened; NULL after an error in the name of `caller`.  Context locked. */
const struct sap_fallback *sap_context_fallback(sapporo *context, const char *caller);

/* An error on a locked context. */
#define sap_fail(context, ...) sap_error(&(context)->notes, __VA_ARGS__)

#endif
