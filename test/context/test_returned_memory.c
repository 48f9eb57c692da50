/*
 * test_returned_memory.c - objects that grow, and are then freed or closed, give all their memory back: the same work
 * once more takes no byte more.  Forces, lists, batches, neighbour forces, trees, steppers.  What malloc keeps for
 * itself counts as taken, so the work is repeated until that has settled.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model.h"
#include "opened.h"

enum { N = 400, MOST = 200, EQUAL = 8 };

static double x[N][3], v[N][3], mass[N], eps2[N], h2[N], dtr[N];
static double three[4][N][3], pot[N], r2[N];
static int nearest[N], count[N], address[N];

static void make_particles(void)
{
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < 3; c++) x[i][c] = sin(1 + 2.7 * i + c * (1.3 + i)), v[i][c] = 0.1 * cos(i + c);
        mass[i] = i % 3 ? 1 + 0.25 * i : 0;
        eps2[i] = 0.01 * (1 + i % 5);
        h2[i] = 0.2;
        dtr[i] = 0.1;
        address[i] = i;
    }
}

static void store(sapporo *c, int n, int soft)
{
    const sapporo_particles all = {
        .size = sizeof all, .derivative = {{x, 0}, {v, 0}}, .mass = {mass, 0}, .eps2 = {soft ? eps2 : NULL, 0}};
    assert_int_equal(sapporo_set_particles(c, 0, n, &all), SAPPORO_OK);
}

/* Forces of a context whose jobs grow, with all outputs, asked for at once or later; some jobs stay open. */
static void use_context(int order)
{
    sapporo *const c = open_order(order);
    for (int n = 40; n <= N; n *= 3) {
        store(c, n, order == 2);
        for (int k = 0; k < 6; k++) {
            sapporo_request r = {
                .size = sizeof r, .nj = n, .ni = n, .x = {x, 0}, .v = {v, 0}, .h2 = {h2, 0}, .eps2 = 0.1};
            sapporo_result to = {.size = sizeof to, .acc = three[0], .pot = pot};
            sapporo_job *job;
            const sapporo_regular ahead = {.size = sizeof ahead, .dtr = {dtr, 0}};
            int length[N], list[N];
            if (k & 1) r.eps2_i.base = eps2, r.want = SAPPORO_WANT_NEAREST | SAPPORO_WANT_LISTS;
            if (k == 4 && order == 4) r.eps2_i.base = NULL, r.pairs = SAPPORO_PAIRS_OUTSIDE, r.regular = &ahead;
            if (k != 4) to.nearest = nearest, to.nearest_r2 = r2;
            assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
            assert_int_equal(sapporo_force_end(job, n, &to), SAPPORO_OK);
            assert_true(sapporo_force_neighbour_lists(job, n, 1, 1, list, length) >= 0);
            if (k < 5) sapporo_force_free(job);
        }
    }
    assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
    sapporo_close(c);
}

/* Batches that grow, with and without counts, five of them at a time; one stays open. */
static void use_batches(void)
{
    sapporo *const c = open_order(2);
    store(c, N, 0);
    assert_int_equal(sapporo_keep_addresses(c, address, N), SAPPORO_OK);
    for (int n = 5; n <= 320; n *= 2) {
        sapporo_batch *batch[5];
        sapporo_small_force l[4];
        sapporo_result to = {.size = sizeof to, .acc = three[0], .pot = pot, .count = count};
        for (int k = 0; k < 4; k++) {
            l[k] = (sapporo_small_force){.size = sizeof *l, .ni = n, .nj = n, .x = {x, 0}, .x_j = {x, 0}, .eps2 = 1};
            l[k].mass_j.base = mass;
            l[k].h2_i.base = k == 3 ? h2 : NULL;
        }
        assert_int_equal(sapporo_force_batch(c, 1, l + 3, &to), SAPPORO_OK);
        for (int k = 0; k < 5; k++)
            assert_int_equal(sapporo_force_batch_begin(c, n > 20 ? 4 : 3, l, &batch[k]), SAPPORO_OK);
        for (int k = 0; k < (n == 320 ? 4 : 5); k++) sapporo_force_batch_free(batch[k]);
    }
    sapporo_close(c);
}

