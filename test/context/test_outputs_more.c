/*
 * test_outputs_more.c - "NaN, never stale", as in test_outputs.c: particles, devices, memory, opening, trees, and the
 * GRAPE-6 and GRAPE-5 calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opened.h"
#include "outputs.h"
#include "sapporo_g5.h"
#include "sapporo_g6.h"

#include <limits.h>
#include <math.h>

enum { NI = 4, ROWS = OUTPUT_ROWS };

static double x[ROWS][3] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}, mass[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
static const double h2[ROWS] = {9, 9, 9, 9, 9, 9, 9, 9};

/* ---- particles, devices, memory, contexts ---- */

static void particles_fail(void **state)
{
    static const int bad[] = {-1, INT_MIN, 3, 1 << 30, INT_MAX};
    static const int orders[] = {2, 4, 6, 8};
    sapporo_particle p;
    (void)state;
    for (int o = 0; o < 4; o++) {
        sapporo *c = open_order(orders[o]);
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
            poison(&p, sizeof p);
            assert_int_equal(sapporo_get_particle(c, bad[k], (int)k % 2, &p), SAPPORO_ERR_ARGUMENT);
            outputs_no_particle("no particle there", &p);
        }
        sapporo_close(c);
    }
    poison(&p, sizeof p);
    assert_int_equal(sapporo_get_particle(NULL, 0, 0, &p), SAPPORO_ERR_CLOSED);
    outputs_no_particle("context is NULL", &p);
}

static void check_no_device(const sapporo_device *d)
{
    assert_true(d->number == -1 && d->backend == SAPPORO_BACKEND_AUTO && d->units == 0);
    assert_true(d->has_fp64 == 0 && d->memory == 0 && d->name[0] == 0 && d->detail[0] == 0);
}

static void devices_fail(void **state)
{
    const struct {
        sapporo_backend backend;
        int number;
    } bad[] = {{SAPPORO_BACKEND_CPU, -1},
               {SAPPORO_BACKEND_CPU, 1},
               {SAPPORO_BACKEND_AUTO, INT_MAX},
               {SAPPORO_BACKEND_AUTO, INT_MIN},
               {(sapporo_backend)77, 0}};
    sapporo_device d;
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        poison(&d, sizeof d);
        d.size = sizeof d;
        assert_true(sapporo_device_describe(bad[k].backend, bad[k].number, &d) < 0);
        check_no_device(&d);
    }
    poison(&d, sizeof d);
    d.size = offsetof(sapporo_device, units); /* of a shorter struct no more than there is */
    assert_true(sapporo_device_describe(SAPPORO_BACKEND_CPU, 5, &d) < 0);
    assert_true(d.number == -1 && is_poison(&d.units, sizeof d - offsetof(sapporo_device, units)));
}

static void memory_and_opening_fail(void **state)
{
    const sapporo_options bad = {.size = sizeof bad, .order = 5};
    const sapporo_tree_options bad_tree = {.size = sizeof bad_tree, .order = 9};
    sapporo *c = open_order(4);
    size_t bytes = 7;
    (void)state;
    assert_int_equal(sapporo_memory_needed(c, 0, &bytes), 0);
    assert_int_equal(bytes, 0);
    bytes = 7;
    assert_int_equal(sapporo_memory_needed(c, -5, &bytes), 0);
    assert_int_equal(bytes, 0);
    bytes = 7;
    assert_int_equal(sapporo_memory_needed(NULL, 5, &bytes), 0);
    assert_int_equal(bytes, 0);
    bytes = 7;
    assert_int_equal(sapporo_tree_memory_needed(&bad_tree, 5, &bytes), 0);
    assert_int_equal(bytes, 0);
    sapporo_close(c);
    poison(&c, sizeof c);
    assert_true(sapporo_open(&bad, &c) < 0);
    assert_null(c);
    sapporo_tree *tree;
    poison(&tree, sizeof tree);
    assert_true(sapporo_tree_create(&bad_tree, 5, &tree) < 0);
    assert_null(tree);
    poison(&tree, sizeof tree);
    assert_true(sapporo_tree_create(NULL, -1, &tree) < 0);
    assert_null(tree);
}

/* ---- trees ---- */

/* A tree of NI particles that was not built. */
static sapporo_tree *open_bare(void)
{
    const sapporo_tree_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU};
    const sapporo_tree_particles p = {.size = sizeof p, .n = NI, .x = {x, 0}, .mass = {mass, 0}};
    sapporo_tree *tree;
    assert_int_equal(sapporo_tree_create(&options, NI, &tree), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(tree, &p), SAPPORO_OK);
    return tree;
}

struct longer_request {
    sapporo_tree_request known;
    void *unknown;
};

/* rows: how many must be NaN. */
static void refuse_tree(const char *what, sapporo_tree *tree, const sapporo_tree_request *r, int rows, int status)
{
    struct outputs out;
    (void)outputs_poisoned(&out, 0);
    if (sapporo_tree_force(tree, r, out.acc, out.pot) != status) fail_msg("%s: another status", what);
    outputs_failed(what, &out, OUTPUT_ACC | OUTPUT_POT, rows);
}

