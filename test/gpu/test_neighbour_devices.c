/*
 * test_neighbour_devices.c - neighbour forces on accelerators have the bits of the CPU's: in every precision and on
 * every driver, with gaps, long lists and particles whose positions are not finite, while particles change and stores
 * grow.
 *
 * The CPU paths in the comparison have fused operations, see docs/numerics.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/context_private.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_neighbour.h"
#include "isa.h"
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3000, NI = 60, LONGEST = 2500, PLAIN_END = 37, MORE = 400 };

static struct body *body; /* N, and MORE that come later */
static int address[NI], length[NI], entries[NI][LONGEST];
static const int *list[NI];

/* The results of all lists. */
struct results {
    double acc[NI][3], jerk[NI][3], pot[NI], r2[NI];
    int nearest[NI], status;
};

static int with_gaps(int k) { return k + k / 100; }

/* Lists of all lengths up to two superpackets, some with the particle itself and with somebody in the same place. */
static int make(void **state)
{
    rng random;
    (void)state;
    rng_seed(&random, 5, 5);
    body = zeroed(N + MORE, sizeof *body);
    model_plummer(body, N + MORE, 46);
    model_derivatives(body, N + MORE, 4);
    model_times(body, N + MORE, 0.25, 0.03, 46);
    memcpy(body[8].derivative, body[7].derivative, sizeof body[8].derivative);
    body[8].time = body[7].time;
    for (int i = 0; i < NI; i++) {
        length[i] = i == 39 ? LONGEST : i == 38 ? 2048 : i == PLAIN_END ? 2047 : i * i % 131;
        address[i] = with_gaps(i);
        list[i] = entries[i];
        for (int k = 0; k < length[i]; k++) entries[i][k] = with_gaps((int)(rng_uniform(&random) * N));
        if (length[i] > 3) entries[i][2] = address[i];
    }
    entries[7][0] = with_gaps(8);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    free(body);
    return 0;
}

/* Particles from .. to-1, with derivatives up to `terms`. */
static void put(sapporo *c, int from, int to, int terms)
{
    for (int k = from; k < to; k++) {
        sapporo_particle p = particle_of(&body[k]);
        for (int d = terms + 1; d < 5; d++) memset(p.derivative[d], 0, sizeof p.derivative[d]);
        assert_int_equal(sapporo_set_particle(c, with_gaps(k), &p), SAPPORO_OK);
    }
}

static struct results compute(sapporo *c, double eps2, int ni)
{
    struct results a;
    memset(&a, 0, sizeof a);
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = ni, .address = address, .list = list, .length = length, .eps2 = eps2};
    const sapporo_result result = {
        .size = sizeof result, .acc = a.acc, .jerk = a.jerk, .pot = a.pot, .nearest = a.nearest, .nearest_r2 = a.r2};
    a.status = sapporo_neighbour_force(c, &request, &result);
    return a;
}

/* Where words differ that are no NaN in both. */
static int other_bits(const double *a, const double *b, int n)
{
    for (int k = 0; k < n; k++)
        if (!(isnan(a[k]) && isnan(b[k])) && memcmp(&a[k], &b[k], sizeof *a) != 0) return 1;
    return 0;
}

/* A context on the accelerator, and one on the CPU. */
struct two {
    const struct engine *engine;
    sapporo *device, *cpu;
};

static void compare(const char *when, struct two *t, double eps2, int ni)
{
    const struct results a = compute(t->device, eps2, ni), b = compute(t->cpu, eps2, ni);
    assert_int_equal(a.status, b.status);
    for (int i = 0; i < ni; i++) {
        if (other_bits(a.acc[i], b.acc[i], 3) || other_bits(a.jerk[i], b.jerk[i], 3) ||
            other_bits(&a.pot[i], &b.pot[i], 1) || other_bits(&a.r2[i], &b.r2[i], 1))
            fail_msg("%s, %s: list %d of %d has other bits: acc %a %a, nearest at %g, %g", t->engine->name, when, i,
                     length[i], a.acc[i][0], b.acc[i][0], a.r2[i], b.r2[i]);
        if (a.nearest[i] != b.nearest[i])
            fail_msg("%s, %s: the nearest of list %d is %d, not %d", t->engine->name, when, i, a.nearest[i],
                     b.nearest[i]);
    }
}

