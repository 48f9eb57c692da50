/*
 * test_outputs.c - "NaN, never stale": every call that writes anything fails in every way that its caller can cause,
 * over outputs that hold a pattern.  Afterwards no requested row holds a finite number or the pattern, and nothing else
 * was written.  This program tests forces and lists of sapporo.h, test_outputs_more.c all other calls, test_closed.c
 * calls with closed handles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opened.h"
#include "outputs.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { NI = 4, ROWS = OUTPUT_ROWS, STORED = 3 };

static double x[ROWS][3], mass[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
static const double h2[ROWS] = {9, 9, 9, 9, 9, 9, 9, 9};

/* What every result of order 4 may have. */
enum { OF_ORDER_4 = OUTPUT_ACC | OUTPUT_JERK | OUTPUT_POT | OUTPUT_NEAREST | OUTPUT_R2 };

static int make_positions(void **state)
{
    (void)state;
    for (int k = 0; k < ROWS; k++) x[k][0] = k;
    return 0;
}

/* A context of an order with particles at addresses 0 .. STORED-1. */
static sapporo *open_with_particles(int order)
{
    sapporo *const c = open_order(order);
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    assert_int_equal(sapporo_set_particles(c, 0, STORED, &all), SAPPORO_OK);
    return c;
}

static sapporo_request request_of(int ni)
{
    return (sapporo_request){
        .size = sizeof(sapporo_request), .nj = STORED, .ni = ni, .x = {x, 0}, .h2 = {h2, 0}, .eps2 = 0.25};
}

static sapporo_job *begin(sapporo *c, const sapporo_request *request)
{
    sapporo_job *job;
    assert_int_equal(sapporo_force_begin(c, request, &job), SAPPORO_OK);
    return job;
}

/* A result as a later version of the library may have it: with one more array, which this library does not know. */
struct longer_result {
    sapporo_result known;
    void *unknown;
};

/* ---- sapporo_force_begin, sapporo_force_end ---- */

static void begin_fails(void **state)
{
    sapporo *c = open_with_particles(4), *two = open_with_particles(2);
    sapporo_request bad[] = {request_of(NI), request_of(NI), request_of(NI), request_of(NI),
                             request_of(NI), request_of(NI), request_of(NI)};
    (void)state;
    bad[0].size = 0;
    bad[1].ni = -1;
    bad[2].nj = INT_MIN;
    bad[3].x.base = NULL;
    bad[4].eps2 = NAN;
    bad[5].pairs = (sapporo_pairs)77;
    const sapporo_regular by_mass = {.size = sizeof by_mass, .h2_by_mass = 1};
    bad[6].regular = &by_mass;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        sapporo_job *job;
        poison(&job, sizeof job);
        assert_true(sapporo_force_begin(c, &bad[k], &job) < 0);
        assert_null(job);
    }
    sapporo_job *job;
    poison(&job, sizeof job);
    bad[0] = request_of(NI);
    bad[0].pairs = SAPPORO_PAIRS_OUTSIDE;
    assert_int_equal(sapporo_force_begin(two, &bad[0], &job), SAPPORO_ERR_UNSUPPORTED);
    assert_null(job);
    sapporo_close(c);
    sapporo_close(two);
}

/* A way in which sapporo_force_end fails: rows and arrays asked for, of a context of some order. */
struct bad_end {
    const char *what;
    int order;
    sapporo_pairs pairs;
    int ni;
    unsigned arrays;
    int status;
};

