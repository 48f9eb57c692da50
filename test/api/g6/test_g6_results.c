/* test_g6_results.c - the GRAPE-6 calls: shared arrays, neighbour lists, distances, Sapporo's own calls, threads. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "g6_forms.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* ---- arrays that are shared (3.11), absent (1.9), ignored (2.6) -------------------------- */

static void shared_arrays(void **state)
{
    (void)state;
    struct g6_batch b;
    vec3 zeros[1] = {{0, 0, 0}}, out[1];
    double h2[1] = {0};
    g6_open_three(0);
    g6_batch_one(&b, 10, 0);
    g6->first(0, 3, 1, b.index, b.x, zeros, zeros, zeros, h2, 0, h2);
    assert_int_equal(g6->last(0, 3, 1, b.index, b.x, zeros, 0, h2, out, out, b.pot), 0);
    g6_near(b.pot[0], -4);
    g6->first(0, 3, 1, b.index, b.x, zeros, out, out, b.pot, 0, h2);
    assert_int_equal(g6->last2(0, 3, 1, b.index, b.x, zeros, 0, h2, out, out, b.pot, b.nn), 0);
    g6_near(b.pot[0], -4);
    /* Outputs over inputs: firsthalf has its copies, and so has a lasthalf without it. */
    for (int begun = 0; begun < 2; begun++) {
        g6_batch_one(&b, 10, 0);
        if (begun) g6_first(0, 3, &b, 0);
        assert_int_equal(g6->last2(0, 3, 1, b.index, b.x, b.v, 0, b.h2, b.v, b.x, b.h2, b.nn), 0);
        g6_near(b.v[0][0], 2);
        g6_near(b.x[0][0], 0.5);
        g6_near(b.h2[0], -4);
    }
    g6_expect_healthy(0);
}

static void guesses_are_ignored(void **state)
{
    (void)state;
    struct g6_batch a, b;
    vec3 nan3[1] = {{NAN, NAN, NAN}};
    double nan1[1] = {NAN};
    g6_open_three(0);
    g6_batch_one(&a, 10, 0.7);
    g6_batch_one(&b, 10, 0.7);
    assert_int_equal(g6_force(0, 3, &a, 0.1), 0);
    g6->first(0, 3, 1, b.index, b.x, b.v, nan3, nan3, nan1, 0.1, NULL);
    assert_int_equal(g6->last2(0, 3, 1, b.index, b.x, b.v, 0.1, NULL, b.acc, b.jerk, b.pot, b.nn), 0);
    assert_memory_equal(a.acc, b.acc, sizeof(vec3));
    assert_memory_equal(a.jerk, b.jerk, sizeof(vec3));
    assert_memory_equal(a.pot, b.pot, sizeof(double));
}

/* By reference only: a NULL scalar is refused; a NULL cluster id is 0. */
static void null_scalars(void **state)
{
    (void)state;
    struct g6_batch b;
    int one = 1, three = 3, zero = 0;
    double time = 0, eps2 = 0, mass = 1;
    vec3 x = {1, 0, 0};
    assert_int_equal(g6_open_(NULL), 0);
    assert_int_equal(g6_set_ti_(NULL, &time), 0);
    g6_set_three(0);
    g6_batch_one(&b, 10, 0);
    assert_int_equal(g6_set_j_particle_(NULL, NULL, &one, &time, &time, &mass, NULL, NULL, NULL, NULL, x), -1);
    assert_int_equal(g6_set_j_particle_(NULL, &three, &one, NULL, &time, &mass, NULL, NULL, NULL, NULL, x), -1);
    assert_int_equal(g6_set_j_particle_(NULL, &three, &one, &time, NULL, NULL, NULL, NULL, NULL, NULL, x), -1);
    assert_int_equal(g6calc_lasthalf2_(NULL, NULL, &one, b.index, b.x, b.v, &eps2, b.h2, b.acc, b.jerk, b.pot, b.nn),
                     -1);
    g6_expect_nan(&b, 1);
    assert_int_equal(g6calc_lasthalf2_(NULL, &three, NULL, b.index, b.x, b.v, &eps2, b.h2, b.acc, b.jerk, b.pot, b.nn),
                     -1);
    assert_int_equal(g6calc_lasthalf2_(NULL, &three, &one, b.index, b.x, b.v, NULL, b.h2, b.acc, b.jerk, b.pot, b.nn),
                     -1);
    assert_int_equal(g6calc_lasthalf2_(NULL, &three, &one, b.index, b.x, b.v, &eps2, b.h2, b.acc, b.jerk, b.pot, b.nn),
                     0);
    g6_expect_three(&b, 0);
    assert_int_equal(g6_get_neighbour_list_(NULL, &zero, &one, &three, NULL), -1);
    assert_int_equal(g6_close_(NULL), 0);
    assert_int_equal(g6_set_ti_(NULL, &time), -1);
}

