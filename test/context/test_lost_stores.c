/*
 * test_lost_stores.c - stores that fail because memory is short: forces of particles that were not stored are NaN until
 * the particles are stored again; they are never forces of the old particles, or of fewer.
 *
 * Every allocation of a store is refused, once and for good, through all interfaces of libsapporo.
 */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/jstore.h"
#include "g5_forms.h"
#include "model.h"
#include "runs.h"
#include "sapporo.h"
#include "scarce.h"

#if SCARCE

/* ------------------------------------------------------------------ particles */

enum { BLOCK = 40, BLOCKS = 3, N = BLOCK * BLOCKS, NI = 4, NJ = 60000 + BLOCK, NUMBERS = 40 * NI };

/* Blocks of addresses in segments of their own. */
static const int first_of[BLOCKS] = {0, 20000, 60000};

/* Every store has stars of its own: those of `number` 0, 1, ... */
static int number;

static vec3 x[NJ];
static double mass[NJ], eps2[NJ];
static int known[N];

static double wave(int k, int axis) { return sin(1.7 * k + 2.9 * axis + 0.37 * number); }

static void make_stars(int which)
{
    number = which;
    for (int b = 0, n = 0; b < BLOCKS; b++)
        for (int k = first_of[b]; k < first_of[b] + BLOCK; k++, n++) {
            for (int axis = 0; axis < 3; axis++) x[k][axis] = wave(k, axis);
            mass[k] = 1 + 0.5 * wave(k, 5);
            eps2[k] = 0.01;
            known[n] = k;
        }
}

static vec3 target[NI] = {{3, 0, 0}, {0, 3, 0}, {0.5, 0.25, 3}, {-2, 2, 2}}, rest[NI];

/* What a force says, as numbers: nearest neighbours and lengths of lists too. */
struct told {
    double value[NUMBERS];
    int n;
};

static void tell(struct told *t, const double *value, int n)
{
    for (int k = 0; k < n; k++) t->value[t->n++] = value[k];
}

/* Neighbours as numbers; those that are not known are NaN. */
static void tell_neighbours(struct told *t, const int *nearest, int n)
{
    for (int k = 0; k < n; k++) t->value[t->n++] = nearest[k] < 0 ? (double)NAN : nearest[k];
}

/* --------------------------------------------------------------------- native */

static sapporo *context;

static void open_native(int order)
{
    const sapporo_options options = {.size = sizeof options,
                                     .order = order,
                                     .precision = order == 8 ? SAPPORO_DP : SAPPORO_DS,
                                     .backend = SAPPORO_BACKEND_CPU,
                                     .threads = 1};
    assert_int_equal(sapporo_open(&options, &context), SAPPORO_OK);
}

static void open_2(void) { open_native(2); }
static void open_4(void) { open_native(4); }
static void open_6(void) { open_native(6); }
static void open_8(void) { open_native(8); }

static void close_native(void)
{
    sapporo_close(context);
    context = NULL;
}

static int worst; /* of the calls that stored */

static void note(int status)
{
    if (status) worst = status;
}

/* One by one, in an order that is not theirs, with all derivatives. */
static void store_singly(void)
{
    for (int n = 0; n < N; n++) {
        const int k = known[n * 7 % N];
        sapporo_particle p = {.mass = mass[k], .index = k};
        memcpy(p.derivative[0], x[k], sizeof x[k]);
        for (int d = 1; d < SAPPORO_DERIVATIVES; d++)
            for (int axis = 0; axis < 3; axis++) p.derivative[d][axis] = 0.01 * wave(k, axis + d);
        note(sapporo_set_particle(context, k, &p));
    }
}

static void store_blocks_of(int soft, int moving)
{
    for (int b = 0; b < BLOCKS; b++) {
        const int k = first_of[b];
        sapporo_particles all = {.size = sizeof all, .derivative = {{x + k, 0}}, .mass = {mass + k, 0}};
        if (moving) all.derivative[1].base = x + k;
        if (moving > 1) all.derivative[3].base = x + k;
        if (soft) all.eps2.base = eps2 + k;
        note(sapporo_set_particles(context, k, BLOCK, &all));
    }
}

