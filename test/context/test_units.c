/*
 * test_units.c - forces in other units: on every engine, order and precision a problem that is multiplied by powers of
 * two has the same bits, and problems in SI, cgs and other units have the errors of ordinary ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cases.h"
#include "runs.h"
#include "worst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- problems in other units ------------------------------------------------------------------ */

/* What a length, a mass and a time of 1 become. */
struct units {
    double length, mass, time;
};

static double of_derivative(const struct units *u, int k) { return u->length / pow(u->time, k); }

static void to_units(double *x, int n, double factor)
{
    for (int k = 0; k < n; k++) x[k] *= factor;
}

/* Multiplies all numbers of a problem. */
static void change(struct problem *p, const struct units *u)
{
    const double square = u->length * u->length;
    for (int k = 0; k < p->nbodies; k++) {
        struct body *b = &p->body[k];
        for (int d = 0; d < TERMS; d++) to_units(b->derivative[d], 3, of_derivative(u, d));
        b->mass *= u->mass, b->time *= u->time, b->eps2 *= square;
    }
    for (int i = 0; i < p->ntargets; i++) {
        struct target *t = &p->target[i];
        double *const row[] = {t->x, t->v, t->a, t->jerk};
        for (int d = 0; d < 4; d++) to_units(row[d], 3, of_derivative(u, d));
        t->h2 *= p->by_mass ? square / u->mass : square;
        t->eps2 *= square, t->dtr *= u->time;
    }
    p->eps2 *= square, p->time *= u->time;
}

/* Divides answers by the units. */
static void change_back(struct answer *a, int n, const struct units *u)
{
    for (int i = 0; i < n; i++) {
        double *const row[] = {a[i].acc, a[i].jerk, a[i].snap, a[i].crackle};
        for (int d = 0; d < 4; d++) to_units(row[d], 3, u->length / u->mass * u->length * pow(u->time, d));
        a[i].pot *= u->length / u->mass;
        a[i].nearest_r2 = a[i].nearest_r2 / u->length / u->length;
    }
}

static struct problem copy_of(const struct problem *p)
{
    struct problem copy = *p;
    copy.body = zeroed((size_t)p->nbodies, sizeof *copy.body);
    copy.target = zeroed((size_t)p->ntargets, sizeof *copy.target);
    memcpy(copy.body, p->body, (size_t)p->nbodies * sizeof *copy.body);
    memcpy(copy.target, p->target, (size_t)p->ntargets * sizeof *copy.target);
    return copy;
}

/* ---- the same bits ---------------------------------------------------------------------------- */

/* Returns whether three numbers are close to others, beside the largest of those. */
static int are_close(const double *a, const double *b)
{
    const double size = larger_of(fabs(b[0]), larger_of(fabs(b[1]), fabs(b[2])));
    for (int k = 0; k < 3; k++)
        if (!(fabs(a[k] - b[k]) <= 1e-10 * size)) return 0;
    return 1;
}

/* dp, which is not multiplied, takes the seeds of its roots in another way far from 1: the last bits differ. */
static void compare_doubles(const char *what, const struct answer *a, const struct answer *b, int n)
{
    for (int i = 0; i < n; i++) {
        const int good = are_close(a[i].acc, b[i].acc) && are_close(a[i].jerk, b[i].jerk) &&
                         are_close(a[i].snap, b[i].snap) && are_close(a[i].crackle, b[i].crackle) &&
                         fabs(a[i].pot - b[i].pot) <= 1e-13 * fabs(b[i].pot) && a[i].nearest == b[i].nearest &&
                         a[i].nlist == b[i].nlist;
        if (!good)
            fail_msg("%s: target %d: acc %g, should be %g; pot %g, %g", what, i, a[i].acc[0], b[i].acc[0], a[i].pot,
                     b[i].pot);
    }
}

static const struct ask everything = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, 0};

/* Solves a problem in units of powers of two, in a context that holds particles in other units. */
static void check_units(const struct engine *e, sapporo *c, const struct problem *p, const struct answer *standard,
                        int length, int mass, int time)
{
    const struct units u = {ldexp(1, length), ldexp(1, mass), ldexp(1, time)};
    struct problem other = copy_of(p);
    char what[120];
    snprintf(what, sizeof what, "%s, length 2^%d, mass 2^%d, time 2^%d", e->name, length, mass, time);
    change(&other, &u);
    problem_load(c, &other);
    struct answer *const a = problem_solve(c, &other, &everything);
    change_back(a, p->ntargets, &u);
    if (e->precision == SAPPORO_DP)
        compare_doubles(what, a, standard, p->ntargets);
    else
        answers_same(what, a, standard, p->ntargets, everything.outputs);
    answers_free(a, p->ntargets);
    problem_free(&other);
}

static void same_bits(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    static const int fixed[][3] = {{0, -140, 0}, {-66, -198, 0}, {70, 100, 40}, {72, 144, 40}, {-17, 9, 3}, {0, 0, 0}};
    enum { FIXED = sizeof fixed / sizeof fixed[0], RANDOM = 3 };
    rng random;
    rng_seed(&random, 34, (uint64_t)e->order);
    sapporo *const c = engine_open(e, 2);
    for (int k = 0; k < FIXED; k++) check_units(e, c, p, standard, fixed[k][0], fixed[k][1], fixed[k][2]);
    for (int k = 0; k < (e->isa ? RANDOM : 2); k++)
        check_units(e, c, p, standard, (int)(rng_next(&random) % 301) - 150, (int)(rng_next(&random) % 401) - 200,
                    (int)(rng_next(&random) % 81) - 40);
    sapporo_close(c);
}

