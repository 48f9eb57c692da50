/*
 * team_openmp.c - regions on the OpenMP run time of the compiler, in place of team.c: `make THREADS=openmp`.
 *
 * A client with OpenMP then has one set of threads.  What the run time does is its own: it ends the process where it
 * cannot make a thread, and OMP_WAIT_POLICY says how long its threads spin.
 */
#define _POSIX_C_SOURCE 200809L /* pthread_sigmask */
#include "base/team.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include "base/fpenv.h"

/* The largest number of threads that a region had besides its caller. */
static atomic_int workers;

/* 1: in a child after fork, where the run time may wait for threads of the parent, those of a client's regions too. */
static atomic_int alone;

int sap_team_is_openmp(void) { return 1; }

int sap_team_workers(void) { return atomic_load_explicit(&workers, memory_order_relaxed); }

int sap_team_inside(void) { return atomic_load_explicit(&alone, memory_order_relaxed) || omp_in_parallel(); }

int sap_team_forget(void)
{
    const int had = sap_team_workers();
    atomic_init(&workers, 0);
    atomic_init(&alone, 1);
    return had;
}

static void note_workers(int n)
{
    int most = sap_team_workers();
    while (n > most && !atomic_compare_exchange_weak(&workers, &most, n)) continue;
}

static void run_all(int threads, sap_team_work *work, void *argument)
{
#pragma omp parallel num_threads(threads)
    {
        const sap_fpenv callers = sap_fp_enter();
        const int thread = omp_get_thread_num();
        if (thread == 0) note_workers(omp_get_num_threads() - 1);
        work(argument, thread);
        sap_fp_leave(callers);
    }
}

void sap_team_run(int threads, sap_team_work *work, void *argument)
{
    const sap_fpenv callers = sap_fp_enter();
    if (threads > SAP_TEAM_MOST) threads = SAP_TEAM_MOST;
    if (threads < 2 || sap_team_inside()) {
        work(argument, 0);
    } else if (threads - 1 <= sap_team_workers()) {
        run_all(threads, work, argument);
    } else { /* threads that are made now block all signals */
        sigset_t all, old;
        sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &old);
        run_all(threads, work, argument);
        (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    sap_fp_leave(callers);
}
