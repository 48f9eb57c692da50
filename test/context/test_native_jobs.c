/*
 * test_native_jobs.c - the life of forces: what they copy, which particles they see, in which order they may end, which
 * results can still be read and when, invalid i-particles, many contexts one after the other.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/context_private.h"
#include "model.h"
#include "runs.h"
#include "seconds.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 3000, NI = 100, BOTH = OUT_NEAREST | OUT_LISTS };

/* A model, and the answers of a context that was asked for everything at once. */
static struct problem problem;
static struct answer *expected;
static const struct engine *const engine = &engines[4]; /* sse2 ds; replaced where it is not to be used */

static const struct engine *usable(void) { return engine_usable(engine) ? engine : engine_any(); }

static int make(void **state)
{
    const struct ask ask = {BOTH, BOTH, 0};
    (void)state;
    problem_new(&problem, N, NI);
    model_plummer(problem.body, N, 20);
    problem.nj = N;
    problem.eps2 = 1e-4;
    for (int i = 0; i < NI; i++) {
        struct target *t = &problem.target[i];
        memcpy(t->x, problem.body[i * 3].derivative[0], sizeof t->x);
        memcpy(t->v, problem.body[i * 3].derivative[1], sizeof t->v);
        t->index = problem.body[i * 3].index;
        t->h2 = i % 4 ? 0.1 : 0;
    }
    sapporo *c = engine_open(usable(), 1);
    problem_load(c, &problem);
    expected = problem_solve(c, &problem, &ask);
    sapporo_close(c);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    answers_free(expected, NI);
    problem_free(&problem);
    return 0;
}

static sapporo *open_loaded(void)
{
    sapporo *c = engine_open(usable(), 2);
    problem_load(c, &problem);
    return c;
}

static sapporo_job *begin(sapporo *c, int from, int n, unsigned want)
{
    sapporo_request request = problem_request(&problem, from, n);
    sapporo_job *job = NULL;
    request.want |= want;
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    assert_non_null(job);
    return job;
}

/* Collects a force and checks it against what it should be, with the outputs named. */
static void check_end(sapporo_job *job, int from, int n, unsigned outputs)
{
    double acc[NI][3], jerk[NI][3], pot[NI], r2[NI] = {0};
    int nearest[NI] = {0};
    sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot};
    if (outputs & OUT_NEAREST) result.nearest = nearest, result.nearest_r2 = r2;
    assert_int_equal(sapporo_force_end(job, n, &result), SAPPORO_OK);
    for (int i = 0; i < n; i++) {
        struct answer a = {.pot = pot[i]};
        memcpy(a.acc, acc[i], sizeof a.acc);
        memcpy(a.jerk, jerk[i], sizeof a.jerk);
        if (outputs & OUT_NEAREST) a.nearest = nearest[i], a.nearest_r2 = r2[i];
        if (outputs & OUT_LISTS) answer_take_list(&a, job, i);
        answers_same("job", &a, &expected[from + i], 1, outputs);
        free(a.list);
    }
}

/* Everybody is replaced by somebody heavy near the origin. */
static void replace_all(sapporo *c, int n)
{
    for (int k = 0; k < n; k++) {
        const sapporo_particle p = {.derivative = {{1e-3 * k, 1e-4 * k, 0.01}}, .mass = 50, .index = -5 - k};
        assert_int_equal(sapporo_set_particle(c, k, &p), SAPPORO_OK);
    }
}

/* --------------------------------------------------------------------- requests */

