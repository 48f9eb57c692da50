/*
 * test_closed.c - handles of closed objects: every call of sapporo.h and sapporo_tree.h that takes a handle reports
 * that it is closed, with outputs of a failed call, even if another object was opened since in the same memory.
 * test_closed_threads.c tests several threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/handle.h"
#include "context/context_private.h"
#include "opened.h"
#include "outputs.h"

#include <math.h>
#include <string.h>

enum { NI = 4, ROWS = OUTPUT_ROWS };

static const double x[NI][3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, mass[NI] = {1, 1, 1, 1};
static const double h2[NI] = {9, 9, 9, 9};

static const sapporo_particle particle = {.derivative = {{1, 2, 3}, {1, 0, 0}}, .mass = 4, .index = 7};

static const sapporo_request request = {.size = sizeof request, .nj = 2, .ni = NI, .x = {x, 0}, .h2 = {h2, 0}};

static sapporo_job *begin(sapporo *c)
{
    sapporo_job *job;
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    return job;
}

/* ---- every call on a handle that is closed ---- */

static void stores_are_closed(sapporo *c)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}};
    const int address[1] = {0};
    sapporo_particle p;
    assert_int_equal(sapporo_set_particle(c, 0, &particle), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_set_particle(c, 0, NULL), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_set_particles(c, 0, NI, &all), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_clear_particles(c), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_set_time(c, 5), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_keep_addresses(c, address, 1), SAPPORO_ERR_CLOSED);
    poison(&p, sizeof p);
    assert_int_equal(sapporo_get_particle(c, 0, 1, &p), SAPPORO_ERR_CLOSED);
    outputs_no_particle("a closed context", &p);
}

static void queries_are_closed(sapporo *c)
{
    size_t bytes = 7;
    assert_string_equal(sapporo_last_error(c), sapporo_status_text(SAPPORO_ERR_CLOSED));
    sapporo_clear_error(c);
    assert_string_equal(sapporo_last_error(c), sapporo_status_text(SAPPORO_ERR_CLOSED));
    assert_string_equal(sapporo_kind(c), "");
    assert_int_equal(sapporo_get_backend(c), SAPPORO_BACKEND_AUTO);
    assert_int_equal(sapporo_get_precision(c), SAPPORO_PRECISION_DEFAULT);
    assert_int_equal(sapporo_get_threads(c), 0);
    assert_int_equal(sapporo_memory_needed(c, 1000, &bytes), 0);
    assert_int_equal(bytes, 0);
}

static void forces_are_closed(sapporo *c)
{
    static const int member[1] = {1}, address[NI] = {0, 1, 2, 3}, length[NI] = {1, 1, 1, 1};
    static const int *const list[NI] = {member, member, member, member};
    const sapporo_neighbour_request neighbours = {
        .size = sizeof neighbours, .ni = NI, .address = address, .list = list, .length = length, .eps2 = 1};
    const sapporo_small_force small = {.size = sizeof small, .ni = NI, .nj = NI, .x = {x, 0}, .x_j = {x, 0}, .eps2 = 1};
    struct outputs out;
    sapporo_job *job;
    poison(&job, sizeof job);
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_ERR_CLOSED);
    assert_null(job);
    sapporo_result r = outputs_poisoned(&out, OUTPUT_ALL);
    assert_int_equal(sapporo_neighbour_force(c, &neighbours, &r), SAPPORO_ERR_CLOSED);
    outputs_failed("sapporo_neighbour_force, closed", &out, OUTPUT_ALL, NI);
    r = outputs_poisoned(&out, OUTPUT_ALL);
    assert_int_equal(sapporo_force_batch(c, 1, &small, &r), SAPPORO_ERR_CLOSED);
    outputs_failed("sapporo_force_batch, closed", &out, OUTPUT_ALL, NI);
    static const int ni[1] = {NI};
    sapporo_batch *batch;
    poison(&batch, sizeof batch);
    assert_int_equal(sapporo_force_batch_begin(c, 1, &small, &batch), SAPPORO_ERR_CLOSED);
    assert_null(batch);
    r = outputs_poisoned(&out, OUTPUT_ALL);
    assert_int_equal(sapporo_force_batch_end((sapporo_batch *)c, 1, ni, &r), SAPPORO_ERR_CLOSED);
    outputs_failed("sapporo_force_batch_end, closed", &out, OUTPUT_ALL, NI);
    assert_int_equal(sapporo_force_batch_done((sapporo_batch *)c), 1);
    sapporo_force_batch_free((sapporo_batch *)c);
}

static void context_is_closed(sapporo *c)
{
    stores_are_closed(c);
    queries_are_closed(c);
    forces_are_closed(c);
    sapporo_close(c);
    assert_null(sap_context_of(c));
}

