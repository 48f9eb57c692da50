/*
 * handle.h - handles of contexts, forces and trees: numbers in the form of pointers, which are never dereferenced.
 *
 * A handle names a slot of one table for the whole process, and one of the lives that the object in the slot has had.
 * Objects are never freed: an object that was closed serves the next open call, under another handle.  So the handle of
 * a closed object names nothing, whatever was opened since, and a thread that still looks at the object reads memory
 * that exists.
 *
 * How an object is used safely: sap_handle_find gives the object if it has this handle now; the caller takes the
 * object's lock, and asks sap_handle_is again, since another thread may have closed the object meanwhile.  Handles are
 * given and withdrawn under that lock.
 *
 * Bits of a handle, from the lowest: kind (never 0, so no handle is NULL or the address of anything aligned), slot,
 * life.  With 64 bits an object of 2^40 lives is never used again; with 32 bits lives repeat after 2^16.
 */
#ifndef SAP_HANDLE_H
#define SAP_HANDLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

enum sap_handle_kind { SAP_HANDLE_CONTEXT = 1, SAP_HANDLE_JOB = 2, SAP_HANDLE_TREE = 3, SAP_HANDLE_KINDS = 4 };

enum {
    SAP_HANDLE_KIND_BITS = 2,
    SAP_HANDLE_SLOT_BITS = sizeof(uintptr_t) > 4 ? 22 : 14,
    SAP_HANDLE_LIFE_SHIFT = SAP_HANDLE_KIND_BITS + SAP_HANDLE_SLOT_BITS,
    SAP_HANDLE_SLOTS = 1 << SAP_HANDLE_SLOT_BITS,
    SAP_HANDLE_CHUNK = 256 /* slots that are allocated at a time */
};

/* The first member of every object that has a handle. */
struct sap_handle {
    atomic_uintptr_t now;    /* its handle; 0: it is closed */
    uintptr_t last;          /* the handle that it had last; changed by sap_handle_give alone */
    struct sap_handle *next; /* among closed objects; guarded by the table's lock */
};

struct sap_handle_chunk {
    _Atomic(struct sap_handle *) object[SAP_HANDLE_CHUNK];
};

/* All objects.  Readers take no lock; chunks are never freed. */
struct sap_handle_table {
    struct sap_lock lock; /* guards closed and slots */
    int slots;            /* used so far */
    struct sap_handle *closed[SAP_HANDLE_KINDS];
    _Atomic(struct sap_handle_chunk *) chunk[SAP_HANDLE_SLOTS / SAP_HANDLE_CHUNK];
};

extern struct sap_handle_table sap_handles;

/* Whether an object has this handle now. */
static inline int sap_handle_is(const struct sap_handle *object, const void *handle)
{
    return atomic_load_explicit(&object->now, memory_order_acquire) == (uintptr_t)handle;
}

/* The object that has this handle; NULL: none has it.  Any value may be asked for.  Takes no lock. */
static inline void *sap_handle_find(enum sap_handle_kind kind, const void *handle)
{
    const uintptr_t bits = (uintptr_t)handle, slot = bits >> SAP_HANDLE_KIND_BITS & (SAP_HANDLE_SLOTS - 1);
    struct sap_handle_chunk *const chunk =
        atomic_load_explicit(&sap_handles.chunk[slot / SAP_HANDLE_CHUNK], memory_order_acquire);
    if (!chunk || (bits & (SAP_HANDLE_KINDS - 1)) != kind) return NULL;
    struct sap_handle *const object =
        atomic_load_explicit(&chunk->object[slot % SAP_HANDLE_CHUNK], memory_order_acquire);
    return object && sap_handle_is(object, handle) ? object : NULL;
}

/* Whether an object has had all its lives. */
static inline int sap_handle_is_worn(const struct sap_handle *object)
{
    return sizeof object->last > 4 && object->last >> SAP_HANDLE_LIFE_SHIFT == UINTPTR_MAX >> SAP_HANDLE_LIFE_SHIFT;
}

/*
 * An object of a kind that has no handle, `size` bytes: one that was closed, as sap_handle_keep got it, or a new one of
 * zeros for which `make` (NULL: nothing) was called once.  NULL: out of memory, or all slots are in use.
 */
void *sap_handle_object(enum sap_handle_kind kind, size_t size, void (*make)(void *object));

/* Gives an object a handle that it never had, and returns it. */
void *sap_handle_give(struct sap_handle *object);

/* Withdraws the handle of an object. */
void sap_handle_withdraw(struct sap_handle *object);

/* Keeps an object without a handle, which the caller uses no more, for the next open call. */
void sap_handle_keep(struct sap_handle *object);

#endif
