/*
 * handle.h - handles of contexts, forces, batches, trees and steppers: numbers in the form of pointers, which are
 * never dereferenced.
 *
 * A handle names a slot of the table of its kind, and one life of the object in the slot.  Each kind has a table of its
 * own, so that many objects of one kind leave room for the others.  A life lasts from one open call to the close call.
 * Objects are never freed: the next open call of the kind reuses a closed object, with another handle.  So
 * the handle of a closed object stays invalid, whatever is opened later, and a thread that still reads the object reads
 * valid memory.
 *
 * To use an object safely, call sap_handle_find, which returns the object if it has this handle now.  Then lock the
 * object and call sap_handle_is, because another thread may have closed the object meanwhile.  Handles are given and
 * withdrawn under the object's lock.
 *
 * Bits of a handle, from the lowest: kind (never 0, so no handle is NULL or the address of an aligned object), slot,
 * life.  With 64 bits an object is not reused after 2^39 lives; with 32 bits the lives repeat after 2^16.
 */
#ifndef SAP_HANDLE_H
#define SAP_HANDLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

enum sap_handle_kind {
    SAP_HANDLE_CONTEXT = 1,
    SAP_HANDLE_JOB = 2,
    SAP_HANDLE_TREE = 3,
    SAP_HANDLE_STEPPER = 4,
    SAP_HANDLE_BATCH = 5,
    SAP_HANDLE_KINDS = 8 /* 2^SAP_HANDLE_KIND_BITS */
};

enum {
    SAP_HANDLE_KIND_BITS = 3,
    SAP_HANDLE_SLOT_BITS = sizeof(uintptr_t) > 4 ? 22 : 13,
    SAP_HANDLE_LIFE_SHIFT = SAP_HANDLE_KIND_BITS + SAP_HANDLE_SLOT_BITS,
    SAP_HANDLE_SLOTS = 1 << SAP_HANDLE_SLOT_BITS, /* of each kind */
    SAP_HANDLE_CHUNK = 256                        /* number of slots that are allocated at a time */
};

/* The first member of every object that has a handle. */
struct sap_handle {
    atomic_uintptr_t now;    /* the object's handle; 0: it is closed */
    uintptr_t last;          /* the object's last handle; only sap_handle_give changes it */
    struct sap_handle *next; /* in the list of closed objects; guarded by the table's lock */
};

struct sap_handle_chunk {
    _Atomic(struct sap_handle *) object[SAP_HANDLE_CHUNK];
};

/* All objects of a kind.  Readers take no lock; chunks are never freed. */
struct sap_handle_slots {
    int used;                  /* number of slots with an object, open or closed */
    struct sap_handle *closed; /* list of closed objects */
    _Atomic(struct sap_handle_chunk *) chunk[SAP_HANDLE_SLOTS / SAP_HANDLE_CHUNK];
};

/* All objects. */
struct sap_handle_table {
    struct sap_lock lock; /* guards `used` and `closed` of all kinds */
    struct sap_handle_slots of[SAP_HANDLE_KINDS];
};

extern struct sap_handle_table sap_handles;

/* Whether an object has this handle now. */
static inline int sap_handle_is(const struct sap_handle *object, const void *handle)
{
    return atomic_load_explicit(&object->now, memory_order_acquire) == (uintptr_t)handle;
}

/* The object that has this handle; NULL: no object has it.  `handle` may be any value.  Takes no lock. */
static inline void *sap_handle_find(enum sap_handle_kind kind, const void *handle)
{
    const uintptr_t bits = (uintptr_t)handle, slot = bits >> SAP_HANDLE_KIND_BITS & (SAP_HANDLE_SLOTS - 1);
    struct sap_handle_chunk *const chunk =
        atomic_load_explicit(&sap_handles.of[kind].chunk[slot / SAP_HANDLE_CHUNK], memory_order_acquire);
    if (!chunk || (bits & (SAP_HANDLE_KINDS - 1)) != kind) return NULL;
    struct sap_handle *const object =
        atomic_load_explicit(&chunk->object[slot % SAP_HANDLE_CHUNK], memory_order_acquire);
    return object && sap_handle_is(object, handle) ? object : NULL;
}

/* Whether an object has used all its lives, so that it must not be reused. */
static inline int sap_handle_is_worn(const struct sap_handle *object)
{
    return sizeof object->last > 4 && object->last >> SAP_HANDLE_LIFE_SHIFT == UINTPTR_MAX >> SAP_HANDLE_LIFE_SHIFT;
}

/*
 * An object of a kind without a handle, of `size` bytes.  It is a closed object, unchanged since sap_handle_keep, or a
 * new object of zeros, for which `make` is called once if it is not NULL.  NULL: out of memory, or no slot is left;
 * sap_handle_lack says which.
 */
void *sap_handle_object(enum sap_handle_kind kind, size_t size, void (*make)(void *object));

/* Why there is no object of a kind, for a message: all handles of the kind are in use, or memory is short. */
const char *sap_handle_lack(enum sap_handle_kind kind);

/* Gives an object a handle that it never had, and returns the handle. */
void *sap_handle_give(struct sap_handle *object);

/* Withdraws the handle of an object. */
void sap_handle_withdraw(struct sap_handle *object);

/* Puts an object without a handle into the list of closed objects for reuse; the caller must not use it afterwards. */
void sap_handle_keep(struct sap_handle *object);

#endif
