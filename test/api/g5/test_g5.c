/* test_g5.c - the GRAPE-5 calls: what they mean, by C names and Fortran names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "g5_forms.h"
#include "reference.h"

/* Potentials of particles without mass are 0, not -0, which clients print. */
static void potential_of_nothing(void **state)
{
    double no_mass[3] = {0, 0, 0};
    struct g5_batch b;
    (void)state;
    const int id = g5_new_device();
    assert_int_equal(g5->set_xmj(id, 0, 3, g5_three_x, no_mass), 0);
    assert_int_equal(g5->set_n(id, 3), 0);
    g5->eps_to_all(1);
    assert_int_equal(g5_force(id, 3, &b), 0);
    for (int i = 0; i < 3; i++) assert_true(b.p[i] == 0 && !signbit(b.p[i]));
    assert_int_equal(g5->set_n(id, 0), 0);
    assert_int_equal(g5_force(id, 3, &b), 0);
    for (int i = 0; i < 3; i++) assert_true(b.p[i] == 0 && !signbit(b.p[i]));
}

/* ---- softening (6.1, 6.2) --------------------------------------------------------- */

static void potential_is_positive_with_self(void **state)
{
    (void)state;
    const int id = g5_new_device();
    g5_load_three(id);
    g5_expect_three(id, 0);
    g5->eps_to_all(1);
    g5_expect_three(id, 1);
    g5->eps2_to_all(4);
    g5_expect_three(id, 2);
    g5_expect_three(id, 2);
    assert_int_equal(g6_errors() + g6_warnings(), 0);
}

static void softening_is_of_the_process(void **state)
{
    (void)state;
    const int id = g5_new_device(), other = g5_new_device();
    g5->eps_to_all(0.5);
    g5_load_three(id);
    g5_load_three(0);
    g5_load_three(other);
    g5_expect_three(id, 0.5);
    g5_expect_three(0, 0.5);
    g5->eps_to_all(0.25);
    g5_expect_three(other, 0.25);
    g5_expect_three(id, 0.25);
}

static void softening_of_pipes(void **state)
{
    (void)state;
    double eps[3] = {1, 2, 3}, eps2[3] = {1, 4, 9}, h[3] = {0};
    const int id = g5_new_device();
    struct g5_batch b;
    g5_load_three(id);
    g5_force(id, 3, &b);
    for (int form = 0; form < 4; form++) {
        if (form < 2) assert_int_equal(g5->set_xi(id, 3, b.x), 0);
        if (form == 0) assert_int_equal(g5->set_eps(id, 3, eps), 0);
        if (form == 1) assert_int_equal(g5->set_eps2(id, 3, eps2), 0);
        if (form == 2) assert_int_equal(g5->set_xepsi(id, 3, b.x, eps), 0);
        if (form == 3) assert_int_equal(g5->set_ip(id, 3, b.x, eps, h), 0);
        assert_int_equal(g5->run(id), 0);
        assert_int_equal(g5->get_force(id, 3, b.a, b.p), 0);
        for (int i = 0; i < 3; i++) g6_near(b.p[i], g5_pot_of_three(i, eps[i]));
    }
    /* Some pipes have their own, the others that of all as it was with g5_set_xi. */
    g5->eps_to_all(0.5);
    g5->set_xi(id, 3, b.x);
    g5->eps_to_all(7);
    g5->set_eps(id, 2, eps);
    g5->run(id);
    g5->get_force(id, 3, b.a, b.p);
    for (int i = 0; i < 3; i++) g6_near(b.p[i], g5_pot_of_three(i, i < 2 ? eps[i] : 0.5));
    assert_int_equal(g6_errors(), 0);
    assert_int_equal(g5->set_eps(id, 4, eps), -1); /* more than there are */
    assert_int_equal(g5->run(id), -1);
    assert_int_equal(g5->get_force(id, 3, b.a, b.p), -1);
    g5_expect_nan(&b, 3);
    g6_errors();
}

/* ---- how many (6.3, 6.7, 6.8) --------------------------------------------------------- */

