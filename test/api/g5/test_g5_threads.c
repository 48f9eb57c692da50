/* test_g5_threads.c - GRAPE-5 devices from many threads: each its own, and all the same one (6.4). */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "g5_forms.h"
#include "model.h"

#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 20 };
#else
enum { ROUNDS = 500 };
#endif
enum { THREADS = 64, NI = 2 };

struct worker {
    int id, wrong;
};

/* Loads, counts and forces of a device of its own: n masses on the z axis. */
static void *own_device(void *argument)
{
    struct worker *w = argument;
    const int n = 3 + w->id % 5;
    for (int round = 0; round < ROUNDS; round++) {
        vec3 x[8] = {{0}}, xi[NI] = {{0, 0, 0}, {0, 0, 1}}, a[NI];
        double m[8], p[NI], expected[NI] = {0};
        for (int j = 0; j < n; j++) {
            x[j][2] = 2 + j + w->id % 3;
            m[j] = 1 + w->id + round % 7;
            for (int i = 0; i < NI; i++) expected[i] += m[j] / (x[j][2] - i);
        }
        g5->set_xmj(w->id, 0, n, x, m);
        g5->set_n(w->id, n);
        if (round % 2) {
            g5->calculate(w->id, xi, a, p, NI);
        } else {
            g5->set_xi(w->id, NI, xi);
            g5->run(w->id);
            g5->get_force(w->id, NI, a, p);
        }
        for (int i = 0; i < NI; i++) w->wrong += !(fabs(p[i] / expected[i] - 1) < 1e-6);
    }
    return NULL;
}

/* Everybody asks the same device, as clients of the plain calls do. */
static void *same_device(void *argument)
{
    struct worker *w = argument;
    for (int round = 0; round < ROUNDS; round++) {
        struct g5_batch b;
        const int n = 1 + (w->id + round) % 8;
        if (g5_force(0, n, &b) != 0) w->wrong++;
        for (int i = 0; i < n; i++) w->wrong += !(fabs(b.p[i] / g5_pot_of_three(i, 1) - 1) < 1e-6);
    }
    return NULL;
}

static void run_threads(void *(*work)(void *))
{
    static struct worker w[THREADS];
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++) {
        w[t] = (struct worker){t, 0};
        assert_int_equal(pthread_create(&thread[t], NULL, work, &w[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    for (int t = 0; t < THREADS; t++)
        if (w[t].wrong) fail_msg("thread %d: %d values are wrong", t, w[t].wrong);
    assert_int_equal(g6_errors() + g6_warnings(), 0);
}

static void threads_with_their_devices(void **state)
{
    (void)state;
    run_threads(own_device);
}

static void threads_on_one_device(void **state)
{
    (void)state;
    g5->eps_to_all(1);
    g5_load_three(0);
    run_threads(same_device);
}

#ifdef _OPENMP
/* Inside a parallel region of the caller there are no teams of ours: forces large enough for them come out the same. */
static void no_nested_teams(void **state)
{
    (void)state;
    enum { N = 1500, TEAM = 16 };
    static vec3 x[N], a[TEAM][N];
    static double m[N], p[TEAM][N];
    int wrong = 0;
    for (int j = 0; j < N; j++) {
        m[j] = 1.0 / N;
        for (int k = 0; k < 3; k++) x[j][k] = sin(3 * j + k);
    }
    g5->eps_to_all(0.1);
#pragma omp parallel for num_threads(TEAM)
    for (int t = 0; t < TEAM; t++) {
        g5->set_xmj(200 + t, 0, N, x, m);
        g5->set_n(200 + t, N);
        g5->calculate(200 + t, x, a[t], p[t], N);
    }
    for (int t = 1; t < TEAM; t++) wrong += !same_doubles(p[0], p[t], N) || !same_doubles(a[0][0], a[t][0], 3 * N);
    assert_int_equal(wrong, 0);
}
#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
        G5_BOTH(threads_with_their_devices),
        G5_BOTH(threads_on_one_device),
#ifdef _OPENMP
        G5_BOTH(no_nested_teams),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