RUNS(same_bits_order4, on_all_engines(same_bits))

RUNS(same_bits_order2, on_all_engines_of(2, same_bits))

RUNS(same_bits_order6, on_all_engines_of(6, same_bits))

RUNS(same_bits_order8, on_all_engines_of(8, same_bits))

/* ---- the same errors -------------------------------------------------------------------------- */

/* A star cluster of 1 pc and 1,000 solar masses; a galaxy of 1 kpc and 1e10; planetesimals of 1e20 kg at 30 AU. */
static const struct {
    const char *name;
    struct units u;
} known[] = {{"cluster, SI", {3.0857e16, 1.989e33, 1.5e13}},
             {"cluster, cgs", {3.0857e18, 1.989e36, 1.5e13}},
             {"galaxy, SI", {3.0857e19, 1.989e40, 1.5e14}},
             {"galaxy, cgs", {3.0857e21, 1.989e43, 1.5e14}},
             {"galaxy, pc, g and s", {1000.7, 1.989e43, 1.5e14}},
             {"planetesimals, kpc, solar masses, years", {1.4544e-7, 5e-8, 1e4}},
             {"planetesimals, kpc, galaxies and Gyr", {1.4544e-7, 5e-20, 1e-5}},
             {"dust, kpc and years", {3e-20, 1e-45, 1}},
             {"atoms, SI", {5.3e-11, 1.7e-27, 2.4e-17}}};
enum { KNOWN = sizeof known / sizeof known[0] };

static double norm_of_error(const double *a, const real *b)
{
    real sum = 0;
    for (int k = 0; k < 3; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return (double)sqrtl(sum);
}

static void expect_within(const char *what, const struct engine *e, int i, int quantity, double error, double bound)
{
    if (!(error <= bound))
        fail_msg("%s, %s: target %d, quantity %d: error %.3g, bound %.3g", e->name, what, i, quantity, error, bound);
}

static void compare_exactly(const char *what, const struct engine *e, const struct test_case *test, int i,
                            const struct answer *a, const struct exact *x)
{
    const double *const got[] = {a->acc, a->jerk, a->snap, a->crackle};
    const real *const want[] = {x->acc, x->jerk, x->snap, x->crackle};
    const int vectors = e->order ? e->order / 2 : 2;
    expect_within(what, e, i, POT, (double)fabsl(a->pot - x->pot), case_bound(test, e->precision, x, POT));
    for (int q = 0; q < vectors; q++)
        expect_within(what, e, i, ACC + q, norm_of_error(got[q], want[q]), case_bound(test, e->precision, x, ACC + q));
    if (a->nearest != x->nearest)
        fail_msg("%s, %s: nearest of %d is %d, not %d", e->name, what, i, a->nearest, x->nearest);
    assert_int_equal(a->nlist, x->nlist);
    if (x->nlist) assert_memory_equal(a->list, x->list, (size_t)x->nlist * sizeof *x->list);
}

/* A problem in known units, and its exact results. */
struct solved {
    struct problem p;
    struct exact *exact;
};

static struct solved solve_known(const struct test_case *test, int order, int unit)
{
    struct solved s;
    case_make(test, order, &s.p);
    change(&s.p, &known[unit].u);
    s.exact = zeroed((size_t)s.p.ntargets, sizeof *s.exact);
    struct reference *const r = reference_new(&s.p);
    for (int i = 0; i < s.p.ntargets; i++) reference_solve(r, i, &s.exact[i]);
    reference_free(r);
    return s;
}

static void check_known(const struct engine *e, const struct test_case *test, const struct solved *s, int unit)
{
    sapporo *const c = engine_open(e, 1);
    problem_load(c, &s->p);
    struct answer *const a = problem_solve(c, &s->p, &everything);
    for (int i = 0; i < s->p.ntargets; i++) compare_exactly(known[unit].name, e, test, i, &a[i], &s->exact[i]);
    answers_free(a, s->p.ntargets);
    sapporo_close(c);
}

static void check_errors(const struct engine *all, int n)
{
    const struct test_case test = {.name = "units",
                                   .n = 1300,
                                   .ni = 24,
                                   .highest = 4,
                                   .eps2 = 1e-4,
                                   .compare = WITH_ALL,
                                   .roundings = {0, 16, 16, 16}};
    int ran = 0;
    for (int unit = 0; unit < KNOWN; unit++) {
        struct solved s = solve_known(&test, all[0].order, unit);
        for (int k = 0; k < n; k++) {
            if (all[k].root == SAPPORO_ROOT_FAST || !engine_usable(&all[k])) continue; /* fast roots: other bounds */
            check_known(&all[k], &test, &s, unit);
            ran++;
        }
        for (int i = 0; i < s.p.ntargets; i++) free(s.exact[i].list);
        free(s.exact);
        problem_free(&s.p);
    }
    if (!ran) skip();
}

RUNS(errors_order4, check_errors(engines, ENGINES))

RUNS(errors_order2, check_errors(engines2, ENGINES2))

RUNS(errors_order6, check_errors(engines6, ENGINES68))

RUNS(errors_order8, check_errors(engines8, ENGINES68))

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits_order4), cmocka_unit_test(same_bits_order2),
                                       cmocka_unit_test(same_bits_order6), cmocka_unit_test(same_bits_order8),
                                       cmocka_unit_test(errors_order4),    cmocka_unit_test(errors_order2),
                                       cmocka_unit_test(errors_order6),    cmocka_unit_test(errors_order8)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
