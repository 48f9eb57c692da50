/*
 * test_outside.c - regular forces (SAPPORO_PAIRS_OUTSIDE): against the extended-precision sum with the same members,
 * lists exactly; the same bits in all ways of asking for them; refused arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cases.h"
#include "runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cases of the one list that say something here. */
static const char *const chosen[] = {"plummer 1",
                                     "plummer 17",
                                     "plummer 2049",
                                     "spread times, all derivatives",
                                     "no softening",
                                     "hard model",
                                     "far offset",
                                     "holes, predicted",
                                     "coincident",
                                     "lattice",
                                     "lattice, few",
                                     "masses of 0 and below",
                                     "one target",
                                     "lengths of 1e-7",
                                     "lengths of 1e9",
                                     "everybody in the list",
                                     "nobody loaded",
                                     "coincident, softened",
                                     "nj beyond what is loaded"};

static int is_chosen(const struct test_case *test)
{
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; k++)
        if (strcmp(test->name, chosen[k]) == 0) return 1;
    return 0;
}

/* ahead: dtr is as long as it takes to cross some part of the sphere. */
static void make(const struct test_case *test, int ahead, int by_mass, struct problem *p)
{
    case_make(test, 4, p);
    p->outside = p->no_index = 1;
    p->by_mass = by_mass;
    for (int i = 0; i < p->ntargets; i++) {
        struct target *const t = &p->target[i];
        double v = 0;
        for (int c = 0; c < 3; c++) v += fabs(t->v[c]);
        if (ahead && t->h2 < 1e30) t->dtr = (i % 4) * 0.25 * sqrt(t->h2 > 0 ? t->h2 : 0) / (v + 1e-30);
        if (by_mass) t->h2 *= p->nbodies;
    }
}

static double error_of(const double *got, const real *exact)
{
    real sum = 0;
    for (int c = 0; c < 3; c++) sum += (got[c] - exact[c]) * (got[c] - exact[c]);
    return (double)sqrtl(sum);
}

static void compare(const struct engine *e, const struct test_case *test, const char *how, int i,
                    const struct answer *got, const struct exact *exact)
{
    const double error[] = {(double)fabsl(got->pot - exact->pot), error_of(got->acc, exact->acc),
                            error_of(got->jerk, exact->jerk)};
    if (got->nlist != exact->nlist || memcmp(got->list, exact->list, (size_t)got->nlist * sizeof *got->list) != 0)
        fail_msg("%s, %s, %s: list of %d has %d members, should have %d", e->name, test->name, how, i, got->nlist,
                 exact->nlist);
    for (int q = POT; q <= JERK; q++) {
        const double bound = case_bound(test, e->precision, exact, q);
        if (!(error[q] <= bound) && bound < INFINITY)
            fail_msg("%s, %s, %s: quantity %d of %d is off by %g, bound %g", e->name, test->name, how, q, i, error[q],
                     bound);
    }
}

/* One problem on every engine; several batches have the bits of one. */
static void check_problem(const struct test_case *test, const char *how, const struct problem *p)
{
    struct reference *r = reference_new(p);
    struct exact *exact = zeroed((size_t)p->ntargets, sizeof *exact);
    for (int i = 0; i < p->ntargets; i++) reference_solve(r, i, &exact[i]);
    for (int k = 0; k < ENGINES; k++) {
        const struct engine *e = &engines[k];
        const struct ask all = {OUT_LISTS, 0, 0}, few = {OUT_LISTS, OUT_LISTS, 7};
        if (!engine_usable(e)) continue;
        struct answer *a = solve_with(e, 1, p, &all);
        for (int i = 0; i < p->ntargets; i++) compare(e, test, how, i, &a[i], &exact[i]);
        if (p->ntargets > 7) expect("batches of 7", e, p, solve_with(e, 2, p, &few), a, OUT_LISTS);
        answers_free(a, p->ntargets);
    }
    for (int i = 0; i < p->ntargets; i++) free(exact[i].list);
    free(exact);
    reference_free(r);
}

