/*
 * test_batch_single.c - batches with a floor of the distance and counts of neighbours in single precision, on every
 * engine: forces against sums in long double, counts against distances in double; the bits of plain forces;
 * what single precision cannot hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2300, NI = 75 }; /* more than a superpacket, and two groups and a part of one */

struct list {
    double x[N][3], mass[N], eps2[N], h2[N], target_h2[N], target_eps2[N], quad[N][6], floor_j[N], floor_i[N];
    int address[N];
    sapporo_small_force force;
    sapporo_result result;
    double acc[NI][3], pot[NI];
    int count[NI];
};

/* Whether an engine computes floors, counts and moments in single precision. */
static int is_single(const struct engine *e) { return e->precision != SAPPORO_DP && engine_usable(e); }

enum {
    ADDRESSES = 1,
    SOFT_I = 2,
    SOFT_J = 4,
    FLOOR = 8,
    COUNTS = 16,
    SOFT = 32,
    MOMENTS = 64,
    FLOORS = 128,
    KINDS = 256
};

static const double floor2 = 0.04;

/* Places source k at a distance from a target: sources about the floor, at the radius, at the target and apart. */
static void place(struct list *l, int k, const double *from, double distance)
{
    static const double direction[3] = {0.36, 0.48, 0.8};
    for (int c = 0; c < 3; c++) l->x[k][c] = from[c] + distance * direction[c];
}

/* Targets are the first particles; a quarter of the others lies at distances that decide about floor and radius. */
static struct list *new_list(int kind)
{
    struct list *const l = zeroed(1, sizeof *l);
    struct body *const body = zeroed(N, sizeof *body);
    static const double near[] = {0,           1e-30,       1e-9,       0.2,        0.2 * (1 - 1e-6), 0.2 * (1 + 1e-6),
                                  0.2 * 0.999, 0.2 * 1.001, 0.3,        0.3 + 1e-9, 0.3 - 1e-9,       0.3 + 1e-16,
                                  0.3 + 1e-7,  0.3 - 1e-7,  0.3 - 1e-12};
    enum { PLACES = sizeof near / sizeof near[0] };
    model_plummer(body, N, 31);
    for (int k = 0; k < N; k++) {
        memcpy(l->x[k], body[k].derivative[0], sizeof l->x[k]);
        l->mass[k] = 1e-3 * (1 + k % 7);
        l->eps2[k] = 1e-3 * (k % 3);
        l->target_eps2[k] = 1e-3 * (k % 4);
        l->target_h2[k] = k % 5 == 0 ? 0 : k % 5 == 1 ? 0.3 * 0.3 : 0.02 * (k % 5);
        l->h2[k] = k % 3 == 0 ? 0 : k % 3 == 1 ? 0.01 : 0.2;
        l->address[k] = (k * 77 + 3) % N;
        l->floor_i[k] = k % 4 == 0 ? 0 : 0.02 * (k % 4);
        l->floor_j[k] = k % 3 == 0 ? 0 : 0.01 * (k % 7);
        for (int q = 0; q < 6; q++)
            l->quad[k][q] = 1e-4 * ((k * 7 + q * 11) % 13) * (q < 3 ? 1 : (k + q) % 2 ? 0.3 : -0.3);
    }
    for (int k = NI; k < N / 4; k++) place(l, k, l->x[k % NI], near[k % PLACES]);
    for (int k = NI; k < N / 4; k++) l->h2[k] = k % 2 ? 0 : 0.3 * 0.3;
    free(body);
    l->force = (sapporo_small_force){.size = sizeof l->force, .ni = NI, .nj = N, .x.base = l->x};
    if (kind & ADDRESSES)
        l->force.address = l->address;
    else
        l->force.x_j.base = l->x, l->force.mass_j.base = l->mass;
    if (kind & SOFT) l->force.eps2 = 1e-4;
    if (kind & SOFT_I) l->force.eps2_i.base = l->target_eps2;
    if (kind & SOFT_J && !(kind & ADDRESSES)) l->force.eps2_j.base = l->eps2;
    if (kind & FLOOR) l->force.floor2 = floor2;
    if (kind & MOMENTS) l->force.quad_j.base = l->quad;
    if (kind & FLOORS) l->force.floor2_i.base = l->floor_i, l->force.floor2_j.base = l->floor_j;
    l->result = (sapporo_result){.size = sizeof l->result, .acc = l->acc, .pot = l->pot};
    if (kind & COUNTS) l->result.count = l->count, l->force.h2_i.base = l->target_h2, l->force.h2_j.base = l->h2;
    return l;
}

