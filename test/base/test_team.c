/*
 * test_team.c - the library's worker threads and its lock: every item is done once, nested and concurrent regions,
 * state of a worker; how many threads compute; a lock under real-time scheduling.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cores.h"
#include "base/lock.h"
#include "base/team.h"
#include "base/threads.h"
#include "child.h"
#include "sapporo.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* ---- regions ------------------------------------------------------------------- */

enum { ITEMS = 1000, MOST = 16 };

struct counted {
    struct sap_items items;
    atomic_int done[ITEMS];
    atomic_int entered[MOST];
    atomic_int strange; /* threads whose number is not below the region's */
    int threads, nested;
};

static void count_items(void *argument, int thread)
{
    struct counted *const c = argument;
    ptrdiff_t from, to;
    if (thread < 0 || thread >= c->threads)
        atomic_fetch_add(&c->strange, 1);
    else
        atomic_fetch_add(&c->entered[thread], 1);
    while (sap_items_take(&c->items, &from, &to))
        for (ptrdiff_t k = from; k < to; k++) atomic_fetch_add_explicit(&c->done[k], 1, memory_order_relaxed);
}

/* One region; how much is wrong. */
static int count_once(int threads, int chunk)
{
    static _Thread_local struct counted c;
    int wrong = 0;
    memset(&c, 0, sizeof c);
    c.threads = threads;
    sap_items_start(&c.items, ITEMS, chunk);
    sap_team_run(threads, count_items, &c);
    for (int k = 0; k < ITEMS; k++) wrong += c.done[k] != 1;
    for (int t = 0; t < threads; t++) wrong += c.entered[t] > 1;
    return wrong + c.strange + (c.entered[0] != 1);
}

static int every_item(void)
{
    int wrong = 0;
    for (int round = 0; round < 400; round++)
        for (int threads = 1; threads <= 8; threads++) wrong += count_once(threads, 1 + round % 50);
    return WRONG(wrong > 0) + WRONG(sap_team_workers() < 1) + WRONG(sap_team_workers() > 16);
}

static void add_range(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    atomic_llong *const sum = argument;
    for (ptrdiff_t k = from; k < to; k++) atomic_fetch_add(sum, k);
}

static int ranges(void)
{
    static const ptrdiff_t lengths[] = {0, 1, 2, 63, 64, 65, 1000, 4097};
    int wrong = 0;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (int threads = 1; threads <= 4; threads++)
            for (ptrdiff_t chunk = 1; chunk < 200; chunk = 3 * chunk + 1) {
                const long long n = lengths[k];
                atomic_llong sum = 0;
                sap_team_for(threads, n, chunk, add_range, &sum);
                wrong += sum != n * (n - 1) / 2;
            }
    return WRONG(wrong > 0) + WRONG(sap_team_chunk(1000, 4, 1) != 63) + WRONG(sap_team_chunk(10, 4, 32) != 32);
}

static void nested_work(void *argument, int thread)
{
    atomic_int *const wrong = argument;
    (void)thread;
    atomic_fetch_add(wrong, sap_threads_now(8) != 1 || !sap_team_inside() || count_once(4, 7) > 0);
}

static int nested(void)
{
    atomic_int wrong = 0;
    for (int k = 0; k < 100; k++) sap_team_run(4, nested_work, &wrong);
    return WRONG(wrong > 0) + WRONG(sap_team_inside()) + WRONG(sap_threads_now(8) != 8);
}

static void *many_regions(void *argument)
{
    atomic_int *const wrong = argument;
    for (int k = 0; k < 300; k++) atomic_fetch_add(wrong, count_once(2 + k % 5, 3));
    return NULL;
}

static int concurrent(void)
{
    enum { CLIENTS = 40 }; /* more than there can be regions at once */
    pthread_t client[CLIENTS];
    atomic_int wrong = 0;
    for (int t = 0; t < CLIENTS; t++)
        if (pthread_create(&client[t], NULL, many_regions, &wrong)) return CHILD_SKIPPED;
    for (int t = 0; t < CLIENTS; t++) (void)pthread_join(client[t], NULL);
    return WRONG(wrong > 0);
}

/* Keeps all workers of a region busy until it is told to end. */
struct blocked {
    atomic_int inside, end;
};

