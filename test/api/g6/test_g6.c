/* test_g6.c - the GRAPE-6 calls: cluster ids, the queue of begun forces, bad input; C names and Fortran names. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "g6_forms.h"
#include "sanitized.h"

/* ---- ids (3.1, 3.3, 3.4) ---------------------------------------------------------- */

static void expect_closed(int id)
{
    struct g6_batch b;
    int n = 5, list[4];
    vec3 x = {1, 2, 3};
    g6_batch_one(&b, 10, 0);
    assert_int_equal(g6->set_ti(id, 0), -1);
    assert_int_equal(g6->set_j(id, 0, 1, 0, 0, 1, NULL, NULL, NULL, NULL, x), -1);
    assert_int_equal(g6->set_mx(id, 0, 1, 1, x), -1);
    assert_int_equal(g6->reset(id), -1);
    assert_int_equal(g6->reset_fofpga(id), -1);
    assert_int_equal(g6->reinitialize(id), -1);
    g6_first(id, 3, &b, 0);
    assert_int_equal(g6_errors(), 7);
    assert_int_equal(g6_last(id, 3, &b, 0), -1);
    g6_expect_nan(&b, 1);
    assert_int_equal(g6->last(id, 3, 1, b.index, b.x, b.v, 0, b.h2, b.acc, b.jerk, b.pot), -1);
    assert_int_equal(g6->read_lists(id), -1);
    assert_int_equal(g6->get_list(id, 0, 4, &n, list), -1);
    assert_int_equal(n, 0);
    assert_int_equal(g6_errors(), 4);
    assert_int_equal(g6->initialize_buffer(id, 10), 0);
    assert_int_equal(g6->flush_buffer(id), 0);
    g6->setup_njdata(id, 10);
    assert_int_equal(g6->set_tunit(45), 0);
    assert_int_equal(g6->set_xunit(48), 0);
    assert_int_equal(g6->overflow_mode(1, 1, 1), 0);
    assert_int_equal(g6->close(id), 0);
    assert_int_equal(g6_errors(), 0);
}

static void calls_without_open(void **state)
{
    (void)state;
    expect_closed(0);
}

static void calls_after_close(void **state)
{
    (void)state;
    g6_open_three(300);
    g6_expect_healthy(300);
    g6->close(300);
    struct g6_batch b;
    g6_batch_one(&b, 10, 0);
    assert_int_equal(g6_last(300, 3, &b, 0), -1);
    g6_expect_nan(&b, 1);
    assert_int_equal(g6->set_ti(300, 0), -1);
}

static void open_again_keeps(void **state)
{
    (void)state;
    g6_open_three(0);
    assert_int_equal(g6->open(0), 0);
    g6_expect_healthy(0);
    assert_int_equal(g6->reset(0), 0);
    assert_int_equal(g6->reset_fofpga(0), 0);
    assert_int_equal(g6->reinitialize(0), 0);
    g6_expect_healthy(0);
    assert_int_equal(g6->close(0), 0);
    assert_int_equal(g6->close(0), 0);
    assert_int_equal(g6->open(0), 0);
    struct g6_batch b;
    g6_batch_one(&b, 10, 0);
    assert_int_equal(g6_force(0, 3, &b, 0), 0);
    assert_true(b.pot[0] == 0); /* an opened cluster is empty */
    assert_int_equal(g6_errors(), 0);
}

static void only_open_one_serves(void **state)
{
    (void)state;
    assert_int_equal(g6->open(2), 0);
    assert_int_equal(g6->set_ti(0, 0), 0);
    g6_set_three(0);
    g6_expect_healthy(0);
    g6_expect_healthy(-5);
    g6_expect_healthy(1000);
    assert_int_equal(g6_warnings(), 1);
    assert_int_equal(g6->close(0), 0); /* closes nothing */
    g6_expect_healthy(2);
    assert_int_equal(g6_warnings() + g6_errors(), 0);
    assert_int_equal(g6->open(3), 0);
    expect_closed(0); /* which of the two? */
    g6_expect_healthy(2);
    g6->close(3);
    g6_expect_healthy(0);
    assert_int_equal(g6_errors(), 0);
}