static void counts(void **state)
{
    (void)state;
    struct g5_batch b;
    const int id = g5_new_device();
    assert_int_equal(g5->set_n(id, 3), 0);
    assert_int_equal(g5->set_xmj(id, 0, 3, g5_three_x, g5_three_m), 0);
    g5_expect_three(id, 0);
    g5->set_n(id, 2);
    assert_int_equal(g5_force(id, 1, &b), 0);
    g6_near(b.p[0], 2);
    assert_int_equal(g6_warnings(), 0);
    g5->set_n(id, 5);
    for (int k = 0; k < 3; k++) g5_expect_three(id, 0);
    assert_int_equal(g6_warnings(), 1);
    g5->set_n(id, 0);
    assert_int_equal(g5_force(id, 2, &b), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(b.p[i] == 0 && !signbit(b.p[i]));
        assert_true(b.a[i][0] == 0 && b.a[i][1] == 0 && b.a[i][2] == 0);
    }
    assert_int_equal(g5->set_n(id, -1), -1);
    assert_int_equal(g5_force(id, 2, &b), -1);
    g5_expect_nan(&b, 2);
    assert_int_equal(g6_errors(), 2);
    g5->set_n(id, 1000000000);
    g5_expect_three(id, 0);
}

static void chunks(void **state)
{
    (void)state;
    enum { N = 5000, CHUNK = 1700 };
    static vec3 x[N];
    static double m[N];
    struct g5_batch b;
    double p = 0, expected = 0;
    const int id = g5_new_device();
    for (int j = 0; j < N; j++) {
        x[j][0] = 1 + j % 7;
        m[j] = 1 + j % 3;
        expected += m[j] / x[j][0];
    }
    for (int from = 0; from < N; from += CHUNK) {
        const int n = N - from < CHUNK ? N - from : CHUNK;
        g5->set_jp(id, 0, n, m + from, x + from);
        g5->set_n(id, n);
        assert_int_equal(g5_force(id, 1, &b), 0);
        p += b.p[0];
    }
    g6_near(p / expected, 1);
}

/* ---- loading (6.3) ------------------------------------------------------------------- */

static void loads_at_an_address(void **state)
{
    (void)state;
    vec3 x[5] = {{NAN, NAN, NAN}, {NAN, NAN, NAN}, {0, 0, 2}, {0, 3, 0}, {NAN, NAN, NAN}};
    double m[5] = {NAN, NAN, 6, 9, NAN};
    struct g5_batch b;
    const int id = g5_new_device();
    g5_load_three(id);
    assert_int_equal(g5->set_xmj(id, 2, 2, x, m), 0); /* elements 2 and 3 */
    g5->set_n(id, 4);
    assert_int_equal(g5_force(id, 1, &b), 0);
    g6_near(b.p[0], 2 + 3 + 3);
    g5_load_three(id); /* address 3 is as it was */
    g5->set_n(id, 4);
    g5_force(id, 1, &b);
    g6_near(b.p[0], 4 + 3);
    assert_int_equal(g6_errors() + g6_warnings(), 0);
}

static void parts_of_particles(void **state)
{
    (void)state;
    vec3 x[3] = {{0, 0, 0}, {2, 0, 0}, {0, 2, 0}};
    double m[3] = {1, 8, 4};
    struct g5_batch b;
    const int id = g5_new_device();
    g5_load_three(id);
    assert_int_equal(g5->set_mj(id, 0, 3, m), 0);
    g5_force(id, 1, &b);
    g6_near(b.p[0], 10);
    assert_int_equal(g5->set_xj(id, 1, 1, x), 0);
    g5_force(id, 1, &b);
    g6_near(b.p[0], 6);
    assert_int_equal(g6_errors() + g6_warnings(), 0);
}

/* ---- forces in steps (6.3) -------------------------------------------------------------- */

static void run_takes_what_is_there(void **state)
{
    (void)state;
    struct g5_batch b;
    double six = 6;
    const int id = g5_new_device();
    g5_load_three(id);
    g5_force(id, 2, &b);
    g5->set_xi(id, 2, b.x);
    g5->eps_to_all(5); /* too late */
    b.x[0][0] = NAN;   /* copied */
    g5->set_xmj(id, 0, 1, g5_three_x + 1, &six);
    g5->run(id);
    g5->set_n(id, 1);
    g5_load_three(id); /* too late */
    for (int k = 0; k < 3; k++) {
        memset(&b, 0, sizeof b);
        assert_int_equal(g5->get_force(id, 1 + k % 2, b.a, b.p), 0);
        g6_near(b.p[0], 10);
        g6_near(b.a[0][0], 8);
        g6_near(b.a[0][1], 1);
    }
    g5->eps_to_all(0);
    g5_expect_three(id, 0);
    assert_int_equal(g5->get_force(id, 1, b.a, b.p), 0); /* still that of g5_run */
    g6_near(b.p[0], 10);
    assert_int_equal(g6_errors() + g6_warnings(), 0);
}

