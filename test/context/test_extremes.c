/*
 * test_extremes.c - values that are not finite, tiny or huge, in every field of one j-particle or one i-particle: every
 * force ends in time, other rows keep their bits, nearest neighbours and lists stay exact, and sums that an invalid
 * value reaches are not finite.
 *
 * The particles lie on a lattice far from the origin, on which predicted positions and squared distances are exact in
 * double, so the reference and the library must agree about every tie.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reference.h"
#include "runs.h"
#include "sanitized.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NJ = 2049, MOST_NI = 200 };

/* Seconds that a force may take; compilers of OpenCL need most of them for the first force. */
enum { LIMIT = SANITIZED ? 300 : 120 };

/* ---------------------------------------------------------------- a force that does not end */

static char doing[200];

static void give_up(int signal)
{
    static const char text[] = "a force does not end: ";
    (void)signal;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    (void)!write(STDERR_FILENO, doing, strlen(doing));
    _exit(1); /* a device that hangs lets no test go on */
}

/* ---------------------------------------------------------------- particles */

static const double values[] = {NAN, INFINITY, -INFINITY, 4e-320, -4e-320, 1e38, -1e38, -0.0};
enum { VALUES = sizeof values / sizeof values[0] };

static int is_meaningless(double x) { return !isfinite(x); }

/* A whole number from -most to most. */
static double whole(int k, int most) { return (k * 7919 + k / 13) % (2 * most + 1) - most; }

/* Derivatives whose terms at a time of 1/2 are multiples of 1/16. */
static void place_body(struct body *b, int k, int order)
{
    static const double step[TERMS] = {0.25, 0.5, 1, 6, 72, 240, 2880, 40320};
    memset(b, 0, sizeof *b);
    for (int d = 0; d <= highest_of(order); d++)
        for (int c = 0; c < 3; c++)
            b->derivative[d][c] = step[d] * whole(k * (3 + d) + 5 * c, d == 0 ? 16 : 1) + (d == 0 ? 4096 : 0);
    b->mass = 1 + k % 3;
    b->index = k % 11 == 3 ? -7777 : k % 13 == 5 ? (1 << 24) + 2 * (k % 2) : k;
    b->address = k;
}

static void place_target(struct target *t, int i)
{
    memset(t, 0, sizeof *t);
    for (int c = 0; c < 3; c++) {
        t->x[c] = 4096 + 0.25 * whole(i * 5 + 3 * c, 16);
        t->v[c] = 0.5 * whole(i + c, 2);
        t->a[c] = whole(i + 2 * c, 1);
        t->jerk[c] = whole(i * 3 + c, 1);
    }
    t->h2 = 0.5 * (i * 7 % 64);
    t->index = i * 3 % 250;
}

static void make(struct problem *p, int order)
{
    problem_new(p, MOST_NJ, MOST_NI);
    for (int k = 0; k < MOST_NJ; k++) place_body(&p->body[k], k, order);
    for (int i = 0; i < MOST_NI; i++) place_target(&p->target[i], i);
    p->order = order;
    p->eps2 = 1;
    p->time = order == 2 ? 0 : 0.5;
}

/* ---------------------------------------------------------------- what the library says */

struct rows {
    int status, n, order;
    double acc[MOST_NI][3], jerk[MOST_NI][3], pot[MOST_NI], nearest_r2[MOST_NI];
    int nearest[MOST_NI], nlist[MOST_NI];
    int *list[MOST_NI];
};

static void rows_free(struct rows *r)
{
    for (int i = 0; i < r->n; i++) free(r->list[i]);
    free(r);
}

/* 1: forces are begun without lists, which are asked for before anything else. */
static int only_nearest;

