/* test_tree_options.c - options of trees: both ends of each, what the defaults are, and the numbers that errors name.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/tree_error.h"
#include "engine/tree_limits.h"
#include "engine/tree_options.h"

static struct sap_settings settings;
static struct sap_tree_settings tree;
static struct sap_notes notes;

static const sapporo_tree_options plain = {.size = sizeof plain, .backend = SAPPORO_BACKEND_CPU};

static void expect_refused(const sapporo_tree_options *o, const char *words)
{
    assert_int_equal(sap_tree_options_read(o, &settings, &tree, &notes), SAPPORO_ERR_ARGUMENT);
    if (!strstr(sap_error_text(&notes), words)) fail_msg("'%s' does not say '%s'", sap_error_text(&notes), words);
}

static void read_options(const sapporo_tree_options *o)
{
    memset(&tree, 0x42, sizeof tree);
    assert_int_equal(sap_tree_options_read(o, &settings, &tree, &notes), SAPPORO_OK);
}

#define READ(...)                                                                                                      \
    do {                                                                                                               \
        sapporo_tree_options o = plain;                                                                                \
        __VA_ARGS__;                                                                                                   \
        read_options(&o);                                                                                              \
    } while (0)
#define REFUSED(change, words)                                                                                         \
    do {                                                                                                               \
        sapporo_tree_options o = plain;                                                                                \
        change;                                                                                                        \
        expect_refused(&o, words);                                                                                     \
    } while (0)

static void defaults(void **state)
{
    (void)state;
    read_options(NULL);
    assert_true(tree.kind == SAPPORO_TREE_OCTREE && tree.mac == SAPPORO_MAC_ACCELERATION && tree.accuracy == 0.01);
    READ();
    assert_true(tree.kind == SAPPORO_TREE_OCTREE && tree.mac == SAPPORO_MAC_ACCELERATION && tree.accuracy == 0.01 &&
                tree.order == 2 && tree.leaf_size == 16 && tree.group_size == 64 && tree.eps2 == 0 && !tree.splits &&
                tree.group_extent == 0 && tree.softening == SAPPORO_SOFTENING_PLUMMER);
    assert_true(tree.precision == SAPPORO_SP && settings.precision == SAPPORO_SP && settings.order == 2 &&
                settings.backend == SAPPORO_BACKEND_CPU && !settings.mixed);
    assert_true(tree.walk == SAPPORO_WALK_GROUPS && tree.ball == SAPPORO_BALL_NONE &&
                tree.bunch_ball == SAPPORO_BALL_NONE && tree.curve == SAPPORO_CURVE_HILBERT);
    READ(o.accuracy = 0.5); /* an angle, as without a criterion it was from the first version on */
    assert_true(tree.mac == SAPPORO_MAC_OPENING && tree.accuracy == 0.5 && tree.ball == SAPPORO_BALL_SMALLER);
    READ(o.error = 8e-4);
    assert_true(tree.mac == SAPPORO_MAC_ACCELERATION && tree.accuracy == sap_error_short(0.01) && tree.error == 8e-4);
    assert_int_equal(tree.precision, SAPPORO_SP);
    READ(o.error = 9e-6);
    assert_int_equal(tree.precision, SAPPORO_DP);
    READ(o.error = 9e-6, o.precision = SAPPORO_SP);
    assert_int_equal(tree.precision, SAPPORO_SP);
    READ(o.error = 0.1, o.mac = SAPPORO_MAC_ACCELERATION);
    assert_true(tree.accuracy == 1);
    READ(o.mac = SAPPORO_MAC_OPENING);
    assert_true(tree.accuracy == 0.7 && tree.ball == SAPPORO_BALL_SMALLER);
    READ(o.kind = SAPPORO_TREE_KDTREE, o.mac = SAPPORO_MAC_MULTIPOLE);
    assert_true(tree.kind == SAPPORO_TREE_KDTREE && tree.leaf_size == 8 && tree.accuracy == 0.1);
    READ(o.mac = SAPPORO_MAC_ACCELERATION);
    assert_true(tree.accuracy == 0.01 && tree.ball == SAPPORO_BALL_NONE && tree.leaf_size == 16);
    READ(o.mac = SAPPORO_MAC_ACCELERATION, o.experiments = SAPPORO_WALK_STACKLESS << 4);
    assert_true(tree.walk == SAPPORO_WALK_STACKLESS && tree.ball == SAPPORO_BALL_SMALLER);
}

static void precisions(void **state)
{
    (void)state;
    for (int k = SAPPORO_PRECISION_DEFAULT; k <= SAPPORO_DP; k++) {
        READ(o.precision = (sapporo_precision)k);
        assert_int_equal(tree.precision, k >= SAPPORO_DS ? SAPPORO_DP : SAPPORO_SP);
        assert_true(settings.precision == tree.precision && !settings.mixed);
    }
}