static void tree_forces_fail(void **state)
{
    static const int beyond[NI] = {0, 1, NI, 2};
    const sapporo_tree_request good = {.size = sizeof good, .ni = NI};
    sapporo_tree *tree = open_tree(), *bare = open_bare();
    sapporo_tree_request bad = good;
    (void)state;
    refuse_tree("tree is NULL", NULL, &good, NI, SAPPORO_ERR_CLOSED);
    refuse_tree("no tree yet", bare, &good, NI, SAPPORO_ERR_ARGUMENT);
    refuse_tree("no request", tree, NULL, 0, SAPPORO_ERR_ARGUMENT);
    bad.ni = -1;
    refuse_tree("ni < 0", tree, &bad, 0, SAPPORO_ERR_ARGUMENT);
    bad.ni = NI + 1;
    refuse_tree("more than the tree has", tree, &bad, NI + 1, SAPPORO_ERR_ARGUMENT);
    bad = good;
    bad.active = beyond;
    refuse_tree("an address beyond", tree, &bad, NI, SAPPORO_ERR_ARGUMENT);
    bad.x.base = x;
    refuse_tree("places and addresses", tree, &bad, NI, SAPPORO_ERR_ARGUMENT);
    bad.active = NULL;
    bad.h.base = mass;
    refuse_tree("lengths in a tree without a spline", tree, &bad, NI, SAPPORO_ERR_ARGUMENT);
    bad = good;
    bad.memory = SAPPORO_MEMORY_DEVICE; /* what lies there stays as it is */
    refuse_tree("memory of a device", tree, &bad, 0, SAPPORO_ERR_UNSUPPORTED);
    bad.memory = (sapporo_memory)7;
    refuse_tree("no memory at all", tree, &bad, 0, SAPPORO_ERR_ARGUMENT);
    struct longer_request longer = {.known = good, .unknown = &bad};
    longer.known.size = sizeof longer;
    refuse_tree("a later version's request", tree, &longer.known, NI, SAPPORO_ERR_UNSUPPORTED);
    sapporo_tree_destroy(tree);
    sapporo_tree_destroy(bare);
}

static void refuse_search(sapporo_tree *tree, int ni, const void *at, const void *radius, int room, int with_list)
{
    long long first[ROWS + 1];
    int list[ROWS];
    poison(first, sizeof first);
    poison(list, sizeof list);
    assert_true(sapporo_tree_neighbours(tree, ni, (sapporo_column){at, 0}, (sapporo_column){radius, 0}, first, room,
                                        with_list ? list : NULL) < 0);
    const int written = ni >= 0 ? ni + 1 : 0;
    for (int k = 0; k < written; k++) assert_int_equal(first[k], 0);
    assert_true(is_poison(first + written, (size_t)(ROWS + 1 - written) * sizeof *first));
    assert_true(is_poison(list, sizeof list));
}

static void tree_searches_fail(void **state)
{
    static const double wrong[NI] = {1, -1, NAN, INFINITY};
    static const double nowhere[NI][3] = {{0, 0, 0}, {NAN, 0, 0}};
    sapporo_tree *tree = open_tree(), *bare = open_bare();
    (void)state;
    refuse_search(NULL, NI, x, h2, ROWS, 1);
    refuse_search(bare, NI, x, h2, ROWS, 1);
    refuse_search(tree, -1, x, h2, ROWS, 1);
    refuse_search(tree, NI, x, wrong, ROWS, 1);
    refuse_search(tree, NI, nowhere, h2, ROWS, 1);
    refuse_search(tree, NI, NULL, h2, ROWS, 1);
    refuse_search(tree, NI, x, NULL, ROWS, 1);
    refuse_search(tree, NI, x, h2, -1, 1);
    refuse_search(tree, NI, x, h2, ROWS, 0);
    sapporo_tree_destroy(tree);
    sapporo_tree_destroy(bare);
}

static void tree_statistics_fail(void **state)
{
    sapporo_tree_statistics s;
    (void)state;
    poison(&s, sizeof s);
    s.size = sizeof s;
    assert_int_equal(sapporo_tree_get_statistics(NULL, &s), SAPPORO_ERR_CLOSED);
    for (int k = 0; k < SAPPORO_PHASES; k++) assert_true(isnan(s.seconds[k]));
    assert_true(s.n == 0 && s.cells == 0 && s.rows == 0 && s.particle_particle == 0 && s.host_bytes == 0);
}

/* ---- GRAPE-6 and GRAPE-5 ------------------------------------------------------------------------------------------
 */

