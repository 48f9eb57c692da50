/*
 * call.h - the bracket of public calls: it finds and locks the object of a handle, and enters the library's arithmetic.
 *
 *     struct sap_public_call call;
 *     sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
 *     return sap_call_end(&call, t ? build(t, 0) : SAPPORO_ERR_CLOSED);
 *
 * Every public function that takes a handle is such a bracket, with three exceptions.  Texts of errors and kinds are
 * read without the lock.  A function that ends the life of an object unlocks the object itself, as the last step.
 * sap_context_set_scaled (particles.c) stores a particle in 5 ns, so it only tries to take the lock.
 */
#ifndef SAP_CALL_H
#define SAP_CALL_H

#include "base/fpenv.h"
#include "context/context_private.h"
#include "context/object.h"

struct sap_public_call {
    struct sap_lock *busy; /* the lock that the call holds; NULL: none */
    int entered;           /* 1: the thread is in the library's floating-point environment */
    sap_fpenv caller;      /* the caller's environment */
};

/* The lock that guards an object: its own, or that of the context of a force or a batch. */
static inline struct sap_lock *sap_call_lock(enum sap_handle_kind kind, void *object)
{
    if (kind == SAP_HANDLE_JOB)
        return &atomic_load_explicit(&((sapporo_job *)object)->context, memory_order_acquire)->busy;
    if (kind == SAP_HANDLE_BATCH)
        return &atomic_load_explicit(&((sapporo_batch *)object)->context, memory_order_acquire)->busy;
    return kind == SAP_HANDLE_CONTEXT ? &((sapporo *)object)->busy : &((struct sap_object *)object)->busy;
}

/*
 * Begins a call that computes nothing: returns the object of a handle, locked; NULL: no open object of this kind has
 * this handle.  Every begun call must be ended, unless the object is NULL, when ending it does nothing.
 */
static inline void *sap_call_look(struct sap_public_call *call, enum sap_handle_kind kind, const void *handle)
{
    struct sap_handle *const object = sap_handle_find(kind, handle);
    call->entered = 0;
    call->busy = object ? sap_call_lock(kind, object) : NULL;
    if (!object) return NULL;
    sap_lock(call->busy);
    /* an object with the same handle still belongs to the same context: one of another context has another handle */
    if (sap_handle_is(object, handle)) return object;
    sap_unlock(call->busy);
    call->busy = NULL;
    return NULL;
}

/* Begins a call: as sap_call_look, and enters the library's floating-point environment. */
static inline void *sap_call_begin(struct sap_public_call *call, enum sap_handle_kind kind, const void *handle)
{
    void *const object = sap_call_look(call, kind, handle);
    if (!object) return NULL;
    call->caller = sap_fp_enter();
    call->entered = 1;
    return object;
}

/* Ends a call: restores the caller's floating-point environment and unlocks the object. */
static inline void sap_call_leave(struct sap_public_call *call)
{
    if (call->entered) sap_fp_leave(call->caller);
    if (call->busy) sap_unlock(call->busy);
    call->busy = NULL;
    call->entered = 0;
}

/* Ends a call and returns its status, or what a query found under the lock. */
static inline int sap_call_end(struct sap_public_call *call, int status)
{
    sap_call_leave(call);
    return status;
}

#endif