static void check_all(int ahead, int by_mass, const char *how)
{
    for (const struct test_case *test = cases; test->name; test++) {
        struct problem p;
        if (!is_chosen(test)) continue;
        make(test, ahead, by_mass, &p);
        check_problem(test, how, &p);
        problem_free(&p);
    }
}

RUNS(spheres, check_all(0, 0, "spheres"))

RUNS(ahead, check_all(1, 0, "ahead"))

RUNS(by_mass, check_all(1, 1, "by mass"))

/* ------------------------------------------------------------------- the same bits */

static void same_bits(void **state)
{
    (void)state;
    for (int k = 0; k < ENGINES; k++) {
        const struct engine *e = &engines[k];
        struct problem p;
        if (!engine_usable(e)) continue;
        standard_problem(&p, 0);
        p.outside = p.no_index = 1;
        for (int i = 0; i < p.ntargets; i++) p.target[i].dtr = 0.01 * (i % 5);
        struct answer *standard = solve_with(e, 1, &p, &(struct ask){OUT_LISTS, 0, 0});
        for (int n = 1; n < 70; n += 15)
            expect("batches", e, &p, solve_with(e, 1 + n % 4, &p, &(struct ask){OUT_LISTS, 0, n}), standard, OUT_LISTS);
        expect("threads", e, &p, solve_with(e, 3, &p, &(struct ask){OUT_LISTS, 0, 0}), standard, OUT_LISTS);
        answers_free(standard, p.ntargets);
        problem_free(&p);
    }
}

/* Radii that end within a rounding of a particle: whoever the kernel is in doubt about is decided one way for both. */
static void at_the_boundary(void **state)
{
    enum { N = 400 };
    (void)state;
    const struct test_case test = {.name = "boundary", .roundings = {0, 16, 16, 16}};
    struct problem p;
    problem_new(&p, N, 60);
    model_plummer(p.body, N, 5);
    p.nj = N;
    p.outside = p.no_index = 1;
    for (int i = 0; i < p.ntargets; i++) {
        struct target *const t = &p.target[i];
        double r2 = 0;
        for (int c = 0; c < 3; c++) {
            t->x[c] = p.body[i].derivative[0][c] + 0x1p-20;
            const double d = p.body[i + 300].derivative[0][c] - t->x[c];
            r2 += d * d;
        }
        t->h2 = i % 3 == 0 ? r2 : r2 * (1 + (i % 3 == 1 ? 1e-12 : -1e-12));
        if (i % 3 == 0) t->h2 = nextafter(nextafter(t->h2, INFINITY), INFINITY); /* beyond what double rounds */
    }
    check_problem(&test, "spheres", &p);
    problem_free(&p);
}

/* ---------------------------------------------------------------------- refusals */

static int begin(sapporo *c, const sapporo_request *r)
{
    sapporo_job *job;
    const int status = sapporo_force_begin(c, r, &job);
    sapporo_force_free(job);
    return status;
}

