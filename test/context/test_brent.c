/* Tests of Brent's method (context/brent.h) and of the search for the extent of groups (context/group_tuner.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "context/brent.h"
#include "context/group_tuner.h"

/* ---- Brent's method ------------------------------------------------------------------------- */

typedef double function_of(double x);

static double square(double x) { return (x - 2.3) * (x - 2.3) + 1; }
static double quartic(double x) { return pow(x + 0.7, 4); }
static double kink(double x) { return fabs(x - 1.9); }
static double wave(double x) { return -sin(x); } /* on 0 ... pi, at pi/2 */
static double growing(double x) { return exp(x); }
static double falling(double x) { return -x; }
static double steep(double x) { return x + 1 / (x * x); } /* at the cube root of 2 */
static double holes(double x) { return x < -1 ? (double)NAN : x > 4 ? (double)INFINITY : square(x); }

static const struct {
    function_of *f;
    double low, high, at;
    int most; /* values that the search may take at tolerance 1e-5 */
} known[] = {{square, -5, 9, 2.3, 12},          {quartic, -2, 3, -0.7, 60}, {kink, 0, 10, 1.9, 60},
             {wave, 0, 3.14159, 1.5707963, 15}, {growing, -3, 2, -3, 60},   {falling, 1, 6, 6, 60},
             {steep, 0.1, 10, 1.2599210, 25},   {holes, -5, 9, 2.3, 40}};

/* Runs a search; returns the number of values, and checks that each position lies within the interval. */
static int search(struct sap_brent *b, function_of *f, double low, double high, double tolerance)
{
    sap_brent_start(b, low, high, tolerance);
    do {
        assert_true(b->at > low && b->at < high && b->values < 200);
    } while (!sap_brent_tell(b, f(b->at)));
    return b->values;
}

static void finds_minima(void **state)
{
    struct sap_brent b;
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const int values = search(&b, known[k].f, known[k].low, known[k].high, 1e-5);
        assert_true(fabs(b.x - known[k].at) < 4e-5 + 1e-3 * (known[k].f == quartic)); /* a quartic is flat */
        assert_true(b.value == known[k].f(b.x));
        assert_true(values <= known[k].most);
    }
}

/* Golden sections alone would divide the interval by 1.618 per value; parabolas take fewer for smooth functions. */
static void parabolas_help(void **state)
{
    struct sap_brent b;
    (void)state;
    assert_true(search(&b, square, -100, 100, 1e-6) < 15);
    assert_true(search(&b, kink, -100, 100, 1e-6) > 15);
}

/* A generator of noise of the same numbers on every machine: uniform within -1 ... 1. */
static unsigned seed;
static double noise(void)
{
    seed = seed * 1664525U + 1013904223U;
    return (double)(seed >> 8) / 8388608.0 - 1;
}

/* Noise moves the minimum to where the function has risen by the noise, and never stops the search. */
static void noisy(void **state)
{
    struct sap_brent b;
    (void)state;
    for (seed = 1; seed < 200; seed += 7)
        for (double size = 0.003; size < 0.2; size *= 4) {
            const unsigned begin = seed;
            sap_brent_start(&b, -5, 9, 0.05);
            while (!sap_brent_tell(&b, square(b.at) + size * noise()))
                assert_true(b.values < 100 && b.at > -5 && b.at < 9);
            assert_true(square(b.x) - 1 <= 12 * size + 0.03);
            seed = begin;
        }
}

/* A function without a minimum, and values that are all the same or no numbers. */
static double same(double x) { return 1 + 0 * x; }
static double none(double x) { return (double)NAN * x; }

static void ends(void **state)
{
    struct sap_brent b;
    (void)state;
    assert_true(search(&b, same, 0, 1, 1e-4) < 60);
    assert_true(search(&b, none, 0, 1, 1e-4) < 60);
    assert_true(search(&b, square, 2.2, 2.2000001, 0.1) < 5);
}

/* ---- extent of groups ----------------------------------------------------------------------------- */

enum { TICKS = 64 };

/* Seconds of the forces of the step that ends at a tick, with a limit: cheapest at 3, 20 % cheaper than without. */
static double seconds_of(double extent, int tick, double least)
{
    const double active = tick == 0 ? 1 : tick % 8 == 0 ? 0.1 : 0.01, off = log(extent / 3);
    return active * (extent > 0 ? least + 0.1 * off * off : 1);
}

struct run {
    struct sap_group_tuner tuner;
    int tick, since, builds;
};

