/*
 * test_spline.c - spline softening: errors against sums in long double of the formulas as the papers have them, on
 * every engine of order 2; bits, Newton's forces beyond the lengths, zero distances, bad numbers, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"
#include "reference.h"
#include "runs.h"
#include "worst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2500, NI = 300, LARGER = SAPPORO_SOFTENING_SPLINE_LARGER, MEAN = SAPPORO_SOFTENING_SPLINE_MEAN };

/* Runs a test on every engine of order 2. */
static void on_each(void (*test)(const struct engine *e)) { engines_on_each(engines2, ENGINES2, engine_usable, test); }

/* ---- the reference ---- */

struct want {
    real pot, acc[3], size; /* size: sum of the sizes of the accelerations */
};

static struct want solve(const struct problem *p, int kind, int i)
{
    const struct target *const t = &p->target[i];
    struct want w = {0};
    for (int k = 0; k < p->nbodies; k++) {
        const struct body *const b = &p->body[k];
        real d[3], r2 = 0, pot, acc;
        if (b->address >= p->nj || (!p->no_index && b->index == t->index)) continue;
        for (int c = 0; c < 3; c++) d[c] = (real)b->derivative[0][c] - t->x[c], r2 += d[c] * d[c];
        reference_spline_pair(kind == MEAN, sqrtl(r2), sqrtl((real)p->eps2 + t->eps2), sqrtl((real)p->eps2 + b->eps2),
                              &pot, &acc);
        w.pot += b->mass * pot;
        for (int c = 0; c < 3; c++) w.acc[c] += b->mass * acc * d[c];
        w.size += fabsl(b->mass * acc) * sqrtl(r2);
    }
    return w;
}

/* ---- forces ---- */

struct found {
    double pot[NI], acc[NI][3], r2[NI];
    int near[NI];
};

static sapporo_request request_of(const struct problem *p, int kind, int from, int n)
{
    sapporo_request r = problem_request(p, from, n);
    r.softening = (sapporo_softening)kind;
    return r;
}

/* Computes rows from `from` on, in one call. */
static void compute(sapporo *c, const struct problem *p, int kind, unsigned want, int from, int n, struct found *f)
{
    sapporo_request r = request_of(p, kind, from, n);
    sapporo_result out = {.size = sizeof out, .acc = f->acc + from, .pot = f->pot + from};
    sapporo_job *job;
    r.want = want;
    if (want) out.nearest = f->near + from, out.nearest_r2 = f->r2 + from;
    assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, n, &out), SAPPORO_OK);
    sapporo_force_free(job);
}

/* A Plummer sphere whose particles have lengths of very different sizes, some of them none. */
static void make(struct problem *p, double eps2)
{
    static const double lengths[] = {0, 0.01, 0.3, 0.05, 1.5, 0.1, 0};
    problem_new(p, N, NI);
    model_plummer(p->body, N, 31);
    for (int k = 0; k < N; k++) p->body[k].eps2 = lengths[k % 7] * lengths[k % 7];
    for (int i = 0; i < NI; i++) {
        const struct body *const b = &p->body[i * 8];
        memcpy(p->target[i].x, b->derivative[0], sizeof b->derivative[0]);
        p->target[i].index = b->index;
        p->target[i].eps2 = lengths[i % 5] * lengths[i % 5];
        p->target[i].h2 = 0.01;
    }
    p->order = 2;
    p->nj = N;
    p->eps2 = eps2;
    p->soft = SOFT_TARGETS | SOFT_BODIES;
}

/* Relative errors that are allowed: of a pair, and of a sum of many. */
static double allowed(const struct engine *e)
{
    if (e->root == SAPPORO_ROOT_FAST) return 3e-3; /* seeds as they are, of lengths too */
    return e->precision == SAPPORO_DP ? 2e-15 : 1e-6;
}

/* ---- errors ---- */

static double acc_error(const double *acc, const struct want *w)
{
    real square = 0;
    for (int c = 0; c < 3; c++) square += (acc[c] - w->acc[c]) * (acc[c] - w->acc[c]);
    return (double)(sqrtl(square) / w->size);
}