static void refusals(void **state)
{
    (void)state;
    const sapporo_options cpu = {.size = sizeof cpu, .backend = SAPPORO_BACKEND_CPU};
    const double x[1][3] = {{0.5, 0, 0}}, h2 = 1, nan = NAN;
    const int index = 3;
    const sapporo_particle one = {.mass = 1, .derivative = {{1, 0, 0}}};
    const sapporo_request good = {
        .size = sizeof good, .nj = 1, .ni = 1, .x = {x, 0}, .h2 = {&h2, 0}, .pairs = SAPPORO_PAIRS_OUTSIDE};
    int nearest;
    double acc[1][3];
    sapporo_request r = good;
    sapporo_job *job;
    sapporo *c;
    assert_int_equal(sapporo_open(&cpu, &c), SAPPORO_OK);
    assert_int_equal(sapporo_set_particle(c, 0, &one), SAPPORO_OK);
    assert_int_equal(begin(c, &r), SAPPORO_OK);
    r.index = (sapporo_column){&index, 0};
    assert_int_equal(begin(c, &r), SAPPORO_ERR_ARGUMENT);
    r = good, r.want = SAPPORO_WANT_NEAREST;
    assert_int_equal(begin(c, &r), SAPPORO_ERR_ARGUMENT);
    r = good, r.eps2_i = (sapporo_column){&h2, 0};
    assert_int_equal(begin(c, &r), SAPPORO_ERR_UNSUPPORTED);
    const sapporo_regular odd = {.size = sizeof odd, .dtr = {&nan, 0}}, sizeless = {.h2_by_mass = 1};
    const sapporo_regular by_mass = {.size = sizeof by_mass, .h2_by_mass = 1};
    r = good, r.regular = &odd;
    assert_int_equal(begin(c, &r), SAPPORO_ERR_ARGUMENT);
    r = good, r.regular = &sizeless;
    assert_int_equal(begin(c, &r), SAPPORO_ERR_ARGUMENT);
    r = good, r.pairs = (sapporo_pairs)7;
    assert_int_equal(begin(c, &r), SAPPORO_ERR_ARGUMENT);
    r = good, r.pairs = SAPPORO_PAIRS_ALL, r.regular = &by_mass;
    assert_int_equal(begin(c, &r), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_begin(c, &good, &job), SAPPORO_OK);
    const sapporo_result with_nearest = {.size = sizeof with_nearest, .acc = acc, .nearest = &nearest};
    assert_int_equal(sapporo_force_end(job, 1, &with_nearest), SAPPORO_ERR_UNSUPPORTED);
    assert_true(isnan(acc[0][0]) && nearest == -1);
    sapporo_force_free(job);
    sapporo_close(c);
    const sapporo_options order2 = {.size = sizeof order2, .order = 2, .backend = SAPPORO_BACKEND_CPU};
    assert_int_equal(sapporo_open(&order2, &c), SAPPORO_OK);
    assert_int_equal(begin(c, &good), SAPPORO_ERR_UNSUPPORTED);
    sapporo_close(c);
}

/* sapporo_request as it was when it had the members of sapporo_regular. */
struct older_request {
    size_t size;
    int nj, ni;
    sapporo_column x, v, a, jerk, index;
    double eps2;
    sapporo_column eps2_i;
    int pairs;
    unsigned want;
    sapporo_column h2;
    int h2_by_mass;
    sapporo_column dtr;
    int softening;
};

/* Begins a force as a program does that was compiled with the older struct. */
static int begin_older(sapporo *c, const struct older_request *r)
{
    sapporo_job *job;
    void *const bytes = malloc(sizeof *r);
    assert_non_null(bytes);
    memcpy(bytes, r, sizeof *r);
    const int status = sapporo_force_begin(c, bytes, &job);
    sapporo_force_free(job);
    free(bytes);
    return status;
}

/* Programs with the older struct get the force that they mean, or an error. */
static void older_programs(void **state)
{
    (void)state;
    const double x[1][3] = {{0.5, 0, 0}}, h2 = 1, dtr[] = {0, 0.125, 1e-300};
    const sapporo_particle one = {.mass = 1, .derivative = {{1, 0, 0}}};
    for (int order = 2; order <= 4; order += 2) {
        const sapporo_options cpu = {.size = sizeof cpu, .order = order, .backend = SAPPORO_BACKEND_CPU};
        struct older_request good, r;
        sapporo *c;
        memset(&good, 0, sizeof good);
        good.size = sizeof good, good.nj = good.ni = 1, good.x.base = x, good.h2.base = &h2;
        assert_int_equal(sapporo_open(&cpu, &c), SAPPORO_OK);
        assert_int_equal(sapporo_set_particle(c, 0, &one), SAPPORO_OK);
        assert_int_equal(begin_older(c, &good), SAPPORO_OK);
        for (int softening = 1; softening <= 2; softening++) {
            r = good, r.softening = softening;
            assert_int_equal(begin_older(c, &r), SAPPORO_ERR_UNSUPPORTED);
        }
        good.pairs = SAPPORO_PAIRS_OUTSIDE;
        assert_int_equal(begin_older(c, &good), order == 4 ? SAPPORO_OK : SAPPORO_ERR_UNSUPPORTED);
        r = good, r.h2_by_mass = 1;
        assert_int_equal(begin_older(c, &r), SAPPORO_ERR_UNSUPPORTED);
        for (int k = 0; k < 3; k++) {
            r = good, r.dtr.base = &dtr[k];
            assert_int_equal(begin_older(c, &r), order == 4 ? SAPPORO_ERR_ARGUMENT : SAPPORO_ERR_UNSUPPORTED);
        }
        sapporo_close(c);
    }
}

