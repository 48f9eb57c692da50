/*
 * lock.h - the lock of a context, and of all other data that several threads share.
 *
 * Each call takes a lock, so taking a free lock costs one atomic exchange, and releasing it one store.  A lock may be
 * held while a force is computed, so a waiting thread sleeps after a few microseconds.  Sleeping also lets a holder of
 * lower real-time priority run on the same core.  Locks are not recursive; the thread that took a lock releases it.
 */
#ifndef SAP_LOCK_H
#define SAP_LOCK_H

#include <stdatomic.h>

#include "base/wait.h"

struct sap_lock {
    atomic_uint held;    /* 0 or 1 */
    atomic_uint waiters; /* number of threads that sleep until the lock is free, or are about to sleep */
};

/* Initialiser of a free lock in static memory; memory of zeros is a free lock, too. */
#define SAP_LOCK_INIT                                                                                                  \
    {                                                                                                                  \
        0, 0                                                                                                           \
    }

static inline void sap_lock_start(struct sap_lock *lock)
{
    atomic_init(&lock->held, 0);
    atomic_init(&lock->waiters, 0);
}

/* Takes the lock if it is free; returns 0 if a thread holds it. */
static inline int sap_try_lock(struct sap_lock *lock)
{
    return !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire);
}

/* The slow path of sap_lock: waits until the lock is free and takes it. */
__attribute__((cold, noinline, unused)) static void sap_lock_wait(struct sap_lock *lock)
{
    enum { TRIES = 100 };
    const long longest = 32000000;
    for (int k = 0; k < TRIES; k++) {
        sap_wait_pause();
        if (!atomic_load_explicit(&lock->held, memory_order_relaxed) && sap_try_lock(lock)) return;
    }
    atomic_fetch_add(&lock->waiters, 1);
    /* the sleep has a limit: a wake-up is lost if sap_unlock reads `waiters` just before the increment above */
    for (long limit = 1000000; !sap_try_lock(lock); limit = limit < longest ? 2 * limit : longest)
        sap_wait_sleep(&lock->held, 1, limit);
    atomic_fetch_sub(&lock->waiters, 1);
}

static inline void sap_lock(struct sap_lock *lock)
{
    if (!sap_try_lock(lock)) sap_lock_wait(lock);
}

/* Releases the lock.  It does not read the lock after the release, because the next holder may free its memory. */
static inline void sap_unlock(struct sap_lock *lock)
{
    const unsigned waiters = atomic_load_explicit(&lock->waiters, memory_order_relaxed);
    atomic_store_explicit(&lock->held, 0, memory_order_release);
    if (waiters > 0) sap_wait_wake(&lock->held, 1);
}

#endif