static void store_blocks(void) { store_blocks_of(0, 1); }
static void store_still(void) { store_blocks_of(0, 0); }
static void store_soft(void) { store_blocks_of(1, 0); }
static void store_moving(void) { store_blocks_of(0, 2); }

static void force_native(struct told *t)
{
    static vec3 acc[NI];
    static double pot[NI], r2[NI];
    static int nearest[NI];
    const sapporo_request request = {.size = sizeof request, .nj = NJ, .ni = NI, .x = {target, 0}, .eps2 = 0.01};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot, .nearest = nearest, .nearest_r2 = r2};
    sapporo_job *job;
    const int status = sapporo_force_begin(context, &request, &job);
    assert_true(status == SAPPORO_OK || status == SAPPORO_ERR_MEMORY);
    for (int k = 0; k < NUMBERS; k++) t->value[k] = NAN;
    t->n = 5 * NI;
    if (status) return;
    assert_int_equal(sapporo_force_end(job, NI, &result), SAPPORO_OK);
    sapporo_force_free(job);
    t->n = 0;
    tell(t, acc[0], 3 * NI);
    tell(t, pot, NI);
    tell_neighbours(t, nearest, NI);
}

/* A batch whose lists name all particles by address. */
static void force_batch(struct told *t)
{
    static vec3 acc[NI];
    static double pot[NI];
    const sapporo_small_force list = {
        .size = sizeof list, .ni = NI, .nj = N, .x = {target, 0}, .address = known, .eps2 = 0.01};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    for (int i = 0; i < NI; i++) pot[i] = acc[i][0] = acc[i][1] = acc[i][2] = 7;
    const int status = sapporo_force_batch(context, 1, &list, &result);
    assert_true(status == SAPPORO_OK || status == SAPPORO_ERR_MEMORY);
    if (status) assert_true(isnan(pot[0]) && isnan(acc[NI - 1][2]));
    tell(t, acc[0], 3 * NI);
    tell(t, pot, NI);
}

/* Neighbour forces on particles of each block. */
static void neighbour_force(struct told *t)
{
    static vec3 acc[NI], jerk[NI];
    static double pot[NI];
    static int nearest[NI];
    const int on[NI] = {0, 20001, 60002, 5}, length[NI] = {N, N, N, N}, *const list[NI] = {known, known, known, known};
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = NI, .address = on, .list = list, .length = length};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest};
    for (int i = 0; i < NI; i++) pot[i] = acc[i][0] = jerk[i][2] = nearest[i] = 7;
    const int status = sapporo_neighbour_force(context, &request, &result);
    assert_true(status == SAPPORO_OK || status == SAPPORO_PARTIAL || status == SAPPORO_ERR_MEMORY);
    tell(t, acc[0], 3 * NI);
    tell(t, jerk[0], 3 * NI);
    tell(t, pot, NI);
    tell_neighbours(t, nearest, NI);
}

/* ----------------------------------------------------------------------- g6 */

static void open_g6(void) { assert_int_equal(g6_open(0), 0); }
static void close_g6(void) { assert_int_equal(g6_close(0), 0); }

static void store_g6(void)
{
    for (int n = 0; n < N; n++) {
        const int k = known[n];
        double v[3], a2[3], j6[3], k18[3];
        for (int axis = 0; axis < 3; axis++)
            v[axis] = wave(k, axis + 1), a2[axis] = wave(k, axis + 2), j6[axis] = k18[axis] = 0.1 * wave(k, axis + 3);
        note(g6_set_j_particle(0, k, k, 0, 0, mass[k], k18, j6, a2, v, x[k]));
    }
}

static void store_g6_still(void)
{
    for (int n = 0; n < N; n++) (void)g6_set_j_particle_mxonly(0, known[n], known[n], mass[known[n]], x[known[n]]);
}

static void force_g6(struct told *t)
{
    static vec3 acc[NI], jerk[NI];
    static double pot[NI], h2[NI];
    static int index[NI] = {-1, -2, -3, -4}, nearest[NI];
    for (int i = 0; i < NI; i++) pot[i] = acc[i][0] = jerk[i][2] = nearest[i] = 7;
    g6calc_firsthalf(0, NJ, NI, index, target, rest, acc, jerk, pot, 0.01, h2);
    (void)g6calc_lasthalf2(0, NJ, NI, index, target, rest, 0.01, h2, acc, jerk, pot, nearest);
    tell(t, acc[0], 3 * NI);
    tell(t, jerk[0], 3 * NI);
    tell(t, pot, NI);
    tell_neighbours(t, nearest, NI);
}