static sapporo *open_with(const struct engine *e, const struct list *l, int soft)
{
    sapporo *const c = engine_open(e, 2);
    sapporo_particles all = {.size = sizeof all, .derivative = {{l->x, 0}}, .mass = {l->mass, 0}};
    if (soft) all.eps2.base = l->eps2;
    assert_int_equal(sapporo_set_particles(c, 0, N, &all), SAPPORO_OK);
    return c;
}

/* Sums over all sources of a target.  Errors are those of rounding, over the unit roundoff, and of positions. */
struct right {
    long double acc[3], pot, error, error_pot, apart, apart_pot;
    int count;
};

/*
 * Adds second moments of source j at d.  A term of the acceleration has at most 12 |Q| / R^4, one of the potential
 * 2 |Q| / R^3, and each has twice the roundings of a term of masses.
 */
static void add_moments(const struct list *l, int j, const long double *d, long double R2, long double size,
                        struct right *r)
{
    const double *const q = l->quad[j];
    const long double R = sqrtl(R2), R3 = R2 * R, R5 = R3 * R2, trace = (long double)q[0] + q[1] + q[2];
    const long double qd[3] = {q[0] * d[0] + q[3] * d[1] + q[4] * d[2], q[3] * d[0] + q[1] * d[1] + q[5] * d[2],
                               q[4] * d[0] + q[5] * d[1] + q[2] * d[2]};
    const long double dqd = d[0] * qd[0] + d[1] * qd[1] + d[2] * qd[2];
    long double most = 0;
    for (int k = 0; k < 6; k++) most += fabsl((long double)q[k]);
    r->pot -= (3 * dqd / R5 - trace / R3) / 2;
    for (int c = 0; c < 3; c++) r->acc[c] += d[c] * (15 * dqd / (R5 * R2) - 3 * trace / R5) / 2 - 3 * qd[c] / R5;
    r->error += 24 * most / (R2 * R2);
    r->error_pot += 4 * most / R3;
    r->apart += 48 * most * size / R5;
    r->apart_pot += 6 * most * size / (R2 * R2);
}

static void add_source(const struct list *l, int i, int j, int soft_j, struct right *r)
{
    const double *const x = (const double *)l->force.x.base + (ptrdiff_t)3 * i;
    const double d[3] = {l->x[j][0] - x[0], l->x[j][1] - x[1], l->x[j][2] - x[2]};
    const double h_i = l->force.h2_i.base ? l->target_h2[i] : 0, h_j = l->force.h2_j.base ? l->h2[j] : 0;
    const double eps2_i = l->force.eps2_i.base ? l->target_eps2[i] : 0;
    long double r2 = 0, size = 0, apart[3];
    r->count += d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < (h_i > h_j ? h_i : h_j); /* in double, as documented */
    for (int c = 0; c < 3; c++) {
        apart[c] = (long double)l->x[j][c] - x[c];
        r2 += apart[c] * apart[c];
        size += fabsl(x[c]) + fabsl(l->x[j][c]);
    }
    long double R2 = r2 + l->force.eps2 + eps2_i + (soft_j ? l->eps2[j] : 0);
    if (R2 < l->force.floor2) R2 = l->force.floor2;
    if (l->force.floor2_i.base && R2 < l->floor_i[i]) R2 = l->floor_i[i];
    if (l->force.floor2_j.base && R2 < l->floor_j[j]) R2 = l->floor_j[j];
    if (R2 < 0x1p-1022L) return; /* in single precision, positions that are so near are the same */
    const long double R = sqrtl(R2), m = l->mass[j];
    r->pot -= m / R;
    r->error += m / R2;
    r->apart += m / R2 * 3 * size / R;
    r->error_pot += m / R;
    r->apart_pot += m / R * size / R;
    for (int c = 0; c < 3; c++) r->acc[c] += m * apart[c] / (R2 * R);
    if (l->force.quad_j.base) add_moments(l, j, apart, R2, size, r);
}