static void bad_requests(void **state)
{
    const sapporo_request good = problem_request(&problem, 0, 5);
    sapporo_request r;
    (void)state;
    sapporo *c = open_loaded();
    assert_int_equal(sapporo_force_begin(c, &good, NULL), SAPPORO_ERR_ARGUMENT);
#define REFUSED(...)                                                                                                   \
    do {                                                                                                               \
        sapporo_job *job = (sapporo_job *)&r;                                                                          \
        r = good;                                                                                                      \
        __VA_ARGS__;                                                                                                   \
        sapporo_clear_error(c);                                                                                        \
        assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_ERR_ARGUMENT);                                      \
        assert_null(job);                                                                                              \
        assert_true(sapporo_last_error(c)[0] != 0);                                                                    \
        job = begin(c, 0, 5, 0); /* the next one is not impressed */                                                   \
        check_end(job, 0, 5, 0);                                                                                       \
        sapporo_force_free(job);                                                                                       \
    } while (0)
    REFUSED(r.size = 0);
    REFUSED(r.size = 8);
    REFUSED(r.nj = -1);
    REFUSED(r.nj = INT_MIN);
    REFUSED(r.ni = -1);
    REFUSED(r.x.base = NULL);
    REFUSED(r.eps2 = -1e-300);
    REFUSED(r.eps2 = NAN);
    REFUSED(r.eps2 = INFINITY);
    sapporo_job *job = (sapporo_job *)&r;
    assert_int_equal(sapporo_force_begin(c, NULL, &job), SAPPORO_ERR_ARGUMENT);
    assert_null(job);
    sapporo_close(c);
}

