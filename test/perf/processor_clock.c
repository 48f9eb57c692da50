/*
 * processor_clock.c - a library for LD_PRELOAD: programs that measure time measure the processor time of their process.
 *
 *   cc -O2 -shared -fPIC test/perf/processor_clock.c -o processor_clock.so
 *   LD_PRELOAD=$PWD/processor_clock.so OMP_NUM_THREADS=1 examples/sapporo bench
 *
 * On a machine where other programs run, the time of a program has waits for a processor in it; its processor time has
 * none.  Caches and memory are shared all the same.  It means something for programs of one thread on the CPU alone:
 * the time of several threads is their sum, and that of a GPU is missing.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    return (int)syscall(SYS_clock_gettime, clock == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : clock, time);
}