/* ----------------------------------------------------------------------- g5 */

static int device;

static void open_g5(void)
{
    device = g5_new_device();
    g5_set_eps_to_all(0.1);
    g5_set_nMC(device, NJ);
}

/* The device comes into being with the first store. */
static void open_g5_late(void)
{
    device = g5_new_device();
    g5_set_eps_to_all(0.1);
}

static void close_g5(void) { g5_closeMC(device); }

static void store_g5(void)
{
    for (int b = 0; b < BLOCKS; b++) note(g5_set_xmjMC(device, first_of[b], BLOCK, x, mass));
}

/* Without gaps, since nothing is known of what a device was given before there was memory for it. */
static void store_g5_late(void)
{
    note(g5_set_xmjMC(device, 0, BLOCK, x, mass));
    note(g5_set_nMC(device, BLOCK));
}

/* A device whose context could not be opened is not tried again before this. */
static void repair_g5(void) { (void)g5_openMC(device); }

static void store_g5_parts(void)
{
    for (int b = 0; b < BLOCKS; b++) note(g5_set_mjMC(device, first_of[b], BLOCK, mass));
    for (int b = 0; b < BLOCKS; b++) note(g5_set_xjMC(device, first_of[b], BLOCK, x));
}

static void store_g5_soft(void)
{
    for (int b = 0; b < BLOCKS; b++) note(g5_set_xmjMC0(device, first_of[b], BLOCK, x, mass, eps2));
}

static void force_g5(struct told *t)
{
    static vec3 acc[NI];
    static double pot[NI];
    for (int i = 0; i < NI; i++) pot[i] = acc[i][0] = 7;
    (void)g5_calculate_force_on_xMC(device, target, acc, pot, NI);
    tell(t, acc[0], 3 * NI);
    tell(t, pot, NI);
    (void)g5_set_xiMC(device, NI, target);
    (void)g5_runMC(device);
    (void)g5_get_forceMC(device, NI, acc, pot);
    tell(t, acc[0], 3 * NI);
    tell(t, pot, NI);
}

static void force_g5_soft(struct told *t)
{
    static vec3 acc[NI];
    static double pot[NI];
    for (int i = 0; i < NI; i++) pot[i] = acc[i][0] = 7;
    (void)g5_calculate_force_on_xMC0(device, target, acc, pot, NI, eps2);
    tell(t, acc[0], 3 * NI);
    tell(t, pot, NI);
}

static void open_g5_tree(void)
{
    setenv("SAPPORO_METHOD", "tree", 1);
    open_g5();
    (void)g5_openMC(device);
    unsetenv("SAPPORO_METHOD");
}

/* ------------------------------------------------------------------ all of them */

static struct way {
    const char *name;
    void (*open)(void);
    void (*store)(void);
    void (*force)(struct told *t);
    void (*close)(void);
    void (*repair)(void); /* before the next store; NULL: there is nothing to be done */
    int old; /* 1, 2: there are old particles, without columns for motion or softening: of GRAPE-6, native */
} ways[] = {
    {"native of order 4, one by one", open_4, store_singly, force_native, close_native, NULL, 0},
    {"the same over old ones", open_4, store_singly, force_native, close_native, NULL, 2},
    {"native of order 4, in blocks", open_4, store_blocks, force_native, close_native, NULL, 0},
    {"with jerks", open_4, store_moving, force_native, close_native, NULL, 2},
    {"native of order 2, in blocks", open_2, store_still, force_native, close_native, NULL, 0},
    {"with softenings", open_2, store_soft, force_native, close_native, NULL, 2},
    {"native of order 6", open_6, store_singly, force_native, close_native, NULL, 0},
    {"native of order 8", open_8, store_singly, force_native, close_native, NULL, 0},
    {"batches by address", open_2, store_still, force_batch, close_native, NULL, 0},
    {"batches with softenings", open_2, store_soft, force_batch, close_native, NULL, 2},
    {"neighbour forces", open_4, store_singly, neighbour_force, close_native, NULL, 0},
    {"neighbour forces over old ones", open_4, store_singly, neighbour_force, close_native, NULL, 2},
    {"GRAPE-6", open_g6, store_g6, force_g6, close_g6, NULL, 0},
    {"GRAPE-6 over old ones", open_g6, store_g6, force_g6, close_g6, NULL, 1},
    {"GRAPE-5", open_g5, store_g5, force_g5, close_g5, repair_g5, 0},
    {"GRAPE-5, a device that no call named before", open_g5_late, store_g5_late, force_g5, close_g5, repair_g5, 0},
    {"GRAPE-5, masses first", open_g5, store_g5_parts, force_g5, close_g5, repair_g5, 0},
    {"GRAPE-5, symmetric softening", open_g5, store_g5_soft, force_g5_soft, close_g5, repair_g5, 0},
    {"GRAPE-5 by a tree", open_g5_tree, store_g5, force_g5, close_g5, repair_g5, 0},
};

