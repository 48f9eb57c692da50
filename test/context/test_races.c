/*
 * test_races.c - eight threads that call everything at the same time, on shared and on own contexts: for
 * SANITIZE=thread, which reports data races.  Without it the test detects crashes, and checks that shared objects
 * return right answers or refuse.
 *
 * Particles of shared contexts never change their values, only the times at which they are stored; so a force of any
 * thread has the same bits.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sapporo.h"
#include "sapporo_g5.h"
#include "sapporo_g6.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 6, N = 300, NI = 20, ID = 11, G5_DEVICE = 900 };

static double x[N][3], v[N][3], mass[N];
static int label[N];

/* What a thread has; CMocka is left to the main thread. */
struct worker {
    int number, wrong;
    sapporo *shared;
    sapporo_tree *tree;
};

static void run_threads(void *(*work)(void *), sapporo *shared, sapporo_tree *tree)
{
    static struct worker worker[THREADS];
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++) {
        worker[t] = (struct worker){.number = t, .shared = shared, .tree = tree};
        assert_int_equal(pthread_create(&thread[t], NULL, work, &worker[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(thread[t], NULL), 0);
    for (int t = 0; t < THREADS; t++)
        if (worker[t].wrong) fail_msg("thread %d found %d things wrong", t, worker[t].wrong);
}

static sapporo *open_order(int order)
{
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .order = order};
    sapporo *c = NULL;
    return sapporo_open(&options, &c) == SAPPORO_OK ? c : NULL;
}

static int store_all(sapporo *c)
{
    const sapporo_particles all = {
        .size = sizeof all, .derivative = {{x, 0}, {v, 0}}, .mass = {mass, 0}, .index = {label, 0}};
    return sapporo_set_particles(c, 0, N, &all) != SAPPORO_OK;
}

static int store_some(sapporo *c, int from)
{
    int wrong = 0;
    for (int k = from; k < from + 10; k++) {
        sapporo_particle p = {.mass = mass[k], .index = label[k]};
        memcpy(p.derivative[0], x[k], sizeof x[k]);
        memcpy(p.derivative[1], v[k], sizeof v[k]);
        wrong += sapporo_set_particle(c, k, &p) != SAPPORO_OK;
    }
    return wrong;
}

/* ---------------------------------------------------------------- contexts */

static double expected_acc[NI][3], expected_pot[NI]; /* of order 4 */

/* A force whose lists may be asked for too late; returns what is wrong. */
static int force(sapporo *c, int compare)
{
    double acc[NI][3], pot[NI], h2[NI];
    int nearest[NI], list[N], n, wrong = 0;
    for (int i = 0; i < NI; i++) h2[i] = 0.1;
    const sapporo_request request = {.size = sizeof request,
                                     .nj = N,
                                     .ni = NI,
                                     .x = {x, 0},
                                     .v = {v, 0},
                                     .index = {label, 0},
                                     .h2 = {h2, 0},
                                     .eps2 = 1e-4,
                                     .want = compare ? 0 : SAPPORO_WANT_NEAREST};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot, .nearest = nearest};
    sapporo_job *job;
    if (sapporo_force_begin(c, &request, &job)) return 1;
    (void)sapporo_force_done(job);
    const int status = sapporo_force_end(job, NI, &result); /* nearest neighbours may be asked for too late */
    if (status != SAPPORO_ERR_GONE)
        wrong += status != SAPPORO_OK || (compare && memcmp(acc, expected_acc, sizeof acc) != 0) ||
                 (compare && memcmp(pot, expected_pot, sizeof pot) != 0);
    const int told = sapporo_force_neighbours(job, 3, N, &n, list, NULL);
    wrong += told != SAPPORO_OK && told != SAPPORO_ERR_GONE;
    sapporo_force_free(job);
    return wrong;
}

