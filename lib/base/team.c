/*
 * team.c - worker threads: how they are made, sleep, and find work.
 *
 * A region takes a desk: a place in static memory where it announces its work and how many workers it wants (tickets).
 * A worker that takes a ticket is inside until it has returned from the work.  The caller withdraws the tickets that
 * are left when it has done its own part, and waits until no worker is inside.
 *
 * Workers without work watch the mask of desks that have tickets for some microseconds and then sleep.  The caller
 * wakes two of them and each of these wakes two more, as long as tickets are left.
 */
#define _GNU_SOURCE
#include "base/team.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <dlfcn.h>
#include <sched.h>
#endif

#include "base/cores.h"
#include "base/fpenv.h"
#include "base/lock.h"
#include "base/wait.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if !defined(SANITIZED)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#endif

enum {
    DESKS = 32, /* regions at once; a region beyond computes alone */
    LINE = 64,
    STACK = 1 << 20 /* bytes: kernels use less than a quarter of a MiB (test/context/test_stack.sh) */
};

/* The state of a desk: how many threads are inside, how many more are wanted, and two bits. */
enum { INSIDE = 1, TICKET = 1 << 10, TAKEN = 1 << 20, CALLER_SLEEPS = 1 << 21, COUNT = (1 << 10) - 1 };

/*
 * How long a thread watches for a change that did not come in time before, or that did, and how long the caller waits
 * for workers before it sleeps.  Forces of block steps follow each other after tens of microseconds, and waking takes
 * some, too.  All are nanoseconds.
 */
enum { WATCH_SHORT = 10000, WATCH_LONG = 300000, WAIT_FOR_WORKERS = 30000 };

/*
 * A watching thread that is not run for so long shares its core with others.  Nobody watches in the time that follows:
 * nanoseconds.
 */
enum { DESCHEDULED = 200000, CROWDED = 20000000 };

/* After a failure to make a thread none is made for so long: nanoseconds. */
static const long long retry_after = 1000000000;

struct desk {
    _Alignas(LINE) atomic_uint state;
    int threads;
    sap_team_work *work;
    void *argument;
};

static struct {
    struct desk desk[DESKS];
    _Alignas(LINE) atomic_uint open; /* bit of each desk that has tickets */
    atomic_uint bell;                /* changes when a desk opens; workers sleep on it */
    _Alignas(LINE) atomic_int workers;
    atomic_int sleepers;
    atomic_int cores;           /* that the maker of the first worker was granted */
    atomic_llong crowded_until; /* see CROWDED */
    struct sap_lock making;     /* guards what follows */
    long long retry_at;         /* 0: no failure */
    int started;                /* 1: the key exists, and the code stays in memory */
    pthread_key_t key;          /* not NULL in a thread that is inside a region */
    atomic_int has_key;
} team;

_Static_assert(DESKS <= 8 * sizeof(unsigned), "bits of a mask");
_Static_assert((int)SAP_TEAM_MOST <= (int)COUNT, "tickets fit");

static unsigned tickets_of(unsigned state) { return state / TICKET & COUNT; }
static unsigned inside_of(unsigned state) { return state & COUNT; }

static long long now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

int sap_team_workers(void) { return atomic_load_explicit(&team.workers, memory_order_relaxed); }

/* Threads that sleep until a desk opens. */
static int sleepers(void) { return atomic_load_explicit(&team.sleepers, memory_order_relaxed); }

/* ----------------------------------------------------------------- watching */

/* Whether a core is left for a thread that only watches: all workers that are awake, and the caller, have one. */
static int may_watch(long long time)
{
    return sap_team_workers() - sleepers() + 1 <= atomic_load_explicit(&team.cores, memory_order_relaxed) &&
           time >= atomic_load_explicit(&team.crowded_until, memory_order_relaxed);
}