static void block(void *argument, int thread)
{
    struct blocked *const b = argument;
    (void)thread;
    atomic_fetch_add(&b->inside, 1);
    while (!atomic_load(&b->end)) (void)sched_yield();
}

static void *block_workers(void *argument)
{
    sap_team_run(3, block, argument);
    return NULL;
}

/* A region ends although all workers are busy elsewhere. */
static int needs_no_worker(void)
{
    static struct blocked b;
    pthread_t other;
    int wrong = 0;
    if (pthread_create(&other, NULL, block_workers, &b)) return CHILD_SKIPPED;
    while (atomic_load(&b.inside) < 3) (void)sched_yield();
    for (int k = 0; k < 50; k++) wrong += count_once(3, 10);
    atomic_store(&b.end, 1);
    (void)pthread_join(other, NULL);
    return WRONG(wrong > 0);
}

/* ---- what a worker is ------------------------------------------------------------ */

struct met {
    atomic_int workers, wrong;
};

/* The caller waits until a worker has come, so that there is something to look at. */
static void look_at_worker(void *argument, int thread)
{
    struct met *const m = argument;
    sigset_t blocked;
    if (thread == 0) {
        for (long k = 0; !atomic_load(&m->workers) && k < 10000000; k++) (void)sched_yield();
        return;
    }
    (void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    atomic_fetch_add(&m->wrong, !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGUSR1));
#if defined(__SSE2__)
    atomic_fetch_add(&m->wrong, (_mm_getcsr() & ~0x3FU) != 0x1F80);
    _mm_setcsr(0xFF80); /* the next region has a clean one all the same */
#endif
    atomic_fetch_add(&m->workers, 1);
}

static int workers_are_clean(void)
{
    struct met m = {0, 0};
    int turns = 0;
#if defined(__SSE2__)
    _mm_setcsr(0x9FC0); /* flush to zero, denormals are zero */
#endif
    for (; turns < 5; turns++) {
        atomic_store(&m.workers, 0);
        sap_team_run(2, look_at_worker, &m);
        if (!atomic_load(&m.workers)) break;
    }
#if defined(__SSE2__)
    if (WRONG(_mm_getcsr() != 0x9FC0)) return 1;
    _mm_setcsr(0x1F80);
#endif
    return WRONG(m.wrong > 0) + WRONG(turns == 0);
}

/* ---- how many threads -------------------------------------------------------------------- */

static int one_core(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all)) return CHILD_SKIPPED;
    for (size_t k = 0; k < CPU_SETSIZE && !CPU_COUNT(&one); k++)
        if (CPU_ISSET(k, &all)) CPU_SET(k, &one);
    if (sched_setaffinity(0, sizeof one, &one)) return CHILD_SKIPPED;
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU};
    sapporo *c = NULL;
    return WRONG(sap_cores() != 1) + WRONG(sap_threads_default() != 1) + WRONG(sapporo_open(&options, &c) != 0) +
           WRONG(sapporo_get_threads(c) != 1);
}

static int quotas(void)
{
    return WRONG(sap_cores_of_quota("max 100000\n") != 0) + WRONG(sap_cores_of_quota("100000 100000\n") != 1) +
           WRONG(sap_cores_of_quota("150000 100000") != 2) + WRONG(sap_cores_of_quota("1000 100000") != 1) +
           WRONG(sap_cores_of_quota("-1\n 100000\n") != 0) + WRONG(sap_cores_of_quota("") != 0) +
           WRONG(sap_cores_of_quota("1600000") != 0) + WRONG(sap_cores_of_quota("9223372036854775807 1") != 0) +
           WRONG(sap_cores() < 1);
}

/* The default in a process with these variables. */
static int default_with(const char *program, const char *variables)
{
    char command[512];
    int n = -1;
    (void)snprintf(command, sizeof command, "env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT %s %s --threads", variables,
                   program);
    FILE *const f = popen(command, "r"); /* NOLINT(cert-env33-c): our own program */
    if (!f) return -1;
    char line[32];
    if (fgets(line, sizeof line, f)) n = (int)strtol(line, NULL, 10);
    (void)pclose(f);
    return n;
}

static char self[256];

/* LLVM's run time of OpenMP itself hangs or aborts about every second time it warns of such a value. */
#ifdef __clang__
#define NONSENSE ""
#else
#define NONSENSE "OMP_NUM_THREADS=nonsense 2>/dev/null"
#endif