static int neighbour_force(sapporo *c)
{
    static const int members[] = {1, 2, 3, 5, 8, 13, 21, 34};
    const int address[2] = {0, 7}, length[2] = {8, 8}, *const list[2] = {members, members};
    double acc[2][3], pot[2];
    const sapporo_neighbour_request l = {
        .size = sizeof l, .ni = 2, .address = address, .list = list, .length = length, .eps2 = 1e-4};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    return sapporo_neighbour_force(c, &l, &result) != SAPPORO_OK || !(pot[0] < 0);
}

/* Questions that take no lock that a force holds, or that wait for it. */
static int ask(sapporo *c)
{
    size_t device;
    int wrong = strstr(sapporo_kind(c), "cpu") == NULL;
    wrong += sapporo_get_precision(c) == SAPPORO_PRECISION_DEFAULT;
    wrong += sapporo_get_backend(c) != SAPPORO_BACKEND_CPU || sapporo_get_threads(c) < 1;
    wrong += sapporo_memory_needed(c, N, &device) == 0;
    return wrong;
}

/* An error, while other threads make others and read them: the text is one of them, whole. */
static int err(sapporo *c, int number)
{
    sapporo_job *job;
    const sapporo_request request = {.size = sizeof request, .nj = -1 - number, .ni = 1, .x = {x, 0}};
    int wrong = sapporo_force_begin(c, &request, &job) != SAPPORO_ERR_ARGUMENT;
    const char *const words = sapporo_last_error(c);
    wrong += words[0] != '\0' && strlen(words) < 8;
    if (number == 3) sapporo_clear_error(c);
    wrong += sapporo_set_particle(c, -1, NULL) >= 0;
    return wrong;
}

static void *share_a_context(void *argument)
{
    struct worker *const w = argument;
    for (int round = 0; round < ROUNDS; round++) {
        sapporo_particle p;
        w->wrong += store_some(w->shared, (w->number * 30 + round) % (N - 10));
        w->wrong += force(w->shared, 1);
        w->wrong += force(w->shared, 0);
        w->wrong += neighbour_force(w->shared);
        w->wrong += ask(w->shared);
        w->wrong += err(w->shared, w->number);
        w->wrong += sapporo_get_particle(w->shared, w->number, 1, &p) != SAPPORO_OK;
        w->wrong += sapporo_set_time(w->shared, 0) != SAPPORO_OK;
    }
    return NULL;
}

static void shared_context(void **state)
{
    sapporo *const c = open_order(4);
    const sapporo_request request = {
        .size = sizeof request, .nj = N, .ni = NI, .x = {x, 0}, .v = {v, 0}, .index = {label, 0}, .eps2 = 1e-4};
    const sapporo_result result = {.size = sizeof result, .acc = expected_acc, .pot = expected_pot};
    sapporo_job *job;
    (void)state;
    assert_non_null(c);
    assert_int_equal(store_all(c), 0);
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, NI, &result), SAPPORO_OK);
    sapporo_force_free(job);
    run_threads(share_a_context, c, NULL);
    sapporo_close(c);
}

/* The first force of a context may change its engine; others ask for its kind meanwhile. */
static void *meet_the_first_force(void *argument)
{
    struct worker *const w = argument;
    if (w->number == 0) w->wrong += store_all(w->shared) + force(w->shared, 0);
    for (int round = 0; round < 50 && w->number > 0; round++) w->wrong += sapporo_kind(w->shared)[0] == '\0';
    return NULL;
}

static void first_force(void **state)
{
    sapporo *c = NULL;
    (void)state;
    assert_int_equal(sapporo_open(NULL, &c), SAPPORO_OK);
    run_threads(meet_the_first_force, c, NULL);
    sapporo_close(c);
}

/* One job that all end, and whose lists all read. */
static sapporo_job *one_job;

