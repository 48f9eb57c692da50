/* threads.c - how many threads may compute. */
#include "threads.h"

#ifdef _OPENMP

#include <omp.h>
#include <pthread.h>

#include "process.h"

/* The thread pool of the OpenMP run time stays in the parent. */
static void in_child(void) { sap_process.forked = 1; }

/* When the library is loaded: the pool may be older than our first call. */
__attribute__((constructor)) static void watch_forks(void) { (void)pthread_atfork(0, 0, in_child); }

int sap_threads_default(void)
{
    const int n = omp_get_max_threads();
    return n > 0 ? n : 1;
}

int sap_threads_now(int most) { return sap_process.forked || omp_in_parallel() || most < 1 ? 1 : most; }

#else

int sap_threads_default(void) { return 1; }

int sap_threads_now(int most)
{
    (void)most;
    return 1;
}

#endif

int sap_threads_few(int worth)
{
    enum { AT_MOST = 16 };
    const int most = sap_threads_default() < AT_MOST ? sap_threads_default() : AT_MOST;
    return worth > 1 ? sap_threads_now(most) : 1;
}

int sap_threads_for_rows(int rows)
{
    /* one thread copies a thousand rows in the time in which others start and meet again; then memory is the bound */
    enum { ROWS_A_THREAD = 1024 };
    return sap_threads_few(rows / ROWS_A_THREAD);
}