static struct rows *solve(sapporo *c, const struct problem *p, int ni)
{
    struct rows *const r = zeroed(1, sizeof *r);
    sapporo_request request = problem_request(p, 0, ni);
    sapporo_job *job = NULL;
    request.want = only_nearest ? SAPPORO_WANT_NEAREST : SAPPORO_WANT_NEAREST | SAPPORO_WANT_LISTS;
    r->n = ni;
    r->order = p->order;
    sapporo_result result = {
        .size = sizeof result, .acc = r->acc, .pot = r->pot, .nearest = r->nearest, .nearest_r2 = r->nearest_r2};
    if (p->order != 2) result.jerk = r->jerk;
    memset(r->acc, 0x42, sizeof r->acc); /* stale numbers are finite */
    memset(r->jerk, 0x42, sizeof r->jerk);
    memset(r->pot, 0x42, sizeof r->pot);
    (void)alarm(LIMIT);
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    if (!only_nearest) r->status = sapporo_force_end(job, ni, &result);
    for (int i = 0; i < ni; i++) {
        r->list[i] = malloc(sizeof *r->list[i] * MOST_NJ);
        assert_non_null(r->list[i]);
        assert_int_equal(sapporo_force_neighbours(job, i, MOST_NJ, &r->nlist[i], r->list[i], NULL), SAPPORO_OK);
    }
    if (only_nearest) r->status = sapporo_force_end(job, ni, &result);
    sapporo_force_free(job);
    (void)alarm(0);
    return r;
}

static int row_is_finite(const struct rows *r, int i)
{
    double sum = r->pot[i];
    for (int c = 0; c < 3; c++) sum += r->acc[i][c] + (r->order == 2 ? 0 : r->jerk[i][c]);
    return isfinite(sum);
}

static int any_sum_is_finite(const struct rows *r, int i)
{
    int any = isfinite(r->pot[i]) ? 1 : 0;
    for (int c = 0; c < 3; c++) any |= isfinite(r->acc[i][c]) || (r->order != 2 && isfinite(r->jerk[i][c]));
    return any;
}

static void same_row(const struct rows *a, const struct rows *b, int i)
{
    if (!same_doubles(a->acc[i], b->acc[i], 3) || !same_doubles(&a->pot[i], &b->pot[i], 1) ||
        (a->order != 2 && !same_doubles(a->jerk[i], b->jerk[i], 3)) || a->nearest[i] != b->nearest[i] ||
        !same_doubles(&a->nearest_r2[i], &b->nearest_r2[i], 1) || a->nlist[i] != b->nlist[i] ||
        memcmp(a->list[i], b->list[i], sizeof *a->list[i] * (size_t)a->nlist[i]) != 0)
        fail_msg("%s: row %d is not what it is without the value", doing, i);
}

/* ---------------------------------------------------------------- what must be so */

/* Predicted positions of the bodies: exact in double but for values out of place. */
static double position[MOST_NJ][3];

static void predict_body(const struct problem *p, int k)
{
    real x[3];
    reference_predict(&p->body[k], p->time, x, NULL, NULL, NULL);
    for (int c = 0; c < 3; c++) position[k][c] = (double)x[c];
}

/* The addresses that hold a body: from `first` to `last`. */
static int first_there, last_there = MOST_NJ;

static void look_only_at(int first, int last)
{
    first_there = first;
    last_there = last;
}

/* What a row should have found. */
struct found {
    int nearest, n, list[MOST_NJ];
};

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Looks at every body but `without` (-1: at all). */
static void look(const struct problem *p, const struct target *t, int without, struct found *f)
{
    double least = INFINITY;
    f->nearest = -1;
    f->n = 0;
    for (int k = 0; k < p->nj; k++) {
        double r2 = 0;
        if (k < first_there || k > last_there || k == without || p->body[k].index == t->index) continue;
        for (int c = 0; c < 3; c++) r2 += (position[k][c] - t->x[c]) * (position[k][c] - t->x[c]);
        if (r2 < least) f->nearest = p->body[k].index, least = r2;
        if (r2 < t->h2) f->list[f->n++] = p->body[k].index;
    }
    qsort(f->list, (size_t)f->n, sizeof f->list[0], ascending);
    int kept = 0;
    for (int k = 0; k < f->n; k++)
        if (k == 0 || f->list[k] != f->list[k - 1]) f->list[kept++] = f->list[k];
    f->n = kept;
}