static void g6_fails(void **state)
{
    struct outputs out;
    float distance[ROWS];
    int index[NI] = {0, 1, 2, 3}, n, list[ROWS];
    double v[NI][3] = {{0}}, radius[NI] = {1, 1, 1, 1};
    enum { GIVEN = OUTPUT_ACC | OUTPUT_JERK | OUTPUT_POT };
    (void)state;
    for (int open = 0; open < 2; open++) { /* first nothing is open, then eps2 is wrong */
        const char *const what = open ? "eps2 < 0" : "not open";
        if (open) assert_int_equal(g6_open(0), 0);
        (void)outputs_poisoned(&out, 0);
        assert_int_equal(g6calc_lasthalf(0, 1, NI, index, x, v, -1, radius, out.acc, out.jerk, out.pot), -1);
        outputs_failed(what, &out, GIVEN, NI);
        (void)outputs_poisoned(&out, 0);
        assert_int_equal(g6calc_lasthalf2(0, 1, NI, index, x, v, -1, radius, out.acc, out.jerk, out.pot, out.nearest),
                         -1);
        outputs_failed(what, &out, GIVEN | OUTPUT_NEAREST, NI);
        (void)outputs_poisoned(&out, 0);
        poison(distance, sizeof distance);
        assert_int_equal(
            g6calc_lasthalf2p(0, 1, NI, index, x, v, -1, radius, out.acc, out.jerk, out.pot, out.nearest, distance),
            -1);
        outputs_failed(what, &out, GIVEN | OUTPUT_NEAREST, NI);
        for (int i = 0; i < NI; i++) assert_true(isnan(distance[i]));
        assert_true(is_poison(distance + NI, (ROWS - NI) * sizeof *distance));
        (void)outputs_poisoned(&out, 0);
        assert_int_equal(g6calc_lasthalf(0, 1, -1, index, x, v, 1, radius, out.acc, out.jerk, out.pot), -1);
        outputs_failed("ni < 0", &out, GIVEN, 0);
        poison(&n, sizeof n);
        poison(list, sizeof list);
        assert_int_equal(g6_get_neighbour_list(0, 0, ROWS, &n, list), -1);
        assert_true(n == 0 && is_poison(list, sizeof list));
    }
    assert_int_equal(g6_close(0), 0);
}

static void g6_particle_fails(void **state)
{
    double three[6][3], one_mass, eps2;
    int id;
    (void)state;
    for (int open = 0; open < 2; open++) {
        if (open) assert_int_equal(g6_open(0), 0);
        poison(three, sizeof three);
        poison(&one_mass, sizeof one_mass);
        poison(&eps2, sizeof eps2);
        poison(&id, sizeof id);
        get_j_part_data(5, 1, three[0], three[1], three[2], three[3], three[4], three[5], &one_mass, &eps2, &id);
        for (int k = 0; k < 18; k++) assert_true(isnan(three[k / 3][k % 3]));
        assert_true(isnan(one_mass) && isnan(eps2) && id == -1);
    }
    assert_int_equal(g6_close(0), 0);
}

static void g5_fails(void **state)
{
    enum { GIVEN = OUTPUT_ACC | OUTPUT_POT };
    struct outputs out;
    double range[3];
    (void)state;
    (void)outputs_poisoned(&out, 0);
    assert_true(g5_calculate_force_on_xMC(-1, x, out.acc, out.pot, NI) != 0);
    outputs_failed("no such device", &out, GIVEN, NI);
    (void)outputs_poisoned(&out, 0);
    assert_true(g5_get_forceMC(-1, NI, out.acc, out.pot) != 0);
    outputs_failed("no such device", &out, GIVEN, NI);
    (void)outputs_poisoned(&out, 0);
    assert_true(g5_get_force(NI, out.acc, out.pot) != 0);
    outputs_failed("no force yet", &out, GIVEN, NI);
    (void)outputs_poisoned(&out, 0);
    assert_true(g5_calculate_force_on_x(NULL, out.acc, out.pot, NI) != 0);
    outputs_failed("no positions", &out, GIVEN, NI);
    (void)outputs_poisoned(&out, 0);
    assert_true(g5_calculate_force_on_x(x, out.acc, out.pot, -NI) != 0);
    outputs_failed("ni < 0", &out, GIVEN, 0);
    g5_set_n(-1);
    (void)outputs_poisoned(&out, 0);
    assert_true(g5_calculate_force_on_x(x, out.acc, out.pot, NI) != 0);
    outputs_failed("n < 0", &out, GIVEN, NI);
    poison(range, sizeof range);
    assert_true(g5_get_rangeMC(-1, &range[0], &range[1], &range[2]) != 0);
    for (int k = 0; k < 3; k++) assert_true(isnan(range[k]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(particles_fail),
        cmocka_unit_test(devices_fail),
        cmocka_unit_test(memory_and_opening_fail),
        cmocka_unit_test(tree_forces_fail),
        cmocka_unit_test(tree_searches_fail),
        cmocka_unit_test(tree_statistics_fail),
        cmocka_unit_test(g6_fails),
        cmocka_unit_test(g6_particle_fails),
        cmocka_unit_test(g5_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
