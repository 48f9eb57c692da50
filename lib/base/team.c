/*
 * team.c - worker threads: creates them, lets them sleep and gives them work.
 *
 * A region takes a desk: a struct in static memory with the region's work and one ticket per wanted worker.  A worker
 * takes a ticket and is inside the region until it returns from the work.  When the caller has finished its own part,
 * it withdraws the remaining tickets and waits until no worker is inside.
 *
 * A worker without work polls `bell`, which changes when a desk opens, for some microseconds, and then sleeps.  The
 * caller wakes two sleeping workers, and each of them wakes two more while tickets are left.
 */
#define _GNU_SOURCE
#include "base/team.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#if defined(__linux__)
#include <dlfcn.h>
#include <sched.h>
#endif

#include "base/clock.h"
#include "base/cores.h"
#include "base/fpenv.h"
#include "base/lock.h"
#include "base/static_program.h"
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
    DESKS = 32, /* largest number of regions at the same time; the caller of a further region computes alone */
    LINE = 64,
    STACK = 1 << 20 /* stack of a worker in bytes; kernels use less than 256 KiB (test/context/test_stack.sh) */
};

/* The state of a desk: the number of workers inside, the number of tickets, and two flags. */
enum { INSIDE = 1, TICKET = 1 << 10, TAKEN = 1 << 20, CALLER_SLEEPS = 1 << 21, COUNT = (1 << 10) - 1 };

/*
 * Polling times in nanoseconds: a worker polls for WATCH_LONG if its last wait was shorter than WATCH_LONG, else for
 * WATCH_SHORT; the caller polls for workers for WAIT_FOR_WORKERS.  Then a thread sleeps.  Forces of block steps follow
 * each other within tens of microseconds, and waking a thread takes some microseconds.
 */
enum { WATCH_SHORT = 10000, WATCH_LONG = 300000, WAIT_FOR_WORKERS = 30000 };

/*
 * In nanoseconds: a polling thread that does not run for DESCHEDULED shares its core with other threads.  After that no
 * thread polls for CROWDED.
 */
enum { DESCHEDULED = 200000, CROWDED = 20000000 };

/* After a failure to create a thread, the team tries again after this time in nanoseconds. */
static const long long retry_after = 1000000000;

struct desk {
    _Alignas(LINE) atomic_uint state;
    int threads;
    sap_team_work *work;
    void *argument;
};

static struct {
    struct desk desk[DESKS];
    _Alignas(LINE) atomic_uint open; /* bit k: desk k has tickets */
    atomic_uint bell;                /* changes when a desk opens; workers sleep on it */
    _Alignas(LINE) atomic_int workers;
    atomic_int sleepers;
    atomic_int cores;           /* number of cores when the first worker was created */
    atomic_llong crowded_until; /* time until which no thread polls, see CROWDED */
    struct sap_lock making;     /* guards the creation of workers, retry_at and started */
    long long retry_at;         /* time of the next attempt after a failure; 0: no failure */
    int started;                /* 1: the key exists, and the code stays in memory */
    pthread_key_t key;          /* not NULL in a thread that is inside a region */
    atomic_int has_key;
} team;

_Static_assert(DESKS <= 8 * sizeof(unsigned), "bits of a mask");
_Static_assert((int)SAP_TEAM_MOST <= (int)COUNT, "tickets fit");

static unsigned tickets_of(unsigned state) { return state / TICKET & COUNT; }
static unsigned inside_of(unsigned state) { return state & COUNT; }

int sap_team_is_openmp(void) { return 0; }

int sap_team_workers(void) { return atomic_load_explicit(&team.workers, memory_order_relaxed); }

/* The number of workers that sleep until a desk opens. */
static int sleepers(void) { return atomic_load_explicit(&team.sleepers, memory_order_relaxed); }

/* ----------------------------------------------------------------- watching */

/* Whether a thread may poll: only if the awake workers and the caller do not outnumber the cores. */
static int may_watch(long long time)
{
    return sap_team_workers() - sleepers() + 1 <= atomic_load_explicit(&team.cores, memory_order_relaxed) &&
           time >= atomic_load_explicit(&team.crowded_until, memory_order_relaxed);
}

