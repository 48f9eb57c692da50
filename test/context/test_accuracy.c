/*
 * test_accuracy.c - runs the one list of cases on every path and precision, against sums in extended precision.
 *
 * It also measures the errors that docs/numerics.md lists: run it with the environment variable CMOCKA_MESSAGE_OUTPUT
 * unset and read the lines that begin with #.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backends.h"
#include "cases.h"
#include "isa.h"
#include "sanitized.h"
#include "worst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const quantity_names[QUANTITIES] = {"potential", "acceleration", "jerk", "snap", "crackle"};

/* ---------------------------------------------------------------- references */

/* A problem and what its targets should get, kept for all engines. */
struct solved {
    struct problem problem;
    struct exact *exact; /* of the targets compared */
    int n, every;
};

/* By half the order. */
enum { HALVES = 5 };
static struct solved solved_cases[HALVES][80], smooth[HALVES], hard[HALVES];

/* engine->order is 0 for 4. */
static int half_order(const struct engine *e) { return e->order ? e->order / 2 : 2; }

/* pot, and as many derivatives as the order has. */
static int quantities_of(const struct engine *e) { return 1 + half_order(e); }

static void solve(struct solved *s, const struct test_case *test, int order)
{
    if (s->exact) return;
    case_make(test, order, &s->problem);
    struct reference *r = reference_new(&s->problem);
    s->every = test->every ? test->every : order > 4 && s->problem.ntargets >= 100 ? 3 : 1; /* derivatives take long */
    s->n = (s->problem.ntargets + s->every - 1) / s->every;
    s->exact = zeroed((size_t)s->n, sizeof *s->exact);
    for (int k = 0; k < s->n; k++) reference_solve(r, k * s->every, &s->exact[k]);
    reference_free(r);
}

static void forget(struct solved *s)
{
    for (int k = 0; k < s->n; k++) free(s->exact[k].list);
    free(s->exact);
    problem_free(&s->problem);
    memset(s, 0, sizeof *s);
}

/* An order's exact sums serve the engines of all backends. */
static void forget_all(void)
{
    for (int half = 0; half < HALVES; half++) {
        for (size_t k = 0; k < sizeof solved_cases[0] / sizeof solved_cases[0][0]; k++) forget(&solved_cases[half][k]);
        forget(&smooth[half]);
        forget(&hard[half]);
    }
}

/* -------------------------------------------------------------------- errors */

static double length(real x, real y, real z) { return (double)sqrtl(x * x + y * y + z * z); }