/* Lists and nearest of every `every`-th row; where only `without` could be the nearest, it may be, or none is. */
static void check_rows(const struct rows *r, const struct problem *p, int every, int without)
{
    static struct found f;
    for (int i = 0; i < r->n; i += every) {
        look(p, &p->target[i], without, &f);
        const int lone = without >= 0 && f.nearest < 0;
        if (r->nearest[i] != f.nearest && !(lone && r->nearest[i] == p->body[without].index))
            fail_msg("%s: the nearest of row %d is %d, not %d", doing, i, r->nearest[i], f.nearest);
        if (r->nlist[i] != f.n || memcmp(r->list[i], f.list, sizeof f.list[0] * (size_t)f.n) != 0)
            fail_msg("%s: the list of row %d has %d entries, not these %d", doing, i, r->nlist[i], f.n);
    }
}

/* ---------------------------------------------------------------- one j-particle */

/* Field `number` of a j-particle: coordinates of its derivatives, then mass, then time; NULL: there are no more. */
static double *field_of_body(struct body *b, int order, int number)
{
    const int coordinates = order == 2 ? 3 : 3 * (highest_of(order) + 1);
    if (number < coordinates) return &b->derivative[number / 3][number % 3];
    if (number == coordinates) return &b->mass;
    return number == coordinates + 1 && order != 2 ? &b->time : NULL;
}

static void set_body(sapporo *c, const struct body *b, int expected)
{
    const sapporo_particle particle = particle_of(b);
    assert_int_equal(sapporo_set_particle(c, b->address, &particle), expected);
}

/* Rows of targets with the particle's own index leave it out. */
static void check_sums(const struct rows *r, const struct problem *p, int index, double value)
{
    for (int i = 0; i < r->n; i++) {
        const int own = p->target[i].index == index;
        if (is_meaningless(value) && !own && any_sum_is_finite(r, i))
            fail_msg("%s: row %d has a sum that is finite", doing, i);
        if (fabs(value) < 1e30 && !row_is_finite(r, i)) fail_msg("%s: row %d is not finite", doing, i);
    }
}

static void one_body(const struct engine *e, sapporo *c, struct problem *p, int number, double value, int nj, int ni)
{
    const int k = nj * 12 / 13;
    struct body *const b = &p->body[k], kept = *b;
    double *const field = field_of_body(b, p->order, number);
    const int far = (is_meaningless(value) || fabs(value) > 1e30) && field != &b->mass;
    (void)snprintf(doing, sizeof doing, "%s: %g in field %d of j-particle %d, nj %d, ni %d\n", e->name, value, number,
                   k, nj, ni);
    *field = value;
    p->nj = nj;
    set_body(c, b, is_meaningless(value) ? SAPPORO_ERR_NOT_FINITE : SAPPORO_OK);
    struct rows *const r = solve(c, p, ni);
    assert_int_equal(r->status, SAPPORO_OK);
    check_sums(r, p, b->index, value);
    if (!far) predict_body(p, k);
    check_rows(r, p, 1 + ni / 16, far ? k : -1);
    rows_free(r);
    *b = kept;
    predict_body(p, k);
    set_body(c, b, SAPPORO_OK);
}

/* ---------------------------------------------------------------- one i-particle */

static double *field_of_target(struct target *t, int order, int number)
{
    if (number < 3) return &t->x[number];
    if (number == 3) return &t->h2;
    if (number < 7) return order == 2 ? NULL : &t->v[number - 4];
    if (number < 10) return order < 6 ? NULL : &t->a[number - 7];
    return number < 13 && order == 8 ? &t->jerk[number - 10] : NULL;
}