static void put_both(const struct two *t, int from, int to, int terms)
{
    put(t->device, from, to, terms);
    put(t->cpu, from, to, terms);
}

static void set_time(const struct two *t, double time)
{
    assert_int_equal(sapporo_set_time(t->device, time), SAPPORO_OK);
    assert_int_equal(sapporo_set_time(t->cpu, time), SAPPORO_OK);
}

/* A force of all on some, which takes the store's changes. */
static void use_store(sapporo *c)
{
    double acc[3];
    const double x[3] = {0.1, 0, 0}, v[3] = {0};
    sapporo_job *job;
    const sapporo_request request = {.size = sizeof request, .ni = 1, .nj = N, .x = {x, 0}, .v = {v, 0}, .eps2 = 1e-4};
    const sapporo_result result = {.size = sizeof result, .acc = &acc};
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, 1, &result), SAPPORO_OK);
    sapporo_force_free(job);
}

static void move(int from, int to, double by)
{
    for (int k = from; k < to; k++) body[k].derivative[0][1] += by, body[k].time = 0.5;
}

static void all_steps(struct two *t)
{
    put_both(t, 0, N, 3);
    set_time(t, 0.25);
    compare("rows of four derivatives", t, 0, NI);
    compare("with softening", t, 1e-4, NI);
    move(100, 130, 0.01);
    put_both(t, 100, 130, 3);
    set_time(t, 0.5);
    compare("some moved", t, 0, NI);
    put_both(t, 0, N, 4);
    compare("rows of five", t, 0, NI);
    put_both(t, N, N + MORE, 4);
    entries[20][1] = with_gaps(N + MORE - 1);
    compare("more of them", t, 1e-4, NI);
    entries[21][3] = 100; /* a gap */
    length[22] = -1;
    address[23] = 1 << 29;
    compare("lists of nobody", t, 0, NI);
    entries[21][3] = 1, length[22] = 22 * 22 % 131, address[23] = with_gaps(23);
    body[50].derivative[1][2] = 1e300, body[51].derivative[0][0] = 1e200;
    put_both(t, 50, 52, 4);
    entries[24][5] = with_gaps(50), entries[25][5] = with_gaps(51);
    compare("somebody far away", t, 0, NI);
    body[50].derivative[1][2] = 0, body[51].derivative[0][0] = 0.5;
    put_both(t, 50, 52, 4);
    use_store(t->device);
    compare("the store is used", t, 0, NI);
    move(0, 30, 0.02);
    put_both(t, 0, 30, 4);
    use_store(t->device);
    compare("moved once more", t, 0, NI);
}

static void check(const struct engine *e, const int *devices, int ndevices)
{
    const struct engine cpu = {.name = "cpu", .precision = e->precision, .backend = SAPPORO_BACKEND_CPU};
    struct two t = {e, ndevices ? engine_open_on(e, devices, ndevices) : engine_open(e, 2), engine_open(&cpu, 2)};
    const sapporo *const inside = sap_context_of(t.device);
    struct sap_gpu_set *const set = (void *)inside->devices;
    set->tuning.cpu_below_neighbour = 0; /* as a tuning file may say */
    if (set->has_fp64) {
        all_steps(&t);
        assert_true(sap_gpu_neighbour_used((const void *)inside->store));
        assert_int_equal(inside->notes.warned >> SAP_WARN_NEIGHBOUR & 1, 0);
    }
    sapporo_close(t.device);
    sapporo_close(t.cpu);
}

static void same_bits(void **state)
{
    (void)state;
    if (!sap_isa_fuses(sap_isa_best())) skip(); /* no fused operations: then the CPU computes all lists */
    for (int k = CPU_ENGINES; k < ENGINES; k++)
        if (engine_usable(&engines[k])) check(&engines[k], NULL, 0);
}

static void of_several_devices(void **state)
{
    static const int numbers[] = {0, 1, 2, 3};
    (void)state;
    if (!sap_isa_fuses(sap_isa_best())) skip();
    for (int k = CPU_ENGINES; k < ENGINES; k++) {
        if (engines[k].precision != SAPPORO_DS || engines[k].backend != SAPPORO_BACKEND_CUDA) continue;
        const int n = engine_usable(&engines[k]) ? sapporo_device_count(engines[k].backend) : 0;
        if (n > 1) check(&engines[k], numbers, n < 4 ? n : 4);
    }
}

