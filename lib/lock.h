/*
 * lock.h - one atomic flag: the lock of a context.
 *
 * Taken for every call, so it must cost a few nanoseconds; held for the length
 * of a force at most, so who waits gives the processor away.
 */
#ifndef SAP_LOCK_H
#define SAP_LOCK_H

#include <sched.h>
#include <stdatomic.h>

static inline void sap_lock(atomic_flag *flag)
{
    for (int tries = 0; atomic_flag_test_and_set_explicit(flag, memory_order_acquire); tries++)
        if (tries > 64) (void)sched_yield();
}

static inline void sap_unlock(atomic_flag *flag) { atomic_flag_clear_explicit(flag, memory_order_release); }

#endif
