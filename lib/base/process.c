/* process.c - keeps the state of the process consistent at fork; in the child no lock is held. */
#include "base/process.h"

#include <pthread.h>

#include "base/team.h"
#include "base/wait.h"

int sap_forked;

/* All locks of the process; NULL: the module with the lock is not linked (static library). */
static struct sap_lock *locks[SAP_LOCKS];

void sap_guard_at_fork(enum sap_lock_order order, struct sap_lock *lock) { locks[order] = lock; }

/* 1: the forking thread has taken this lock. */
static int taken[SAP_LOCKS];

/* Takes the locks, so that the data that they guard are consistent in the child.  It gives up on a lock that stays
 * held for long. */
static void before_fork(void)
{
    enum { TRIES = 100 };
    const long nap = 1000000;
    for (int k = 0; k < SAP_LOCKS; k++) {
        if (!locks[k]) continue;
        taken[k] = sap_try_lock(locks[k]);
        for (int tries = 0; !taken[k] && tries < TRIES; tries++) {
            sap_wait_sleep(&locks[k]->held, 1, nap);
            taken[k] = sap_try_lock(locks[k]);
        }
    }
}

static void in_parent(void)
{
    for (int k = SAP_LOCKS - 1; k >= 0; k--)
        if (taken[k]) sap_unlock(locks[k]);
}

/* Frees all locks and resets the team in the child, which has only the forking thread. */
static void in_child(void)
{
    for (int k = 0; k < SAP_LOCKS; k++)
        if (locks[k]) sap_lock_start(locks[k]);
    if (sap_team_forget() > 0) sap_forked = 1;
}

__attribute__((constructor)) static void watch_forks(void) { (void)pthread_atfork(before_fork, in_parent, in_child); }