/* Compares forces with sums in long double. */
static void problem_is_right(const struct engine *e, const struct problem *problem, int kind)
{
    const struct problem p = *problem;
    struct found *const f = zeroed(1, sizeof *f);
    double pot = 0, acc = 0;
    sapporo *const c = engine_open(e, 2);
    problem_load(c, &p);
    compute(c, &p, kind, 0, 0, NI, f);
    for (int i = 0; i < NI; i++) {
        const struct want w = solve(&p, kind, i);
        pot = worst_of(pot, (double)fabsl((f->pot[i] - w.pot) / w.pot));
        acc = worst_of(acc, acc_error(f->acc[i], &w));
    }
    /* one word of a coordinate: 2^-25 of it, over the shortest distances */
    const double bound = e->precision == SAPPORO_SP ? larger_of(allowed(e), 1e-5) : allowed(e);
    if (!(pot <= bound && acc <= bound))
        fail_msg("%s, softening %d, eps2 %g: errors of potential %.1e, acceleration %.1e", e->name, kind, p.eps2, pot,
                 acc);
    sapporo_close(c);
    free(f);
}

static void sums_are_right(const struct engine *e, int kind, double eps2, int no_index)
{
    struct problem p;
    make(&p, eps2);
    p.no_index = no_index;
    problem_is_right(e, &p, kind);
    problem_free(&p);
}

static void bound_sums(const struct engine *e)
{
    sums_are_right(e, LARGER, 0, 0);
    sums_are_right(e, LARGER, 1e-4, 1);
    sums_are_right(e, MEAN, 0, 0);
    sums_are_right(e, MEAN, 1e-4, 1);
}

RUNS(errors, on_each(bound_sums))

/*
 * Targets that are elsewhere than the particles of their index, beyond all lengths of most: these do not act.  Indices
 * are far apart, of both signs, or lie together, in another order than the particles.
 */
static void bound_elsewhere(const struct engine *e)
{
    for (int apart = 0; apart < 2; apart++) {
        struct problem p;
        make(&p, 0);
        for (int k = 0; k < N; k++) {
            const int other = (int)(1009LL * k % N);
            p.body[k].index = apart ? 1700000 * (other - N / 2) : other;
            p.body[k].eps2 = k % 7 == 4 ? 0.01 : p.body[k].eps2;
        }
        for (int i = 0; i < NI; i++) {
            p.target[i].index = p.body[(i * 613) % N].index;
            p.target[i].eps2 = i % 5 == 4 ? 0 : p.target[i].eps2;
        }
        problem_is_right(e, &p, LARGER);
        problem_is_right(e, &p, MEAN);
        problem_free(&p);
    }
}

RUNS(elsewhere, on_each(bound_elsewhere))

/* One pair at distances from 0 to beyond the length, all exact in single precision. */
static void bound_pairs(const struct engine *e)
{
    const double length[][2] = {{1, 1}, {1, 0.25}, {0.125, 1}, {0, 1}, {1, 0}};
    for (size_t k = 0; k < 2 * sizeof length / sizeof length[0]; k++) {
        const int kind = k % 2 ? MEAN : LARGER;
        struct problem p;
        struct found f = {0};
        problem_new(&p, 1, NI);
        p.body[0].mass = 1;
        p.body[0].index = -5;
        p.body[0].eps2 = length[k / 2][1] * length[k / 2][1];
        p.order = 2, p.nj = 1, p.soft = SOFT_TARGETS | SOFT_BODIES;
        for (int i = 0; i < NI; i++) {
            p.target[i].x[i % 3] = i == 0 ? 0 : i / 256.0 + 0x1p-12;
            p.target[i].eps2 = length[k / 2][0] * length[k / 2][0];
            p.target[i].index = i;
        }
        sapporo *const c = engine_open(e, 1);
        problem_load(c, &p);
        compute(c, &p, kind, 0, 0, NI, &f);
        for (int i = 0; i < NI; i++) {
            const struct want w = solve(&p, kind, i);
            const double pot = (double)fabsl(f.pot[i] - w.pot), acc = w.size > 0 ? acc_error(f.acc[i], &w) : 0;
            if (!(pot <= allowed(e) * (double)fabsl(w.pot) && acc <= allowed(e)))
                fail_msg("%s, softening %d, lengths %g %g, at %g: errors of potential %.1e, acceleration %.1e", e->name,
                         kind, length[k / 2][0], length[k / 2][1], p.target[i].x[i % 3], pot, acc);
        }
        sapporo_close(c);
        problem_free(&p);
    }
}

