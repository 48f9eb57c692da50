/*
 * scarce.h - malloc and its relatives for one program, which can refuse memory.
 *
 * A program includes this header once.  Allocations of the program and of the static library in it may be refused;
 * other libraries get the memory that they ask for.  Without glibc, and under sanitizers, which have allocators of
 * their own, SCARCE is 0 and no function is replaced.
 */
#ifndef TEST_SCARCE_H
#define TEST_SCARCE_H

#include <stdatomic.h>
#include <stdlib.h>

#include "sanitized.h"

#if defined(__GLIBC__) && !SANITIZED
#define SCARCE 1

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);
extern char __executable_start, etext; /* defined by the linker: bounds of the program's code */

static long countdown = -1; /* allocations until one is refused; -1: none is refused */
static int for_good;        /* 1: later allocations are refused too, until countdown is set to -1 */
static int refused;

/* Blocks that this program has allocated and not freed. */
static void *block[1 << 16];
static int blocks;

/* Guards these variables, because threads of the library allocate too. */
static atomic_flag scarce_busy = ATOMIC_FLAG_INIT;

static void scarce_lock(void)
{
    while (atomic_flag_test_and_set(&scarce_busy)) continue;
}

/* Returns 1 if an allocation is the program's and must succeed, 0 if it is another library's, -1 if it must fail. */
static int judge(const void *caller)
{
    if ((const char *)caller < &__executable_start || (const char *)caller >= &etext) return 0;
    scarce_lock();
    const int refuse = countdown == 0;
    if (countdown > 0 || (refuse && !for_good)) countdown--;
    if (refuse) refused = 1;
    atomic_flag_clear(&scarce_busy);
    return refuse ? -1 : 1;
}

static void *keep(int ours, void *p)
{
    scarce_lock();
    if (ours && p && blocks < 1 << 16) block[blocks++] = p;
    atomic_flag_clear(&scarce_busy);
    return p;
}

static void let_go(const void *p)
{
    int k;
    scarce_lock();
    for (k = blocks - 1; k >= 0 && block[k] != p; k--) continue;
    if (k >= 0) block[k] = block[--blocks];
    atomic_flag_clear(&scarce_busy);
}

void *malloc(size_t size)
{
    const int ours = judge(__builtin_return_address(0));
    return ours < 0 ? NULL : keep(ours, __libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    const int ours = judge(__builtin_return_address(0));
    return ours < 0 ? NULL : keep(ours, __libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
    const int ours = judge(__builtin_return_address(0));
    if (ours < 0) return NULL;
    let_go(p);
    return keep(ours, __libc_realloc(p, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    const int ours = judge(__builtin_return_address(0));
    return ours < 0 ? NULL : keep(ours, __libc_memalign(alignment, size));
}

void free(void *p)
{
    let_go(p);
    __libc_free(p);
}

#else
#define SCARCE 0
#endif

#endif