static int variables(void)
{
    const int all = default_with(self, "");
    return WRONG(default_with(self, "OMP_NUM_THREADS=3") != 3) + WRONG(default_with(self, "OMP_NUM_THREADS=5,2") != 5) +
           WRONG(default_with(self, "OMP_NUM_THREADS=5 OMP_THREAD_LIMIT=2") != 2) +
           WRONG(default_with(self, NONSENSE) != all) + WRONG(all != sap_cores()) +
           WRONG(default_with(self, "OMP_PROC_BIND=true") != all);
}

/* ---- the lock ------------------------------------------------------------------------------ */

static struct {
    struct sap_lock lock;
    long value; /* guarded by it */
    atomic_int step;
} shared;

static void *count_under_lock(void *unused)
{
    for (int k = 0; k < 20000; k++) {
        sap_lock(&shared.lock);
        shared.value++;
        if (k % 5000 == 0) (void)usleep(100); /* now others sleep */
        sap_unlock(&shared.lock);
    }
    return unused;
}

static int mutual_exclusion(void)
{
    enum { CLIENTS = 6 };
    pthread_t client[CLIENTS];
    for (int t = 0; t < CLIENTS; t++)
        if (pthread_create(&client[t], NULL, count_under_lock, NULL)) return CHILD_SKIPPED;
    for (int t = 0; t < CLIENTS; t++) (void)pthread_join(client[t], NULL);
    return WRONG(shared.value != CLIENTS * 20000L) + WRONG(!sap_try_lock(&shared.lock)) +
           WRONG(sap_try_lock(&shared.lock)) + WRONG(shared.lock.waiters != 0);
}

static int priority(int value)
{
    const struct sched_param p = {.sched_priority = value};
    return sched_setscheduler(0, SCHED_FIFO, &p);
}

static void *hold(void *unused)
{
    volatile double x = 1;
    if (priority(1)) return unused;
    sap_lock(&shared.lock);
    atomic_store(&shared.step, 1);
    for (long k = 0; k < 20000000; k++) x = x * 1.0000001;
    sap_unlock(&shared.lock);
    atomic_store(&shared.step, 2);
    return unused;
}

/* A waiter of higher real-time priority on the only core lets the holder go on. */
static int real_time(void)
{
    pthread_t holder;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) || priority(2)) return CHILD_SKIPPED;
    if (pthread_create(&holder, NULL, hold, NULL)) return CHILD_SKIPPED;
    while (atomic_load(&shared.step) == 0) (void)usleep(100);
    sap_lock(&shared.lock);
    const int wrong = WRONG(atomic_load(&shared.step) == 0);
    sap_unlock(&shared.lock);
    (void)pthread_join(holder, NULL);
    return wrong;
}

/* ---- all ------------------------------------------------------------------------------------- */

CHILD_TEST(every_item, "")
CHILD_TEST(ranges, "")
CHILD_TEST(nested, "")
CHILD_TEST(concurrent, "the system makes no 40 threads")
CHILD_TEST(needs_no_worker, "the system makes no thread")
CHILD_TEST(workers_are_clean, "")
CHILD_TEST(one_core, "the affinity mask cannot be set")
CHILD_TEST(quotas, "")
CHILD_TEST(variables, "")
CHILD_TEST(mutual_exclusion, "the system makes no thread")
CHILD_TEST(real_time, "no real-time scheduling is allowed")

int main(int argc, char **argv)
{
    if (sap_team_is_openmp()) {
        puts("threads are those of OpenMP: test_team_openmp.sh");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_item),      cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_nested),          cmocka_unit_test(test_concurrent),
        cmocka_unit_test(test_needs_no_worker), cmocka_unit_test(test_workers_are_clean),
        cmocka_unit_test(test_one_core),        cmocka_unit_test(test_quotas),
        cmocka_unit_test(test_variables),       cmocka_unit_test(test_mutual_exclusion),
        cmocka_unit_test(test_real_time),
    };
    if (argc > 1 && strcmp(argv[1], "--threads") == 0) {
        printf("%d\n", sap_threads_default());
        return 0;
    }
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    unsetenv("OMP_NUM_THREADS");
    unsetenv("OMP_THREAD_LIMIT");
    return cmocka_run_group_tests_name("team", tests, NULL, NULL);
}