/* A cluster whose opening failed is not served by the only one that is open, until it is closed or opened. */
static void failed_one_is_not_served(void **state)
{
    static const int ids[] = {1, 255, 256, 1000, -3};
    (void)state;
    g6_open_three(0);
    for (int k = 0; k < 5; k++) {
        setenv("SAPPORO_METHOD", "guess", 1);
        assert_int_equal(g6->open(ids[k]), -1);
        assert_int_equal(g6_errors(), 1);
        unsetenv("SAPPORO_METHOD");
        struct g6_batch b;
        g6_batch_one(&b, 10, 0);
        assert_int_equal(g6->set_ti(ids[k], 0), -1);
        assert_int_equal(g6_last(ids[k], 3, &b, 0), -1);
        g6_expect_nan(&b, 1);
        assert_int_equal(g6_errors(), 2);
        assert_int_equal(g6->close(ids[k]), 0);
        g6_expect_healthy(ids[k]);
        g6_warnings();
    }
    setenv("SAPPORO_METHOD", "guess", 1);
    for (int k = 0; k < 2; k++) assert_int_equal(g6->open(1 + k), -1);
    assert_int_equal(g6_errors(), 2);
    unsetenv("SAPPORO_METHOD");
    assert_int_equal(g6->open(1), 0);
    assert_int_equal(g6->close(1), 0);
    g6_expect_healthy(1); /* which is only closed */
    assert_int_equal(g6->set_ti(2, 0), -1);
    assert_int_equal(g6_errors(), 1);
    assert_int_equal(g6->close(2), 0);
    g6_expect_healthy(2);
}

static void clusters_are_independent(void **state)
{
    (void)state;
    static const int ids[] = {0, 1, 300, 1000, -5, INT_MAX};
    enum { N = sizeof ids / sizeof ids[0] };
    for (int round = 0; round < 3; round++) {
        struct g6_batch b;
        for (int k = 0; k < N; k++) {
            vec3 x = {0, 0, 1};
            assert_int_equal(g6->open(ids[k]), 0);
            assert_int_equal(g6->set_ti(ids[k], 0), 0);
            assert_int_equal(g6->set_mx(ids[k], 0, 20, 1 + k, x), 0);
        }
        for (int k = 0; k < N; k++) {
            g6_batch_one(&b, 10, 0);
            assert_int_equal(g6_force(ids[k], 1, &b, 0), 0);
            g6_near(b.acc[0][2], 1 + k);
        }
        for (int k = round; k < N + round; k++) assert_int_equal(g6->close(ids[k % N]), 0);
    }
    assert_int_equal(g6_errors() + g6_warnings(), 0);
}

static void pipes_are_constant(void **state)
{
    (void)state;
    int n = g6->npipes();
    assert_in_range(n, 1, 16384);
    assert_int_equal(g6->pipelines(), n);
    setenv("GRAPE_NPIPES", "7", 1);
    g6->open(0);
    assert_int_equal(g6->npipes(), n);
    unsetenv("GRAPE_NPIPES");
}

static long resident_kb(void)
{
    char line[80] = "";
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL) return 0;
    const char *second = fgets(line, sizeof line, f) != NULL ? strchr(line, ' ') : NULL;
    fclose(f);
    return second != NULL ? strtol(second, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}

/* A million in all: both forms, a direct id and others. */
static void open_and_close_a_million_times(void **state)
{
    (void)state;
    long before = 0;
    for (int n = 0; n < 251000; n++) {
        int id = 1000 + n % 100;
        if (n == 1000) before = resident_kb();
        if (g6->open(0) != 0 || g6->open(id) != 0) fail_msg("open fails in cycle %d", n);
        if (n % 5000 == 0) {
            struct g6_batch b;
            g6_set_three(id);
            g6_batch_one(&b, 10, 1);
            g6_first(id, 3, &b, 0); /* left behind */
            g6_expect_healthy(id);
        }
        if (g6->close(id) != 0 || g6->close(0) != 0) fail_msg("close fails in cycle %d", n);
    }
/* Sanitizers keep what is freed; that of addresses has its own check of leaks. */
#if !SANITIZED
    assert_true(resident_kb() - before < 1024);
#else
    (void)before;
#endif
}

/* ---- the queue (3.7, 3.8) ----------------------------------------------------------- */

static void expect_pot(int id, struct g6_batch *b, double z)
{
    assert_int_equal(g6_last(id, 3, b, 0), 0);
    g6_near(b->pot[0], g6_pot_of_three(z));
}

static void each_batch_has_its_own(void **state)
{
    (void)state;
    struct g6_batch b[6];
    g6_open_three(0);
    for (int k = 0; k < 6; k++) {
        g6_batch_one(&b[k], 99, k + 1);
        g6_first(0, 3, &b[k], 0);
    }
    for (int k = 5; k >= 3; k--) expect_pot(0, &b[k], k + 1);
    for (int k = 0; k < 3; k++) expect_pot(0, &b[k], k + 1);
}