static void *share_a_job(void *argument)
{
    struct worker *const w = argument;
    double pot[NI];
    int n[NI], list[NI][N];
    const sapporo_result result = {.size = sizeof result, .pot = pot};
    for (int round = 0; round < ROUNDS; round++) {
        (void)sapporo_force_done(one_job);
        w->wrong += sapporo_force_end(one_job, NI, &result) != SAPPORO_OK;
        w->wrong += sapporo_force_neighbour_lists(one_job, NI, N, N, list[0], n) != SAPPORO_OK;
        w->wrong += sapporo_force_neighbours(one_job, w->number, N, n, list[0], NULL) != SAPPORO_OK;
    }
    return NULL;
}

static void shared_job(void **state)
{
    sapporo *const c = open_order(4);
    double h2[NI];
    for (int i = 0; i < NI; i++) h2[i] = 0.1;
    const sapporo_request request = {.size = sizeof request,
                                     .nj = N,
                                     .ni = NI,
                                     .x = {x, 0},
                                     .v = {v, 0},
                                     .h2 = {h2, 0},
                                     .eps2 = 1e-4,
                                     .want = SAPPORO_WANT_LISTS};
    (void)state;
    assert_int_equal(store_all(c), 0);
    assert_int_equal(sapporo_force_begin(c, &request, &one_job), SAPPORO_OK);
    run_threads(share_a_job, c, NULL);
    sapporo_force_free(one_job);
    sapporo_close(c);
}

static int batch(sapporo *c)
{
    static const int members[] = {1, 2, 3, 5, 8, 13, 21, 34};
    double acc[2][3], pot[2];
    sapporo_small_force list[2];
    sapporo_result result[2];
    for (int k = 0; k < 2; k++) {
        list[k] = (sapporo_small_force){.size = sizeof list[k], .ni = 1, .nj = 8, .x = {x[k], 0}, .eps2 = 1e-4};
        if (k) list[k].x_j.base = x, list[k].mass_j.base = mass;
        if (!k) list[k].address = members;
        result[k] = (sapporo_result){.size = sizeof result[k], .acc = &acc[k], .pot = &pot[k]};
    }
    int wrong = sapporo_keep_addresses(c, members, 8) != SAPPORO_OK;
    wrong += sapporo_force_batch(c, 2, list, result) != SAPPORO_OK || !(pot[0] < 0) || !(pot[1] < 0);
    return wrong;
}

static void *share_a_batch(void *argument)
{
    struct worker *const w = argument;
    for (int round = 0; round < ROUNDS; round++) {
        w->wrong += batch(w->shared);
        w->wrong += store_some(w->shared, (w->number * 30 + round) % (N - 10));
        w->wrong += ask(w->shared);
    }
    return NULL;
}

static void shared_batch(void **state)
{
    sapporo *const c = open_order(2);
    (void)state;
    assert_int_equal(store_all(c), 0);
    run_threads(share_a_batch, c, NULL);
    sapporo_close(c);
}

/* Opening, computing, closing, in all orders; opening that fails; the log goes to changing functions. */
static atomic_int lines;

static void count_line(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    (void)text;
    atomic_fetch_add(&lines, 1);
}

static void *own_contexts(void *argument)
{
    struct worker *const w = argument;
    static const int orders[] = {2, 4, 6, 8};
    const sapporo_options wrong_order = {.size = sizeof wrong_order, .order = 5};
    for (int round = 0; round < ROUNDS; round++) {
        sapporo *none, *const c = open_order(orders[(w->number + round) % 4]);
        if (!c) return w->wrong++, NULL;
        sapporo_set_log(count_line, w); /* NULL would bring back stderr */
        w->wrong += store_all(c) + ask(c) + err(c, w->number);
        if ((w->number + round) % 4 == 1) w->wrong += force(c, 1);
        w->wrong += sapporo_open(&wrong_order, &none) >= 0 || sapporo_last_error(NULL)[0] == '\0';
        sapporo_log(SAPPORO_LOG_WARNING, "a line");
        sapporo_close(c);
    }
    return NULL;
}