/* Radii by masses over a factor of 1e6, some of 0 and one of a tenth of all: those of the neighbours differ by 1000. */
static void mixed_masses(void **state)
{
    enum { N = 1500, NI = 200 };
    const struct test_case test = {.name = "masses over a factor of 1e6", .roundings = {0, 16, 16, 16}};
    rng random;
    struct problem p;
    (void)state;
    rng_seed(&random, 34, 0);
    problem_new(&p, N, NI);
    model_plummer(p.body, N, 34);
    p.nj = N;
    p.outside = p.no_index = p.by_mass = 1;
    for (int k = 0; k < N; k++) p.body[k].mass = k % 7 == 0 ? 0 : pow(10, -6 * rng_uniform(&random)) * 10 / N;
    p.body[N / 2].mass = 0.1;
    for (int i = 0; i < NI; i++) {
        struct target *const t = &p.target[i];
        memcpy(t->x, p.body[7 * i].derivative[0], sizeof t->x);
        memcpy(t->v, p.body[7 * i].derivative[1], sizeof t->v);
        t->h2 = N * 0.1 * rng_uniform(&random);
        t->dtr = i % 3 * 0.125 * rng_uniform(&random);
    }
    check_problem(&test, "by mass", &p);
    problem_free(&p);
}

/* Nobody is within a radius that is not positive; who lies at the same place is passed over without a word. */
static void no_radius(void **state)
{
    (void)state;
    struct problem p;
    problem_new(&p, 40, 40);
    model_plummer(p.body, 40, 6);
    p.nj = 40;
    p.outside = p.no_index = 1;
    for (int i = 0; i < 40; i++) memcpy(p.target[i].x, p.body[i].derivative[0], sizeof p.target[i].x);
    const struct test_case test = {.name = "no radius", .roundings = {0, 16, 16, 16}};
    check_problem(&test, "all", &p);
    p.target[3].h2 = 0.01;
    check_problem(&test, "all but one", &p);
    problem_free(&p);
}

/*
 * Rows without a sphere, whose particles come to the same place at the time ahead: their bits do not depend on whether
 * another row of the call has a sphere.
 */
static void meetings(void **state)
{
    enum { N = 40 };
    (void)state;
    for (int k = 0; k < ENGINES; k++) {
        const struct engine *e = &engines[k];
        struct problem p;
        if (!engine_usable(e)) continue;
        problem_new(&p, N, N);
        model_plummer(p.body, N, 8);
        p.nj = N;
        p.outside = p.no_index = 1;
        p.eps2 = k % 2 ? 1 : 0;
        for (int i = 0; i < N; i++) {
            struct target *const t = &p.target[i];
            memcpy(t->x, p.body[i].derivative[0], sizeof t->x);
            for (int c = 0; c < 3; c++) p.body[i].derivative[0][c] = t->x[c] = ldexp(floor(ldexp(t->x[c], 10)), -10);
            for (int c = 0; c < 3; c++) p.body[(i + 1) % N].derivative[1][c] = t->v[c] = 0;
        }
        for (int i = 0; i < N; i++) {
            struct target *const t = &p.target[i];
            t->dtr = 0.125;
            for (int c = 0; c < 3; c++) t->v[c] = (p.body[(i + 1) % N].derivative[0][c] - t->x[c]) / t->dtr;
        }
        struct answer *const alone = solve_with(e, 1, &p, &(struct ask){0, 0, 0});
        p.target[3].h2 = 0.01;
        struct answer *const beside = solve_with(e, 1, &p, &(struct ask){0, 0, 0});
        answers_same(e->name, alone, beside, 3, 0);
        answers_same(e->name, alone + 4, beside + 4, N - 4, 0);
        answers_free(alone, N);
        answers_free(beside, N);
        problem_free(&p);
    }
}

