/*
 * wait.h - lets a thread sleep until a word in memory changes: futexes on Linux.
 *
 * On Linux sap_wait_sleep and sap_wait_wake have no state of their own, so other libraries than libsapporo can use them
 * inline.  On other systems a sleeping thread reads the word again after a fraction of a millisecond.
 */
#ifndef SAP_WAIT_H
#define SAP_WAIT_H

#include <stdatomic.h>
#include <time.h>

#if defined(__linux__) && defined(__LP64__) && !defined(SAP_PORTABLE_WAITS)

#include <sys/syscall.h>

long syscall(long number, ...); /* unistd.h declares it only for _DEFAULT_SOURCE */

enum { SAP_FUTEX_WAIT = 128, SAP_FUTEX_WAKE = 129 }; /* FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE of linux/futex.h */

/*
 * Sleeps while *word is `value`, at most `nanoseconds` (less than one second; 0: no limit).  It may return early, so
 * the caller must read the word again.  It is no cancellation point.
 */
static inline void sap_wait_sleep(atomic_uint *word, unsigned value, long nanoseconds)
{
    const struct timespec limit = {.tv_nsec = nanoseconds};
    (void)syscall(SYS_futex, word, SAP_FUTEX_WAIT, value, nanoseconds > 0 ? &limit : (const struct timespec *)0);
}

/* Wakes up to n threads that sleep on the word. */
static inline void sap_wait_wake(atomic_uint *word, int n) { (void)syscall(SYS_futex, word, SAP_FUTEX_WAKE, n); }

#else

int nanosleep(const struct timespec *length, struct timespec *left);

static inline void sap_wait_sleep(atomic_uint *word, unsigned value, long nanoseconds)
{
    const long most = 200000;
    const struct timespec nap = {.tv_nsec = nanoseconds > 0 && nanoseconds < most ? nanoseconds : most};
    if (atomic_load_explicit(word, memory_order_acquire) == value) (void)nanosleep(&nap, (struct timespec *)0);
}

static inline void sap_wait_wake(atomic_uint *word, int n)
{
    (void)word;
    (void)n;
}

#endif

/* Tells the processor that the thread is in a loop that waits for another thread. */
static inline void sap_wait_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" : : : "memory");
#endif
}

#endif