static void end_fails(void **state)
{
    static const struct bad_end ways[] = {
        {"more rows than the force has", 4, 0, NI + 1, OF_ORDER_4, SAPPORO_ERR_ARGUMENT},
        {"far more rows", 4, 0, ROWS, OF_ORDER_4, SAPPORO_ERR_ARGUMENT},
        {"more rows, and arrays of another order", 4, 0, NI + 1, OUTPUT_ALL, SAPPORO_ERR_ARGUMENT},
        {"rows < 0", 4, 0, -1, OF_ORDER_4, SAPPORO_ERR_ARGUMENT},
        {"rows = INT_MIN", 4, 0, INT_MIN, OF_ORDER_4, SAPPORO_ERR_ARGUMENT},
        {"jerk of order 2", 2, 0, NI, OUTPUT_ACC | OUTPUT_JERK | OUTPUT_POT, SAPPORO_ERR_UNSUPPORTED},
        {"snap of order 2", 2, 0, NI, OUTPUT_ACC | OUTPUT_SNAP | OUTPUT_NEAREST, SAPPORO_ERR_UNSUPPORTED},
        {"snap of order 4", 4, 0, NI, OF_ORDER_4 | OUTPUT_SNAP, SAPPORO_ERR_UNSUPPORTED},
        {"snap of order 4, one row", 4, 0, 1, OF_ORDER_4 | OUTPUT_SNAP, SAPPORO_ERR_UNSUPPORTED},
        {"crackle of order 4", 4, 0, NI, OUTPUT_CRACKLE, SAPPORO_ERR_UNSUPPORTED},
        {"crackle of order 6", 6, 0, NI, OUTPUT_ALL, SAPPORO_ERR_UNSUPPORTED},
        {"nearest of regular forces", 4, SAPPORO_PAIRS_OUTSIDE, NI, OF_ORDER_4, SAPPORO_ERR_UNSUPPORTED},
        {"nearest_r2 of regular forces", 4, SAPPORO_PAIRS_OUTSIDE, NI, OUTPUT_R2 | OUTPUT_POT, SAPPORO_ERR_UNSUPPORTED},
    };
    (void)state;
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        const struct bad_end *const way = &ways[k];
        sapporo *c = open_with_particles(way->order);
        sapporo_request request = request_of(NI);
        struct outputs out;
        request.pairs = way->pairs;
        sapporo_job *job = begin(c, &request);
        const sapporo_result r = outputs_poisoned(&out, way->arrays);
        if (sapporo_force_end(job, way->ni, &r) != way->status) fail_msg("%s: another status", way->what);
        outputs_failed(way->what, &out, way->arrays, way->ni > 0 ? way->ni : 0);
        sapporo_close(c);
    }
}

/* Neighbours that were asked for too late, and a result that this library does not know all of. */
static void end_is_late_or_new(void **state)
{
    sapporo *c = open_with_particles(4);
    sapporo_request request = request_of(NI);
    const sapporo_particle p = {.mass = 1};
    struct outputs out;
    struct longer_result longer = {.unknown = &out};
    int n[ROWS];
    (void)state;
    sapporo_job *job = begin(c, &request);
    sapporo_result r = outputs_poisoned(&out, OUTPUT_POT);
    assert_int_equal(sapporo_force_end(job, NI, &r), SAPPORO_OK);
    assert_int_equal(sapporo_set_particle(c, 0, &p), SAPPORO_OK);
    sapporo_job *next = begin(c, &request);
    r = outputs_poisoned(&out, OF_ORDER_4);
    assert_int_equal(sapporo_force_end(job, NI, &r), SAPPORO_ERR_GONE);
    outputs_failed("nearest, too late", &out, OF_ORDER_4, NI);
    int one = 5, total = 5, list[ROWS];
    poison(list, sizeof list);
    assert_int_equal(sapporo_force_neighbours(job, 0, ROWS, &one, list, &total), SAPPORO_ERR_GONE);
    assert_true(one == 0 && total == 0 && is_poison(list, sizeof list));
    poison(n, sizeof n);
    assert_int_equal(sapporo_force_neighbour_lists(job, NI, 1, 1, list, n), SAPPORO_ERR_GONE);
    outputs_ints("lists, too late", n, NI, 0, ROWS);

    longer.known = outputs_poisoned(&out, OF_ORDER_4);
    longer.known.size = sizeof longer;
    assert_int_equal(sapporo_force_end(next, NI, &longer.known), SAPPORO_ERR_UNSUPPORTED);
    outputs_failed("a later version's result", &out, OF_ORDER_4, NI);
    r = outputs_poisoned(&out, OF_ORDER_4);
    assert_int_equal(sapporo_force_end(NULL, NI, &r), SAPPORO_ERR_ARGUMENT);
    outputs_failed("job is NULL", &out, OF_ORDER_4, NI);
    r = outputs_poisoned(&out, OF_ORDER_4);
    r.size = offsetof(sapporo_result, jerk) + 3; /* an end in the middle of an address: acc alone is there */
    assert_int_equal(sapporo_force_end(next, NI + 1, &r), SAPPORO_ERR_ARGUMENT);
    outputs_failed("a result with half an address", &out, OUTPUT_ACC, NI + 1);
    sapporo_close(c);
}

