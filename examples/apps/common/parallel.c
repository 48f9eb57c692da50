/* parallel.c - see parallel.h. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "parallel.h"

#include <pthread.h>
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

typedef struct worker {
    pthread_t thread;
    int share, started;
    void (*work)(void *argument, int share);
    void *argument;
} worker;

static void *do_share(void *argument)
{
    const worker *w = argument;
    w->work(w->argument, w->share);
    return NULL;
}

void parallel_run(int shares, void (*work)(void *argument, int share), void *argument)
{
    worker all[PARALLEL_MOST];
    for (int s = 0; s < shares && s < PARALLEL_MOST; s++) {
        all[s] = (worker){.share = s, .work = work, .argument = argument};
        all[s].started = s > 0 && pthread_create(&all[s].thread, NULL, do_share, &all[s]) == 0;
    }
    for (int s = 0; s < shares; s++)
        if (s < PARALLEL_MOST && all[s].started)
            pthread_join(all[s].thread, NULL);
        else
            work(argument, s);
}