static void store(const struct way *way, int which)
{
    make_stars(which);
    worst = 0;
    way->store();
}

static void store_old(const struct way *way)
{
    make_stars(1);
    if (way->old == 1) store_g6_still();
    if (way->old == 2) store_still();
}

/* What the force on the new particles is. */
static struct told force_of_new(const struct way *way)
{
    struct told t = {.n = 0};
    way->open();
    store(way, 2);
    assert_int_equal(worst, 0);
    way->force(&t);
    for (int k = 0; k < t.n; k++) assert_true(isfinite(t.value[k]));
    way->close();
    return t;
}

/* Stores with allocation n refused; 0 once there are fewer. */
static int play(const struct way *way, const struct told *expected, int n)
{
    struct told t = {.n = 0}, again = {.n = 0};
    int right = 0, unknown = 0;
    way->open();
    store_old(way);
    sap_jstore_trim();
    refused = 0;
    countdown = n;
    store(way, 2);
    countdown = -1;
    const int was_refused = refused;
    way->force(&t);
    for (int k = 0; k < t.n; k++) {
        right += same_doubles(&t.value[k], &expected->value[k], 1);
        unknown += isnan(t.value[k]) != 0;
        if (!isnan(t.value[k]) && !same_doubles(&t.value[k], &expected->value[k], 1))
            fail_msg("%s, allocation %d refused%s: number %d is %g and not %g", way->name, n,
                     for_good ? " for good" : "", k, t.value[k], expected->value[k]);
    }
    if (worst && right == t.n) fail_msg("%s, allocation %d refused: a store failed, and no force", way->name, n);
    if (!worst && unknown) fail_msg("%s, allocation %d refused: no store failed, but a force", way->name, n);
    if (way->repair) way->repair();
    store(way, 2);
    assert_int_equal(worst, 0);
    way->force(&again);
    if (again.n != expected->n || !same_doubles(again.value, expected->value, expected->n))
        fail_msg("%s, allocation %d refused: the particles are there again, but not their force", way->name, n);
    way->close();
    sap_jstore_trim();
    return was_refused;
}

static void run_way(void **state)
{
    const struct way *way = *state;
    const struct told expected = force_of_new(way);
    int n = 0;
    sap_jstore_trim();
    for (for_good = 0; for_good < 2; for_good++) {
        for (n = 0; play(way, &expected, n);) n++;
        assert_true(n > 0);
    }
    for_good = 0;
    print_message("# %s: %d allocations\n", way->name, n);
    g6_errors(), g6_warnings();
}

int main(void)
{
    enum { WAYS = sizeof ways / sizeof ways[0] };
    struct CMUnitTest tests[WAYS];
    setenv("SAPPORO_BACKEND", "cpu", 1);
    g5_use_value(NULL);
    g6_errors(), g6_warnings();
    for (size_t k = 0; k < WAYS; k++) tests[k] = (struct CMUnitTest){ways[k].name, run_way, NULL, NULL, &ways[k]};
    return cmocka_run_group_tests_name("lost stores", tests, NULL, NULL);
}

#else

SKIPPED_MAIN("lost stores", "malloc is replaced by way of glibc, and not under a sanitizer")

#endif