/* Few targets of so many sources that threads share the sources. */
static void use_threads(void)
{
    enum { MANY = 20000 };
    static double y[MANY][3], of_each[MANY];
    const sapporo_options o = {.size = sizeof o, .backend = SAPPORO_BACKEND_CPU, .precision = SAPPORO_DS, .threads = 3};
    const sapporo_particles all = {.size = sizeof all, .derivative = {{y, 0}}, .mass = {of_each, 0}};
    const sapporo_request r = {.size = sizeof r, .nj = MANY, .ni = 48, .x = {x, 0}, .eps2 = 0.1};
    const sapporo_result to = {.size = sizeof to, .acc = three[0], .pot = pot};
    sapporo *c;
    sapporo_job *job;
    assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
    for (int j = 0; j < MANY; j++) y[j][0] = sin(j), y[j][1] = cos(1.7 * j), of_each[j] = 1;
    assert_int_equal(sapporo_set_particles(c, 0, MANY, &all), SAPPORO_OK);
    assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, 48, &to), SAPPORO_OK);
    sapporo_close(c);
}

static void use_neighbours(void)
{
    sapporo *const c = open_order(4);
    const int *list[N];
    int length[N];
    for (int i = 0; i < N; i++) list[i] = address, length[i] = 30;
    store(c, N, 0);
    const sapporo_neighbour_request r = {
        .size = sizeof r, .ni = N, .address = address, .list = list, .length = length, .eps2 = 0.1};
    const sapporo_result to = {.size = sizeof to, .acc = three[0], .jerk = three[1], .pot = pot, .nearest = nearest};
    assert_int_equal(sapporo_neighbour_force(c, &r, &to), SAPPORO_OK);
    sapporo_close(c);
}

static void use_tree(sapporo_tree_kind kind, sapporo_softening softening)
{
    const sapporo_tree_options o = {.size = sizeof o,
                                    .kind = kind,
                                    .softening = softening,
                                    .backend = SAPPORO_BACKEND_CPU,
                                    .mac = SAPPORO_MAC_ACCELERATION,
                                    .eps2 = 0.01,
                                    .threads = 1};
    static int list[N * N];
    long long first[N + 1];
    sapporo_tree *t;
    assert_int_equal(sapporo_tree_create(&o, N, &t), SAPPORO_OK);
    for (int n = 40; n <= N; n *= 3) {
        const sapporo_tree_particles p = {.size = sizeof p, .n = n, .x = {x, 0}, .mass = {mass, 0}};
        const sapporo_tree_request r = {.size = sizeof r, .ni = n}, at = {.size = sizeof at, .ni = n, .x = {v, 0}},
                                   some = {.size = sizeof some, .ni = n / 3, .active = address};
        assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
        for (int k = 0; k < 3; k++) assert_int_equal(sapporo_tree_refresh_or_build(t, 1, NULL), SAPPORO_OK);
        assert_int_equal(sapporo_tree_force(t, &r, three[0], pot), SAPPORO_OK);
        assert_int_equal(sapporo_tree_force(t, &at, three[0], pot), SAPPORO_OK);
        assert_int_equal(sapporo_tree_force(t, &some, three[0], pot), SAPPORO_OK);
        assert_int_equal(
            sapporo_tree_neighbours(t, n, (sapporo_column){x, 0}, (sapporo_column){h2, 0}, first, N * N, list),
            SAPPORO_OK);
    }
    sapporo_tree_destroy(t);
}

static void use_stepper(sapporo_step_method method)
{
    const sapporo_field field = {.kind = SAPPORO_FIELD_POINT, .strength = 1};
    const sapporo_tree_options tree = {.size = sizeof tree,
                                       .backend = SAPPORO_BACKEND_CPU,
                                       .mac = SAPPORO_MAC_ACCELERATION,
                                       .eps2 = 0.01,
                                       .threads = 1};
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .method = method,
                                       .tree = &tree,
                                       .dt = 1.0 / 64,
                                       .rebuild = 2,
                                       .nfields = 1,
                                       .fields = &field};
    sapporo_stepper_totals t = {.size = sizeof t};
    sapporo_stepper *s;
    assert_int_equal(sapporo_stepper_create(&o, N, &s), SAPPORO_OK);
    for (int n = N; n > 100; n /= 2) {
        const sapporo_stepper_particles p = {.size = sizeof p, .n = n, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}};
        assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_OK);
        assert_int_equal(sapporo_stepper_advance(s, INFINITY, 3), SAPPORO_OK);
        assert_int_equal(sapporo_stepper_energy(s, &t), SAPPORO_OK);
    }
    sapporo_stepper_destroy(s);
}

