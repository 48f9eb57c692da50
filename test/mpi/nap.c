/*
 * nap.c - for LD_PRELOAD: a rank that offers its core while it waits sleeps instead.  Where more ranks than cores run,
 * or other tests beside them, a rank that yields is soon chosen again, and the rank for which it waits runs seldom.
 */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <stddef.h>
#include <time.h>

int sched_yield(void)
{
    const struct timespec nap = {.tv_nsec = 20000};
    return nanosleep(&nap, NULL);
}