static void one_target(const struct engine *e, sapporo *c, struct problem *p, int number, double value, int nj, int ni)
{
    const int row = ni * 4 / 5;
    struct target *const t = &p->target[row], kept = *t;
    double *const field = field_of_target(t, p->order, number);
    const int lost = is_meaningless(value) && field != &t->h2;
    (void)snprintf(doing, sizeof doing, "%s: %g in field %d of i-particle %d, nj %d, ni %d\n", e->name, value, number,
                   row, nj, ni);
    p->nj = nj;
    struct rows *const before = solve(c, p, ni);
    *field = value;
    struct rows *const r = solve(c, p, ni);
    assert_int_equal(r->status, lost ? SAPPORO_PARTIAL : SAPPORO_OK);
    for (int i = 0; i < ni; i++)
        if (i != row) same_row(r, before, i);
    if (lost) {
        if (any_sum_is_finite(r, row) || r->nearest[row] != -1 || r->nlist[row] != 0)
            fail_msg("%s: its row is not NaN", doing);
    } else {
        if (!(t->h2 >= 0)) t->h2 = 0;
        check_rows(r, p, 1 + ni / 16, -1);
    }
    rows_free(before);
    rows_free(r);
    *t = kept;
}

/* ---------------------------------------------------------------- all of it */

/* nj around packets, superpackets and tiles, and that of the first report of a force that did not end. */
static const int sizes[] = {1,   2,   16,  31,  32,  33,  63,   64,   65,   127,  128,
                            129, 212, 255, 256, 257, 511, 1023, 1024, 1025, 2047, 2049};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* One in so many pairs of a field and a value, on each engine others: what takes long spares the rest. */
static int step_of_fields(const struct engine *e)
{
    if (SANITIZED) return 11;
    return test_sparing() && e->backend != SAPPORO_BACKEND_CUDA ? 3 : 1;
}

static void all_fields(const struct engine *e, sapporo *c, struct problem *p, int first)
{
    const int step = step_of_fields(e);
    int turn = first;
    for (int number = 0; field_of_body(&p->body[0], p->order, number); number++)
        for (int v = 0; v < VALUES; v++, turn++)
            if (turn % step == 0)
                one_body(e, c, p, number, values[v], sizes[turn * 5 % SIZES], 1 + turn * 37 % MOST_NI);
    for (int number = 0; number < 13; number++)
        for (int v = 0; v < VALUES; v++, turn++)
            if (turn % step == 0 && field_of_target(&p->target[0], p->order, number))
                one_target(e, c, p, number, values[v], sizes[turn * 5 % SIZES], 1 + turn * 37 % MOST_NI);
}

/* NaN in a position, for every number of i-particles. */
static void all_widths(const struct engine *e, sapporo *c, struct problem *p)
{
    const int step = SANITIZED ? 27 : test_sparing() && e->backend != SAPPORO_BACKEND_CUDA ? 4 : 1;
    for (int ni = 1; ni <= MOST_NI; ni += step) one_body(e, c, p, 0, NAN, sizes[(ni / step) % SIZES], ni);
    for (int k = 0; k < SIZES; k += SANITIZED ? 4 : 1) one_body(e, c, p, 1, NAN, sizes[k], 79);
}

/* The same lattice with squares of distances beyond single precision, softened: what double holds, lists hold. */
static void far_apart(const struct engine *e, sapporo *c, struct problem *p)
{
    enum { NJ = 300, NI = 79, SCALE = 250 };
    p->nj = NJ;
    p->eps2 = ldexp(1, 2 * SCALE);
    for (int k = 0; k < NJ; k++) {
        for (int axis = 0; axis < 3; axis++)
            p->body[k].derivative[0][axis] = ldexp(p->body[k].derivative[0][axis], SCALE);
        set_body(c, &p->body[k], SAPPORO_OK);
        predict_body(p, k);
    }
    for (int i = 0; i < NI; i++) {
        for (int axis = 0; axis < 3; axis++) p->target[i].x[axis] = ldexp(p->target[i].x[axis], SCALE);
        p->target[i].h2 = ldexp(p->target[i].h2, 2 * SCALE);
    }
    (void)snprintf(doing, sizeof doing, "%s: squares of distances beyond single precision\n", e->name);
    struct rows *const r = solve(c, p, NI);
    check_rows(r, p, 1, -1);
    rows_free(r);
}