static void oldest_of_equals(void **state)
{
    (void)state;
    struct g6_batch b;
    g6_open_three(0);
    for (int k = 1; k <= 3; k++) {
        g6_batch_one(&b, 99, k);
        g6_first(0, 3, &b, 0);
    }
    for (int k = 1; k <= 3; k++) expect_pot(0, &b, k);
}

static void newest_with_equal_ni(void **state)
{
    (void)state;
    struct g6_batch a, b, c;
    g6_open_three(0);
    g6_batch_one(&a, 99, 1);
    g6_batch_one(&b, 99, 2);
    g6_batch_one(&c, 99, 3);
    g6_first(0, 3, &a, 0);
    g6_first(0, 3, &b, 0);
    expect_pot(0, &c, 2); /* from arrays that were never sent: the job of b */
    expect_pot(0, &c, 1);
    expect_pot(0, &c, 3); /* nothing is left: computed now */
}

static void another_ni(void **state)
{
    (void)state;
    struct g6_batch b;
    g6_open_three(0);
    for (int other = 0; other < 2; other++) {
        g6_batch_one(&b, 10, 0);
        b.n = 2, b.index[1] = 99, b.x[1][2] = 1;
        g6_first(0, 3, &b, 0);
        b.x[0][2] = 5;
        b.n = 1;
        assert_int_equal(g6_last(0, 3, &b, 0), 0);
        g6_expect_three(&b, 0);
        assert_true(b.pot[1] == 7);
        g6_first(0, 3, &b, 0);
        b.n = 2;
        assert_int_equal(g6_last(0, 3, &b, 0), -1);
        g6_expect_nan(&b, 2);
        assert_int_equal(g6_errors(), 1);
    }
    /* The same arrays with a longer ni go before the same ni with other arrays. */
    struct g6_batch c;
    g6_batch_one(&b, 99, 2);
    b.n = 2, b.index[1] = 99, b.x[1][2] = 1;
    g6_first(0, 3, &b, 0);
    g6_batch_one(&c, 99, 3);
    g6_first(0, 3, &c, 0);
    b.n = 1;
    expect_pot(0, &b, 2);
    /* Of the same arrays the longer one that was begun goes before a shorter one, whatever their order. */
    for (int order = 0; order < 2; order++) {
        g6->reset(0);
        for (int k = 0; k < 2; k++) {
            b.n = k == order ? 3 : 1;
            for (int i = 0; i < 3; i++) b.index[i] = 99, b.x[i][2] = k == order ? 4 + i : 9;
            g6_first(0, 3, &b, 0);
        }
        b.n = 2;
        assert_int_equal(g6_last(0, 3, &b, 0), 0);
        g6_near(b.pot[0], g6_pot_of_three(4));
        g6_near(b.pot[1], g6_pot_of_three(5));
        assert_true(b.pot[2] == 7);
    }
    assert_int_equal(g6_errors(), 0);
}

static void queue_drops_the_oldest(void **state)
{
    (void)state;
    static struct g6_batch b[70];
    g6_open_three(0);
    for (int k = 0; k < 70; k++) {
        g6_batch_one(&b[k], 99, k + 1);
        g6_first(0, 3, &b[k], 0);
    }
    assert_int_equal(g6_warnings(), 1);
    for (int k = 6; k < 70; k++) expect_pot(0, &b[k], k + 1);
    for (int k = 0; k < 6; k++) {
        b[k].x[0][2] = 100 + k; /* gone, so computed now */
        expect_pot(0, &b[k], 100 + k);
    }
    assert_int_equal(g6_warnings() + g6_errors(), 0);
}

/* Calls without i-particles take no place in the queue, also where they fail. */
static void nothing_is_queued(void **state)
{
    (void)state;
    struct g6_batch b, none;
    g6_open_three(0);
    g6_batch_one(&b, 99, 3);
    g6_batch_one(&none, 99, 5);
    g6_first(0, 3, &b, 0);
    b.x[0][2] = 8; /* what was begun is of the old position */
    for (int k = 0; k < 2 * 64; k++) {
        none.n = k % 2 ? 0 : -1;
        g6_first(0, k % 4 ? -1 : 3, &none, 0);
    }
    expect_pot(0, &b, 3);
    assert_int_equal(g6_warnings(), 0);
}