/* ---- lists ---- */

static void neighbours_fail(void **state)
{
    sapporo *c = open_with_particles(4);
    const sapporo_request request = request_of(NI);
    sapporo_job *job = begin(c, &request);
    const struct {
        sapporo_job *job;
        int i, room, with_list;
    } ways[] = {{NULL, 0, 2, 1}, {job, -1, 2, 1}, {job, NI, 2, 1}, {job, 0, 2, 0}};
    (void)state;
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        int n, total, list[ROWS];
        poison(&n, sizeof n);
        poison(&total, sizeof total);
        poison(list, sizeof list);
        assert_int_equal(
            sapporo_force_neighbours(ways[k].job, ways[k].i, ways[k].room, &n, ways[k].with_list ? list : NULL, &total),
            SAPPORO_ERR_ARGUMENT);
        assert_true(n == 0 && total == 0 && is_poison(list, sizeof list));
        poison(&total, sizeof total);
        assert_int_equal(sapporo_force_neighbours(ways[k].job, ways[k].i, ways[k].room, NULL, list, &total),
                         SAPPORO_ERR_ARGUMENT);
        assert_int_equal(total, 0);
    }
    sapporo_close(c);
}

static void all_neighbours_fail(void **state)
{
    sapporo *c = open_with_particles(4);
    const sapporo_request request = request_of(NI);
    sapporo_job *job = begin(c, &request);
    const struct {
        const char *what;
        sapporo_job *job;
        int ni, room;
        ptrdiff_t pitch;
        int with_list;
    } ways[] = {{"job is NULL", NULL, NI, 2, 2, 1},       {"ni < 0", job, -1, 2, 2, 1},
                {"more than the force", job, 6, 1, 1, 1}, {"room < 0", job, NI, -1, 2, 1},
                {"pitch < room", job, NI, 2, 1, 1},       {"list is NULL", job, NI, 2, 2, 0}};
    (void)state;
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        int n[ROWS], list[2 * ROWS];
        poison(n, sizeof n);
        poison(list, sizeof list);
        assert_int_equal(sapporo_force_neighbour_lists(ways[k].job, ways[k].ni, ways[k].room, ways[k].pitch,
                                                       ways[k].with_list ? list : NULL, n),
                         SAPPORO_ERR_ARGUMENT);
        outputs_ints(ways[k].what, n, ways[k].ni > 0 ? ways[k].ni : 0, 0, ROWS);
        assert_true(is_poison(list, sizeof list));
    }
    sapporo_close(c);
}

/* ---- neighbour forces ---- */

static const int members[2] = {1, 2}, addresses[NI] = {0, 1, 2, 0}, lengths[NI] = {2, 1, 0, 2};
static const int *const lists[NI] = {members, members, NULL, members};
static const int *const no_lists[NI] = {members, NULL, NULL, members};

static sapporo_neighbour_request neighbour_of(void)
{
    return (sapporo_neighbour_request){.size = sizeof(sapporo_neighbour_request),
                                       .ni = NI,
                                       .address = addresses,
                                       .list = lists,
                                       .length = lengths,
                                       .eps2 = 0.5};
}

struct longer_neighbour {
    sapporo_neighbour_request known;
    void *unknown;
};

static void refuse_neighbour(const char *what, sapporo *c, const sapporo_neighbour_request *l, unsigned arrays,
                             int status)
{
    struct outputs out;
    const sapporo_result r = outputs_poisoned(&out, arrays);
    if (sapporo_neighbour_force(c, l, &r) != status) fail_msg("%s: another status", what);
    outputs_failed(what, &out, arrays, l && l->ni > 0 ? l->ni : 0);
}