static void ends(void **state)
{
    (void)state;
    READ(o.leaf_size = 1, o.group_size = 1, o.order = 1, o.accuracy = 1e-300, o.eps2 = 1e200);
    assert_true(tree.leaf_size == 1 && tree.group_size == 1 && tree.order == 1 && tree.accuracy == 1e-300 &&
                tree.eps2 == 1e200);
    READ(o.leaf_size = 1024, o.group_size = 256, o.order = 2, o.accuracy = 1e30, o.eps2 = 1e-200);
    assert_true(tree.leaf_size == 1024 && tree.group_size == 256 && tree.order == 2 && tree.accuracy == 1e30 &&
                tree.eps2 == 1e-200);
    READ(o.eps2 = 0.99e-200, o.group_extent = INFINITY);
    assert_true(tree.eps2 == 0 && !tree.splits && tree.group_extent == 0);
    READ(o.group_extent = 1e-300, o.softening = SAPPORO_SOFTENING_SPLINE_MEAN);
    assert_true(tree.splits && tree.group_extent == 1e-300 && tree.softening == SAPPORO_SOFTENING_SPLINE_MEAN);
    for (int k = 1; k < 4; k++) {
        READ(o.mac = (sapporo_tree_mac)k, o.accuracy = 0.3);
        assert_true(tree.mac == (sapporo_tree_mac)k && tree.accuracy == 0.3);
    }
    REFUSED(o.size = 0, "size of sapporo_tree_options is 0");
    REFUSED(o.kind = (sapporo_tree_kind)3, "kind of a tree is 3; it may be 0 to 2");
    REFUSED(o.mac = (sapporo_tree_mac)4, "mac of a tree is 4; it may be 0 to 3");
    REFUSED(o.order = 3, "order of a tree is 3; it may be 0 to 2");
    REFUSED(o.order = -1, "order of a tree is -1; it may be 0 to 2");
    REFUSED(o.leaf_size = 1025, "leaf_size of a tree is 1025; it may be 0 to 1024");
    REFUSED(o.leaf_size = -1, "leaf_size of a tree is -1");
    REFUSED(o.group_size = 257, "group_size of a tree is 257; it may be 0 to 256");
    REFUSED(o.group_size = -1, "group_size of a tree is -1");
    REFUSED(o.precision = (sapporo_precision)4, "precision of a tree is 4; it may be 0 to 3");
    REFUSED(o.softening = (sapporo_softening)3, "softening of a tree is 3; it may be 0 to 2");
    REFUSED(o.error = 0.2, "error of a tree is 0.2; it may be 1e-09 to 0.1, or 0");
    REFUSED(o.error = -1e-3, "error of a tree is -0.001");
    REFUSED(o.error = NAN, "error of a tree is");
    REFUSED((o.error = 1e-3, o.accuracy = 0.5), "either an accuracy, 0.5, or an error, 0.001");
    REFUSED((o.error = 1e-3, o.mac = SAPPORO_MAC_MULTIPOLE), "mac of a tree is 2; with an error it may be 0 or 3");
    REFUSED(o.accuracy = -0.5, "accuracy of a tree is -0.5; it is a number > 0");
    REFUSED(o.accuracy = 1.01e30, "accuracy of a tree is 1.01e+30");
    REFUSED(o.accuracy = NAN, "accuracy of a tree is nan");
    REFUSED(o.group_extent = -2, "group_extent of a tree is -2; it is a length > 0, or 0");
    REFUSED(o.group_extent = NAN, "group_extent of a tree is nan");
    REFUSED(o.eps2 = -1e-300, "eps2 of a tree is -1e-300; it may be 0 to 1e200");
    REFUSED(o.eps2 = 1.01e200, "eps2 of a tree is 1.01e+200");
    REFUSED(o.eps2 = NAN, "eps2 of a tree is nan");
}

/* Room for groups: kd-trees have up to 1.5 times as many particles in one, and twice as many groups. */
static void groups(void **state)
{
    (void)state;
    READ(o.group_size = 64);
    assert_true(sap_tree_group_most(&tree) == 64 && sap_tree_groups_most(&tree, 640) == 12);
    READ(o.group_size = 63, o.kind = SAPPORO_TREE_KDTREE);
    assert_true(sap_tree_group_most(&tree) == 94 && sap_tree_groups_most(&tree, 640) == 22);
    READ(o.group_size = 64, o.group_extent = 1);
    assert_true(sap_tree_groups_most(&tree, 640) == 12 + 640 / 8);
    assert_string_equal(sap_tree_kind_word(SAPPORO_TREE_KDTREE), "kdtree");
    assert_string_equal(sap_tree_kind_word(SAPPORO_TREE_OCTREE), "octree");
}

static int quiet(void **state)
{
    (void)state;
    sapporo_print_errors(0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults), cmocka_unit_test(precisions), cmocka_unit_test(ends),
                                       cmocka_unit_test(groups)};
    return cmocka_run_group_tests(tests, quiet, NULL);
}