static double distance(const double *a, const real *b) { return length(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

/* Sizes of the errors of an answer; NaN stays NaN. */
static void errors_of(const struct answer *a, const struct exact *e, double *error)
{
    error[POT] = (double)fabsl(a->pot - e->pot);
    error[ACC] = distance(a->acc, e->acc);
    error[JERK] = distance(a->jerk, e->jerk);
    error[SNAP] = distance(a->snap, e->snap);
    error[CRACKLE] = distance(a->crackle, e->crackle);
}

/*
 * Fast roots are good to 1.5 2^-12 (the manuals of x86 say), which counts three times in m/R^3, against 16 roundings of
 * 2^-24 that a case allows.
 */
static const double fast_roots = 1 + 3 * 1.5 * 0x1p-12 / (16 * 0x1p-24);

/* How much of its bound any error took. */
static double most_taken;

/* One line about what is wrong with an answer, or "". */
static const char *judge_sums(const struct test_case *test, const struct engine *engine, const struct answer *a,
                              const struct exact *e)
{
    const sapporo_precision precision = engine->precision;
    const int quantities = quantities_of(engine);
    const double fast = engine->root == SAPPORO_ROOT_FAST ? fast_roots : 1;
    static char text[200];
    double error[QUANTITIES];
    errors_of(a, e, error);
    for (int q = 0; q < quantities; q++) {
        const double bound = fast * case_bound(test, precision, e, q);
        if (bound == INFINITY) continue;
        if (bound > 0) most_taken = worst_of(most_taken, error[q] / bound);
        if (error[q] <= bound) continue;
        snprintf(text, sizeof text, "%s off by %.3g, at most %.3g; terms add to %.3g", quantity_names[q], error[q],
                 bound, e->size[q]);
        return text;
    }
    const double claim = test->acc_relative[precision], acc = length(e->acc[0], e->acc[1], e->acc[2]);
    if (claim > 0 && !(error[ACC] <= claim * acc)) {
        snprintf(text, sizeof text, "acceleration off by %.3g of itself, at most %.3g", error[ACC] / acc, claim);
        return text;
    }
    return "";
}

static const char *judge_nearest(const struct answer *a, const struct exact *e)
{
    static char text[200];
    const double r2 = e->nearest_r2;
    if (a->nearest == e->nearest && (a->nearest_r2 == r2 || fabs(a->nearest_r2 - r2) <= nearest_bound(e))) return "";
    snprintf(text, sizeof text, "nearest is %d at r2 %.17g, should be %d (address %d) at %.17g", a->nearest,
             a->nearest_r2, e->nearest, e->address, r2);
    return text;
}

static const char *judge_list(const struct answer *a, const struct exact *e)
{
    static char text[200];
    for (int k = 0; k < a->nlist || k < e->nlist; k++) {
        if (k < a->nlist && k < e->nlist && a->list[k] == e->list[k]) continue;
        snprintf(text, sizeof text, "list has %d entries, should have %d; number %d differs", a->nlist, e->nlist, k);
        return text;
    }
    return "";
}

/* --------------------------------------------------------------------- cases */

/* All the ways in which outputs can be asked for, at once or late, by few or by many. */
static const struct ask asks[] = {{0, 0, 0},
                                  {OUT_NEAREST, OUT_NEAREST, 0},
                                  {OUT_LISTS, OUT_LISTS, 0},
                                  {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, 0},
                                  {OUT_NEAREST | OUT_LISTS, 0, 19}};

static int check_answers(const char *where, const struct test_case *test, const struct engine *engine,
                         const struct solved *s, const struct ask *ask, const struct answer *a)
{
    for (int k = 0; k < s->n; k++) {
        const struct answer *one = &a[k * s->every];
        const char *text = "";
        if (test->compare & WITH_SUMS) text = judge_sums(test, engine, one, &s->exact[k]);
        if (!*text && test->compare & ask->outputs & OUT_NEAREST) text = judge_nearest(one, &s->exact[k]);
        if (!*text && test->compare & ask->outputs & OUT_LISTS) text = judge_list(one, &s->exact[k]);
        if (!*text) continue;
        print_error("# %s, %s, asked for %u (hint %u, batch %d): target %d: %s\n", where, test->name, ask->outputs,
                    ask->want, ask->batch, k * s->every, text);
        return 1;
    }
    return 0;
}

static int check_case(const struct engine *engine, const struct test_case *test, const struct solved *s)
{
    /* the other precisions of a path have the others; not all of them run on OpenCL's CPUs */
    const int every_other = test_sparing() && (SANITIZED || engine->backend == SAPPORO_BACKEND_CPU);
    int wrong = 0;
    for (size_t k = 0; k < sizeof asks / sizeof asks[0]; k++) {
        if (every_other && (k + (size_t)(test - cases) + (size_t)engine->precision) % 2) continue;
        sapporo *c = engine_open(engine, 1);
        problem_load(c, &s->problem);
        struct answer *a = problem_solve(c, &s->problem, &asks[k]);
        wrong |= check_answers(engine->name, test, engine, s, &asks[k], a);
        answers_free(a, s->problem.ntargets);
        sapporo_close(c);
    }
    return wrong;
}

static void run_cases(void **state)
{
    const struct engine *engine = *state;
    const int half = half_order(engine);
    int wrong = 0;
    if (!engine_usable(engine)) skip();
    most_taken = 0;
    for (int k = 0; cases[k].name; k++) {
        struct solved *const s = &solved_cases[half][k];
        assert_true((size_t)k < sizeof solved_cases[0] / sizeof solved_cases[0][0]);
        solve(s, &cases[k], engine->order);
        wrong += check_case(engine, &cases[k], s);
    }
    print_message("# %s: errors take up to %.2f of their bounds\n", engine->name, most_taken);
    if (wrong) fail_msg("%d cases are not as they should be on %s", wrong, engine->name);
}

/* ---------------------------------------------------------------- statistics */

/* Relative errors: half, 99 in 100, and all of the targets are better than this. */
struct spread {
    double median, most, all;
};

/* The bounds that are promised, by precision and quantity. */
struct promise {
    struct spread of[SAPPORO_DP + 1][QUANTITIES];
};

/* pot, acc, jerk, snap, crackle.  Those of ds on the smooth model are the project's goals; goals for acc in dp are
 * 1e-14 and 1e-13. */
static const struct promise smooth_promise = {
    {[SAPPORO_SP] = {{3e-8, 1e-7, 2e-7}, {1e-7, 1.5e-6, 6e-6}, {1e-6, 8e-6, 2e-5}},
     [SAPPORO_DS] =
         {{3e-8, 1e-7, 2e-7}, {4e-8, 3e-7, 2e-6}, {3e-7, 2e-6, 6e-6}, {6e-7, 4e-6, 1.5e-5}, {8e-7, 6e-6, 3e-5}},
     [SAPPORO_DP] = {{1e-16, 4e-16, 1e-15},
                     {2e-16, 1e-15, 1e-14},
                     {1e-15, 5e-15, 2e-14},
                     {2e-15, 1e-14, 3e-14},
                     {2e-15, 1.5e-14, 4e-14}}}};

/* Reciprocal roots of accelerators may differ from those of CPUs: in dp the goals stand, tenfold for the jerk. */
static const struct spread dp_goals[QUANTITIES] = {
    {1e-14, 1e-13, 1e-12}, {1e-14, 1e-13, 1e-12}, {1e-13, 1e-12, 1e-11}, {3e-14, 1e-12, 1e-11}, {1e-13, 1e-12, 1e-11}};

/* In sp the members of the binary are too near each other: 1e-6 against coordinates of 6e-8. */
static const struct promise hard_promise = {
    {[SAPPORO_SP] = {{4e-8, 2e-7, 0.1}, {2e-7, 6e-6, 0.2}, {3e-6, 2e-5, 0.3}},
     [SAPPORO_DS] =
         {{3e-8, 1.5e-7, 1e-6}, {1e-7, 7e-7, 4e-6}, {3e-6, 2e-5, 6e-5}, {6e-6, 4e-5, 4e-4}, {8e-6, 5e-5, 1.5e-4}},
     [SAPPORO_DP] = {{2e-16, 1e-15, 6e-15},
                     {4e-16, 1e-14, 6e-14},
                     {2e-15, 2.5e-14, 1e-13},
                     {4e-15, 4e-14, 1.5e-13},
                     {5e-15, 6e-14, 2e-13}}}};

/*
 * Fast roots: no more than their maker allows, m/R and m/R^3.  The median has no bias of the seeds: of 14 bits it is
 * what the project states, those of 12 bits are four times as coarse.
 */
static const struct spread fast_bounds[2][ACC + 1] = {
    {{2e-5, 1.5 * 0x1p-12, 1.5 * 0x1p-12}, {4.8e-5, 4.5 * 0x1p-12, 9 * 0x1p-12}},
    {{5e-6, 1.5 * 0x1p-12, 1.5 * 0x1p-12}, {1.2e-5, 4.5 * 0x1p-12, 9 * 0x1p-12}}};

/* Whether the seeds of roots of a path have more than 12 bits. */
static int has_fine_seeds(const char *isa) { return strcmp(isa, "avx512") == 0 || strcmp(isa, "neon") == 0; }

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Spreads of an engine's relative errors; NaN counts as 1e300. */
static void measure(const struct engine *engine, const struct solved *s, struct spread *spread)
{
    double *error[QUANTITIES];
    const size_t n = (size_t)s->n;
    for (int q = 0; q < QUANTITIES; q++) error[q] = zeroed(n, sizeof *error[q]);
    sapporo *c = engine_open(engine, 1);
    problem_load(c, &s->problem);
    struct answer *a = problem_solve(c, &s->problem, &asks[0]);
    for (int k = 0; k < s->n; k++) {
        double off[QUANTITIES];
        const struct exact *e = &s->exact[k];
        errors_of(&a[k * s->every], e, off);
        off[POT] /= (double)fabsl(e->pot);
        off[ACC] /= length(e->acc[0], e->acc[1], e->acc[2]);
        off[JERK] /= length(e->jerk[0], e->jerk[1], e->jerk[2]);
        off[SNAP] /= length(e->snap[0], e->snap[1], e->snap[2]);
        off[CRACKLE] /= length(e->crackle[0], e->crackle[1], e->crackle[2]);
        for (int q = 0; q < QUANTITIES; q++) error[q][k] = isfinite(off[q]) ? off[q] : 1e300;
    }
    answers_free(a, s->problem.ntargets);
    sapporo_close(c);
    for (int q = 0; q < QUANTITIES; q++) {
        qsort(error[q], n, sizeof *error[q], rising);
        spread[q] = (struct spread){error[q][n / 2], error[q][n * 99 / 100], error[q][n - 1]};
        free(error[q]);
    }
}

static void check_promise(const struct engine *engine, const char *model, const struct solved *s,
                          const struct promise *promise)
{
    struct spread got[QUANTITIES];
    const int quantities = quantities_of(engine);
    int wrong = 0;
    measure(engine, s, got);
    print_message("# %-10s %-13s", model, engine->name);
    for (int q = 0; q < quantities; q++)
        print_message("  %.4s %7.1e %7.1e %7.1e", quantity_names[q], got[q].median, got[q].most, got[q].all);
    print_message("\n");
    for (int q = 0; q < quantities; q++) {
        const int goals = engine->backend != SAPPORO_BACKEND_CPU && engine->precision == SAPPORO_DP;
        const struct spread *most = goals ? &dp_goals[q] : &promise->of[engine->precision][q];
        if (engine->root == SAPPORO_ROOT_FAST) most = &fast_bounds[has_fine_seeds(engine->isa)][q];
        if (got[q].median <= most->median && got[q].most <= most->most && got[q].all <= most->all) continue;
        print_error("# %s: promised are %.1e, %.1e, %.1e\n", quantity_names[q], most->median, most->most, most->all);
        wrong++;
    }
    if (wrong) fail_msg("%d promises are not kept by %s", wrong, engine->name);
}

static void keep_promises(void **state)
{
    const struct engine *engine = *state;
    const int half = half_order(engine);
    struct test_case easy = smooth_model;
    if (SANITIZED) easy.ni /= 8;           /* the way is the same for fewer targets */
    if (engine->order > 4) easy.every = 8; /* exact derivatives take long */
    if (!engine_usable(engine)) skip();
    if (SANITIZED && engine->isa && (strncmp(engine->isa, "avx", 3) != 0 || engine->precision != SAPPORO_DS)) {
        print_message("skip: sanitizers look at cases of all, at promises of the wide paths in ds\n");
        skip();
    }
    solve(&smooth[half], &easy, engine->order);
    solve(&hard[half], &hard_model, engine->order);
    check_promise(engine, "smooth", &smooth[half], &smooth_promise);
    /* the binary of the hard model is beyond what fast roots can tell */
    if (engine->root != SAPPORO_ROOT_FAST) check_promise(engine, "hard", &hard[half], &hard_promise);
}

/* ------------------------------------------------------------------ near ties */

/*
 * Distances that are equal but for the last bits of double: whoever is told to
 * be nearest, or in a list, must be the same on every path and precision.  The
 * reference cannot tell who, as more digits decide otherwise.
 */
static void make_near_ties(struct problem *p, int cancel)
{
    enum { N = 1000, NI = 300 };
    rng random;
    rng_seed(&random, 5, 5);
    problem_new(p, N, NI);
    p->nj = N;
    p->time = 1.5;
    for (int k = 0; k < N; k++) {
        struct body *b = &p->body[k];
        *b = (struct body){.mass = 0.001, .time = 0.3, .index = 2 * k, .address = (k * 77) % N};
        for (int c = 0, cell = k; c < 3; c++, cell /= 10) {
            const double place = cell % 10 / 3.0;
            b->derivative[1][c] = cancel * (rng_uniform(&random) - 0.5);
            b->derivative[0][c] = place - b->derivative[1][c] * (p->time - b->time);
        }
    }
    for (int k = 0; k < NI; k++) {
        struct target *t = &p->target[k];
        t->index = -1;
        t->h2 = (k % 4 + 1) / 9.0;
        for (int c = 0, cell = k * 3; c < 3; c++, cell /= 10) t->x[c] = cell % 10 / 3.0 + (k % 3 > c ? 1.0 / 6 : 0);
    }
}

static void same_near_ties(void **state)
{
    const int cancel = *(const int *)*state;
    const struct ask all = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, 0};
    struct problem p;
    int wrong = 0;
    make_near_ties(&p, cancel);
    struct answer *first = solve_with(&engines[1], 1, &p, &all); /* scalar ds, whatever else is tested */
    for (int e = 0; e < 2 * ENGINES; e++) {                      /* each with many_i, then with few_i */
        const struct engine *engine = &engines[e / 2];
        const struct ask ask = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, e % 2 ? 11 : 0};
        int neighbours = 0;
        if (!engine_usable(engine)) continue;
        struct answer *a = solve_with(engine, 1, &p, &ask);
        for (int i = 0; i < p.ntargets; i++)
            neighbours += a[i].nearest != first[i].nearest || a[i].nlist != first[i].nlist ||
                          memcmp(a[i].list, first[i].list, (size_t)a[i].nlist * sizeof(int)) != 0;
        if (neighbours) print_error("# %s: %d of %d differ\n", engine->name, neighbours, p.ntargets);
        wrong += neighbours;
        answers_free(a, p.ntargets);
    }
    answers_free(first, p.ntargets);
    problem_free(&p);
    assert_int_equal(wrong, 0);
}

