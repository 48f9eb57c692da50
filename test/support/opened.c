/* opened.c - contexts and trees for tests of handles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opened.h"

enum { ADDRESSES = 8, PARTICLES = 4 };

sapporo *open_order(int order)
{
    sapporo *c;
    const sapporo_options options = {
        .size = sizeof options, .order = order, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    return c;
}

sapporo_tree *open_tree(void)
{
    static const double x[PARTICLES][3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
    static const double mass[PARTICLES] = {1, 1, 1, 1};
    const sapporo_tree_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
    const sapporo_tree_particles p = {.size = sizeof p, .n = PARTICLES, .x = {x, 0}, .mass = {mass, 0}};
    sapporo_tree *tree;
    assert_int_equal(sapporo_tree_create(&options, PARTICLES, &tree), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(tree, &p), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(tree), SAPPORO_OK);
    return tree;
}

void is_untouched(sapporo *c)
{
    sapporo_particle p = {.mass = 1, .derivative = {{0, 0, 0}, {1, 0, 0}}};
    assert_string_equal(sapporo_last_error(c), "");
    for (int a = 0; a < ADDRESSES; a++) {
        sapporo_particle found;
        assert_int_equal(sapporo_get_particle(c, a, 0, &found), SAPPORO_ERR_ARGUMENT);
    }
    assert_int_equal(sapporo_set_particle(c, ADDRESSES, &p), SAPPORO_OK);
    assert_int_equal(sapporo_get_particle(c, ADDRESSES, 1, &p), SAPPORO_OK);
    assert_true(p.time == 0);
    assert_int_equal(sapporo_get_backend(c), SAPPORO_BACKEND_CPU);
}
