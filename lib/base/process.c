/* process.c - fork: the child finds the state of the process complete, and no lock held. */
#include "base/process.h"

#include <pthread.h>

#include "base/team.h"
#include "base/wait.h"

int sap_forked;

/* All locks of the process; NULL: a static library without the module that has the lock. */
static struct sap_lock *locks[SAP_LOCKS];

void sap_guard_at_fork(enum sap_lock_order order, struct sap_lock *lock) { locks[order] = lock; }

/* Which of them the thread that forks has taken. */
static int taken[SAP_LOCKS];

/* Takes the locks, so that the child finds whole what they guard; gives up where that takes long. */
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

/* Other threads, the library's own among them, do not exist in the child: no other thread holds a lock. */
static void in_child(void)
{
    for (int k = 0; k < SAP_LOCKS; k++)
        if (locks[k]) sap_lock_start(locks[k]);
    if (sap_team_forget() > 0) sap_forked = 1;
}

__attribute__((constructor)) static void watch_forks(void) { (void)pthread_atfork(before_fork, in_parent, in_child); }