static void job_is_closed(sapporo_job *job)
{
    struct outputs out;
    int n = 5, total = 5, list[ROWS], lengths[ROWS];
    const sapporo_result r = outputs_poisoned(&out, OUTPUT_ALL);
    assert_int_equal(sapporo_force_done(job), 1);
    assert_int_equal(sapporo_force_end(job, NI, &r), SAPPORO_ERR_CLOSED);
    outputs_failed("sapporo_force_end, closed", &out, OUTPUT_ALL, NI);
    poison(list, sizeof list);
    poison(lengths, sizeof lengths);
    assert_int_equal(sapporo_force_neighbours(job, 0, ROWS, &n, list, &total), SAPPORO_ERR_CLOSED);
    assert_true(n == 0 && total == 0 && is_poison(list, sizeof list));
    assert_int_equal(sapporo_force_neighbour_lists(job, NI, 2, 2, list, lengths), SAPPORO_ERR_CLOSED);
    outputs_ints("sapporo_force_neighbour_lists, closed", lengths, NI, 0, ROWS);
    assert_true(is_poison(list, sizeof list));
    sapporo_force_free(job);
}

static void tree_is_closed(sapporo_tree *tree)
{
    const sapporo_tree_particles p = {.size = sizeof p, .n = NI, .x = {x, 0}, .mass = {mass, 0}};
    const sapporo_tree_request all = {.size = sizeof all, .ni = NI};
    sapporo_tree_statistics s;
    struct outputs out;
    long long first[NI + 1];
    double tidal[NI][6];
    int list[ROWS];
    assert_int_equal(sapporo_tree_set(tree, &p), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_tree_build(tree), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_tree_refresh(tree), SAPPORO_ERR_CLOSED);
    (void)outputs_poisoned(&out, 0);
    assert_int_equal(sapporo_tree_force(tree, &all, out.acc, out.pot), SAPPORO_ERR_CLOSED);
    outputs_failed("sapporo_tree_force, closed", &out, OUTPUT_ACC | OUTPUT_POT, NI);
    poison(first, sizeof first);
    poison(list, sizeof list);
    assert_int_equal(
        sapporo_tree_neighbours(tree, NI, (sapporo_column){x, 0}, (sapporo_column){h2, 0}, first, ROWS, list),
        SAPPORO_ERR_CLOSED);
    for (int k = 0; k <= NI; k++) assert_int_equal(first[k], 0);
    assert_true(is_poison(list, sizeof list));
    poison(first, sizeof first);
    assert_int_equal(sapporo_tree_within(tree, &all, (sapporo_column){h2, 0}, first, ROWS, list), SAPPORO_ERR_CLOSED);
    for (int k = 0; k <= NI; k++) assert_int_equal(first[k], 0);
    assert_true(is_poison(list, sizeof list));
    assert_int_equal(sapporo_tree_nearest(tree, &all, 1, list, out.pot), SAPPORO_ERR_CLOSED);
    for (int k = 0; k < NI; k++) assert_true(list[k] == -1 && isnan(out.pot[k]));
    poison(tidal, sizeof tidal);
    assert_int_equal(sapporo_tree_tidal(tree, &all, tidal), SAPPORO_ERR_CLOSED);
    for (int k = 0; k < NI; k++) assert_true(isnan(tidal[k][0]) && isnan(tidal[k][5]));
    poison(&s, sizeof s);
    s.size = sizeof s;
    assert_int_equal(sapporo_tree_get_statistics(tree, &s), SAPPORO_ERR_CLOSED);
    assert_true(s.n == 0 && s.cells == 0 && isnan(s.seconds[0]) && isnan(s.seconds[SAPPORO_PHASES - 1]));
    assert_string_equal(sapporo_tree_last_error(tree), sapporo_status_text(SAPPORO_ERR_CLOSED));
    assert_string_equal(sapporo_tree_kind_text(tree), "");
    assert_int_equal(sapporo_tree_get_backend(tree), SAPPORO_BACKEND_AUTO);
    sapporo_tree_destroy(tree);
}

/* ---- contexts ---- */

static void contexts(void **state)
{
    static const int orders[] = {2, 4, 6, 8};
    (void)state;
    for (int k = 0; k < 4; k++) {
        sapporo *const c = open_order(orders[k]);
        const void *const inside = sap_context_of(c);
        assert_int_equal(sapporo_set_particle(c, 0, &particle), SAPPORO_OK);
        sapporo_close(c);
        context_is_closed(c);
        sapporo *const since = open_order(orders[3 - k]);
        assert_ptr_equal(sap_context_of(since), inside); /* in the same memory */
        assert_ptr_not_equal(since, c);
        context_is_closed(c);
        is_untouched(since);
        context_is_closed(c);
        sapporo_close(since);
        context_is_closed(since);
        context_is_closed(c);
    }
}

/* Handles of hundreds of contexts, all closed, while others are open. */
static void many_contexts(void **state)
{
    enum { N = 300 };
    static sapporo *old[N], *now[3];
    (void)state;
    for (int k = 0; k < 3; k++) now[k] = open_order(4);
    for (int k = 0; k < N; k++) {
        old[k] = open_order(4);
        sapporo_close(k % 2 ? old[k] : now[k % 3]); /* either the new one or one of those that have been there */
        if (k % 2 == 0) {
            sapporo *const closed = now[k % 3];
            now[k % 3] = old[k];
            old[k] = closed;
        }
    }
    for (int k = 0; k < N; k++) context_is_closed(old[k]);
    for (int k = 0; k < 3; k++) is_untouched(now[k]);
    for (int k = 0; k < 3; k++) sapporo_close(now[k]);
}

