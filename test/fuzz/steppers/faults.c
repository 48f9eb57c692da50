/* faults.c - see faults.h. */
#include "faults.h"

#include <stdatomic.h>
#include <stddef.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static atomic_int is_armed, allocations, failures;
static int fails_at, all_fail; /* written while no call is under way */

static int fails(void)
{
    if (!atomic_load(&is_armed)) return 0;
    const int number = atomic_fetch_add(&allocations, 1) + 1;
    if (fails_at == 0 || number < fails_at || (number > fails_at && !all_fail)) return 0;
    atomic_fetch_add(&failures, 1);
    return 1;
}

void *__wrap_malloc(size_t bytes) { return fails() ? NULL : __real_malloc(bytes); }
void *__wrap_calloc(size_t n, size_t bytes) { return fails() ? NULL : __real_calloc(n, bytes); }
void *__wrap_realloc(void *old, size_t bytes) { return fails() ? NULL : __real_realloc(old, bytes); }
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

void faults_begin(int at, int stays)
{
    fails_at = at;
    all_fail = stays;
    atomic_store(&allocations, 0);
    atomic_store(&failures, 0);
    atomic_store(&is_armed, 1);
}

void faults_end(int *counted, int *failed)
{
    atomic_store(&is_armed, 0);
    if (counted) *counted = atomic_load(&allocations);
    if (failed) *failed = atomic_load(&failures);
}