/* ---- neighbour lists (4.13, 4.14) ----------------------------------------------------------- */

static void expect_list(int id, int pipe, int room, int rc, int n, const int *expected)
{
    int got = -5, list[8] = {0};
    list[n] = 424242;
    assert_int_equal(g6->get_list(id, pipe, room, &got, list), rc);
    assert_int_equal(got, n);
    for (int k = 0; k < n; k++) assert_int_equal(list[k], expected[k]);
    assert_int_equal(list[n], 424242);
}

static void lists(void **state)
{
    (void)state;
    static const int both[] = {11, 12}, other[] = {10};
    struct g6_batch b;
    int n = 5, list[2];
    g6_open_three(0);
    assert_int_equal(g6->read_lists(0), -1);
    assert_int_equal(g6->get_list(0, 0, 2, &n, list), -1);
    assert_int_equal(n, 0);
    g6_batch_one(&b, 10, 0);
    b.n = 2, b.index[1] = 11, b.x[1][0] = 1;
    b.h2[0] = 4.0001, b.h2[1] = 1.5;
    for (int two = 0; two < 2; two++) {
        g6->set_sort_mode(two);
        assert_int_equal(g6->get_sort_mode(), two);
        g6_first(0, 3, &b, 0);
        if (two)
            g6_last(0, 3, &b, 0);
        else
            g6->last(0, 3, 2, b.index, b.x, b.v, 0, b.h2, b.acc, b.jerk, b.pot);
        assert_int_equal(g6->read_lists(0), 0);
        expect_list(0, 0, 2, 0, 2, both);
        expect_list(0, 0, 1, 1, 1, both);
        expect_list(0, 0, 0, 1, 0, both);
        expect_list(0, 0, -3, 1, 0, both);
        expect_list(0, 1, 7, 0, 1, other);
        expect_list(0, 2, 7, -1, 0, NULL);
        expect_list(0, -1, 7, -1, 0, NULL);
        assert_int_equal(g6->get_list(0, 0, 2, NULL, list), -1);
        assert_int_equal(g6->get_list(0, 0, 2, &n, NULL), -1);
        assert_int_equal(n, 0);
        assert_int_equal(g6_errors(), two ? 4 : 6);
        assert_int_equal(g6->read_lists(0), 0);
    }
}

/* Of fewer rows than were begun, only those have lists. */
static void lists_of_delivered_rows(void **state)
{
    (void)state;
    static const int one[] = {11};
    struct g6_batch b;
    g6_open_three(0);
    g6_batch_one(&b, 10, 0);
    b.n = 2, b.index[1] = 99, b.x[1][2] = 1;
    b.h2[0] = b.h2[1] = 1.5;
    g6_first(0, 3, &b, 0);
    b.n = 1;
    assert_int_equal(g6_last(0, 3, &b, 0), 0);
    expect_list(0, 0, 4, 0, 1, one);
    expect_list(0, 1, 4, -1, 0, NULL);
}

/* Lists belong to the force delivered last, also while the next one is under way and particles change. */
static void lists_while_the_next_is_under_way(void **state)
{
    (void)state;
    static const int one[] = {11};
    struct g6_batch b, c;
    vec3 far = {100, 0, 0};
    g6_open_three(0);
    for (int round = 0; round < 3; round++) {
        g6_batch_one(&b, 10, 0);
        b.h2[0] = 1.5;
        g6_batch_one(&c, 99, 50);
        assert_int_equal(g6_force(0, 3, &b, 0), 0);
        assert_int_equal(g6->set_mx(0, 1, 11, 2, far), 0);
        assert_int_equal(g6->read_lists(0), 0);
        g6_first(0, 3, &c, 0);
        expect_list(0, 0, 4, 0, 1, one);
        assert_int_equal(g6_last(0, 3, &c, 0), 0);
        expect_list(0, 0, 4, 0, 0, NULL);
        g6_set_three(0);
    }
}