/* ---- forces ---- */

static void free_jobs(void **state)
{
    struct outputs out;
    (void)state;
    sapporo *const c = open_order(4);
    assert_int_equal(sapporo_set_particle(c, 0, &particle), SAPPORO_OK);
    sapporo_job *const old = begin(c);
    const void *const inside = sap_handle_find(SAP_HANDLE_JOB, old);
    assert_non_null(inside);
    sapporo_force_free(old);
    job_is_closed(old);
    sapporo_job *const since = begin(c);
    assert_ptr_equal(sap_handle_find(SAP_HANDLE_JOB, since), inside);
    job_is_closed(old); /* and frees it once more, which does not concern the other */
    const sapporo_result r = outputs_poisoned(&out, OUTPUT_ACC | OUTPUT_JERK | OUTPUT_POT);
    assert_int_equal(sapporo_force_end(since, NI, &r), SAPPORO_OK);
    for (int i = 0; i < NI; i++) assert_true(isfinite(out.acc[i][0]) && out.pot[i] < 0);
    sapporo_close(c);
    job_is_closed(since);
    job_is_closed(old);
}

/* Jobs that were alive when their context was closed, and whose memory serves another context. */
static void jobs_of_closed_contexts(void **state)
{
    enum { JOBS = 10 };
    sapporo_job *old[JOBS], *now[JOBS];
    (void)state;
    sapporo *const c = open_order(4);
    for (int k = 0; k < JOBS; k++) old[k] = begin(c);
    sapporo_close(c);
    for (int k = 0; k < JOBS; k++) job_is_closed(old[k]);
    sapporo *const one = open_order(2), *const other = open_order(6);
    for (int k = 0; k < JOBS; k++) now[k] = begin(k % 2 ? one : other);
    for (int k = 0; k < JOBS; k++) job_is_closed(old[k]);
    for (int k = 0; k < JOBS; k++) {
        double pot[NI];
        const sapporo_result r = {.size = sizeof r, .pot = pot};
        assert_int_equal(sapporo_force_end(now[k], NI, &r), SAPPORO_OK);
    }
    sapporo_close(one);
    for (int k = 0; k < JOBS; k++)
        if (k % 2) job_is_closed(now[k]);
    sapporo_close(other);
    for (int k = 0; k < JOBS; k++) job_is_closed(now[k]);
}

/* ---- trees ---- */

static void trees(void **state)
{
    const sapporo_tree_request all = {.size = sizeof all, .ni = NI};
    double pot[NI];
    (void)state;
    sapporo_tree *const old = open_tree();
    const void *const inside = sap_handle_find(SAP_HANDLE_TREE, old);
    sapporo_tree_destroy(old);
    tree_is_closed(old);
    sapporo_tree *const since = open_tree();
    assert_ptr_equal(sap_handle_find(SAP_HANDLE_TREE, since), inside);
    tree_is_closed(old);
    assert_int_equal(sapporo_tree_force(since, &all, NULL, pot), SAPPORO_OK);
    assert_true(pot[0] < 0);
    assert_string_equal(sapporo_tree_last_error(since), "");
    sapporo_tree_destroy(since);
    tree_is_closed(since);
    tree_is_closed(old);
}

/* ---- what is no handle ---- */

/* Handles of another kind, and values that never were handles. */
static void no_handles(void **state)
{
    static const uintptr_t odd[] = {1, 2, 3, 4, 5, 4096, 0x42424242, UINTPTR_MAX, UINTPTR_MAX - 1, UINTPTR_MAX - 2};
    int something = 0;
    (void)state;
    sapporo *const c = open_order(4);
    sapporo_job *const job = begin(c);
    sapporo_tree *const tree = open_tree();
    context_is_closed((sapporo *)(void *)job);
    context_is_closed((sapporo *)(void *)tree);
    context_is_closed((sapporo *)(void *)&something);
    job_is_closed((sapporo_job *)(void *)c);
    job_is_closed((sapporo_job *)(void *)tree);
    tree_is_closed((sapporo_tree *)(void *)c);
    tree_is_closed((sapporo_tree *)(void *)job);
    for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++) {
        context_is_closed((sapporo *)odd[k]);
        job_is_closed((sapporo_job *)odd[k]);
        tree_is_closed((sapporo_tree *)odd[k]);
    }
    is_untouched(c);
    sapporo_tree_destroy(tree);
    sapporo_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts),  cmocka_unit_test(many_contexts),
        cmocka_unit_test(free_jobs), cmocka_unit_test(jobs_of_closed_contexts),
        cmocka_unit_test(trees),     cmocka_unit_test(no_handles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
