/* process.c - the state of process.h as it is when the library is loaded, and in a child after fork. */
#include "base/process.h"

#include <pthread.h>

#include "base/handle.h"
#include "base/lock.h"
#include "base/team.h"
#include "base/wait.h"

struct sap_process sap_process = {
    .verbosity = -1,
    .g6 = {.sort_mode = 1},
    .cuda = {.once = PTHREAD_ONCE_INIT},
    .opencl = {.once = PTHREAD_ONCE_INIT},
};

struct sap_g5_table sap_g5;
struct sap_handle_table sap_handles;

_Thread_local char sap_open_error[256];
_Thread_local char sap_cuda_error[256];
_Thread_local char sap_opencl_error[256];

/* --------------------------------------------------------------------- fork */

/* All locks of the process, in the order in which they are taken. */
static struct sap_lock *const locks[] = {
    &sap_process.g6.lock,       &sap_process.opencl.lock,  &sap_process.gpu_lock,   &sap_handles.lock,
    &sap_process.segments_lock, &sap_process.machine.lock, &sap_process.notes_lock, &sap_process.log_lock,
};

enum { LOCKS = sizeof locks / sizeof *locks };

/* Which of them the thread that forks has taken. */
static int taken[LOCKS];

/* Takes the locks, so that the child finds whole what they guard; gives up where that takes long. */
static void before_fork(void)
{
    enum { TRIES = 100 };
    const long nap = 1000000;
    for (int k = 0; k < LOCKS; k++) {
        taken[k] = sap_try_lock(locks[k]);
        for (int tries = 0; !taken[k] && tries < TRIES; tries++) {
            sap_wait_sleep(&locks[k]->held, 1, nap);
            taken[k] = sap_try_lock(locks[k]);
        }
    }
}

static void in_parent(void)
{
    for (int k = LOCKS - 1; k >= 0; k--)
        if (taken[k]) sap_unlock(locks[k]);
}

/* Other threads, the library's own among them, do not exist in the child: no other thread holds a lock. */
static void in_child(void)
{
    for (int k = 0; k < LOCKS; k++) sap_lock_start(locks[k]);
    if (sap_team_forget() > 0) sap_process.forked = 1;
}

__attribute__((constructor)) static void watch_forks(void) { (void)pthread_atfork(before_fork, in_parent, in_child); }