static void reset_drops_forces(void **state)
{
    (void)state;
    struct g6_batch b;
    g6_open_three(0);
    g6_batch_one(&b, 99, 1);
    g6_first(0, 3, &b, 0);
    assert_int_equal(g6->reinitialize(0), 0);
    b.x[0][2] = 2;
    expect_pot(0, &b, 2);
}

static void first_wins(void **state)
{
    (void)state;
    struct g6_batch b;
    g6_open_three(0);
    g6_batch_one(&b, 10, 0);
    g6_first(0, 3, &b, 0);
    g6_set_three(0);
    vec3 x = {1, 0, 0};
    assert_int_equal(g6->set_mx(0, 1, 11, 50, x), 0);
    assert_int_equal(g6->set_ti(0, 3), 0);
    b.x[0][0] = NAN, b.index[0] = 0;
    assert_int_equal(g6_last(0, -1, &b, NAN), 0);
    g6_expect_three(&b, 0);
}

/* ---- bad input (13) --------------------------------------------------------------------- */

static void bad_addresses(void **state)
{
    (void)state;
    static const int bad[] = {-1, INT_MIN};
    vec3 x = {1, 0, 0};
    g6_open_three(0);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_int_equal(g6->set_j(0, bad[k], 1, 0, 0, 1, NULL, NULL, NULL, NULL, x), -1);
        assert_int_equal(g6->set_mx(0, bad[k], 1, 1, x), -1);
    }
    assert_int_equal(g6->set_j(0, 1, 1, 0, 0, 1, NULL, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(g6->set_mx(0, 1, 1, 1, NULL), -1);
    assert_int_equal(g6_errors(), 6);
    g6_expect_healthy(0);
}

static void bad_particles(void **state)
{
    (void)state;
    struct g6_batch b;
    vec3 good = {1, 0, 0}, bad = {0, NAN, 0}, infinite = {INFINITY, 0, 0};
    g6_open_three(0);
    assert_int_equal(g6->set_j(0, 1, 11, 0, 0, 2, NULL, NULL, NULL, NULL, bad), -1);
    g6_batch_one(&b, 10, 0);
    g6_force(0, 3, &b, 0);
    assert_true(isnan(b.acc[0][0]) && isnan(b.jerk[0][0]) && isnan(b.pot[0]));
    assert_int_equal(g6->set_j(0, 1, 11, 0, 0, NAN, NULL, NULL, NULL, NULL, good), -1);
    assert_int_equal(g6->set_j(0, 1, 11, INFINITY, 0, 2, NULL, NULL, NULL, NULL, good), -1);
    assert_int_equal(g6->set_j(0, 1, 11, 0, 0, 2, infinite, NULL, NULL, NULL, good), -1);
    assert_int_equal(g6->set_j(0, 1, 11, 0, 0, 2, NULL, NULL, NULL, bad, good), -1);
    assert_int_equal(g6_errors(), 5);
    assert_int_equal(g6->set_j(0, 1, 11, 0, NAN, 2, NULL, NULL, NULL, NULL, good), 0); /* dtj is ignored */
    g6_expect_healthy(0);
}

static void bad_rows(void **state)
{
    (void)state;
    struct g6_batch b;
    g6_open_three(0);
    for (int what = 0; what < 2; what++) {
        int n = 5, list[4];
        g6_batch_one(&b, 10, 0);
        b.n = 3, b.index[1] = 20, b.index[2] = 10;
        b.h2[0] = b.h2[1] = b.h2[2] = 1.5;
        if (what)
            b.v[1][2] = NAN;
        else
            b.x[1][2] = INFINITY;
        assert_int_equal(g6_force(0, 3, &b, 0), 1);
        g6_expect_three(&b, 0);
        g6_expect_three(&b, 2);
        assert_true(isnan(b.acc[1][0]) && isnan(b.jerk[1][2]) && isnan(b.pot[1]));
        assert_int_equal(b.nn[1], -1);
        assert_int_equal(g6->get_list(0, 1, 4, &n, list), 0);
        assert_int_equal(n, 0);
        assert_int_equal(g6->get_list(0, 2, 4, &n, list), 0);
        assert_int_equal(n, 1);
    }
    g6_expect_healthy(0);
}

static void bad_softening(void **state)
{
    (void)state;
    static const double bad[] = {-1, -1e-300, NAN, INFINITY, -INFINITY};
    struct g6_batch b;
    g6_open_three(0);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        g6_batch_one(&b, 10, 0);
        b.n = 2;
        assert_int_equal(g6_force(0, 3, &b, bad[k]), -1);
        g6_expect_nan(&b, 2);
        assert_int_equal(g6_errors(), 1);
        assert_int_equal(g6_last(0, 3, &b, bad[k]), -1); /* computed from lasthalf's own arguments */
        g6_expect_nan(&b, 2);
        assert_int_equal(g6->read_lists(0), -1);
        g6_errors();
        g6_expect_healthy(0);
    }
    g6_batch_one(&b, 10, 0);
    assert_int_equal(g6_force(0, 3, &b, -0.0), 0);
    g6_expect_three(&b, 0);
}