static void opened_and_closed(void **state)
{
    (void)state;
    run_threads(own_contexts, NULL, NULL);
    assert_true(lines > 0);
}

/* ---------------------------------------------------------------- trees */

static int use_tree(sapporo_tree *t)
{
    double acc[NI][3], pot[NI], h[4] = {0.3, 0.3, 0.3, 0.3};
    long long first[5];
    static _Thread_local int list[4 * N];
    const sapporo_tree_particles all = {.size = sizeof all, .n = N, .x = {x, 0}, .mass = {mass, 0}};
    const sapporo_tree_request request = {.size = sizeof request, .ni = NI};
    sapporo_tree_statistics statistics = {.size = sizeof statistics};
    int wrong = sapporo_tree_set(t, &all) != SAPPORO_OK;
    wrong += sapporo_tree_build(t) != SAPPORO_OK;
    wrong += sapporo_tree_refresh(t) != SAPPORO_OK;
    wrong += sapporo_tree_force(t, &request, acc, pot) != SAPPORO_OK || !(pot[0] < 0);
    wrong += sapporo_tree_neighbours(t, 4, (sapporo_column){x, 0}, (sapporo_column){h, 0}, first, 4 * N, list) < 0;
    wrong += sapporo_tree_get_statistics(t, &statistics) != SAPPORO_OK;
    wrong += sapporo_tree_force(t, NULL, acc, pot) >= 0;
    wrong += sapporo_tree_last_error(t)[0] == '\0';
    wrong += sapporo_tree_kind_text(t)[0] == '\0' || sapporo_tree_get_backend(t) != SAPPORO_BACKEND_CPU;
    return wrong;
}

static sapporo_tree *new_tree(void)
{
    const sapporo_tree_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .eps2 = 1e-4};
    sapporo_tree *t = NULL;
    return sapporo_tree_create(&options, N, &t) == SAPPORO_OK ? t : NULL;
}

static void *trees(void *argument)
{
    struct worker *const w = argument;
    for (int round = 0; round < ROUNDS; round++) {
        sapporo_tree *const own = new_tree();
        if (!own) return w->wrong++, NULL;
        w->wrong += use_tree(w->tree) + use_tree(own);
        sapporo_tree_destroy(own);
    }
    return NULL;
}

static void shared_tree(void **state)
{
    sapporo_tree *const t = new_tree();
    (void)state;
    assert_non_null(t);
    run_threads(trees, NULL, t);
    sapporo_tree_destroy(t);
}

/* A tree of so many particles that its threads share each part of a build: all of them widen one box. */
static void large_tree(void **state)
{
    enum { MANY = 20000, BUILDS = 3 };
    const sapporo_tree_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .threads = THREADS};
    double *const at = calloc((size_t)3 * MANY, sizeof *at), *const masses = calloc(MANY, sizeof *masses);
    const sapporo_tree_particles all = {.size = sizeof all, .n = MANY, .x = {at, 0}, .mass = {masses, 0}};
    sapporo_tree *t = NULL;
    (void)state;
    assert_true(at && masses);
    for (int i = 0; i < MANY; i++) {
        masses[i] = 1.0 / MANY;
        for (int c = 0; c < 3; c++) at[3 * i + c] = sin(1 + i * (1.1 + 0.7 * c));
    }
    assert_int_equal(sapporo_tree_create(&options, MANY, &t), SAPPORO_OK);
    for (int k = 0; k < BUILDS; k++) {
        assert_int_equal(sapporo_tree_set(t, &all), SAPPORO_OK);
        assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
        assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    }
    sapporo_tree_destroy(t);
    free(at);
    free(masses);
}

/* ---------------------------------------------------------------- GRAPE-6, GRAPE-5 */

static int g6_force(int id)
{
    double acc[NI][3], jerk[NI][3], pot[NI], h2[NI] = {0};
    g6calc_firsthalf(id, N, NI, label, x, v, acc, jerk, pot, 1e-4, h2);
    return g6calc_lasthalf(id, N, NI, label, x, v, 1e-4, h2, acc, jerk, pot);
}