/* Targets whose spheres end near where source `fast` comes to, from 100,000 radii away, along one axis. */
static void aim_at(struct problem *p, int fast, int axis)
{
    double(*const s)[3] = p->body[fast].derivative;
    s[1][axis] = 1e9 / 3;
    s[0][axis] -= s[1][axis] * 0x1p-10;
    for (int i = 0; i < p->ntargets; i++) {
        struct target *const t = &p->target[i];
        double r2 = 0;
        t->dtr = 0x1p-10;
        for (int c = 0; c < 3; c++) {
            t->x[c] = 0.3 * (i + 1) / (c + 1);
            const double moved = s[0][c] - t->x[c] + s[1][c] * t->dtr;
            r2 += moved * moved;
        }
        t->h2 = r2 * (i % 2 ? 1 + 1e-7 : 1 - 1e-7);
    }
}

/* A force of a context that had a slower source at that address, and kept what depends on the largest velocity. */
static struct answer *solve_again(const struct engine *e, struct problem *p, int fast)
{
    const struct ask ask = {OUT_LISTS, 0, 0};
    double kept[3], *const v = p->body[fast].derivative[1];
    sapporo *const c = engine_open(e, 1);
    memcpy(kept, v, sizeof kept);
    for (int axis = 0; axis < 3; axis++) v[axis] = 0;
    problem_load(c, p);
    answers_free(problem_solve(c, p, &ask), p->ntargets);
    memcpy(v, kept, sizeof kept);
    problem_load(c, p);
    const int nj = p->nj;
    p->nj = fast; /* without that source */
    if (fast > 0) answers_free(problem_solve(c, p, &ask), p->ntargets);
    p->nj = nj;
    struct answer *const a = problem_solve(c, p, &ask);
    sapporo_close(c);
    return a;
}

/*
 * The largest velocity decides how exactly kernels tell members ahead in time from others.  The source that has it may
 * be at any address: the first ones, the end of a tile, or the last one, behind the last 16 that are complete.
 */
static void fastest_source(void **state)
{
    enum { N = 2101, NI = 12 };
    static const int fast[] = {0, 31, 2047, N - 1};
    const struct test_case test = {.name = "fast source", .roundings = {0, 16, 16, 16}};
    const struct ask ask = {OUT_LISTS, 0, 0};
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct problem p;
        problem_new(&p, N, NI);
        model_plummer(p.body, N, 12);
        p.nj = N;
        p.outside = p.no_index = 1;
        aim_at(&p, fast[k], k % 3);
        check_problem(&test, "ahead", &p);
        for (int n = 0; n < ENGINES; n++) {
            if (!engine_usable(&engines[n])) continue;
            struct answer *const once = solve_with(&engines[n], 1, &p, &ask);
            expect("a slower source before", &engines[n], &p, solve_again(&engines[n], &p, fast[k]), once, OUT_LISTS);
            answers_free(once, NI);
        }
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spheres),         cmocka_unit_test(ahead),          cmocka_unit_test(by_mass),
        cmocka_unit_test(same_bits),       cmocka_unit_test(refusals),       cmocka_unit_test(no_radius),
        cmocka_unit_test(at_the_boundary), cmocka_unit_test(meetings),       cmocka_unit_test(mixed_masses),
        cmocka_unit_test(older_programs),  cmocka_unit_test(fastest_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