/* ---------------------------------------------------------------------- paths */

/* Which paths are usable is asked of the compiler's run time too. */
static void paths_are_found(void **state)
{
    (void)state;
#if defined(__x86_64__)
    __builtin_cpu_init();
    assert_true(sap_isa_usable(SAP_ISA_SCALAR));
#if defined(SAP_HAVE_SSE2)
    assert_true(sap_isa_usable(SAP_ISA_SSE2));
#endif
#if defined(SAP_HAVE_AVX2)
    assert_int_equal(sap_isa_usable(SAP_ISA_AVX2), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#endif
#if defined(SAP_HAVE_AVX512)
    assert_int_equal(sap_isa_usable(SAP_ISA_AVX512),
                     __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
#endif
#else
    assert_true(sap_isa_usable(SAP_ISA_SCALAR));
#if defined(SAP_HAVE_NEON)
    assert_int_equal(sap_isa_best(), SAP_ISA_NEON);
#endif
#endif
}

/* ----------------------------------------------------------------------- groups */

/* Engines of an accelerator; accelerators, which follow the CPU's engines in each table. */
enum { ACCELERATED = 3, ACCELERATED68 = 2, ACCELERATORS = (ENGINES - CPU_ENGINES) / ACCELERATED };

/* Two tests of each of n engines: n for the cases, then n for the promises. */
static void add_tests(struct CMUnitTest *tests, const struct engine *of, int n)
{
    static char names[2 * (ENGINES + ENGINES2 + 2 * ENGINES68)][40];
    static int used;
    for (int k = 0; k < 2 * n; k++) {
        char *const name = names[used++];
        void *const engine = (void *)(uintptr_t)&of[k % n];
        snprintf(name, sizeof names[0], "%s, %s", k < n ? "cases" : "promises", of[k % n].name);
        tests[k] = (struct CMUnitTest){name, k < n ? run_cases : keep_promises, NULL, NULL, engine};
    }
}

static void no_accelerator(void **state)
{
    assert_false(engine_usable(*state));
    skip();
}

/* Those of one backend, or one test that says why they are not run. */
static int run_accelerated(const char *name, const struct engine *first, int n)
{
    const struct CMUnitTest none[] = {{name, no_accelerator, NULL, NULL, (void *)(uintptr_t)first}};
    struct CMUnitTest tests[2 * ACCELERATED];
    if (sapporo_device_count(first->backend) == 0) return cmocka_run_group_tests_name(name, none, NULL, NULL);
    add_tests(tests, first, n);
    return _cmocka_run_group_tests(name, tests, 2 * (size_t)n, NULL, NULL);
}

/* Of all accelerators, each with n engines. */
static int run_each(const char *name, const struct engine *first, int n)
{
    static char names[4 * ACCELERATORS][40];
    static int used;
    int failed = 0;
    for (int k = 0; k < ACCELERATORS; k++) {
        char *const title = names[used++];
        const struct engine *const of = &first[k * n];
        snprintf(title, sizeof names[0], "%s, %s", name, backend_name(of->backend));
        failed += run_accelerated(title, of, n);
    }
    return failed;
}

/* Orders 6 and 8: of the CPU, then of accelerators. */
static int run68(const char *name, const struct engine *all)
{
    struct CMUnitTest tests[2 * CPU_ENGINES68];
    add_tests(tests, all, CPU_ENGINES68);
    const int failed =
        cmocka_run_group_tests_name(name, tests, NULL, NULL) + run_each(name, &all[CPU_ENGINES68], ACCELERATED68);
    forget_all();
    return failed;
}

int main(void)
{
    static int gentle = 1, harsh = 1000000;
    struct CMUnitTest tests[2 * CPU_ENGINES + 3] = {{"paths are found", paths_are_found, NULL, NULL, NULL},
                                                    {"near ties", same_near_ties, NULL, NULL, &gentle},
                                                    {"near ties, cancelled", same_near_ties, NULL, NULL, &harsh}};
    struct CMUnitTest tests2[2 * CPU_ENGINES2];
    add_tests(tests + 3, engines, CPU_ENGINES);
    add_tests(tests2, engines2, CPU_ENGINES2);
    int failed = cmocka_run_group_tests_name("accuracy", tests, NULL, NULL);
    failed += run_each("accuracy", &engines[CPU_ENGINES], ACCELERATED);
    forget_all();
    failed += cmocka_run_group_tests_name("accuracy of order 2", tests2, NULL, NULL);
    failed += run_each("accuracy of order 2", &engines2[CPU_ENGINES2], ACCELERATED);
    forget_all();
    return failed + run68("accuracy of order 6", engines6) + run68("accuracy of order 8", engines8);
}