/* A shared cluster, and one of its own that comes and goes. */
static void *clusters(void *argument)
{
    struct worker *const w = argument;
    double zero[3] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        const int own = 100 + w->number;
        w->wrong += g6_open(own) != 0;
        for (int k = 0; k < N; k++)
            w->wrong += g6_set_j_particle(own, k, k, 0, 0, mass[k], zero, zero, zero, v[k], x[k]) != 0;
        for (int k = w->number; k < N; k += 9)
            w->wrong += g6_set_j_particle(ID, k, k, 0, 0, mass[k], zero, zero, zero, v[k], x[k]) != 0;
        w->wrong += g6_set_ti(own, 0) != 0 || g6_force(own) != 0;
        (void)g6_set_ti(ID, 0);
        (void)g6_force(ID); /* the last half may be that of another thread's force */
        g6_set_neighbour_list_sort_mode(w->number);
        (void)g6_get_neighbour_list_sort_mode();
        (void)g6_read_neighbour_list(ID);
        w->wrong += g6_npipes() <= 0 || g6_close(own) != 0;
    }
    return NULL;
}

static void shared_cluster(void **state)
{
    double zero[3] = {0};
    (void)state;
    assert_int_equal(g6_open(ID), 0);
    for (int k = 0; k < N; k++)
        assert_int_equal(g6_set_j_particle(ID, k, k, 0, 0, mass[k], zero, zero, zero, v[k], x[k]), 0);
    run_threads(clusters, NULL, NULL);
    assert_int_equal(g6_close(ID), 0);
}

static int g5_force(int device)
{
    double a[NI][3], p[NI];
    int wrong = g5_set_nMC(device, N) != 0 || g5_set_xmjMC(device, 0, N, x, mass) != 0;
    wrong += g5_set_xiMC(device, NI, x) != 0;
    (void)g5_runMC(device); /* on a shared device, that of another thread */
    (void)g5_get_forceMC(device, NI, a, p);
    return wrong + (g5_calculate_force_on_xMC(device, x, a, p, NI) != 0 || !(p[0] > 0));
}

static void *devices(void *argument)
{
    struct worker *const w = argument;
    for (int round = 0; round < ROUNDS; round++) {
        w->wrong += g5_set_eps_to_all(0.01) != 0;
        w->wrong += g5_openMC(G5_DEVICE + w->number) != 0;
        w->wrong += g5_force(G5_DEVICE + w->number) + g5_force(G5_DEVICE + THREADS);
        w->wrong += g5_closeMC(G5_DEVICE + w->number) != 0;
    }
    return NULL;
}

static void shared_device(void **state)
{
    (void)state;
    run_threads(devices, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_force),  cmocka_unit_test(shared_context),    cmocka_unit_test(shared_job),
        cmocka_unit_test(shared_batch), cmocka_unit_test(opened_and_closed), cmocka_unit_test(shared_tree),
        cmocka_unit_test(large_tree),   cmocka_unit_test(shared_cluster),    cmocka_unit_test(shared_device),
    };
    unsigned long long s = 88172645463325252ULL;
    setenv("SAPPORO_VERBOSE", "2", 1);
    sapporo_set_log(count_line, NULL);
    if (!getenv("SAPPORO_BACKEND")) setenv("SAPPORO_BACKEND", "cpu", 1);
    for (int k = 0; k < N; k++) {
        for (int c = 0; c < 6; c++) {
            s ^= s << 13, s ^= s >> 7, s ^= s << 17;
            *(c < 3 ? &x[k][c] : &v[k][c - 3]) = (double)(s >> 11) * 0x1p-53 - 0.5;
        }
        mass[k] = 1.0 + k % 3;
        label[k] = k;
    }
    return cmocka_run_group_tests_name("races", tests, NULL, NULL);
}
