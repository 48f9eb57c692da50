/* alloc_faults.c - see alloc_faults.h.  For glibc, whose own functions have a second name. */
#define _GNU_SOURCE
#include "alloc_faults.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The functions that are replaced, by the other names that glibc exports. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

enum { RANGES_MOST = 64, LARGE_MAPPING = 65536, CHAINS = 4096 };

/* Where the library's code lies. */
static struct {
    uintptr_t from, to;
} range[RANGES_MOST];
static int ranges;

static atomic_long allocations, failed, fail_at;
static atomic_int fails_for_good, by_callers;
static struct alloc_faults_report *report;

/* ---------------------------------------------------------------- whose allocation it is */

static int is_ours(const char *path)
{
    static const char *const names[] = {
        "libsapporo.so",    "libg6.so",         "libpg5_symmetric.so",   "libsapporo6th.so",  "libyebisug6.so",
        "libnbody6_gpu.so", "libnbody7_gpu.so", "libnbody6_2010_gpu.so", "libnbody6pp_gpu.so"};
    const char *const slash = strrchr(path, '/'), *const base = slash ? slash + 1 : path;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (strncmp(base, names[k], strlen(names[k])) == 0) return 1;
    return 0;
}

static int add_ranges(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!is_ours(info->dlpi_name)) return 0;
    for (int k = 0; k < info->dlpi_phnum && ranges < RANGES_MOST; k++) {
        const ElfW(Phdr) *const part = &info->dlpi_phdr[k];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        range[ranges].from = info->dlpi_addr + part->p_vaddr;
        range[ranges].to = range[ranges].from + part->p_memsz;
        ranges++;
    }
    return 0;
}

/* Whether the library's code is at an address. */
static int is_in_library(uintptr_t at)
{
    int ours = 0;
    for (int k = 0; k < ranges; k++) ours |= at >= range[k].from && at < range[k].to;
    return ours;
}

/* Whether an allocation has failed, and all after it fail, too. */
static int already_fails(void) { return atomic_load(&fails_for_good) && atomic_load(&failed) > 0; }

/*
 * Chains of callers in the library since alloc_faults_plan, by a number made of their addresses; 0: free.  Whose call
 * of the library it is makes no difference to the library.
 */
static struct chain {
    atomic_ullong key;
    atomic_long times;
} chains[CHAINS];

/* Returns 1 at the first, second, fourth, eighth ... allocation by the present chain of callers. */
static int chain_counts(void)
{
    void *frame[ALLOC_FAULTS_FRAMES];
    const int frames = backtrace(frame, ALLOC_FAULTS_FRAMES);
    unsigned long long key = 1;
    for (int k = 0; k < frames; k++) {
        if (!is_in_library((uintptr_t)frame[k])) continue;
        key = (key ^ (uintptr_t)frame[k]) * 0x9E3779B97F4A7C15ULL;
        key ^= key >> 29;
    }
    if (key == 0) key = 1;
    for (int k = 0; k < CHAINS; k++) {
        struct chain *const c = &chains[(key + (unsigned long long)k) % CHAINS];
        unsigned long long found = 0;
        if (!atomic_compare_exchange_strong(&c->key, &found, key) && found != key) continue;
        const long times = atomic_fetch_add(&c->times, 1) + 1;
        return (times & (times - 1)) == 0;
    }
    return 1;
}

/* Whether an allocation fails whose caller continues at `back`. */
static int fails(const void *back)
{
    if (!is_in_library((uintptr_t)back) || (atomic_load(&by_callers) && !already_fails() && !chain_counts())) return 0;
    const long n = atomic_fetch_add(&allocations, 1) + 1, which = atomic_load(&fail_at);
    if (which == 0 || n < which || (n > which && !atomic_load(&fails_for_good))) return 0;
    const long before = atomic_fetch_add(&failed, 1);
    if (report && before == 0) report->frames = backtrace(report->frame, ALLOC_FAULTS_FRAMES);
    if (report) report->failed = before + 1;
    errno = ENOMEM;
    return 1;
}

/* ---------------------------------------------------------------- for programs */

void alloc_faults_plan(long n, int for_good, enum alloc_faults_counted counted, struct alloc_faults_report *to)
{
    void *first[2];
    (void)backtrace(first, 2); /* its first call loads a library */
    if (ranges == 0) (void)dl_iterate_phdr(add_ranges, NULL);
    atomic_store(&fail_at, 0);
    atomic_store(&allocations, 0);
    atomic_store(&failed, 0);
    for (int k = 0; k < CHAINS; k++) {
        atomic_store(&chains[k].key, 0);
        atomic_store(&chains[k].times, 0);
    }
    report = to;
    atomic_store(&by_callers, n > 0 && counted == ALLOC_FAULTS_BY_CALLERS);
    atomic_store(&fails_for_good, for_good);
    atomic_store(&fail_at, n);
}

/* ---------------------------------------------------------------- what is replaced */

void *malloc(size_t bytes) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes); }

void *calloc(size_t n, size_t bytes) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes); }

void *realloc(void *old, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}

void *reallocarray(void *old, size_t n, size_t bytes)
{
    if (fails(__builtin_return_address(0))) return NULL;
    if (bytes && n > SIZE_MAX / bytes) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(old, n * bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **to, size_t alignment, size_t bytes)
{
    if (fails(__builtin_return_address(0))) return ENOMEM;
    void *const memory = __libc_memalign(alignment, bytes);
    if (memory) *to = memory;
    return memory ? 0 : ENOMEM;
}

static char *copy_of(const char *text, size_t length)
{
    char *const copy = __libc_malloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *strdup(const char *text) { return fails(__builtin_return_address(0)) ? NULL : copy_of(text, strlen(text)); }

char *strndup(const char *text, size_t most)
{
    return fails(__builtin_return_address(0)) ? NULL : copy_of(text, strnlen(text, most));
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (bytes >= LARGE_MAPPING && fails(__builtin_return_address(0))) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}