static void neighbour_fails(void **state)
{
    sapporo *c = open_with_particles(4), *two = open_with_particles(2), *soft = open_with_particles(4);
    const sapporo_particle p = {.mass = 1, .eps2 = 0.5};
    sapporo_neighbour_request bad[5];
    struct outputs out;
    (void)state;
    assert_int_equal(sapporo_set_particle(soft, 0, &p), SAPPORO_OK);
    for (int k = 0; k < 5; k++) bad[k] = neighbour_of();
    bad[0].address = NULL;
    bad[1].list = NULL;
    bad[2].length = NULL;
    bad[3].eps2 = NAN;
    bad[4].list = no_lists;
    for (int k = 0; k < 5; k++) refuse_neighbour("lists with a fault", c, &bad[k], OF_ORDER_4, SAPPORO_ERR_ARGUMENT);
    bad[0] = neighbour_of();
    refuse_neighbour("snap", c, &bad[0], OF_ORDER_4 | OUTPUT_SNAP, SAPPORO_ERR_UNSUPPORTED);
    refuse_neighbour("crackle", c, &bad[0], OUTPUT_POT | OUTPUT_CRACKLE, SAPPORO_ERR_UNSUPPORTED);
    refuse_neighbour("all", c, &bad[0], OUTPUT_ALL, SAPPORO_ERR_UNSUPPORTED);
    refuse_neighbour("a context of order 2", two, &bad[0], OF_ORDER_4, SAPPORO_ERR_UNSUPPORTED);
    refuse_neighbour("a context with softening", soft, &bad[0], OF_ORDER_4, SAPPORO_ERR_UNSUPPORTED);
    refuse_neighbour("context is NULL", NULL, &bad[0], OF_ORDER_4, SAPPORO_ERR_CLOSED);
    struct longer_neighbour longer = {.known = neighbour_of(), .unknown = &out};
    longer.known.size = sizeof longer;
    refuse_neighbour("a later version's lists", c, &longer.known, OF_ORDER_4, SAPPORO_ERR_UNSUPPORTED);
    bad[0].ni = -3;
    refuse_neighbour("ni < 0", c, &bad[0], OF_ORDER_4, SAPPORO_ERR_ARGUMENT);
    refuse_neighbour("no lists", c, NULL, OF_ORDER_4, SAPPORO_ERR_ARGUMENT);
    struct longer_result more = {.known = outputs_poisoned(&out, OF_ORDER_4), .unknown = &out};
    more.known.size = sizeof more;
    bad[0] = neighbour_of();
    assert_int_equal(sapporo_neighbour_force(c, &bad[0], &more.known), SAPPORO_ERR_UNSUPPORTED);
    outputs_failed("a later version's result", &out, OF_ORDER_4, NI);
    sapporo_close(c);
    sapporo_close(two);
    sapporo_close(soft);
}

/* ---- many small forces ---- */

enum { LISTS = 3 };

struct many {
    sapporo_small_force list[LISTS];
    sapporo_result result[LISTS];
    struct outputs out[LISTS];
};

static void make_many(struct many *m, unsigned arrays)
{
    for (int k = 0; k < LISTS; k++) {
        m->list[k] = (sapporo_small_force){.size = sizeof m->list[k],
                                           .ni = k + 1,
                                           .nj = 2,
                                           .x = {x, 0},
                                           .x_j = {x[3], 0},
                                           .mass_j = {mass, 0},
                                           .eps2 = 0.5};
        m->result[k] = outputs_poisoned(&m->out[k], arrays);
    }
}

static void many_failed(const char *what, const struct many *m, unsigned arrays)
{
    for (int k = 0; k < LISTS; k++) outputs_failed(what, &m->out[k], arrays, m->list[k].ni > 0 ? m->list[k].ni : 0);
}

