/*
 * lock.h - the lock of a context, and of everything else that several threads share.
 *
 * A lock is taken for every call, so taking a free one costs one atomic exchange and giving it back one store.  A lock
 * may be held for the length of a force, so a thread that waits sleeps after a few microseconds.  Sleeping also lets a
 * holder of lower real-time priority run on the same core.  Not recursive; the thread that took a lock gives it back.
 */
#ifndef SAP_LOCK_H
#define SAP_LOCK_H

#include <stdatomic.h>

#include "base/wait.h"

struct sap_lock {
    atomic_uint held;    /* 0 or 1 */
    atomic_uint waiters; /* threads that sleep until it is free, or are about to */
};

/* A lock in static memory; memory of zeros is a free lock, too. */
#define SAP_LOCK_INIT                                                                                                  \
    {                                                                                                                  \
        0, 0                                                                                                           \
    }

static inline void sap_lock_start(struct sap_lock *lock)
{
    atomic_init(&lock->held, 0);
    atomic_init(&lock->waiters, 0);
}

/* Takes the lock if it is free; 0: another thread has it. */
static inline int sap_try_lock(struct sap_lock *lock)
{
    return !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire);
}

/* For sap_lock: the lock was held. */
__attribute__((cold, noinline, unused)) static void sap_lock_wait(struct sap_lock *lock)
{
    enum { TRIES = 100 };
    const long longest = 32000000;
    for (int k = 0; k < TRIES; k++) {
        sap_wait_pause();
        if (!atomic_load_explicit(&lock->held, memory_order_relaxed) && sap_try_lock(lock)) return;
    }
    atomic_fetch_add(&lock->waiters, 1);
    /* Sleeps are bounded: a wake-up is lost if sap_unlock read `waiters` just before this thread was counted. */
    for (long limit = 1000000; !sap_try_lock(lock); limit = limit < longest ? 2 * limit : longest)
        sap_wait_sleep(&lock->held, 1, limit);
    atomic_fetch_sub(&lock->waiters, 1);
}

static inline void sap_lock(struct sap_lock *lock)
{
    if (!sap_try_lock(lock)) sap_lock_wait(lock);
}

/* Reads nothing of the lock after it is free: the next holder may free its memory. */
static inline void sap_unlock(struct sap_lock *lock)
{
    const unsigned waiters = atomic_load_explicit(&lock->waiters, memory_order_relaxed);
    atomic_store_explicit(&lock->held, 0, memory_order_release);
    if (waiters > 0) sap_wait_wake(&lock->held, 1);
}

#endif
