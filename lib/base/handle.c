/* handle.c - the table of objects with handles: creates, reuses and closes them. */
#include "base/handle.h"
#include "base/process.h"

#include <stdlib.h>

#include "base/lock.h"

struct sap_handle_table sap_handles;

SAP_GUARD_AT_FORK(handles, SAP_LOCK_HANDLES, &sap_handles.lock)

#define TABLE (&sap_handles)

static enum sap_handle_kind kind_of(const struct sap_handle *object)
{
    return (enum sap_handle_kind)(object->last & (SAP_HANDLE_KINDS - 1));
}

/* Takes a closed object from the list; NULL: there is none.  Table locked. */
static struct sap_handle *take_closed(struct sap_handle_slots *of)
{
    struct sap_handle *const object = of->closed;
    if (object) of->closed = object->next;
    return object;
}

/* The chunk of the next slot, allocated if necessary; NULL: out of memory, or no slot is left.  Table locked. */
static struct sap_handle_chunk *reserve_slot(struct sap_handle_slots *of)
{
    if (of->used == SAP_HANDLE_SLOTS) return NULL;
    _Atomic(struct sap_handle_chunk *) *const at = &of->chunk[of->used / SAP_HANDLE_CHUNK];
    struct sap_handle_chunk *chunk = atomic_load_explicit(at, memory_order_relaxed);
    if (chunk) return chunk;
    chunk = calloc(1, sizeof *chunk);
    if (!chunk) return NULL;
    for (int k = 0; k < SAP_HANDLE_CHUNK; k++) atomic_init(&chunk->object[k], NULL);
    atomic_store_explicit(at, chunk, memory_order_release);
    return chunk;
}

/* A new object in a slot of its own.  Table locked. */
static struct sap_handle *make_object(enum sap_handle_kind kind, size_t size, void (*make)(void *object))
{
    struct sap_handle_slots *const of = &TABLE->of[kind];
    struct sap_handle_chunk *const chunk = reserve_slot(of);
    struct sap_handle *const object = chunk ? calloc(1, size) : NULL;
    if (!object) return NULL;
    atomic_init(&object->now, 0);
    if (make) make(object);
    object->last = (uintptr_t)of->used << SAP_HANDLE_KIND_BITS | kind;
    atomic_store_explicit(&chunk->object[of->used % SAP_HANDLE_CHUNK], object, memory_order_release);
    of->used++;
    return object;
}

void *sap_handle_object(enum sap_handle_kind kind, size_t size, void (*make)(void *object))
{
    sap_lock(&TABLE->lock);
    struct sap_handle *object = take_closed(&TABLE->of[kind]);
    if (!object) object = make_object(kind, size, make);
    sap_unlock(&TABLE->lock);
    return object;
}

const char *sap_handle_lack(enum sap_handle_kind kind)
{
    static const char *const all = sizeof(uintptr_t) > 4
                                       ? "all 4194304 handles of this kind are in use: free those that are not needed"
                                       : "all 8192 handles of this kind are in use: free those that are not needed";
    sap_lock(&TABLE->lock);
    const struct sap_handle_slots *const of = &TABLE->of[kind];
    const int full = of->used == SAP_HANDLE_SLOTS && !of->closed;
    sap_unlock(&TABLE->lock);
    return full ? all : "out of memory";
}

void *sap_handle_give(struct sap_handle *object)
{
    object->last += (uintptr_t)1 << SAP_HANDLE_LIFE_SHIFT; /* with 32 bits the lives wrap around */
    atomic_store_explicit(&object->now, object->last, memory_order_release);
    return (void *)object->last;
}

void sap_handle_withdraw(struct sap_handle *object) { atomic_store_explicit(&object->now, 0, memory_order_release); }

void sap_handle_keep(struct sap_handle *object)
{
    if (sap_handle_is_worn(object)) return;
    sap_lock(&TABLE->lock);
    struct sap_handle_slots *const of = &TABLE->of[kind_of(object)];
    object->next = of->closed;
    of->closed = object;
    sap_unlock(&TABLE->lock);
}