static void bad_counts(void **state)
{
    (void)state;
    struct g6_batch b;
    g6_open_three(0);
    g6_batch_one(&b, 10, 0);
    assert_int_equal(g6_force(0, -1, &b, 0), -1);
    g6_expect_nan(&b, 1);
    b.n = -1;
    assert_int_equal(g6_force(0, 3, &b, 0), -1);
    assert_true(b.pot[0] == 7 && b.acc[0][0] == 7 && b.nn[0] == 7);
    b.n = 0;
    assert_int_equal(g6_force(0, 3, &b, 0), 0);
    assert_int_equal(g6_force(0, -1, &b, 0), -1);
    assert_true(b.pot[0] == 7 && b.acc[0][0] == 7 && b.nn[0] == 7);
    b.n = 1;
    assert_int_equal(g6_force(0, 1000000000, &b, 0), 0);
    g6_expect_three(&b, 0);
    assert_int_equal(g6_warnings(), 1);
    assert_int_equal(g6_force(0, 0, &b, 0), 0);
    assert_true(b.pot[0] == 0 && b.acc[0][0] == 0 && b.jerk[0][2] == 0);
    assert_int_equal(b.nn[0], -1);
    g6_expect_healthy(0);
}

static void missing_outputs(void **state)
{
    (void)state;
    struct g6_batch b;
    g6_open_three(0);
    for (int k = 0; k < 4; k++) {
        g6_batch_one(&b, 10, 0);
        g6_first(0, 3, &b, 0);
        assert_int_equal(g6->last2(0, 3, 1, b.index, b.x, b.v, 0, b.h2, k == 0 ? NULL : b.acc, k == 1 ? NULL : b.jerk,
                                   k == 2 ? NULL : b.pot, k == 3 ? NULL : b.nn),
                         -1);
        assert_int_equal(g6_errors(), 1);
        if (k != 0) g6_near(b.acc[0][0], 2); /* what is there is right */
        if (k != 2) g6_near(b.pot[0], -4);
        if (k != 3) assert_int_equal(b.nn[0], 11);
        g6_expect_healthy(0);
    }
}

static void missing_inputs(void **state)
{
    (void)state;
    struct g6_batch b;
    g6_open_three(0);
    for (int k = 0; k < 3; k++) {
        int *index = k == 0 ? NULL : b.index;
        vec3 *x = k == 1 ? NULL : b.x, *v = k == 2 ? NULL : b.v;
        g6_batch_one(&b, 10, 0);
        b.nn[0] = 7;
        g6->first(0, 3, 1, index, x, v, NULL, NULL, NULL, 0, NULL);
        assert_int_equal(g6->last2(0, 3, 1, index, x, v, 0, NULL, b.acc, b.jerk, b.pot, b.nn), -1);
        g6_expect_nan(&b, 1);
        assert_int_equal(g6_errors(), 1);
    }
    g6_expect_healthy(0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        G6_BOTH(calls_without_open),
        G6_BOTH(calls_after_close),
        G6_BOTH(open_again_keeps),
        G6_BOTH(only_open_one_serves),
        G6_BOTH(failed_one_is_not_served),
        G6_BOTH(clusters_are_independent),
        G6_BOTH(pipes_are_constant),
        G6_BOTH(each_batch_has_its_own),
        G6_BOTH(oldest_of_equals),
        G6_BOTH(newest_with_equal_ni),
        G6_BOTH(another_ni),
        G6_BOTH(queue_drops_the_oldest),
        G6_BOTH(nothing_is_queued),
        G6_BOTH(reset_drops_forces),
        G6_BOTH(first_wins),
        G6_BOTH(bad_addresses),
        G6_BOTH(bad_particles),
        G6_BOTH(bad_rows),
        G6_BOTH(bad_softening),
        G6_BOTH(bad_counts),
        G6_BOTH(missing_outputs),
        G6_BOTH(missing_inputs),
        G6_BOTH(open_and_close_a_million_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
