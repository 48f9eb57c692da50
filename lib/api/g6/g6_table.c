/* g6_table.c - finds, locks, opens and closes clusters by id. */
#include "api/g6/g6_table.h"

#include "base/process.h"

#include <stdlib.h>

#include "base/lock.h"
#include "context/context.h"

struct sap_g6_table sap_g6 = {.sort_mode = 1};

SAP_GUARD_AT_FORK(clusters, SAP_LOCK_CLUSTERS, &sap_g6.lock)

#define TABLE (&sap_g6)

/* ---- finding --------------------------------------------------------------- */

static sapporo *context_of(const struct sap_g6_cluster *cluster) { return sap_context_named(&cluster->context); }

/* The struct of an id, open or not; NULL: none. */
static struct sap_g6_cluster *find_struct(int id)
{
    struct sap_g6_cluster *cluster;
    if ((unsigned)id < SAP_G6_DIRECT) return atomic_load_explicit(&TABLE->direct[id], memory_order_acquire);
    cluster = atomic_load_explicit(&TABLE->all, memory_order_acquire);
    while (cluster != NULL && atomic_load_explicit(&cluster->id, memory_order_relaxed) != id) cluster = cluster->next;
    return cluster;
}

static struct sap_g6_cluster *find_exact(int id)
{
    struct sap_g6_cluster *cluster = find_struct(id);
    return cluster != NULL && context_of(cluster) != NULL ? cluster : NULL;
}

void sap_g6_note_open(int id, int failed)
{
    atomic_uint *const word = &TABLE->failed[(unsigned)id % SAP_G6_DIRECT / 32];
    const unsigned bit = 1U << (unsigned)id % 32;
    if ((unsigned)id >= SAP_G6_DIRECT)
        atomic_store(&TABLE->failed_beyond, failed);
    else if (failed)
        atomic_fetch_or(word, bit);
    else
        atomic_fetch_and(word, ~bit);
}

static int has_failed(int id)
{
    if ((unsigned)id >= SAP_G6_DIRECT) return atomic_load(&TABLE->failed_beyond);
    return atomic_load(&TABLE->failed[id / 32]) >> id % 32 & 1;
}

/* The cluster for a call with this id: the cluster of the id, else the only open cluster (see sap_g6_note_open). */
static struct sap_g6_cluster *find_meant(int id)
{
    struct sap_g6_cluster *cluster = find_exact(id);
    if (cluster != NULL || has_failed(id)) return cluster;
    return atomic_load_explicit(&TABLE->only, memory_order_acquire);
}

static void not_open(int id, const char *caller)
{
    int open = atomic_load_explicit(&TABLE->open, memory_order_relaxed);
    sap_context_error(NULL, SAPPORO_ERR_CLOSED, "%s: cluster %d is not open (%d others are)", caller, id, open);
}

/* Warns once if a call names another id than the cluster's.  ph4 opens the number of its device as id, and then uses
 * the rank of its process as id in every call. */
static void warn_other_id(struct sap_g6_cluster *cluster, sapporo *context, int id)
{
    int own = atomic_load_explicit(&cluster->id, memory_order_relaxed);
    if (own == id || atomic_load_explicit(&cluster->warned, memory_order_relaxed)) return;
    atomic_store_explicit(&cluster->warned, 1, memory_order_relaxed);
    sap_context_warn_once(context, SAP_WARN_OTHER_ID, "cluster %d is not open: the only open one, %d, is used", id,
                          own);
}

const struct sap_context_name *sap_g6_context(int id, const char *caller)
{
    struct sap_g6_cluster *cluster = find_meant(id);
    sapporo *context = cluster != NULL ? context_of(cluster) : NULL;
    if (context != NULL)
        warn_other_id(cluster, context, id);
    else
        not_open(id, caller);
    return context != NULL ? &cluster->context : NULL;
}

const struct sap_context_name *sap_g6_exact(int id)
{
    struct sap_g6_cluster *cluster = find_exact(id);
    return cluster != NULL ? &cluster->context : NULL;
}

/* ---- holding ----------------------------------------------------------------- */