static void use_all(int kind)
{
    if (kind < 4) use_context(2 + 2 * kind);
    if (kind == 4) use_batches();
    if (kind == 5) use_neighbours();
    if (kind == 6) use_tree(SAPPORO_TREE_OCTREE, SAPPORO_SOFTENING_PLUMMER);
    if (kind == 7) use_tree(SAPPORO_TREE_KDTREE, SAPPORO_SOFTENING_SPLINE_LARGER);
    if (kind == 8) use_stepper(SAPPORO_STEP_TREE);
    if (kind == 9) use_stepper(SAPPORO_STEP_DIRECT);
    if (kind == 10) use_threads();
}

/* Repeats the work until EQUAL turns in a row have taken no byte more; returns 0 if that does not happen. */
static int settles(int kind)
{
    size_t last = 0;
    for (int turn = 0, equal = 0; turn < MOST; turn++) {
        use_all(kind);
        const size_t now = allocated_bytes();
        equal = now <= last ? equal + 1 : 0;
        last = now;
        if (equal == EQUAL) return 1;
    }
    return 0;
}

static void returned(void **state)
{
    (void)state;
    make_particles();
    for (int kind = 0; kind < 11; kind++)
        if (!settles(kind)) fail_msg("work of kind %d takes more memory each time", kind);
}

/* Whether allocated_bytes counts: sanitizers have an allocator of their own. */
static int counts_bytes(void)
{
    enum { MEBIBYTE = 1 << 20 };
    const size_t before = allocated_bytes();
    void *const some = zeroed(MEBIBYTE, 1);
    const int counts = allocated_bytes() >= before + MEBIBYTE;
    free(some);
    return counts;
}

/* Returns the bytes that a tree of n particles has taken after a force on all of them. */
static size_t bytes_of_tree(const sapporo_tree_options *o, int n, const sapporo_tree_particles *p)
{
    const size_t before = allocated_bytes();
    const sapporo_tree_request all = {.size = sizeof all, .ni = n};
    sapporo_tree *t;
    assert_int_equal(sapporo_tree_create(o, n, &t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(t, p), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_force(t, &all, NULL, NULL), SAPPORO_OK);
    const size_t after = allocated_bytes();
    sapporo_tree_destroy(t);
    return after - before;
}

/* A tree takes at most what was told before, but for the memory of a walk, and nearly all of it. */
static void told_before(void **state)
{
    enum { MANY = 40000, WALK = 200000 };
    static double y[MANY][3], length[MANY];
    rng random;
    (void)state;
    rng_seed(&random, 5, 5);
    for (int j = 0; j < MANY; j++) {
        for (int c = 0; c < 3; c++) y[j][c] = rng_uniform(&random);
        length[j] = 0.01;
    }
    for (int k = 0; k < 4 && counts_bytes(); k++) {
        const sapporo_tree_options o = {.size = sizeof o,
                                        .backend = SAPPORO_BACKEND_CPU,
                                        .threads = 1,
                                        .kind = k % 2 ? SAPPORO_TREE_KDTREE : SAPPORO_TREE_OCTREE,
                                        .softening =
                                            k / 2 ? SAPPORO_SOFTENING_SPLINE_LARGER : SAPPORO_SOFTENING_PLUMMER,
                                        .mac = SAPPORO_MAC_ACCELERATION};
        const sapporo_tree_particles p = {
            .size = sizeof p, .n = MANY, .x = {y, 0}, .mass = {length, 0}, .h = {k / 2 ? length : NULL, 0}};
        const size_t told = sapporo_tree_memory_needed(&o, MANY, NULL), taken = bytes_of_tree(&o, MANY, &p);
        print_message("# kind %d: %zu of %zu bytes\n", k, taken, told);
        if (taken > told + WALK || taken < told - told / 64)
            fail_msg("kind %d takes %zu bytes, told %zu", k, taken, told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(returned), cmocka_unit_test(told_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