/* ---- the memory with a softening of each particle (6.5) ----------------------------------------- */

static void symmetric_softening(void **state)
{
    (void)state;
    double half[8] = {0.5, 0.5, 0.5, 0.5}, bad[8] = {0.5, -1, 0.5}, *none = NULL;
    vec3 far[1] = {{0, 0, 100}};
    double heavy[1] = {1000};
    struct g5_batch b;
    const int id = g5_new_device();
    g5_load_three(id);
    g5->eps_to_all(3);
    assert_int_equal(g5->set_xmj0(id, 0, 3, g5_three_x, g5_three_m, half), 0);
    g5_force(id, 2, &b);
    for (int steps = 0; steps < 2; steps++) {
        if (steps == 0) {
            assert_int_equal(g5->calculate0(id, b.x, b.a, b.p, 2, half), 0);
        } else {
            assert_int_equal(g5->set_xi0(id, 2, b.x, half), 0);
            assert_int_equal(g5->run0(id), 0);
            assert_int_equal(g5->get_force(id, 2, b.a, b.p), 0);
        }
        for (int i = 0; i < 2; i++) g6_near(b.p[i], g5_pot_of_three(i, 1));
    }
    g5->set_xmj0(id, 0, 1, far, heavy, half);
    g5_expect_three(id, 3); /* the other memory */
    g5->set_xmj(id, 0, 1, far, heavy);
    g5->set_xmj0(id, 0, 1, g5_three_x, g5_three_m, half);
    g5->set_n(id, 1);
    g5_force(id, 1, &b);
    assert_int_equal(g5->calculate0(id, b.x, b.a, b.p, 1, half), 0);
    g6_near(b.p[0], 1); /* m / sqrt(0.5 + 0.5) */
    assert_int_equal(g6_errors() + g6_warnings(), 0);

    assert_int_equal(g5->calculate0(id, b.x, b.a, b.p, 3, bad), -1);
    g5_expect_nan(&b, 3);
    g5_force(id, 3, &b);
    assert_int_equal(g5->calculate0(id, b.x, b.a, b.p, 3, none), -1);
    g5_expect_nan(&b, 3);
    g5->set_n(id, 3);
    assert_int_equal(g5->set_xmj0(id, 0, 3, g5_three_x, g5_three_m, none), -1);
    assert_int_equal(g5->set_xmj0(id, 0, 3, g5_three_x, g5_three_m, bad), -1);
    assert_true(g6_errors() >= 4);
    g5_force(id, 2, &b);
    assert_int_equal(g5->calculate0(id, b.x, b.a, b.p, 2, half), -1); /* a load failed half way */
    g5_expect_nan(&b, 2);
    assert_int_equal(g5->set_xmj0(id, 0, 3, g5_three_x, g5_three_m, half), 0);
    assert_int_equal(g5->calculate0(id, b.x, b.a, b.p, 2, half), 0);
    g6_near(b.p[0], g5_pot_of_three(0, 1));
    g6_errors();
}

/* Force of n particles on particle i by the symmetric rule, in extended precision: potential, acceleration, and the sum
 * of the sizes of its terms. */
static void symmetric_sum(int n, vec3 *x, const double *m, const double *eps2, int i, long double sum[5])
{
    for (int k = 0; k < 5; k++) sum[k] = 0;
    for (int j = 0; j < n; j++) {
        long double d[3], r2 = (long double)eps2[i] + eps2[j];
        for (int k = 0; k < 3; k++) d[k] = (long double)x[j][k] - x[i][k], r2 += d[k] * d[k];
        sum[0] += m[j] / sqrtl(r2);
        for (int k = 0; k < 3; k++) sum[1 + k] += m[j] * d[k] / (r2 * sqrtl(r2));
        sum[4] += m[j] / r2;
    }
}

