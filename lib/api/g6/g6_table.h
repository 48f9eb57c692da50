/*
 * g6_table.h - finds the cluster that an id of the GRAPE-6 interface names.
 *
 * A cluster is a context with its queue of forces.  Its struct is never freed:
 * if another thread closes the cluster, a pointer to the struct stays valid and
 * the cluster is found closed.  The next g6_open reuses the struct.  The id of a
 * struct with an id below SAP_G6_DIRECT never changes.
 *
 * Calls lock a cluster, so they are serialised.  The calls that set particles
 * and time must be fast and do not lock the cluster; the context has its own
 * lock.
 */
#ifndef SAP_G6_TABLE_H
#define SAP_G6_TABLE_H

#include <stdatomic.h>

#include "api/g6/g6_jobs.h"
#include "base/lock.h"

#include "context/context.h"
#include "sapporo.h"

/* Cluster ids below this number are found by one load from a table. */
enum { SAP_G6_DIRECT = 256 };

struct sap_g6_cluster;

/* The GRAPE-6 clusters.  Readers take no lock; `lock` guards opening and closing. */
struct sap_g6_table {
    struct sap_lock lock;
    _Atomic(struct sap_g6_cluster *) direct[SAP_G6_DIRECT]; /* by id; NULL: never opened */
    _Atomic(struct sap_g6_cluster *) all;                   /* list of all structs, with any id */
    _Atomic(struct sap_g6_cluster *) only;                  /* the only open cluster; NULL: none or several are open */
    atomic_int open;                                        /* number of open clusters */
    atomic_int sort_mode;                                   /* g6_set_neighbour_list_sort_mode */
    atomic_uint failed[SAP_G6_DIRECT / 32];                 /* bit id % 32: the last attempt to open the id failed */
    atomic_int failed_beyond;                               /* 1: the last attempt for an id >= SAP_G6_DIRECT failed */
};
extern struct sap_g6_table sap_g6;

struct sap_g6_cluster {
    struct sap_context_name context; /* without a context: the cluster is closed */
    atomic_int id;
    atomic_int warned;           /* 1: the warning SAP_WARN_OTHER_ID has been given */
    struct sap_lock lock;        /* guards queue, last and last_ni */
    struct sap_g6_queue queue;   /* forces that are begun */
    sapporo_job *last;           /* the last delivered force, for its neighbour lists; NULL: none */
    int last_ni;                 /* number of delivered rows of `last` */
    int binders;                 /* number of threads in sap_g6_bind; guarded by the table's lock */
    struct sap_g6_cluster *next; /* never changes */
};

/* The context of an open id that is below SAP_G6_DIRECT or the only open one, found by a few loads; else NULL. */
static inline const struct sap_context_name *sap_g6_direct(int id)
{
    struct sap_g6_cluster *cluster;
    if ((unsigned)id < SAP_G6_DIRECT) {
        cluster = atomic_load_explicit(&sap_g6.direct[id], memory_order_acquire);
    } else {
        cluster = atomic_load_explicit(&sap_g6.only, memory_order_acquire);
        if (cluster != NULL && atomic_load_explicit(&cluster->id, memory_order_relaxed) != id) cluster = NULL;
    }
    return cluster != NULL && sap_context_named(&cluster->context) != NULL ? &cluster->context : NULL;
}

/*
 * The context for a call with this id: the context of the id or, if the id is not open, of the only open cluster, with
 * one warning.  NULL after an error that names the caller: no cluster is open, or several are.
 */
const struct sap_context_name *sap_g6_context(int id, const char *caller);

/* The context of exactly this id; NULL if the id is not open. */
const struct sap_context_name *sap_g6_exact(int id);

/* The context of a cluster that the caller has locked. */
static inline sapporo *sap_g6_held(const struct sap_g6_cluster *cluster)
{
    return atomic_load_explicit(&cluster->context.handle, memory_order_relaxed);
}

/* Like sap_g6_context, and locks the cluster.  Unlock it with sap_g6_release. */
struct sap_g6_cluster *sap_g6_hold(int id, const char *caller);

/* The open cluster of exactly this id, locked; NULL without a message if the id is not open. */
struct sap_g6_cluster *sap_g6_hold_exact(int id);
void sap_g6_release(struct sap_g6_cluster *cluster);

/* The cluster of this id, open or not, locked; created if new.  Unlock it with sap_g6_unbind.  NULL: out of memory. */
struct sap_g6_cluster *sap_g6_bind(int id);
void sap_g6_unbind(struct sap_g6_cluster *cluster);

/*
 * Records whether the last attempt to open an id failed.  Calls with an id that failed to open return an error.  They
 * do not use the only open cluster, because they would overwrite its particles.
 */
void sap_g6_note_open(int id, int failed);

/* Makes a locked cluster open (context) or closed (NULL) for all threads. */
void sap_g6_publish(struct sap_g6_cluster *cluster, sapporo *context);

#endif