static void find_right(const struct list *l, int soft_j, struct right *r)
{
    memset(r, 0, NI * sizeof *r);
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < N; j++) add_source(l, i, l->force.address ? l->address[j] : j, soft_j, &r[i]);
}

/*
 * Compares a list with its sums.  Bounds are errors of terms without their signs.  With one word per coordinate they
 * are 2^-23 of pairs and positions, since most errors of a sum cancel.  With two, positions have 2^-47, and then one
 * close pair can decide: it has the roundings of its difference, square, root, products and sum, of which the root's
 * count thrice, 8 times 2^-24 together (measured: 5).  Roots of accelerators have 2^-22.9, which counts thrice, too.
 * Fast roots have errors of 1.5 2^-12 at most, which count thrice.
 */
static void compare(const struct list *l, const struct right *right, const struct engine *e, int kind)
{
    const int two = e->precision == SAPPORO_DS;
    const long double full = (two ? 0x1p-21L : 0x1p-23L) * (e->isa ? 1 : 2), step = two ? 0x1p-47L : 0x1p-23L,
                      unit = e->root == SAPPORO_ROOT_FAST ? 4.5 * 0x1p-12L : full;
    for (int i = 0; i < NI; i++) {
        const struct right *const r = &right[i];
        if (l->result.count && l->count[i] != r->count)
            fail_msg("%s, kind %d, row %d: %d neighbours, not %d", e->name, kind, i, l->count[i], r->count);
        for (int c = 0; c < 3; c++)
            if (!(fabsl(l->acc[i][c] - r->acc[c]) <= unit * r->error + step * r->apart))
                fail_msg("%s, kind %d, row %d: acc %.9g, not %.9Lg", e->name, kind, i, l->acc[i][c], r->acc[c]);
        if (!(fabsl(l->pot[i] - r->pot) <= unit * r->error_pot + step * r->apart_pot))
            fail_msg("%s, kind %d, row %d: pot %.9g, not %.9Lg", e->name, kind, i, l->pot[i], r->pot);
    }
}

static void check_list(const struct list *l, int soft_j, const struct engine *e, int kind)
{
    struct right right[NI];
    find_right(l, soft_j, right);
    compare(l, right, e, kind);
}

/* Computes a list on all paths. */
static void compare_all(struct list *l, int soft_j, int kind)
{
    struct right right[NI];
    find_right(l, soft_j, right);
    for (int e = 0; e < ENGINES2; e++) {
        if (!is_single(&engines2[e])) continue;
        sapporo *const c = open_with(&engines2[e], l, soft_j);
        assert_int_equal(sapporo_force_batch(c, 1, &l->force, &l->result), SAPPORO_OK);
        compare(l, right, &engines2[e], kind);
        sapporo_close(c);
    }
}

/* All ways to ask. */
static void sums(void **state)
{
    (void)state;
    for (int kind = FLOOR; kind < KINDS; kind++) {
        if (!(kind & (FLOOR | COUNTS | MOMENTS | FLOORS)) || (kind & 7) == 3) continue;
        if (kind & FLOORS && (kind & 7) % 5 != 0) continue; /* softening of targets and sources, with and without */
        struct list *const l = new_list(kind);
        compare_all(l, kind & SOFT_J, kind);
        free(l);
    }
}

static void assert_same(const struct list *a, const struct list *b, const char *name, const char *what)
{
    if (memcmp(a->acc, b->acc, sizeof a->acc) != 0) fail_msg("%s: acc of %s", name, what);
    if (memcmp(a->pot, b->pot, sizeof a->pot) != 0) fail_msg("%s: pot of %s", name, what);
}

/*
 * A floor below all distances, and counts, change no bit of a plain force of the CPU engine; nor do other lists and
 * targets of the call.
 */