/* One step of a run that builds every `interval` steps; returns 1 if a search has ended. */
static int step(struct run *r, int interval, int stride, double least, double scatter)
{
    const int builds = r->builds == 0 || r->since >= interval;
    int has_ended = 0;
    if (builds && r->builds > 0 && sap_group_tuner_is_ready(&r->tuner))
        has_ended = sap_group_tuner_next(&r->tuner, 1, 40);
    r->since = builds ? 1 : r->since + 1;
    r->builds += builds;
    r->tick = (r->tick + stride) % TICKS;
    const double seconds = seconds_of(r->tuner.extent, r->tick, least) * (1 + scatter * noise());
    sap_group_tuner_note(&r->tuner, builds, seconds, r->tick);
    return has_ended;
}

static struct run begun(void)
{
    struct run r = {.tick = 0};
    sap_group_tuner_start(&r.tuner, 1);
    return r;
}

/* Runs to the end of the next search; fails if that takes too long. */
static void to_end(struct run *r, int interval, int stride, double least, double scatter)
{
    int steps = 0;
    while (!step(r, interval, stride, least, scatter)) assert_true(++steps < 400 * TICKS);
}

/* Block steps, shared steps, builds that share no rhythm with long steps: the best limit is found. */
static void finds_extent(void **state)
{
    static const int interval[] = {1, 2, 7, 50, 100}, stride[] = {1, 4, TICKS};
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int s = 0; s < 3; s++) {
            struct run r = begun();
            assert_true(r.tuner.extent == 0 && sap_group_tuner_needs_extents(&r.tuner));
            to_end(&r, interval[i], stride[s], 0.8, 0);
            assert_in_range(r.tuner.trials, 3, 14);
            assert_true(fabs(log(r.tuner.found / 3)) < 0.3);
            assert_true(r.tuner.extent == r.tuner.found && fabs(r.tuner.share - 0.8) < 0.01);
            to_end(&r, interval[i], stride[s], 0.8, 0); /* the search is repeated */
            assert_true(r.tuner.searches == 2 && fabs(log(r.tuner.found / 3)) < 0.3);
            assert_in_range(r.tuner.trials, 2, 8);
        }
}

/* Noise of the clock: the limit that is found costs little more than the best one. */
static void finds_extent_with_noise(void **state)
{
    (void)state;
    for (seed = 1; seed < 60; seed += 3) {
        struct run r = begun();
        const unsigned first = seed;
        to_end(&r, 5, 1, 0.8, 0.05);
        assert_true(seconds_of(r.tuner.found, 0, 0.8) < 0.9);
        seed = first;
    }
}

/* If no limit helps, groups have none; a clock that tells nothing chooses none either. */
static void finds_none(void **state)
{
    (void)state;
    struct run r = begun();
    to_end(&r, 5, 1, 0.99, 0);
    assert_true(r.tuner.found == 0 && r.tuner.extent == 0 && r.tuner.share > 0.98);
    to_end(&r, 5, 1, 0.7, 0); /* later one does */
    assert_true(r.tuner.found > 2 && r.tuner.found < 4.5);
    r = begun();
    for (int k = 0; k < 100 * TICKS; k++) {
        if (k % 5 == 0 && sap_group_tuner_is_ready(&r.tuner)) (void)sap_group_tuner_next(&r.tuner, 1, 40);
        sap_group_tuner_note(&r.tuner, k % 5 == 0, 0, k % TICKS);
    }
    assert_true(r.tuner.searches > 0 && r.tuner.found == 0);
}

/* Groups of one extent need no search; a tuner that is off does nothing. */
static void nothing_to_find(void **state)
{
    struct sap_group_tuner g;
    (void)state;
    sap_group_tuner_start(&g, 1);
    for (int k = 0; k < 3 * TICKS; k++) sap_group_tuner_note(&g, k == 0, 1, k % TICKS);
    assert_true(sap_group_tuner_is_ready(&g));
    assert_int_equal(sap_group_tuner_next(&g, 0, 0), 1);
    assert_true(g.phase == SAP_GROUPS_KEEP && g.extent == 0 && g.found == 0);
    sap_group_tuner_start(&g, 0);
    for (int k = 0; k < 3 * TICKS; k++) sap_group_tuner_note(&g, k == 0, 1, k % TICKS);
    assert_false(sap_group_tuner_is_ready(&g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_minima), cmocka_unit_test(parabolas_help),
                                       cmocka_unit_test(noisy),        cmocka_unit_test(ends),
                                       cmocka_unit_test(finds_extent), cmocka_unit_test(finds_extent_with_noise),
                                       cmocka_unit_test(finds_none),   cmocka_unit_test(nothing_to_find)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