/* Watches until *word has (equal: 1) or has not (0) this value in the bits of the mask; 0: not within the time. */
static int watch(atomic_uint *word, unsigned mask, unsigned value, int equal, long long nanoseconds)
{
    enum { TURNS = 32 };
    const long long start = now();
    if (!may_watch(start)) return 0;
    for (long long last = start, time; last - start < nanoseconds; last = time) {
        for (int k = 0; k < TURNS; k++) {
            if (((atomic_load_explicit(word, memory_order_acquire) & mask) == value) == equal) return 1;
            sap_wait_pause();
        }
        time = now();
        if (time - last > DESCHEDULED) {
            atomic_store_explicit(&team.crowded_until, time + CROWDED, memory_order_relaxed);
            return 0;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ workers */

/* Wakes two sleeping workers if a desk wants more than there are awake. */
static void wake_some(unsigned wanted, unsigned inside)
{
    const int asleep = sleepers(), awake = sap_team_workers() - asleep - (int)inside;
    if (asleep > 0 && (int)wanted > awake) sap_wait_wake(&team.bell, 2);
}

/* Takes a ticket of a desk, and with it part in its work; 0: there is none. */
static int serve(struct desk *d, unsigned bit)
{
    unsigned state = atomic_load_explicit(&d->state, memory_order_relaxed);
    do {
        if (tickets_of(state) == 0) return 0;
    } while (!atomic_compare_exchange_weak_explicit(&d->state, &state, state - TICKET + INSIDE, memory_order_acquire,
                                                    memory_order_relaxed));
    const unsigned left = tickets_of(state) - 1;
    if (left == 0)
        atomic_fetch_and_explicit(&team.open, ~bit, memory_order_relaxed);
    else
        wake_some(left, inside_of(state) + 1);
    const sap_fpenv old = sap_fp_enter();
    d->work(d->argument, d->threads - (int)tickets_of(state));
    sap_fp_leave(old);
    /* from here on the desk may serve another region */
    state = atomic_fetch_sub_explicit(&d->state, INSIDE, memory_order_release);
    if (inside_of(state) == 1 && state & CALLER_SLEEPS) sap_wait_wake(&d->state, 1);
    return 1;
}

/* Takes part in one region that is open; 0: there is none. */
static int serve_any(unsigned first)
{
    const unsigned open = atomic_load_explicit(&team.open, memory_order_acquire);
    for (unsigned k = 0; open && k < DESKS; k++) {
        const unsigned number = (first + k) % DESKS, bit = 1U << number;
        if (open & bit && serve(&team.desk[number], bit)) return 1;
    }
    return 0;
}

/*
 * What a worker does until the process ends.  A worker that was not needed several times in a row sleeps, so that those
 * that watch are about as many as regions want.
 */
static void *live(void *number)
{
    enum { MISSES = 8 };
    const unsigned first = (unsigned)(size_t)number % DESKS;
    long long gap = 0; /* between the end of work and the next region, the last time */
    (void)pthread_setspecific(team.key, &team);
    for (int missed = 0;;) {
        const unsigned bell = atomic_load(&team.bell);
        if (serve_any(first)) {
            missed = 0;
            continue;
        }
        const long long start = now();
        if (missed < MISSES && watch(&team.bell, ~0U, bell, 0, gap < WATCH_LONG ? WATCH_LONG : WATCH_SHORT)) {
            missed++;
        } else {
            atomic_fetch_add(&team.sleepers, 1);
            sap_wait_sleep(&team.bell, bell, 0);
            atomic_fetch_sub(&team.sleepers, 1);
        }
        gap = now() - start;
    }
    return NULL;
}

/* ------------------------------------------------------------- new workers */

/* Keeps this code in memory when the library that contains it is closed: workers sleep in it. */
static void stay_in_memory(void)
{
#if defined(RTLD_NODELETE)
    Dl_info here;
    static const char anywhere;
    if (dladdr(&anywhere, &here) && here.dli_fname)
        (void)dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

/* What the first worker needs; 0: nothing works. */
static int start(void)
{
    if (team.started) return 1;
    if (pthread_key_create(&team.key, NULL)) return 0;
    atomic_store_explicit(&team.has_key, 1, memory_order_release);
    atomic_store_explicit(&team.cores, sap_cores(), memory_order_relaxed);
    stay_in_memory();
    team.started = 1;
    return 1;
}

/* 0: the system makes no more threads. */
static int make_worker(void)
{
    pthread_t thread;
    pthread_attr_t how;
    sigset_t all, old;
    if (pthread_attr_init(&how)) return 0;
    (void)pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&how, STACK * (SANITIZED ? 8 : 1));
    sap_cores_of_places(&how);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&thread, &how, live, (void *)(size_t)sap_team_workers());
    /* large thread-local variables of the program leave no room on such a stack */
    if (failed) failed = pthread_attr_setstacksize(&how, 8 * STACK) || pthread_create(&thread, &how, live, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&how);
    if (!failed) atomic_fetch_add(&team.workers, 1);
    return !failed;
}

/* Workers that are inside a region now. */
static int busy(void)
{
    int n = 0;
    for (int k = 0; k < DESKS; k++)
        n += (int)inside_of(atomic_load_explicit(&team.desk[k].state, memory_order_relaxed));
    return n;
}

/* Makes workers for a region of so many threads: no more than the cores granted can run, or this region wants. */
static void make_workers(int threads)
{
    const int cores = atomic_load_explicit(&team.cores, memory_order_relaxed);
    const int most = cores > threads ? cores - 1 : threads - 1;
    int lacking = sap_team_workers() < most ? threads - 1 - (sap_team_workers() - busy()) : 0, made = 1;
    if (lacking <= 0 || !sap_try_lock(&team.making)) return;
    if (start() && !(team.retry_at && now() < team.retry_at)) {
        for (; lacking > 0 && made && sap_team_workers() < most; lacking--) made = make_worker();
        team.retry_at = made ? 0 : now() + retry_after;
    }
    sap_unlock(&team.making);
}

/* ------------------------------------------------------------------ regions */

/* A free desk, or NULL. */
static struct desk *take_desk(unsigned *bit)
{
    for (unsigned k = 0; k < DESKS; k++) {
        unsigned free = 0;
        *bit = 1U << k;
        if (!atomic_load_explicit(&team.desk[k].state, memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&team.desk[k].state, &free, TAKEN, memory_order_acquire,
                                                    memory_order_relaxed))
            return &team.desk[k];
    }
    return NULL;
}

static void open_desk(struct desk *d, unsigned bit, int threads, sap_team_work *work, void *argument)
{
    d->threads = threads;
    d->work = work;
    d->argument = argument;
    atomic_store_explicit(&d->state, TAKEN + (unsigned)(threads - 1) * TICKET, memory_order_release);
    /* in this order, before sleepers are counted: a worker counts itself and then sees whether the bell has changed */
    atomic_fetch_or(&team.open, bit);
    atomic_fetch_add(&team.bell, 1);
    if (atomic_load(&team.sleepers) > 0) wake_some((unsigned)threads - 1, 0);
}

/* Lets no more workers in, and waits for those inside. */
static void close_desk(struct desk *d, unsigned bit)
{
    unsigned state = atomic_fetch_and_explicit(&d->state, ~(COUNT * (unsigned)TICKET), memory_order_acquire);
    if (tickets_of(state) > 0) atomic_fetch_and_explicit(&team.open, ~bit, memory_order_relaxed);
    if (inside_of(state) > 0 && !watch(&d->state, COUNT, 0, 1, WAIT_FOR_WORKERS))
        for (;;) {
            state = atomic_fetch_or_explicit(&d->state, CALLER_SLEEPS, memory_order_acquire) | CALLER_SLEEPS;
            if (inside_of(state) == 0) break;
            sap_wait_sleep(&d->state, state, 0);
        }
    atomic_store_explicit(&d->state, 0, memory_order_release);
}

int sap_team_inside(void)
{
    return atomic_load_explicit(&team.has_key, memory_order_acquire) && pthread_getspecific(team.key) != NULL;
}

void sap_team_run(int threads, sap_team_work *work, void *argument)
{
    const sap_fpenv callers = sap_fp_enter();
    struct desk *d = NULL;
    unsigned bit = 0;
    if (threads > SAP_TEAM_MOST) threads = SAP_TEAM_MOST;
    if (threads > 1 && !sap_team_inside()) {
        make_workers(threads);
        if (sap_team_workers() > 0) d = take_desk(&bit);
    }
    if (d) {
        (void)pthread_setspecific(team.key, &team);
        open_desk(d, bit, threads, work, argument);
        work(argument, 0);
        close_desk(d, bit);
        (void)pthread_setspecific(team.key, NULL);
    } else {
        work(argument, 0);
    }
    sap_fp_leave(callers);
}

int sap_team_forget(void)
{
    const int workers = sap_team_workers();
    for (int k = 0; k < DESKS; k++) atomic_init(&team.desk[k].state, 0);
    atomic_init(&team.open, 0);
    atomic_init(&team.sleepers, 0);
    atomic_init(&team.workers, 0);
    sap_lock_start(&team.making);
    team.retry_at = 0;
    return workers;
}

/* -------------------------------------------------------------------- items */

void sap_items_start(struct sap_items *items, ptrdiff_t n, ptrdiff_t chunk)
{
    atomic_init(&items->next, 0);
    items->n = n;
    items->chunk = chunk;
}

ptrdiff_t sap_team_chunk(ptrdiff_t n, int threads, ptrdiff_t least)
{
    const ptrdiff_t parts = 4 * (ptrdiff_t)threads, chunk = (n + parts - 1) / parts;
    return chunk > least ? chunk : least;
}

struct ranges {
    struct sap_items items;
    sap_team_range *range;
    void *argument;
};

static void take_ranges(void *argument, int thread)
{
    struct ranges *const r = argument;
    ptrdiff_t from, to;
    (void)thread;
    while (sap_items_take(&r->items, &from, &to)) r->range(r->argument, from, to);
}

void sap_team_for(int threads, ptrdiff_t n, ptrdiff_t chunk, sap_team_range *range, void *argument)
{
    struct ranges r = {.range = range, .argument = argument};
    if (n <= 0) return;
    sap_items_start(&r.items, n, threads > 1 ? chunk : n);
    const ptrdiff_t chunks = (n + r.items.chunk - 1) / r.items.chunk;
    sap_team_run(chunks < threads ? (int)chunks : threads, take_ranges, &r);
}