static void bits(void **state)
{
    (void)state;
    for (int e = 0; e < ENGINES2; e++) {
        if (!is_single(&engines2[e])) continue;
        struct list *const plain = new_list(SOFT), *const low = new_list(SOFT | COUNTS),
                           *const more = new_list(FLOORS | COUNTS), *const again = new_list(FLOORS | COUNTS);
        sapporo *const c = engine_open(&engines2[e], 2);
        low->force.floor2 = 0.9e-4;
        assert_int_equal(sapporo_force_batch(c, 1, &plain->force, &plain->result), SAPPORO_OK);
        assert_int_equal(sapporo_force_batch(c, 1, &low->force, &low->result), SAPPORO_OK);
        if (engines2[e].isa) assert_same(low, plain, engines2[e].name, "a low floor");
        assert_int_equal(sapporo_force_batch(c, 1, &more->force, &more->result), SAPPORO_OK);
        sapporo_small_force lists[3] = {plain->force, again->force, more->force};
        lists[2].quad_j.base = low->quad;
        const sapporo_result results[3] = {low->result, again->result, more->result};
        memset(low->acc, 0, sizeof low->acc);
        assert_int_equal(sapporo_force_batch(c, 2, lists, results), SAPPORO_OK);
        if (engines2[e].isa) assert_same(low, plain, engines2[e].name, "a plain list beside others");
        assert_same(again, more, engines2[e].name, "a list beside others");
        for (int i = 0; i < NI; i++) {
            sapporo_small_force one = again->force;
            sapporo_result row = {
                .size = sizeof row, .acc = &again->acc[i], .pot = &again->pot[i], .count = &again->count[i]};
            one.ni = 1, one.x.base = again->x[i], one.floor2_i.base = &again->floor_i[i],
            one.h2_i.base = &again->target_h2[i];
            again->count[i] = -7;
            assert_int_equal(sapporo_force_batch(c, 1, &one, &row), SAPPORO_OK);
        }
        assert_same(again, more, engines2[e].name, "single targets");
        assert_memory_equal(again->count, more->count, sizeof more->count);
        sapporo_close(c);
        free(plain);
        free(low);
        free(more);
        free(again);
    }
}

/* Multiplies a list by a factor of lengths and one of masses. */
static void scale(struct list *l, double length, double mass)
{
    for (int k = 0; k < N; k++) {
        for (int c = 0; c < 3; c++) l->x[k][c] *= length;
        l->mass[k] *= mass;
        for (int q = 0; q < 6; q++) l->quad[k][q] *= mass * length * length;
        l->h2[k] *= length * length;
        l->target_h2[k] *= length * length;
        l->floor_i[k] *= length * length;
        l->floor_j[k] *= length * length;
    }
    l->force.floor2 *= length * length;
    l->force.eps2 *= length * length;
}

/* Units that single precision cannot hold; the case "1, 1" is one that it can. */
static void ranges(void **state)
{
    static const double units[][2] = {
        {1, 1},       {0x1p130, 1},  {0x1p-130, 1},     {0x1p60, 0x1p-40}, {0x1p-66, 0x1p50},
        {1, 0x1p200}, {1, 0x1p-200}, {0x1p57, 0x1p110}, {0x1p20, 0x1p-90}, {0x1p300, 1}};
    (void)state;
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++)
        for (int kind = COUNTS; kind < KINDS; kind += FLOOR) {
            const int beyond = kind & MOMENTS && units[u][0] == 0x1p300; /* Q d^2 is beyond double, too */
            if (!(kind & COUNTS) || beyond || (kind & FLOORS && kind & MOMENTS)) continue;
            struct list *const l = new_list(kind);
            scale(l, units[u][0], units[u][1]);
            compare_all(l, 0, kind + 1000 * (int)u);
            free(l);
        }
}

/* Moments much smaller and much larger than those of masses at the distances of sources, also beyond float. */
static void moments(void **state)
{
    static const double factors[] = {0x1p-400, 0x1p-160, 0x1p-120, 0x1p-60, 0x1p40, 0x1p90, 0x1p110, 0x1p200};
    static const int kinds[] = {MOMENTS, MOMENTS | FLOOR, MOMENTS | SOFT | SOFT_I, MOMENTS | SOFT | COUNTS};
    enum { FACTORS = sizeof factors / sizeof factors[0], ASKED = sizeof kinds / sizeof kinds[0] };
    (void)state;
    for (int k = 0; k < FACTORS * ASKED; k++) {
        struct list *const l = new_list(kinds[k % ASKED]);
        for (int j = 0; j < N; j++)
            for (int q = 0; q < 6; q++) l->quad[j][q] *= factors[k / ASKED];
        compare_all(l, 0, k);
        free(l);
    }
}