RUNS(pairs, on_each(bound_pairs))

/* ---- bits ---- */

static void same_rows(const char *what, const struct found *a, const struct found *b)
{
    for (int i = 0; i < NI; i++)
        if (!same_doubles(a->acc[i], b->acc[i], 3) || !same_doubles(&a->pot[i], &b->pot[i], 1))
            fail_msg("%s: row %d has other bits", what, i);
}

/* Batches of any size, threads and further outputs change no bit, and neighbours are those of any softening. */
static void compare_batches(const struct engine *e)
{
    static const int sizes[] = {1, 5, 40, 200};
    struct found *const all = zeroed(3, sizeof *all), *const part = all + 1, *const plain = all + 2;
    for (int kind = LARGER; kind <= MEAN; kind++) {
        struct problem p;
        make(&p, 1e-6);
        sapporo *const one = engine_open(e, 1), *const two = engine_open(e, 3);
        problem_load(one, &p);
        problem_load(two, &p);
        compute(one, &p, kind, 0, 0, NI, all);
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            for (int from = 0; from < NI; from += sizes[k])
                compute(two, &p, kind, k % 2 ? SAPPORO_WANT_NEAREST : 0, from,
                        from + sizes[k] < NI ? sizes[k] : NI - from, part);
            same_rows(e->name, all, part);
        }
        compute(two, &p, SAPPORO_SOFTENING_PLUMMER, SAPPORO_WANT_NEAREST, 0, NI, plain);
        compute(two, &p, kind, SAPPORO_WANT_NEAREST, 0, NI, part);
        same_rows(e->name, all, part);
        assert_memory_equal(part->near, plain->near, sizeof plain->near);
        assert_memory_equal(part->r2, plain->r2, sizeof plain->r2);
        sapporo_close(one);
        sapporo_close(two);
        problem_free(&p);
    }
    free(all);
}

RUNS(bits, on_each(compare_batches))

/* Where no pair is within its lengths, forces have the bits of forces without softening. */
static void compare_newton(const struct engine *e)
{
    struct found *const a = zeroed(2, sizeof *a), *const b = a + 1;
    struct problem p;
    make(&p, 0);
    for (int k = 0; k < N; k++) p.body[k].eps2 = k % 3 ? 0x1p-40 : 0;
    for (int i = 0; i < NI; i++) p.target[i].eps2 = 0x1p-42;
    sapporo *const c = engine_open(e, 1), *const bare = engine_open(e, 1);
    problem_load(c, &p);
    for (int kind = LARGER; kind <= MEAN; kind++) {
        p.soft = SOFT_TARGETS;
        compute(c, &p, kind, 0, 0, NI, a);
        p.soft = 0;
        problem_load(bare, &p);
        compute(bare, &p, SAPPORO_SOFTENING_PLUMMER, 0, 0, NI, b);
        for (int i = 0; i < NI; i++)
            if (e->backend == SAPPORO_BACKEND_CPU && !same_doubles(a->acc[i], b->acc[i], 3))
                fail_msg("%s: row %d is not Newton's", e->name, i);
        for (int i = 0; i < NI; i++)
            for (int k = 0; k < 3; k++)
                assert_true(fabs(a->acc[i][k] - b->acc[i][k]) < 1e-3 * (1 + fabs(b->acc[i][k])));
        p.soft = SOFT_TARGETS | SOFT_BODIES;
    }
    sapporo_close(c);
    sapporo_close(bare);
    problem_free(&p);
    free(a);
}

RUNS(newton, on_each(compare_newton))

/* ---- odd numbers ---- */