static void bad_radii(void **state)
{
    (void)state;
    static const double bad[] = {-1, NAN, 0};
    struct g6_batch b;
    g6_open_three(0);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        g6_batch_one(&b, 10, 0);
        b.h2[0] = bad[k];
        assert_int_equal(g6_force(0, 3, &b, 0), 0);
        g6_expect_three(&b, 0);
        expect_list(0, 0, 4, 0, 0, NULL);
    }
    assert_int_equal(g6_warnings(), 1);
}

/* ---- distances of the nearest (4.19) --------------------------------------------------------- */

static void nearest_distance(void **state)
{
    (void)state;
    struct g6_batch b;
    float rnnb[2] = {7, 7};
    g6_open_three(0);
    g6_batch_one(&b, 10, 0);
    b.n = 2, b.index[1] = 99, b.x[1][2] = 3;
    for (int begun = 0; begun < 2; begun++) {
        if (begun) g6_first(0, 3, &b, 0.25);
        assert_int_equal(g6->last2p(0, 3, 2, b.index, b.x, b.v, 0.25, b.h2, b.acc, b.jerk, b.pot, b.nn, rnnb), 0);
        assert_int_equal(b.nn[0], 11);
        assert_int_equal(b.nn[1], 10);
        g6_near(rnnb[0], sqrt(1.25));
        g6_near(rnnb[1], sqrt(9.25));
    }
    assert_int_equal(g6->last2p(0, 0, 1, b.index, b.x, b.v, 0.25, b.h2, b.acc, b.jerk, b.pot, b.nn, rnnb), 0);
    assert_true(isinf(rnnb[0]) && b.nn[0] == -1);
    assert_int_equal(g6->last2p(0, 3, 1, b.index, b.x, b.v, -1, b.h2, b.acc, b.jerk, b.pot, b.nn, rnnb), -1);
    assert_true(isnan(rnnb[0]));
    assert_int_equal(g6->last2p(0, 3, 1, b.index, b.x, b.v, 0, b.h2, b.acc, b.jerk, b.pot, b.nn, NULL), -1);
    g6_expect_three(&b, 0);
    assert_int_equal(g6_errors(), 2);
}

static void synonyms(void **state)
{
    (void)state;
    struct g6_batch b;
    float rnnb[1];
    g6_open_three(0);
    g6_batch_one(&b, 10, 0);
    for (int k = 0; k < 3; k++) {
        int id = 0, nj = 3, ni = 1, rc;
        double eps2 = 0;
        if (g6 == &g6_by_value)
            rc = k == 0   ? g6calc_lasthalfn(0, 3, 1, b.index, b.x, b.v, 0, b.h2, b.acc, b.jerk, b.pot)
                 : k == 1 ? g6calc_lasthalf2n(0, 3, 1, b.index, b.x, b.v, 0, b.h2, b.acc, b.jerk, b.pot, b.nn)
                          : g6calc_lasthalf2np(0, 3, 1, b.index, b.x, b.v, 0, b.h2, b.acc, b.jerk, b.pot, b.nn, rnnb);
        else
            rc = k == 0 ? g6calc_lasthalfn_(&id, &nj, &ni, b.index, b.x, b.v, &eps2, b.h2, b.acc, b.jerk, b.pot)
                 : k == 1
                     ? g6calc_lasthalf2n_(&id, &nj, &ni, b.index, b.x, b.v, &eps2, b.h2, b.acc, b.jerk, b.pot, b.nn)
                     : g6calc_lasthalf2np_(&id, &nj, &ni, b.index, b.x, b.v, &eps2, b.h2, b.acc, b.jerk, b.pot, b.nn,
                                           rnnb);
        assert_int_equal(rc, 0);
        if (k == 0) b.nn[0] = 11;
        g6_expect_three(&b, 0);
    }
    g6_near(rnnb[0], 1);
    assert_int_equal(g6 == &g6_by_value ? g6_read_neighbour_list_old(0) : g6_read_neighbour_list_old_(NULL), 0);
}

