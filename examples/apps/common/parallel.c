/* parallel.c - see parallel.h. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "parallel.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static long count_cores(void)
{
#if defined(CPU_COUNT)
    cpu_set_t granted;
    if (!sched_getaffinity(0, sizeof granted, &granted)) return CPU_COUNT(&granted);
#endif
    return sysconf(_SC_NPROCESSORS_ONLN);
}

int parallel_threads(void)
{
    const char *asked = getenv("OMP_NUM_THREADS");
    long threads = asked ? strtol(asked, NULL, 10) : 0; /* of a list, the first number counts */
    if (threads < 1) threads = count_cores();
    return threads < 1 ? 1 : threads > PARALLEL_MOST ? PARALLEL_MOST : (int)threads;
}

void parallel_run(int shares, void (*work)(void *argument, int share), void *argument)
{
#pragma omp parallel for num_threads(shares) schedule(static, 1)
    for (int share = 0; share < shares; share++) work(argument, share);
}