static void bad_ends(void **state)
{
    double pot[NI];
    int n = 9, total = 9, list[4], lengths[6] = {9, 9, 9, 9, 9, 9};
    (void)state;
    sapporo *c = open_loaded();
    sapporo_job *job = begin(c, 0, 5, BOTH);
    sapporo_result r = {.size = sizeof r, .pot = pot};
    for (int k = 0; k < NI; k++) pot[k] = 7;
    assert_int_equal(sapporo_force_end(job, 5, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_end(job, 6, &r), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_end(job, -1, &r), SAPPORO_ERR_ARGUMENT);
    r.size = 0;
    assert_int_equal(sapporo_force_end(job, 5, &r), SAPPORO_ERR_ARGUMENT);
    for (int k = 0; k < 6; k++) assert_true(isnan(pot[k])); /* as many rows as were asked for */
    assert_true(pot[6] == 7);
    assert_int_equal(sapporo_force_neighbours(job, -1, 4, &n, list, &total), SAPPORO_ERR_ARGUMENT);
    assert_true(n == 0 && total == 0);
    assert_int_equal(sapporo_force_neighbours(job, 5, 4, &n, list, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_neighbour_lists(job, -1, 4, 4, list, &n), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_neighbour_lists(job, 6, 4, 4, list, lengths), SAPPORO_ERR_ARGUMENT);
    for (int k = 0; k < 6; k++) assert_int_equal(lengths[k], 0);
    assert_int_equal(sapporo_force_neighbour_lists(job, 1, 4, 3, list, &n), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_neighbour_lists(job, 1, 4, 4, list, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_neighbour_lists(job, 0, 0, 0, NULL, NULL), SAPPORO_OK);
    assert_int_equal(sapporo_force_neighbours(job, 1, 4, NULL, list, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_neighbours(job, 1, 4, &n, NULL, NULL), SAPPORO_ERR_ARGUMENT);
    check_end(job, 0, 5, BOTH);
    sapporo_close(c);
}

/* Fewer rows than computed, no rows, each output alone, an older and shorter struct: nothing else is written. */
static void parts_of_results(void **state)
{
    double acc[NI][3], pot[NI], r2[NI];
    int nearest[NI];
    (void)state;
    sapporo *c = open_loaded();
    sapporo_job *job = begin(c, 0, 10, 0);
    for (int k = 0; k < NI; k++) acc[k][0] = pot[k] = r2[k] = 7, nearest[k] = 7;
    sapporo_result r = {.size = sizeof r, .acc = acc};
    while (!sapporo_force_done(job)) (void)sched_yield();
    assert_int_equal(sapporo_force_end(job, 0, &r), SAPPORO_OK);
    assert_true(acc[0][0] == 7);
    assert_int_equal(sapporo_force_end(job, 4, &r), SAPPORO_OK);
    assert_true(acc[3][0] == expected[3].acc[0] && acc[4][0] == 7);
    r = (sapporo_result){.size = sizeof r, .nearest_r2 = r2};
    assert_int_equal(sapporo_force_end(job, 10, &r), SAPPORO_OK);
    assert_true(r2[9] == expected[9].nearest_r2 && pot[0] == 7);
    r = (sapporo_result){.size = offsetof(sapporo_result, nearest), .pot = pot, .nearest = nearest};
    assert_int_equal(sapporo_force_end(job, 10, &r), SAPPORO_OK);
    assert_true(pot[9] == expected[9].pot && nearest[0] == 7);
    r = (sapporo_result){.size = sizeof r};
    assert_int_equal(sapporo_force_end(job, 10, &r), SAPPORO_OK);
    check_end(job, 0, 10, BOTH);
    sapporo_close(c);
}

static void empty_forces(void **state)
{
    double acc[2][3] = {{7, 7, 7}, {7, 7, 7}}, pot[2] = {7, 7}, r2[2] = {7, 7};
    int nearest[2] = {7, 7}, n = 7;
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot, .nearest = nearest, .nearest_r2 = r2};
    (void)state;
    sapporo *c = open_loaded();
    sapporo_job *job = begin(c, 0, 0, BOTH);
    assert_int_equal(sapporo_force_end(job, 0, &result), SAPPORO_OK);
    assert_true(pot[0] == 7);
    assert_int_equal(sapporo_force_neighbours(job, 0, 0, &n, NULL, NULL), SAPPORO_ERR_ARGUMENT);
    sapporo_force_free(job);
    problem.nj = 0;
    job = begin(c, 0, 2, BOTH);
    problem.nj = N;
    assert_int_equal(sapporo_force_end(job, 2, &result), SAPPORO_OK);
    for (int i = 0; i < 2; i++) {
        assert_true(acc[i][0] == 0 && acc[i][1] == 0 && acc[i][2] == 0 && pot[i] == 0);
        assert_int_equal(nearest[i], -1);
        assert_true(r2[i] == INFINITY);
        assert_int_equal(sapporo_force_neighbours(job, i, 0, &n, NULL, NULL), SAPPORO_OK);
        assert_int_equal(n, 0);
    }
    sapporo_close(c);
}

/* Rows that are not finite are NaN, the others are exact; the next force knows nothing of it. */
static void bad_targets(void **state)
{
    double acc[NI][3], jerk[NI][3], pot[NI];
    int nearest[NI], n = 7;
    struct target kept[2];
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest};
    (void)state;
    sapporo *c = open_loaded();
    for (int ni = 10; ni <= NI; ni += 90) {
        memcpy(kept, problem.target + 1, sizeof kept);
        problem.target[1].x[2] = NAN;
        problem.target[2].v[0] = -INFINITY;
        sapporo_job *job = begin(c, 0, ni, BOTH);
        memcpy(problem.target + 1, kept, sizeof kept);
        assert_int_equal(sapporo_force_end(job, ni, &result), SAPPORO_PARTIAL);
        for (int i = 0; i < ni; i++)
            if (i == 1 || i == 2) {
                assert_true(isnan(acc[i][0]) && isnan(acc[i][2]) && isnan(jerk[i][1]) && isnan(pot[i]));
                assert_int_equal(nearest[i], -1);
                assert_int_equal(sapporo_force_neighbours(job, i, 0, &n, NULL, NULL), SAPPORO_OK);
                assert_int_equal(n, 0);
            } else {
                assert_memory_equal(acc[i], expected[i].acc, sizeof acc[i]);
                assert_memory_equal(jerk[i], expected[i].jerk, sizeof jerk[i]);
                assert_int_equal(nearest[i], expected[i].nearest);
            }
        sapporo_force_free(job);
        job = begin(c, 0, ni, BOTH);
        check_end(job, 0, ni, BOTH);
        sapporo_force_free(job);
    }
    sapporo_close(c);
}

/* ------------------------------------------------------------------------- lists */

static void list_rooms(void **state)
{
    (void)state;
    sapporo *c = open_loaded();
    sapporo_job *job = begin(c, 0, NI, OUT_LISTS);
    for (int i = 0; i < NI; i++) {
        const int length = expected[i].nlist;
        for (int room = length > 1 ? length - 2 : 0; room <= length + 1; room++) {
            int n = -1, total = -1, *list = zeroed((size_t)room, sizeof *list);
            list[room] = 4711;
            const int status = sapporo_force_neighbours(job, i, room, &n, list, &total);
            assert_int_equal(status, room < length ? SAPPORO_TRUNCATED : SAPPORO_OK);
            assert_int_equal(n, room < length ? room : length);
            assert_int_equal(total, length);
            assert_memory_equal(list, expected[i].list, (size_t)n * sizeof *list);
            assert_int_equal(list[room], 4711);
            free(list);
        }
        int n = 5;
        assert_int_equal(sapporo_force_neighbours(job, i, -3, &n, NULL, NULL), length ? SAPPORO_TRUNCATED : SAPPORO_OK);
        assert_int_equal(n, 0);
    }
    sapporo_close(c);
}

/* Lists that nobody asked for are there until the next force begins, and come by themselves from then on. */
static void lists_in_time(void **state)
{
    int n;
    (void)state;
    sapporo *c = open_loaded();
    sapporo_job *first = begin(c, 0, 20, 0), *second = begin(c, 20, 20, 0);
    check_end(first, 0, 20, 0);
    check_end(second, 20, 20, 0);
    replace_all(c, 10);
    sapporo_job *third = begin(c, 0, 20, 0); /* ends the time of the first two, which were delivered */
    assert_int_equal(sapporo_force_neighbours(first, 1, 0, &n, NULL, NULL), SAPPORO_ERR_GONE);
    assert_int_equal(sapporo_force_neighbours(second, 1, 0, &n, NULL, NULL), SAPPORO_ERR_GONE);
    assert_int_equal(n, 0);
    sapporo_force_free(third);
    problem_load(c, &problem);
    for (int turn = 0; turn < 3; turn++) { /* having been asked once, the context has them ready */
        sapporo_job *job = begin(c, 0, 20, 0);
        replace_all(c, 10);
        sapporo_job *other = begin(c, 0, 20, 0);
        check_end(job, 0, 20, OUT_LISTS);
        sapporo_force_free(other);
        sapporo_force_free(job);
        problem_load(c, &problem);
    }
    for (int turn = 0; turn < 70; turn++) { /* until nobody asks for a while */
        sapporo_job *job = begin(c, 0, 5, 0);
        sapporo_force_free(job);
    }
    sapporo_job *job = begin(c, 0, 5, 0);
    check_end(job, 0, 5, 0);
    replace_all(c, 10);
    sapporo_force_free(begin(c, 0, 5, 0));
    assert_int_equal(sapporo_force_neighbours(job, 1, 0, &n, NULL, NULL), SAPPORO_ERR_GONE);
    sapporo_close(c);
}

/* ---------------------------------------------------------- particles while jobs live */

/* Any number of changes between begin and the end of what may be asked: none shows. */
static void staged_particles(void **state)
{
    static const int changes[] = {1, 100, N, 3 * N}; /* few; all; more than are kept waiting */
    (void)state;
    for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++)
        for (int ni = 7; ni <= NI; ni += NI - 7) {
            sapporo *c = open_loaded();
            sapporo_particle got;
            sapporo_job *job = begin(c, 0, ni, 0);
            for (int done = 0; done < changes[k]; done += N) replace_all(c, changes[k] < N ? changes[k] : N);
            sapporo_set_time(c, 12.5);
            check_end(job, 0, ni, BOTH);
            assert_int_equal(sapporo_get_particle(c, 0, 0, &got), SAPPORO_OK);
            assert_true(got.mass == 50 && got.index == -5); /* the latest word counts for those who read */
            check_end(job, 0, ni, BOTH);
            sapporo_force_free(job);
            sapporo_set_time(c, 0);
            problem_load(c, &problem);
            job = begin(c, 0, ni, 0);
            assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
            check_end(job, 0, ni, BOTH);
            sapporo_close(c);
        }
}

/* Of many forces that are freed, few objects stay for later ones: the memory of the others is given back. */
static void freed_jobs(void **state)
{
    enum { JOBS = 200 };
    static double x[N][3];
    static sapporo_job *job[JOBS];
    const sapporo_request request = {.size = sizeof request, .nj = 1, .ni = N, .x = {x, 0}};
    (void)state;
    sapporo *c = open_loaded();
    sapporo_force_free(begin(c, 0, NI, 0));
    const size_t before = allocated_bytes();
    for (int k = 0; k < JOBS; k++) assert_int_equal(sapporo_force_begin(c, &request, &job[k]), SAPPORO_OK);
    const size_t most = allocated_bytes();
    for (int k = 0; k < JOBS; k++) sapporo_force_free(job[k]);
    const size_t after = allocated_bytes();
    if (most > 0 && !(after - before < (most - before) / 10))
        fail_msg("%zu bytes, %zu with all forces, %zu after them", before, most, after);
    sapporo_close(c);
}

/* The object of a force that was delivered serves the next one, which has its lists while it is not delivered. */
static void reused_jobs(void **state)
{
    (void)state;
    sapporo *c = open_loaded();
    sapporo_job *job = begin(c, 0, 20, 0);
    check_end(job, 0, 20, 0);
    sapporo_force_free(job);
    job = begin(c, 20, 20, 0);
    replace_all(c, 10);
    sapporo_job *other = begin(c, 0, 20, 0);
    check_end(job, 20, 20, BOTH);
    sapporo_force_free(other);
    sapporo_force_free(job);
    sapporo_close(c);
}

/* Particles that are lost are lost after a force that has begun, and after those that were stored before. */
static void lost_particles(void **state)
{
    const sapporo_request request = problem_request(&problem, 0, 20);
    sapporo_particle p = {.mass = 1};
    (void)state;
    for (int staged = 0; staged < 2; staged++) {
        sapporo *c = open_loaded();
        sapporo_job *job = begin(c, 0, 20, 0), *other = NULL;
        if (staged) assert_int_equal(sapporo_set_particle(c, 700, &p), SAPPORO_OK);
        sap_context_lose(sap_context_of(c), 699, 3);
        check_end(job, 0, 20, BOTH);
        assert_int_equal(sapporo_force_begin(c, &request, &other), SAPPORO_ERR_MEMORY);
        if (!strstr(sapporo_last_error(c), "address 699")) fail_msg("%s", sapporo_last_error(c));
        for (int a = 699; a < 702; a++) {
            assert_null(other);
            assert_int_equal(sapporo_set_particle(c, a, &p), SAPPORO_OK);
            assert_int_equal(sapporo_force_begin(c, &request, &other), a < 701 ? SAPPORO_ERR_MEMORY : SAPPORO_OK);
        }
        sapporo_close(c);
    }
}

/* What is staged takes effect at the next force, in its order of arrival. */
static void staged_effect(void **state)
{
    double pot[1];
    const sapporo_result result = {.size = sizeof result, .pot = pot};
    const double x[1][3] = {{0, 0, 0}};
    const sapporo_request request = {.size = sizeof request, .nj = 10, .ni = 1, .x = {x, 0}};
    sapporo_particle p = {.derivative = {{2, 0, 0}}, .mass = 1};
    (void)state;
    sapporo *c = engine_open(usable(), 1);
    assert_int_equal(sapporo_set_particle(c, 3, &p), SAPPORO_OK);
    for (int turn = 0; turn < 4; turn++) {
        sapporo_job *job;
        assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
        for (int k = 0; k < 5; k++) {
            p.mass = turn + k;
            assert_int_equal(sapporo_set_particle(c, 3, &p), SAPPORO_OK);
        }
        assert_int_equal(sapporo_force_end(job, 1, &result), SAPPORO_OK);
        assert_true(fabs(pot[0] + (turn ? turn + 3 : 1) / 2.0) < 1e-6);
        sapporo_force_free(job);
    }
    sapporo_close(c);
}

/* Inputs are copied, the time too. */
static void copied_inputs(void **state)
{
    struct target kept[NI];
    (void)state;
    sapporo *c = open_loaded();
    sapporo_job *job = begin(c, 0, NI, 0);
    memcpy(kept, problem.target, sizeof kept);
    memset(problem.target, 0xFF, sizeof kept);
    sapporo_set_time(c, 99);
    check_end(job, 0, NI, BOTH);
    memcpy(problem.target, kept, sizeof kept);
    sapporo_close(c);
}

/* Many at once, ended in any order, again and again, some never. */
static void many_jobs(void **state)
{
    enum { JOBS = 90 };
    sapporo_job *job[JOBS];
    int order[2 * JOBS];
    (void)state;
    sapporo *c = open_loaded();
    for (int turn = 0; turn < 3; turn++) {
        for (int k = 0; k < JOBS; k++) job[k] = begin(c, k, 1 + k % 10, k % 3 ? 0 : OUT_LISTS);
        for (int k = 0; k < 2 * JOBS; k++) order[k] = k / 2;
        model_shuffle(order, 2 * JOBS, sizeof order[0], (uint64_t)turn);
        for (int k = 0; k < 2 * JOBS; k++)
            if (order[k] % 7) check_end(job[order[k]], order[k], 1 + order[k] % 10, order[k] % 2 ? BOTH : 0);
        for (int k = 0; k < JOBS; k++)
            if (k % 5 != turn) sapporo_force_free(job[k]);
        for (int k = turn; k < JOBS; k += 5) { /* the others are still well */
            check_end(job[k], k, 1 + k % 10, BOTH);
            if (turn < 2) sapporo_force_free(job[k]);
        }
    }
    sapporo_close(c); /* takes what is left along */
}

/* ------------------------------------------------------------------ opening and closing */

/* Up to so many turns, fewer where time is short; memory must not grow from the first tenth (of turns or time) on: what
 * is allocated by no more than malloc's caches of freed pieces hold (it counts them), what is resident by what its
 * arenas explain. */
static void no_growth(void (*turn)(int), int turns, double most_seconds)
{
    const double start = seconds_now();
    long before = 0;
    size_t used = 0;
    int n = 0, settled = 0;
    for (; n < turns && seconds_now() - start < most_seconds; n++) {
        const int tenth = n == turns / 10 || seconds_now() - start > most_seconds / 10;
        if (!settled && tenth) before = resident_kilobytes(), used = allocated_bytes(), settled = 1;
        turn(n);
    }
    const long after = resident_kilobytes();
    print_message("# %d turns, from %ld to %ld kilobytes\n", n, before, after);
    (void)used;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they keep what is freed; they look for leaks */
    if (allocated_bytes() > used + 131072) fail_msg("%d turns: %zu bytes more", n, allocated_bytes() - used);
    if (before && after > before + 4096) fail_msg("%d turns: from %ld to %ld kilobytes", n, before, after);
#endif
}

static void open_and_close(int n)
{
    sapporo *c = NULL;
    const sapporo_options options = {.size = sizeof options, .precision = (sapporo_precision)(n % 4)};
    if (sapporo_open(&options, &c)) fail_msg("%s", sapporo_last_error(NULL));
    sapporo_close(c);
}

/* Opens, works, leaves jobs behind, closes. */
static void open_and_work(int n)
{
    sapporo *c = open_loaded();
    sapporo_job *job = begin(c, 0, 1 + n % NI, (unsigned)n % 4);
    begin(c, n % 50, 20, OUT_LISTS);
    replace_all(c, 300);
    if (n % 2) check_end(job, 0, 1 + n % NI, n % 3 ? BOTH : 0);
    if (n % 3) sapporo_force_free(job);
    sapporo_close(c);
}

RUNS(a_million_times, no_growth(open_and_close, 1000000, 20))

RUNS(a_thousand_with_work, no_growth(open_and_work, 1000, 20))

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_requests),         cmocka_unit_test(bad_ends),         cmocka_unit_test(parts_of_results),
        cmocka_unit_test(empty_forces),         cmocka_unit_test(bad_targets),      cmocka_unit_test(list_rooms),
        cmocka_unit_test(lists_in_time),        cmocka_unit_test(staged_particles), cmocka_unit_test(staged_effect),
        cmocka_unit_test(copied_inputs),        cmocka_unit_test(many_jobs),        cmocka_unit_test(a_million_times),
        cmocka_unit_test(a_thousand_with_work), cmocka_unit_test(freed_jobs),       cmocka_unit_test(reused_jobs),
        cmocka_unit_test(lost_particles),
    };
    return cmocka_run_group_tests_name("native jobs", tests, make, unmake);
}