/* A client that traps floating-point exceptions must not be killed by what is done here. */
static void trapped_exceptions(void **state)
{
    (void)state;
#if defined(__x86_64__)
    struct g6_batch b;
    float rnnb[1];
    double far = 1e60, nan = NAN;
    g6_open_three(0);
    g6_batch_one(&b, 99, far);
    unsigned before = _mm_getcsr();
    _mm_setcsr(0x1F80 & ~0x0E80u); /* invalid, division by zero, overflow, underflow raise signals */
    int far_rc = g6->last2p(0, 3, 1, b.index, b.x, b.v, 1, b.h2, b.acc, b.jerk, b.pot, b.nn, rnnb);
    g6_first(0, 3, &b, nan);
    int nan_rc = g6_last(0, 3, &b, nan);
    int j_rc = g6->set_j(0, 1, 11, nan, nan, nan, NULL, NULL, NULL, NULL, b.x[0]);
    unsigned flags = _mm_getcsr() & 0x3F;
    _mm_setcsr(before);
    assert_int_equal(far_rc, 0);
    assert_true(isinf(rnnb[0]));
    assert_int_equal(nan_rc, -1);
    assert_int_equal(j_rc, -1);
    assert_int_equal(flags, 0);
#else
    print_message("skip: this is not x86-64\n");
    skip();
#endif
}

/* ---- Sapporo's own (7) and multisend ------------------------------------------------------------ */

static void read_back(void **state)
{
    (void)state;
    vec3 x = {1, 2, 3}, one = {1, 0, 0}, pos, vel, acc, jrk, ppos, pvel;
    double mass, eps2;
    int id, addr = 2, nj = 3;
    assert_int_equal(g6->open(5), 0); /* the only open one serves */
    assert_int_equal(g6->set_j(5, 2, 77, 0, 0, 5, NULL, one, one, one, x), 0);
    assert_int_equal(g6->set_ti(5, 0.5), 0);
    if (g6 == &g6_by_value)
        get_j_part_data(2, 3, pos, vel, acc, jrk, ppos, pvel, &mass, &eps2, &id);
    else
        get_j_part_data_(&addr, &nj, pos, vel, acc, jrk, ppos, pvel, &mass, &eps2, &id);
    g6_near(pos[2], 3), g6_near(vel[0], 1), g6_near(acc[0], 2), g6_near(jrk[0], 6);
    g6_near(ppos[0], 1.875), g6_near(pvel[0], 2.75), g6_near(mass, 5), g6_near(eps2, 0);
    assert_int_equal(id, 77);
    get_j_part_data(2, 3, NULL, NULL, acc, acc, NULL, NULL, NULL, NULL, NULL);
    get_j_part_data(1, 3, pos, vel, acc, jrk, ppos, pvel, &mass, &eps2, &id);
    assert_true(isnan(pos[0]) && isnan(pvel[2]) && isnan(mass) && isnan(eps2));
    assert_int_equal(id, -1);
    force_j_particle_send();
    assert_true(get_device_count() >= 0);
    assert_int_equal(get_device_count_(), get_device_count());
}

static void open_special(void **state)
{
    (void)state;
    int list[] = {0}, n[] = {1, 0, -1, -3}, bad = 1, nmax = 1000;
    for (int k = 0; k < 4; k++) {
        assert_int_equal(g6 == &g6_by_value ? g6_open_special(n[k], n[k] > 0 ? list : NULL)
                                            : g6_open_special_(&n[k], n[k] > 0 ? list : NULL),
                         0);
        g6_set_three(0);
        g6_expect_healthy(0);
        assert_int_equal(g6_open_special2(1, list, nmax), 0); /* is open */
        g6_expect_healthy(0);
        assert_int_equal(g6->close(0), 0);
    }
    assert_int_equal(g6_errors(), 0);
    assert_int_equal(g6 == &g6_by_value ? g6_open_special2(1, NULL, 9) : g6_open_special2_(&bad, NULL, &nmax), -1);
    assert_int_equal(g6_errors(), 1);
    assert_int_equal(g6->set_ti(0, 0), -1);
}

static void keep_text(void *user, int level, const char *text)
{
    if (level == SAPPORO_LOG_ERROR) (void)snprintf(user, 256, "%s", text);
}

static void multisend(void **state)
{
    char told[256] = "";
    (void)state;
    int first = 1, clusters = 3, address = 0, index = 9;
    double mass = 2;
    vec3 x = {0, 0, 1};
    for (int id = 1; id < 4; id++) assert_int_equal(g6->open(id), 0);
    assert_int_equal(g6_set_j_particle_multisend_mxfast_(&first, &clusters, &address, &index, &mass, x), 0);
    for (int id = 1; id < 4; id++) {
        struct g6_batch b;
        g6_batch_one(&b, 10, 0);
        assert_int_equal(g6_force(id, 1, &b, 0), 0);
        g6_near(b.pot[0], -2);
    }
    clusters = 4;
    sapporo_set_log(keep_text, told);
    assert_int_equal(g6_set_j_particle_multisend_mxfast_(&first, &clusters, &address, &index, &mass, x), -1);
    sapporo_set_log(NULL, NULL);
    if (!strstr(told, "cluster 4 is not open")) fail_msg("'%s'", told);
}

