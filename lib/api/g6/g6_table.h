/*
 * g6_table.h - which cluster an id of the GRAPE-6 interface means.
 *
 * A cluster is a context and what the interface adds to it.  Its struct is
 * never freed, so a thread that still holds a pointer when another closes the
 * cluster finds a closed cluster and not freed memory; the struct serves the
 * next g6_open.  The id of a struct below SAP_G6_DIRECT never changes.
 *
 * Calls hold a cluster by its lock, so they are serialised.  Setting particles
 * and time does not: the context has a lock of its own, and these calls must
 * be fast.
 */
#ifndef SAP_G6_TABLE_H
#define SAP_G6_TABLE_H

#include <stdatomic.h>

#include "api/g6/g6_jobs.h"
#include "base/lock.h"

#include "context/context.h"
#include "sapporo.h"

/* Cluster ids below this are found by one look into a table. */
enum { SAP_G6_DIRECT = 256 };

struct sap_g6_cluster;

/* The GRAPE-6 clusters.  Readers take no lock; `lock` is for opening and closing. */
struct sap_g6_table {
    struct sap_lock lock;
    _Atomic(struct sap_g6_cluster *) direct[SAP_G6_DIRECT]; /* by id; NULL: never opened */
    _Atomic(struct sap_g6_cluster *) all;                   /* list of all that ever were, also of other ids */
    _Atomic(struct sap_g6_cluster *) only;                  /* the only open one; NULL: none, or several */
    atomic_int open;                                        /* how many are open */
    atomic_int sort_mode;                                   /* g6_set_neighbour_list_sort_mode */
    atomic_uint failed[SAP_G6_DIRECT / 32];                 /* bit id % 32: the last attempt to open the id failed */
    atomic_int failed_beyond;                               /* 1: that of an id from SAP_G6_DIRECT on did */
};
extern struct sap_g6_table sap_g6;

struct sap_g6_cluster {
    struct sap_context_name context; /* of nothing: closed */
    atomic_int id;
    atomic_int warned;           /* SAP_WARN_OTHER_ID was given */
    struct sap_lock lock;        /* guards what follows, up to the list */
    struct sap_g6_queue queue;   /* forces begun */
    sapporo_job *last;           /* the force delivered last, for its neighbour lists; NULL: none */
    int last_ni;                 /* the number of its rows that were delivered */
    int binders;                 /* threads that are about to open it; guarded by the table's lock */
    struct sap_g6_cluster *next; /* never changes */
};

/* The context of an open id, if it is below SAP_G6_DIRECT or the only one; else NULL.  A few loads. */
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
 * The context that a call with this id means: that of the id or, if the id is not open, the only open one,
 * with a warning once.  NULL, with an error in the name of the caller: none, or several are open.
 */
const struct sap_context_name *sap_g6_context(int id, const char *caller);

/* The context of this very id; NULL if it is not open. */
const struct sap_context_name *sap_g6_exact(int id);

/* The context of a cluster that the caller holds. */
static inline sapporo *sap_g6_held(const struct sap_g6_cluster *cluster)
{
    return atomic_load_explicit(&cluster->context.handle, memory_order_relaxed);
}

/* As sap_g6_context, and takes the cluster's lock.  Release it with sap_g6_release. */
struct sap_g6_cluster *sap_g6_hold(int id, const char *caller);

/* The open cluster of this very id, locked; NULL, without a word: it is not open. */
struct sap_g6_cluster *sap_g6_hold_exact(int id);
void sap_g6_release(struct sap_g6_cluster *cluster);

/* The cluster of this id, open or not, locked.  Release it with sap_g6_unbind.  NULL: out of memory. */
struct sap_g6_cluster *sap_g6_bind(int id);
void sap_g6_unbind(struct sap_g6_cluster *cluster);

/*
 * Notes whether an attempt to open an id failed.  Calls with such an id fail: they do not mean the only open cluster,
 * whose particles those of the other would replace.
 */
void sap_g6_note_open(int id, int failed);

/* Makes a locked cluster open (context) or closed (NULL) for everybody. */
void sap_g6_publish(struct sap_g6_cluster *cluster, sapporo *context);

#endif