static void batch_of_too_much(void **state)
{
    static const unsigned more[] = {OUTPUT_JERK, OUTPUT_NEAREST, OUTPUT_R2, OUTPUT_SNAP, OUTPUT_CRACKLE};
    sapporo *c = open_with_particles(2), *four = open_with_particles(4);
    struct many m;
    (void)state;
    for (size_t k = 0; k < sizeof more / sizeof more[0]; k++) {
        make_many(&m, OUTPUT_ACC | OUTPUT_POT | more[k]);
        assert_int_equal(sapporo_force_batch(c, LISTS, m.list, m.result), SAPPORO_ERR_UNSUPPORTED);
        many_failed("more than acc and pot", &m, OUTPUT_ACC | OUTPUT_POT | more[k]);
    }
    make_many(&m, OUTPUT_ALL);
    assert_int_equal(sapporo_force_batch(c, LISTS, m.list, m.result), SAPPORO_ERR_UNSUPPORTED);
    many_failed("all arrays", &m, OUTPUT_ALL);
    make_many(&m, OUTPUT_ACC | OUTPUT_POT);
    m.result[1].snap = m.out[1].snap; /* of one list alone */
    assert_int_equal(sapporo_force_batch(c, LISTS, m.list, m.result), SAPPORO_ERR_UNSUPPORTED);
    outputs_failed("first list", &m.out[0], OUTPUT_ACC | OUTPUT_POT, 1);
    outputs_failed("list with snap", &m.out[1], OUTPUT_ACC | OUTPUT_POT | OUTPUT_SNAP, 2);
    outputs_failed("last list", &m.out[2], OUTPUT_ACC | OUTPUT_POT, 3);
    make_many(&m, OUTPUT_ACC | OUTPUT_POT);
    assert_int_equal(sapporo_force_batch(four, LISTS, m.list, m.result), SAPPORO_ERR_UNSUPPORTED);
    many_failed("a context of order 4", &m, OUTPUT_ACC | OUTPUT_POT);
    make_many(&m, OUTPUT_ALL);
    assert_int_equal(sapporo_force_batch(NULL, LISTS, m.list, m.result), SAPPORO_ERR_CLOSED);
    many_failed("context is NULL", &m, OUTPUT_ALL);
    sapporo_close(c);
    sapporo_close(four);
}

static void batch_with_a_fault(void **state)
{
    static const double negative[ROWS] = {-1, -1};
    static const int with_empty[2] = {0, STORED};
    sapporo *c = open_with_particles(2);
    struct many m;
    (void)state;
    for (int way = 0; way < 10; way++) {
        make_many(&m, OUTPUT_ACC | OUTPUT_POT);
        sapporo_small_force *const l = &m.list[way % LISTS];
        if (way == 0) l->ni = -1;
        if (way == 1) l->nj = -1;
        if (way == 2) l->x.base = NULL;
        if (way == 3) l->x_j.base = NULL;
        if (way == 4) l->eps2 = -1;
        if (way == 5) l->eps2 = INFINITY;
        if (way == 6) l->eps2_i.base = negative;
        if (way == 7) l->eps2_j.base = negative;
        if (way == 8) l->address = with_empty;
        if (way == 9) m.result[0].size = sizeof(size_t) + 2 * sizeof(void *); /* acc and jerk alone */
        if (way == 9)
            for (int k = 1; k < LISTS; k++) m.list[k].ni = 0; /* where else results are is not known */
        assert_int_equal(sapporo_force_batch(c, LISTS, m.list, m.result), SAPPORO_ERR_ARGUMENT);
        many_failed("a list with a fault", &m, way == 9 ? OUTPUT_ACC : OUTPUT_ACC | OUTPUT_POT);
    }
    make_many(&m, OUTPUT_ACC);
    assert_int_equal(sapporo_force_batch(c, -1, m.list, m.result), SAPPORO_ERR_ARGUMENT);
    for (int k = 0; k < LISTS; k++) outputs_failed("nlists < 0", &m.out[k], OUTPUT_ACC, 0);
    sapporo_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begin_fails),         cmocka_unit_test(end_fails),
        cmocka_unit_test(end_is_late_or_new),  cmocka_unit_test(neighbours_fail),
        cmocka_unit_test(all_neighbours_fail), cmocka_unit_test(neighbour_fails),
        cmocka_unit_test(batch_of_too_much),   cmocka_unit_test(batch_with_a_fault),
    };
    return cmocka_run_group_tests(tests, make_positions, NULL);
}