static void method(void **state)
{
    (void)state;
    setenv("SAPPORO_METHOD", "tree", 1);
    g6_open_three(0);
    assert_int_equal(g6_warnings(), 1);
    g6_expect_healthy(0);
    g6->close(0);
    setenv("SAPPORO_METHOD", "guess", 1);
    assert_int_equal(g6->open(0), -1);
    assert_int_equal(g6_errors(), 1);
    setenv("SAPPORO_METHOD", "direct", 1);
    assert_int_equal(g6->open(0), 0);
    unsetenv("SAPPORO_METHOD");
    assert_int_equal(g6_warnings() + g6_errors(), 0);
}

/* ---- threads ----------------------------------------------------------------------------------------- */

static void *set_particles(void *start)
{
    for (int j = *(int *)start; j < 2000; j += 4) {
        vec3 x = {0, 0, 1 + j};
        if (g6->set_j(0, j, j, 0, 0, 1, NULL, NULL, NULL, NULL, x) != 0) return start;
    }
    return NULL;
}

static void *force_on_one(void *own)
{
    struct g6_batch b;
    g6_batch_one(&b, -1, 0);
    for (int round = 0; round < 50; round++) {
        int rc = g6_force(0, 2000, &b, 0);
        if (rc != 0 || !(b.pot[0] <= 0)) return own;
        g6->read_lists(0);
    }
    return NULL;
}

static void run_four(void *(*work)(void *))
{
    pthread_t thread[4];
    int own[4];
    for (int t = 0; t < 4; t++) {
        own[t] = t;
        assert_int_equal(pthread_create(&thread[t], NULL, work, &own[t]), 0);
    }
    for (int t = 0; t < 4; t++) {
        void *bad;
        pthread_join(thread[t], &bad);
        assert_null(bad);
    }
}

static void particles_from_four_threads(void **state)
{
    (void)state;
    pthread_t forces;
    void *bad;
    int own = 0;
    struct g6_batch b;
    assert_int_equal(g6->open(0), 0);
    assert_int_equal(pthread_create(&forces, NULL, force_on_one, &own), 0);
    run_four(set_particles);
    pthread_join(forces, &bad);
    assert_null(bad);
    g6_batch_one(&b, -1, 0);
    assert_int_equal(g6_force(0, 2000, &b, 0), 0);
    double pot = 0;
    for (int j = 0; j < 2000; j++) pot -= 1. / (1 + j);
    g6_near(b.pot[0], pot);
}

/* Each call of another thread may find another set of open clusters; none may crash. */
static void *open_and_close_any(void *own)
{
    for (int round = 0; round < 300; round++) {
        struct g6_batch b;
        int id = (*(int *)own + round) % 3;
        g6->open(id);
        g6_batch_one(&b, -1, 0);
        g6_first(id, 1, &b, 0);
        g6_last(id, 1, &b, 0);
        g6->read_lists(id);
        g6->close((id + 1) % 3);
    }
    return NULL;
}

static void clusters_come_and_go(void **state)
{
    (void)state;
    run_four(open_and_close_any);
    for (int id = 0; id < 3; id++) g6->close(id);
    g6_open_three(0);
    g6_expect_healthy(0);
    g6_expect_healthy(1); /* the count of open clusters is right */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        G6_BOTH(shared_arrays),
        G6_BOTH(guesses_are_ignored),
        G6_BOTH(null_scalars),
        G6_BOTH(lists),
        G6_BOTH(lists_of_delivered_rows),
        G6_BOTH(lists_while_the_next_is_under_way),
        G6_BOTH(bad_radii),
        G6_BOTH(nearest_distance),
        G6_BOTH(synonyms),
        G6_BOTH(trapped_exceptions),
        G6_BOTH(read_back),
        G6_BOTH(open_special),
        G6_BOTH(multisend),
        G6_BOTH(method),
        G6_BOTH(particles_from_four_threads),
        G6_BOTH(clusters_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
