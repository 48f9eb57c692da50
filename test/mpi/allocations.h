/*
 * allocations.h - the n-th allocation of libsapporo_mpi fails: a part of memory.c and tree_memory.c.
 *
 * The programs are linked with the objects of libsapporo_mpi, and with -Wl,--wrap=malloc,--wrap=calloc, so that their
 * allocations and none of MPI come through the functions below.
 */
#ifndef TEST_ALLOCATIONS_H
#define TEST_ALLOCATIONS_H

#include <stddef.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);

static int counted, fails_at; /* allocations since the session began; 0: none fails */

static int fails(void) { return ++counted == fails_at; }

void *__wrap_malloc(size_t bytes) { return fails() ? NULL : __real_malloc(bytes); }

void *__wrap_calloc(size_t n, size_t bytes) { return fails() ? NULL : __real_calloc(n, bytes); }

#endif