/* ASURA's names: by batches of pipelines, and in one call. */
static void symmetrized_softening(void **state)
{
    (void)state;
    enum { N = 600 };
    static vec3 x[N], a[N];
    static double m[N], eps[N], eps2[N], p[N];
    for (int j = 0; j < N; j++) {
        for (int k = 0; k < 3; k++) x[j][k] = sin(1 + 7 * j + 1000 * k);
        m[j] = (1 + j % 5) / 2000.0;
        eps[j] = 0.01 * (1 + j % 9);
        eps2[j] = eps[j] * eps[j];
    }
    assert_int_equal(g5->set_n(0, N), 0);
    assert_int_equal(g5->set_xmeps2j(0, N, x, m, eps2), 0);
    for (int steps = 0; steps < 2; steps++) {
        memset(p, 0, sizeof p);
        if (steps == 0) assert_int_equal(g5->calculate_xeps(x, eps, a, p, N), 0);
        for (int i = 0; steps == 1 && i < N; i += g5->pipelines(0)) {
            const int ni = N - i < g5->pipelines(0) ? N - i : g5->pipelines(0);
            assert_int_equal(g5->set_xi(0, ni, x + i), 0);
            assert_int_equal(g5->set_eps(0, ni, eps + i), 0);
            assert_int_equal(g5->run_symmetrized(), 0);
            assert_int_equal(g5->get_force(0, ni, a + i, p + i), 0);
        }
        for (int i = 0; i < N; i++) {
            long double sum[5];
            symmetric_sum(N, x, m, eps2, i, sum);
            g6_near(p[i] / (double)sum[0], 1);
            for (int k = 0; k < 3; k++) g6_near((a[i][k] - (double)sum[1 + k]) / (double)sum[4], 0);
        }
    }
    assert_int_equal(g6_errors() + g6_warnings(), 0);
}

/* What ASURA's names refuse. */
static void symmetrized_softening_refused(void **state)
{
    (void)state;
    double eps2[3] = {1, 1, 1}, huge[3] = {0.5, 1e200, 1}, negative[3] = {-1, 1, 1};
    struct g5_batch b;
    g5_force(0, 3, &b);
    g5->set_n(0, 3);
    assert_int_equal(g5->set_xmeps2j(0, 3, g5_three_x, g5_three_m, NULL), -1);
    assert_int_equal(g5->set_xmeps2j(0, 3, g5_three_x, g5_three_m, eps2), 0);
    assert_int_equal(g5->calculate_xeps(b.x, NULL, b.a, b.p, 3), -1);
    g5_expect_nan(&b, 3);
    g5_force(0, 3, &b);
    assert_int_equal(g5->calculate_xeps(b.x, huge, b.a, b.p, 3), -1); /* its square is infinite */
    g5_expect_nan(&b, 3);
    b.p[0] = 7;
    assert_int_equal(g5->calculate_xeps(b.x, eps2, b.a, b.p, -1), -1);
    assert_int_equal(g5->calculate_xeps(b.x, NULL, b.a, b.p, 0), 0);
    assert_true(b.p[0] == 7);
    assert_true(g6_errors() >= 4);
    assert_int_equal(g5->calculate_xeps(b.x, negative, b.a, b.p, 1), 0); /* squared */
    g6_near(b.p[0], g5_pot_of_three(0, sqrt(2)));
    assert_int_equal(g6_errors(), 0);
}

/* ---- devices, life cycle (6.3, 6.4) ----------------------------------------------------------------- */

static void constants(void **state)
{
    (void)state;
    double xmin = 0, xmax = 0, mmin = 0;
    const int id = g5_new_device();
    for (int k = 0; k < 2; k++) {
        assert_int_equal(g5->pipelines(id * k), 256);
        assert_int_equal(g5->real_pipelines(id * k), 256);
        assert_int_equal(g5->jmemsize(id * k), 65536);
        g5->open(id * k);
    }
    assert_int_equal(g5->set_range(id, -8, 16, 0.5), 0);
    assert_int_equal(g5->get_range(id, &xmin, &xmax, &mmin), 0);
    assert_true(xmin == -8 && xmax == 16 && mmin == 0.5);
    assert_int_equal(g5->get_range(id, NULL, NULL, NULL), 0);
    assert_int_equal(g6_warnings(), 0);
    for (int k = 0; k < 3; k++) assert_int_equal(g5->set_range(id, 1, 1, 0), 0);
    assert_int_equal(g6_warnings(), 1);
    g5_load_three(id);
    g5_expect_three(id, 0);
}

static void open_and_close(void **state)
{
    (void)state;
    const int id = g5_new_device();
    struct g5_batch b;
    g5_load_three(id); /* before any open */
    g5_expect_three(id, 0);
    assert_int_equal(g5->open(id), 0);
    assert_int_equal(g5->open(id), 0);
    g5_expect_three(id, 0);
    const size_t before = allocated_bytes();
    for (int k = 0; k < 100000; k++) {
        g5->open(id);
        g5->set_xi(id, 3, g5_three_x);
        if (k % 1000 == 0) g5->run(id);
        assert_int_equal(g5->close(id), 0);
    }
    assert_true(allocated_bytes() <= before + 100000);
    assert_int_equal(g5->get_force(id, 1, b.a, b.p), -1); /* closed since */
    g6_errors();
    g5_load_three(id);
    g5_expect_three(id, 0);
}