/* Locks the cluster that `find` finds.  It searches again after locking, because the cluster may have been closed, or
 * another one opened, while the thread waited. */
static struct sap_g6_cluster *hold(int id, struct sap_g6_cluster *(*find)(int))
{
    struct sap_g6_cluster *cluster;
    while ((cluster = find(id)) != NULL) {
        sap_lock(&cluster->lock);
        if (find(id) == cluster) break;
        sap_unlock(&cluster->lock);
    }
    return cluster;
}

struct sap_g6_cluster *sap_g6_hold(int id, const char *caller)
{
    struct sap_g6_cluster *cluster = hold(id, find_meant);
    if (cluster != NULL)
        warn_other_id(cluster, context_of(cluster), id);
    else
        not_open(id, caller);
    return cluster;
}

struct sap_g6_cluster *sap_g6_hold_exact(int id) { return hold(id, find_exact); }

void sap_g6_release(struct sap_g6_cluster *cluster) { sap_unlock(&cluster->lock); }

/* ---- opening and closing -------------------------------------------------------- */

/* A struct for reuse: it is closed, its id is not below SAP_G6_DIRECT, and no thread is about to open it. */
static struct sap_g6_cluster *find_idle(void)
{
    struct sap_g6_cluster *cluster = atomic_load_explicit(&TABLE->all, memory_order_relaxed);
    for (; cluster != NULL; cluster = cluster->next)
        if (context_of(cluster) == NULL && cluster->binders == 0 &&
            (unsigned)atomic_load_explicit(&cluster->id, memory_order_relaxed) >= SAP_G6_DIRECT)
            break;
    return cluster;
}

static struct sap_g6_cluster *new_struct(int id)
{
    struct sap_g6_cluster *cluster = calloc(1, sizeof *cluster);
    if (cluster == NULL) return NULL;
    atomic_init(&cluster->context.handle, NULL);
    atomic_init(&cluster->context.inside, NULL);
    atomic_init(&cluster->id, id);
    atomic_init(&cluster->warned, 0);
    sap_lock_start(&cluster->lock);
    cluster->next = atomic_load_explicit(&TABLE->all, memory_order_relaxed);
    atomic_store_explicit(&TABLE->all, cluster, memory_order_release);
    if ((unsigned)id < SAP_G6_DIRECT) atomic_store_explicit(&TABLE->direct[id], cluster, memory_order_release);
    return cluster;
}

struct sap_g6_cluster *sap_g6_bind(int id)
{
    sap_lock(&TABLE->lock);
    struct sap_g6_cluster *cluster = find_struct(id);
    if (cluster == NULL && (unsigned)id >= SAP_G6_DIRECT && (cluster = find_idle()) != NULL)
        atomic_store_explicit(&cluster->id, id, memory_order_relaxed);
    if (cluster == NULL) cluster = new_struct(id);
    if (cluster != NULL) cluster->binders++;
    sap_unlock(&TABLE->lock);
    if (cluster != NULL) sap_lock(&cluster->lock);
    return cluster;
}

void sap_g6_unbind(struct sap_g6_cluster *cluster)
{
    sap_unlock(&cluster->lock);
    sap_lock(&TABLE->lock);
    cluster->binders--;
    sap_unlock(&TABLE->lock);
}

void sap_g6_publish(struct sap_g6_cluster *cluster, sapporo *context)
{
    struct sap_g6_cluster *only = NULL;
    sap_lock(&TABLE->lock);
    int open = atomic_load_explicit(&TABLE->open, memory_order_relaxed) + (context != NULL ? 1 : -1);
    atomic_store_explicit(&TABLE->open, open, memory_order_relaxed);
    atomic_store_explicit(&cluster->warned, 0, memory_order_relaxed);
    sap_context_rename(&cluster->context, context);
    if (open == 1) {
        only = atomic_load_explicit(&TABLE->all, memory_order_relaxed);
        while (context_of(only) == NULL) only = only->next;
    }
    atomic_store_explicit(&TABLE->only, only, memory_order_release);
    sap_unlock(&TABLE->lock);
}
