/* test_g5_parts.c - GRAPE-5 particles whose masses and positions come apart, and codes that loop over boards. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "g5_forms.h"

/* A new particle takes part once it has both its mass and its position, in either order (6.3). */
static void parts_of_new_particles(void **state)
{
    (void)state;
    vec3 x[3] = {{0, 0, 0}, {2, 0, 0}, {0, 2, 0}};
    double m[3] = {1, 8, 4};
    struct g5_batch b;
    const int masses_first = g5_new_device(), positions_first = g5_new_device();
    g5->set_n(masses_first, 3);
    assert_int_equal(g5->set_mj(masses_first, 0, 3, m), 0);
    g5_force(masses_first, 1, &b);
    assert_true(b.p[0] == 0 && g6_errors() == 0 && g6_warnings() == 1); /* as addresses never loaded */
    assert_int_equal(g5->set_xj(masses_first, 1, 1, x), 0);
    g5_force(masses_first, 1, &b);
    g6_near(b.p[0], 4);
    assert_int_equal(g5->set_xj(masses_first, 0, 3, x), 0);
    g5_force(masses_first, 1, &b);
    g6_near(b.p[0], 6);
    g5->set_n(positions_first, 3);
    assert_int_equal(g5->set_xj(positions_first, 0, 3, x), 0);
    g5_force(positions_first, 1, &b);
    assert_true(b.p[0] == 0 && g6_errors() == 0 && g6_warnings() == 1);
    g5->set_mj(positions_first, 0, 2, m);
    g5_force(positions_first, 1, &b);
    g6_near(b.p[0], 4);
    g5->set_mj(positions_first, 0, 3, m);
    g5_force(positions_first, 1, &b);
    g6_near(b.p[0], 6);
    assert_int_equal(g6_errors() + g6_warnings(), 0);
}

/* Strange values of a half-given particle act once the particle takes part, and not before. */
static void strange_parts(void **state)
{
    (void)state;
    vec3 x[2] = {{2, 0, 0}, {NAN, 0, 0}};
    double m[2] = {4, INFINITY};
    struct g5_batch b;
    const int id = g5_new_device();
    g5->set_n(id, 2);
    g5->set_xmj(id, 0, 1, x, m);
    assert_int_equal(g5->set_mj(id, 1, 1, m), -1);
    g5_force(id, 1, &b);
    g6_near(b.p[0], 2);
    assert_int_equal(g5->set_xj(id, 1, 1, x), -1);
    g5_force(id, 1, &b);
    g5_expect_nan(&b, 1);
    g5->set_xmj(id, 1, 1, (vec3[2]){{0}, {0, 2, 0}}, (double[2]){0, 2});
    g5_force(id, 1, &b);
    g6_near(b.p[0], 3);
    g6_errors(), g6_warnings();
}

/* Stores 0 .. 99 but 50 .. 59, then masses and positions of 5 .. 74, among which are whole words of the store. */
static void store_parts(int id, vec3 *x, double *m, vec3 *x2, double *m2)
{
    g5->set_n(id, 100);
    assert_int_equal(g5->set_xmj(id, 0, 50, x, m), 0);
    assert_int_equal(g5->set_xmj(id, 60, 40, x, m), 0);
    assert_int_equal(g5->set_mj(id, 5, 70, m2), 0);
    assert_int_equal(g5->set_xj(id, 5, 70, x2), 0);
}

/* Parts replace those of stored particles, in ranges that begin and end anywhere: same bits as both parts at once. */
static void parts_of_ranges(void **state)
{
    (void)state;
    vec3 x[100], x2[100];
    double m[100], m2[100];
    struct g5_batch b, whole;
    const int id = g5_new_device(), at_once = g5_new_device();
    for (int k = 0; k < 100; k++) {
        for (int axis = 0; axis < 3; axis++) {
            x[k][axis] = sin(3 * k + axis);
            x2[k][axis] = k < 5 || k >= 75 ? x[k][axis] : cos(7 * k + axis);
        }
        m[k] = 1 + k % 3;
        m2[k] = k < 5 || k >= 75 ? m[k] : 2 + k % 5;
    }
    store_parts(id, x, m, x2, m2);
    g5->set_n(at_once, 100);
    assert_int_equal(g5->set_xmj(at_once, 0, 100, x2, m2), 0);
    g5_force(id, 8, &b);
    g5_force(at_once, 8, &whole);
    assert_memory_equal(b.p, whole.p, sizeof b.p);
    assert_memory_equal(b.a, whole.a, sizeof b.a);
    m2[20] = NAN; /* in the middle of a word */
    assert_int_equal(g5->set_mj(id, 16, 16, m2), -1);
    assert_int_equal(g6_errors(), 1);
    g5_force(id, 1, &b);
    g5_expect_nan(&b, 1);
    m2[20] = 2;
    x2[17][1] = INFINITY;
    assert_int_equal(g5->set_mj(id, 20, 1, m2), 0);
    assert_int_equal(g5->set_xj(id, 16, 20, x2), -1);
    g5_force(id, 1, &b);
    g5_expect_nan(&b, 1);
    x2[17][1] = cos(7 * 17 + 1);
    assert_int_equal(g5->set_xj(id, 17, 1, x2), 0);
    g5_force(id, 8, &b);
    assert_memory_equal(b.p, whole.p, sizeof b.p);
    assert_memory_equal(b.a, whole.a, sizeof b.a);
    g6_errors(), g6_warnings();
}

/* What codes that loop over boards ask for, and MC calls on what plain calls have loaded (6.3). */
static void boards(void **state)
{
    (void)state;
    struct g5_batch b;
    assert_int_equal(g5_get_number_of_boards(), 1);
    assert_int_equal(g5_get_number_of_boards_(), 1);
    assert_int_equal(g5_get_firstcluster(), 0);
    assert_int_equal(g5_get_firstcluster_(), 0);
    assert_int_equal(g5_get_number_of_pipelines_per_board(), g5_get_number_of_pipelines());
    assert_int_equal(g5_get_number_of_pipelines_per_board_(), g5_get_number_of_pipelines_());
    g5_load_three(0);
    g5_set_xiMC(g5_get_firstcluster(), 1, (vec3[1]){{0, 0, 0}});
    g5_runMC(g5_get_firstcluster());
    assert_int_equal(g5_get_forceMC(g5_get_firstcluster(), 1, b.a, b.p), 0);
    assert_true(b.p[0] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        G5_BOTH(parts_of_new_particles),
        G5_BOTH(strange_parts),
        G5_BOTH(parts_of_ranges),
        G5_BOTH(boards),
    };
    return cmocka_run_group_tests_name("g5_parts", tests, NULL, NULL);
}