/* ---- against extended precision ----------------------------------------------------------------------- */

static void sums_are_right(void **state)
{
    (void)state;
    enum { N = 3000, NI = 400 };
    struct problem p;
    static vec3 x[N], a[NI];
    static double m[N], pot[NI];
    const int id = g5_new_device();
    problem_new(&p, N, NI);
    model_plummer(p.body, N, 5);
    p.nj = N, p.no_index = 1, p.eps2 = 1e-4;
    for (int j = 0; j < N; j++) {
        memcpy(x[j], p.body[j].derivative[0], sizeof x[j]);
        m[j] = p.body[j].mass;
    }
    for (int i = 0; i < NI; i++) memcpy(p.target[i].x, x[i], sizeof x[i]);
    g5->eps2_to_all(p.eps2);
    g5->set_xmj(id, 0, N, x, m);
    g5->set_n(id, N);
    assert_int_equal(g5->calculate(id, x, a, pot, NI), 0);
    struct reference *r = reference_new(&p);
    for (int i = 0; i < NI; i++) {
        struct exact e;
        double off = 0, acc = 0;
        reference_solve(r, i, &e);
        for (int k = 0; k < 3; k++) {
            off += pow(a[i][k] - (double)e.acc[k], 2);
            acc += pow((double)e.acc[k], 2);
        }
        /* sp: terms to 2^-22, coordinates of up to 10 to 2^-24 at distances of the softening */
        if (!(sqrt(off) <= 1e-4 * sqrt(acc))) fail_msg("acc of %d is off by %g", i, sqrt(off / acc));
        if (!(fabs(pot[i] + (double)e.pot) <= 1e-5 * pot[i]))
            fail_msg("pot of %d: %g, not %g", i, pot[i], -(double)e.pot);
        free(e.list);
    }
    reference_free(r);
    problem_free(&p);
}

/* ---- GRAPE-6 beside it; cut-offs ------------------------------------------------------------------------ */

static void both_interfaces(void **state)
{
    (void)state;
    const int id = g5_new_device();
    struct g6_batch six;
    struct g5_batch five;
    g6_open_three(0);
    g5_load_three(id);
    g6_batch_one(&six, 10, 0);
    for (int k = 0; k < 10; k++) {
        g5->eps_to_all(k);
        g6_first(0, 3, &six, 0);
        g5_expect_three(id, k);
        assert_int_equal(g6_last(0, 3, &six, 0), 0);
        g6_expect_three(&six, 0);
    }
    assert_int_equal(g6->close(0), 0);
    assert_int_equal(g5_force(id, 1, &five), 0);
    assert_int_equal(g6_errors() + g6_warnings(), 0);
}

/* The last test: there is no way back. */
static void cut_off_is_final(void **state)
{
    (void)state;
    const int id = g5_new_device();
    struct g5_batch b;
    g5_load_three(id);
    assert_int_equal(g5->set_eta(0.1), -1);
    assert_int_equal(g6_errors(), 1);
    assert_int_equal(g5_force(id, 3, &b), -1);
    g5_expect_nan(&b, 3);
    g5->set_xi(id, 1, b.x);
    assert_int_equal(g5->run(id), -1);
    g5->close(id);
    g5->open(id);
    assert_int_equal(g5_force(id, 3, &b), -1);
    g5_expect_nan(&b, 3);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        G5_BOTH(potential_is_positive_with_self),
        G5_BOTH(potential_of_nothing),
        G5_BOTH(softening_is_of_the_process),
        G5_BOTH(softening_of_pipes),
        G5_BOTH(counts),
        G5_BOTH(chunks),
        G5_BOTH(loads_at_an_address),
        G5_BOTH(parts_of_particles),
        G5_BOTH(run_takes_what_is_there),
        G5_BOTH(symmetric_softening),
        G5_BOTH(symmetrized_softening),
        G5_BOTH(symmetrized_softening_refused),
        G5_BOTH(constants),
        G5_BOTH(open_and_close),
        G5_BOTH(sums_are_right),
        G5_BOTH(both_interfaces),
        G5_BOTH(cut_off_is_final),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