/* Polls until the masked bits of *word are equal (equal 1) or not equal (0) to `value`; returns 0 if time runs out. */
static int watch(atomic_uint *word, unsigned mask, unsigned value, int equal, long long nanoseconds)
{
    enum { TURNS = 32 };
    const long long start = sap_clock_nanoseconds();
    if (!may_watch(start)) return 0;
    for (long long last = start, time; last - start < nanoseconds; last = time) {
        for (int k = 0; k < TURNS; k++) {
            if (((atomic_load_explicit(word, memory_order_acquire) & mask) == value) == equal) return 1;
            sap_wait_pause();
        }
        time = sap_clock_nanoseconds();
        if (time - last > DESCHEDULED) {
            atomic_store_explicit(&team.crowded_until, time + CROWDED, memory_order_relaxed);
            return 0;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ workers */

/* Wakes two sleeping workers if a desk wants more workers than are awake and idle. */
static void wake_some(unsigned wanted, unsigned inside)
{
    const int asleep = sleepers(), awake = sap_team_workers() - asleep - (int)inside;
    if (asleep > 0 && (int)wanted > awake) sap_wait_wake(&team.bell, 2);
}

/* Takes a ticket of a desk and runs its work; returns 0 if there is no ticket. */
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

/* Takes part in one open region; returns 0 if no region is open. */
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
 * The main loop of a worker, which runs until the process ends.  A worker that finds no ticket several times in a row
 * sleeps, so that about as many workers poll as regions need.
 */
static void *live(void *number)
{
    enum { MISSES = 8 };
    const unsigned first = (unsigned)(size_t)number % DESKS;
    long long gap = 0; /* duration of the last wait for a region */
    (void)pthread_setspecific(team.key, &team);
    for (int missed = 0;;) {
        const unsigned bell = atomic_load(&team.bell);
        if (serve_any(first)) {
            missed = 0;
            continue;
        }
        const long long start = sap_clock_nanoseconds();
        if (missed < MISSES && watch(&team.bell, ~0U, bell, 0, gap < WATCH_LONG ? WATCH_LONG : WATCH_SHORT)) {
            missed++;
        } else {
            atomic_fetch_add(&team.sleepers, 1);
            sap_wait_sleep(&team.bell, bell, 0);
            atomic_fetch_sub(&team.sleepers, 1);
        }
        gap = sap_clock_nanoseconds() - start;
    }
    return NULL;
}

/* ------------------------------------------------------------- new workers */

/* Keeps this code in memory after dlclose, because workers sleep in it. */
static void stay_in_memory(void)
{
#if defined(RTLD_NODELETE)
    const char *const here = sap_library_file();
    if (here[0]) (void)dlopen(here, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

/* Prepares the team for its first worker; returns 0 after a failure. */
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

/* Creates a worker; returns 0 if the system creates no thread. */
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
    /* thread-local variables of the program may not fit on this stack: try a larger one */
    if (failed) failed = pthread_attr_setstacksize(&how, 8 * STACK) || pthread_create(&thread, &how, live, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&how);
    if (!failed) atomic_fetch_add(&team.workers, 1);
    return !failed;
}

/* The number of workers that are inside regions now. */
static int busy(void)
{
    int n = 0;
    for (int k = 0; k < DESKS; k++)
        n += (int)inside_of(atomic_load_explicit(&team.desk[k].state, memory_order_relaxed));
    return n;
}

/* Creates the workers that a region of `threads` threads lacks.  The team grows to cores - 1 or threads - 1 workers,
 * whichever is larger. */
static void make_workers(int threads)
{
    const int cores = atomic_load_explicit(&team.cores, memory_order_relaxed);
    const int most = cores > threads ? cores - 1 : threads - 1;
    int lacking = sap_team_workers() < most ? threads - 1 - (sap_team_workers() - busy()) : 0, made = 1;
    if (lacking <= 0 || !sap_try_lock(&team.making)) return;
    if (start() && !(team.retry_at && sap_clock_nanoseconds() < team.retry_at)) {
        for (; lacking > 0 && made && sap_team_workers() < most; lacking--) made = make_worker();
        team.retry_at = made ? 0 : sap_clock_nanoseconds() + retry_after;
    }
    sap_unlock(&team.making);
}

/* ------------------------------------------------------------------ regions */

/* Takes a free desk; NULL: all desks are in use. */
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
    /* set `open`, then `bell`, then read `sleepers`: a worker counts itself as sleeper and then reads `bell` */
    atomic_fetch_or(&team.open, bit);
    atomic_fetch_add(&team.bell, 1);
    if (atomic_load(&team.sleepers) > 0) wake_some((unsigned)threads - 1, 0);
}

/* Withdraws the tickets of a desk, waits for the workers inside and frees the desk. */
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