/* Particles at one place: potentials at the centre, no acceleration, and nothing of points. */
static void zero_distance(const struct engine *e)
{
    struct found f = {0};
    struct problem p;
    problem_new(&p, 3, 4);
    for (int k = 0; k < 3; k++) p.body[k].mass = 1, p.body[k].address = k, p.body[k].index = k;
    p.body[0].eps2 = 0.25;
    p.target[0].eps2 = 1;
    p.target[3].eps2 = 1;
    p.target[2].index = 1;
    p.target[3].index = 2;
    p.order = 2, p.nj = 3, p.soft = SOFT_TARGETS | SOFT_BODIES;
    for (int k = 0; k < 2; k++) p.target[k].index = 7;
    sapporo *const c = engine_open(e, 1);
    problem_load(c, &p);
    const double near = allowed(e) * 100,
                 want[2][4] = {{8.4, 5.6, 5.6, 5.6}, {5.6 + 1.4, 2.8, 2.8, 5.6 - 2.8 / 2 + 1.4}};
    for (int kind = LARGER; kind <= MEAN; kind++) {
        compute(c, &p, kind, 0, 0, 4, &f);
        for (int i = 0; i < 4; i++) {
            if (!(fabs(f.pot[i] + want[kind - 1][i]) <= near))
                fail_msg("%s, softening %d: potential %d at zero distance is %g", e->name, kind, i, f.pot[i]);
            for (int k = 0; k < 3; k++) assert_true(f.acc[i][k] == 0);
        }
    }
    sapporo_close(c);
    problem_free(&p);
}

RUNS(centres, on_each(zero_distance))

/* A source whose position is not finite shows in every sum. */
static void shows(const struct engine *e, double x)
{
    struct problem p;
    struct found f = {0};
    make(&p, 1e-4);
    sapporo *const c = engine_open(e, 1);
    problem_load(c, &p);
    sapporo_particle bad = {.derivative = {{x, 0, 0}}, .mass = 1, .eps2 = 0.01, .index = -9};
    assert_int_equal(sapporo_set_particle(c, 77, &bad), SAPPORO_ERR_NOT_FINITE);
    for (int kind = LARGER; kind <= MEAN; kind++) {
        compute(c, &p, kind, 0, 0, 60, &f);
        for (int i = 0; i < 60; i++)
            if (!isnan(f.pot[i]) && !isnan(f.acc[i][0]))
                fail_msg("%s, softening %d: row %d hides x %g", e->name, kind, i, x);
    }
    sapporo_close(c);
    problem_free(&p);
}

static void show_all(const struct engine *e)
{
    shows(e, NAN);
    shows(e, INFINITY);
}

RUNS(not_finite, on_each(show_all))

static int status_of(const struct engine *e, int order, const sapporo_request *r)
{
    struct engine other = *e;
    sapporo_job *job;
    other.order = order;
    sapporo *const c = engine_open(&other, 1);
    const int status = sapporo_force_begin(c, r, &job);
    if (status < 0) assert_null(job);
    sapporo_close(c);
    return status;
}

static void refused(void **state)
{
    struct problem p;
    (void)state;
    make(&p, 0);
    for (int order = 2; order <= 8; order += 2) {
        p.soft = order == 2 ? SOFT_TARGETS : 0;
        sapporo_request r = request_of(&p, LARGER, 0, 5);
        assert_int_equal(status_of(engine_any(), order, &r), order == 2 ? SAPPORO_OK : SAPPORO_ERR_UNSUPPORTED);
        r.softening = (sapporo_softening)3;
        assert_int_equal(status_of(engine_any(), order, &r), SAPPORO_ERR_ARGUMENT);
        r.softening = (sapporo_softening)-1;
        assert_int_equal(status_of(engine_any(), order, &r), SAPPORO_ERR_ARGUMENT);
        r.softening = SAPPORO_SOFTENING_PLUMMER;
        r.size = offsetof(sapporo_request, regular); /* of a program that knows no regular forces */
        assert_int_equal(status_of(engine_any(), order, &r), SAPPORO_OK);
    }
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors), cmocka_unit_test(elsewhere), cmocka_unit_test(pairs),      cmocka_unit_test(bits),
        cmocka_unit_test(newton), cmocka_unit_test(centres),   cmocka_unit_test(not_finite), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