/* ---- target particles that are not finite ---- */

enum { BAD = 7, FIRST_BAD = 30, FIRST_MEMBER = 100 };

/* Particle k of those whose position or velocity is not finite at the time of the force. */
static sapporo_particle bad_particle(int k)
{
    static const double value[BAD] = {INFINITY, -INFINITY, NAN, INFINITY, NAN, INFINITY, 1.7e308};
    static const int derivative[BAD] = {0, 0, 0, 1, 1, 2, 1};
    sapporo_particle p = particle_of(&body[FIRST_BAD + k]);
    p.derivative[derivative[k]][k % 3] = value[k];
    if (k == BAD - 1) p.time = -100; /* the prediction overflows */
    return p;
}

/* Lists of n members for the bad targets and for the next one, which is good; the first member is the target. */
static void make_lists(int n)
{
    for (int i = FIRST_BAD; i <= FIRST_BAD + BAD; i++) {
        length[i] = n;
        for (int m = 0; m < n; m++) entries[i][m] = m == 0 ? address[i] : with_gaps(FIRST_MEMBER + m % 2000);
    }
}

static void check_bad_rows(const struct engine *e, sapporo *c, int n)
{
    struct results a;
    memset(&a, 0, sizeof a);
    make_lists(n);
    const sapporo_neighbour_request l = {.size = sizeof l,
                                         .ni = BAD + 1,
                                         .address = address + FIRST_BAD,
                                         .list = list + FIRST_BAD,
                                         .length = length + FIRST_BAD};
    const sapporo_result r = {
        .size = sizeof r, .acc = a.acc, .jerk = a.jerk, .pot = a.pot, .nearest = a.nearest, .nearest_r2 = a.r2};
    assert_int_equal(sapporo_neighbour_force(c, &l, &r), SAPPORO_PARTIAL);
    for (int i = 0; i < BAD; i++) {
        int none = isnan(a.pot[i]) && isnan(a.r2[i]) && a.nearest[i] == -1;
        for (int axis = 0; axis < 3; axis++) none &= isnan(a.acc[i][axis]) && isnan(a.jerk[i][axis]);
        if (!none) fail_msg("%s: bad target %d with %d members: %g %g", e->name, i, n, a.pot[i], a.acc[i][0]);
    }
    assert_true(isfinite(a.pot[BAD]) && isfinite(a.acc[BAD][0]) && isfinite(a.jerk[BAD][2]));
}

/* Its force is NaN, and it has no nearest neighbour, whatever the list: on every path, precision and driver. */
static void bad_targets(void **state)
{
    static const int lengths[] = {0, 1, 2, 17, 200, 2048, LONGEST};
    (void)state;
    for (int k = 0; k < ENGINES; k++) {
        if (!engine_usable(&engines[k])) continue;
        sapporo *const c = engine_open(&engines[k], 2);
        if (k >= CPU_ENGINES)
            ((struct sap_gpu_set *)(void *)sap_context_of(c)->devices)->tuning.cpu_below_neighbour = 0;
        for (int whole = 0; whole < 2; whole++) { /* without gaps, and where only some are predicted at once */
            put(c, 0, N, 4);
            for (int b = 0; b < BAD; b++) {
                const sapporo_particle p = bad_particle(b);
                assert_true(sapporo_set_particle(c, address[FIRST_BAD + b], &p) != SAPPORO_ERR_ARGUMENT);
            }
            for (int a = 0; a < with_gaps(N) && whole; a++) {
                const sapporo_particle p = particle_of(&body[N - 1]);
                if (a % 101 == 100) assert_int_equal(sapporo_set_particle(c, a, &p), SAPPORO_OK);
            }
            assert_int_equal(sapporo_set_time(c, 0.25 + whole), SAPPORO_OK);
            for (size_t n = 0; n < sizeof lengths / sizeof lengths[0]; n++) check_bad_rows(&engines[k], c, lengths[n]);
        }
        sapporo_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(of_several_devices),
                                       cmocka_unit_test(bad_targets)};
    return cmocka_run_group_tests(tests, make, forget);
}