/*
 * Moments Q_zz of R^4 or 0, of sources with and without mass, so near that u^5 is beyond float or double.  Their terms
 * are 3 Q / R^4 and -Q / R^3.
 */
static void near_moments(void **state)
{
    static const double distances[] = {0x1p-24, 0x1p-28, 0x1p-36, 0x1p-40, 0x1p-100, 0x1p-200, 0x1p-510},
                        masses[] = {0, 1, 0x1p-60};
    enum { DISTANCES = sizeof distances / sizeof distances[0], CASES = DISTANCES * 3 * 2 };
    (void)state;
    for (int k = 0; k < ENGINES2 * CASES; k++) {
        const double R = distances[k % DISTANCES], mass = masses[k / DISTANCES % 3], m[2] = {mass, 0};
        double x[1][3] = {{0}}, acc[1][3], pot[1], xj[2][3] = {{0, 0, R}, {3, 0, 0}}, quad[2][6] = {{0}};
        const sapporo_small_force l = {
            .size = sizeof l, .ni = 1, .nj = 2, .x.base = x, .x_j.base = xj, .mass_j.base = m, .quad_j.base = quad};
        const sapporo_result r = {.size = sizeof r, .acc = acc, .pot = pot};
        const struct engine *const e = &engines2[k / CASES];
        if (k % 2) quad[0][2] = R * R * R * R;
        if (!engine_usable(e)) continue;
        sapporo *const c = engine_open(e, 1);
        assert_int_equal(sapporo_force_batch(c, 1, &l, &r), SAPPORO_OK);
        const double right = mass / (R * R) + (quad[0][2] > 0 ? 3 : 0); /* float has 23 bits */
        const double right_pot = mass / R + (quad[0][2] > 0 ? R : 0);
        if (!(fabs(acc[0][2] - right) <= 1e-6 * right && acc[0][0] == 0 &&
              fabs(pot[0] + right_pot) <= 1e-6 * right_pot))
            fail_msg("%s: mass %g at %g: %g, not %g", e->name, mass, R, acc[0][2], right);
        sapporo_close(c);
    }
}

/* A target that is not finite, targets and sources far away, and radii of all sizes. */
static void odd_targets(void **state)
{
    (void)state;
    for (int e = 0; e < ENGINES2; e++) {
        if (!is_single(&engines2[e])) continue;
        struct list *const l = new_list(FLOOR | COUNTS);
        sapporo *const c = engine_open(&engines2[e], 2);
        double x[NI][3];
        memcpy(x, l->x, sizeof x);
        x[3][0] = 1e25, x[4][1] = 1e60, x[5][2] = -1e14, x[6][0] = NAN;
        l->force.x.base = x;
        l->h2[N - 1] = 1e30, l->h2[N - 2] = 1e-30, l->target_h2[8] = 1e-20, l->target_h2[3] = 4e50;
        assert_int_equal(sapporo_force_batch(c, 1, &l->force, &l->result), SAPPORO_PARTIAL);
        assert_true(isnan(l->pot[6]) && isnan(l->acc[6][0]) && l->count[6] == -1);
        for (int c3 = 0; c3 < 3; c3++) x[6][c3] = l->x[6][c3];
        assert_int_equal(sapporo_force_batch(c, 1, &l->force, &l->result), SAPPORO_OK);
        check_list(l, 0, &engines2[e], 0);
        l->h2[N - 1] = 0.1;
        assert_int_equal(sapporo_force_batch(c, 1, &l->force, &l->result), SAPPORO_OK);
        check_list(l, 0, &engines2[e], 1);
        sapporo_close(c);
        free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums),         cmocka_unit_test(bits),
                                       cmocka_unit_test(ranges),       cmocka_unit_test(moments),
                                       cmocka_unit_test(near_moments), cmocka_unit_test(odd_targets)};
    return cmocka_run_group_tests_name("batch_single", tests, NULL, NULL);
}
