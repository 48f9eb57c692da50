/*
 * planted.c - defects for the fuzzer's own test: a library that is preloaded, and stands before the real calls.
 *
 * FUZZ_PLANT=wrong makes the third potential of a force a little too large, =hang never returns from such a force.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "sapporo_g6.h"

typedef int lasthalf2(int, int, int, int *, double (*)[3], double (*)[3], double, double *, double (*)[3],
                      double (*)[3], double *, int *);

__attribute__((noinline)) static void hang(void)
{
    for (volatile int on = 1; on;) continue;
}

int g6calc_lasthalf2(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2,
                     double h2[], double acc[][3], double jerk[][3], double pot[], int nnbindex[])
{
    static lasthalf2 *real;
    const char *const what = getenv("FUZZ_PLANT");
    if (!real) *(void **)&real = dlsym(dlopen("libsapporo.so.0", RTLD_NOW | RTLD_NOLOAD), "g6calc_lasthalf2");
    if (what && strcmp(what, "hang") == 0 && ni > 2) hang();
    const int status = real(clusterid, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot, nnbindex);
    if (what && strcmp(what, "wrong") == 0 && ni > 2 && pot && pot[2] < 0) pot[2] *= 1.01;
    return status;
}