/* A lattice about the origin whose squares of distances are below single precision's smallest numbers. */
static void close_together(const struct engine *e, sapporo *c, struct problem *p, double eps2)
{
    enum { NJ = 300, NI = 79, SCALE = -72 };
    p->nj = NJ;
    p->eps2 = eps2;
    for (int k = 0; k < NJ; k++) {
        place_body(&p->body[k], k, p->order);
        memset(p->body[k].derivative[1], 0, sizeof p->body[k].derivative - sizeof p->body[k].derivative[0]);
        for (int axis = 0; axis < 3; axis++)
            p->body[k].derivative[0][axis] = ldexp(p->body[k].derivative[0][axis] - 4096, SCALE);
        set_body(c, &p->body[k], SAPPORO_OK);
        predict_body(p, k);
    }
    for (int i = 0; i < NI; i++) {
        place_target(&p->target[i], i);
        for (int axis = 0; axis < 3; axis++) p->target[i].x[axis] = ldexp(p->target[i].x[axis] - 4096, SCALE);
        p->target[i].h2 = ldexp(p->target[i].h2, 2 * SCALE);
    }
    (void)snprintf(doing, sizeof doing, "%s: squares of distances below single precision, eps2 %g\n", e->name, eps2);
    for (int n = 1; n <= NI; n += 6) {
        struct rows *const r = solve(c, p, n);
        check_rows(r, p, 1, -1);
        rows_free(r);
    }
}

/*
 * Lists that are asked for while the force is under way, in contexts that have no lists yet; once with a particle that
 * is not finite.  Devices read i-particles from memory of the host, which the second pass writes again.
 */
static void asked_afterwards(const struct engine *e, struct problem *p)
{
    enum { NJ = 20, NI = 18, TIMES = 6 };
    p->nj = NJ;
    for (int k = 0; k < TIMES; k++) {
        sapporo *const c = engine_open(e, 2);
        struct body *const b = &p->body[14], kept = *b;
        const int bad = k % 2;
        assert_int_equal(sapporo_set_time(c, p->time), SAPPORO_OK);
        if (bad) b->derivative[0][1] = NAN;
        for (int at = 13; at < 15; at++)
            set_body(c, &p->body[at], bad && at == 14 ? SAPPORO_ERR_NOT_FINITE : SAPPORO_OK);
        (void)snprintf(doing, sizeof doing, "%s: lists asked for afterwards\n", e->name);
        look_only_at(13, 14);
        only_nearest = 1;
        struct rows *const r = solve(c, p, NI);
        only_nearest = 0;
        check_rows(r, p, 1, bad ? 14 : -1);
        look_only_at(0, MOST_NJ);
        rows_free(r);
        *b = kept;
        sapporo_close(c);
    }
}

static void run_engine(const struct engine *e, int number)
{
    struct problem p;
    sapporo *const c = engine_open(e, 2);
    make(&p, e->order ? e->order : 4);
    for (int k = 0; k < MOST_NJ; k++) predict_body(&p, k);
    problem_load(c, &p);
    all_fields(e, c, &p, number);
    all_widths(e, c, &p);
    asked_afterwards(e, &p);
    if (e->precision == SAPPORO_DP) far_apart(e, c, &p);
    close_together(e, c, &p, 1);
    close_together(e, c, &p, 0);
    problem_free(&p);
    sapporo_close(c);
}

static void run_engines(const struct engine *all, int n)
{
    int ran = 0;
    (void)signal(SIGALRM, give_up);
    for (int k = 0; k < n; k++) {
        if (!engine_usable(&all[k])) continue;
        run_engine(&all[k], ran);
        ran++;
    }
    if (!ran) skip();
}

RUNS(order2, run_engines(engines2, ENGINES2))

RUNS(order4, run_engines(engines, ENGINES))

RUNS(order6, run_engines(engines6, ENGINES68))

RUNS(order8, run_engines(engines8, ENGINES68))

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order2), cmocka_unit_test(order4), cmocka_unit_test(order6),
                                       cmocka_unit_test(order8)};
    return cmocka_run_group_tests_name("extremes", tests, NULL, NULL);
}
