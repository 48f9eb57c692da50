/*
 * test_jstore_alloc.c - memory runs out at every place where the library allocates: the call reports it, existing data
 * stay, outputs are not stale, the same call succeeds once memory is sufficient again, and nothing leaks.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/jstore.h"
#include "model.h"
#include "runs.h"
#include "scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if SCARCE

/* -------------------------------------------------------------------- scenes */

enum { N = 3000, NI = 80, ROOM = N };

/* A context with particles, and what shall be done to it. */
struct scene {
    const struct engine *engine;
    sapporo *c;
    sapporo_job *job, *first;
    double acc[NI][3], pot[NI];
    int nearest[NI], list[ROOM], n;
};

static struct problem problem;
static struct answer *expected; /* of all targets, with neighbours */

static void make_problem(const struct engine *e)
{
    const struct ask ask = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, 0};
    problem_new(&problem, N, NI);
    model_plummer(problem.body, N, 8);
    problem.nj = N;
    problem.eps2 = 1e-4;
    model_targets(&problem, 0.2);
    sapporo *c = engine_open(e, 1);
    problem_load(c, &problem);
    expected = problem_solve(c, &problem, &ask);
    sapporo_close(c);
}

/* ------------------------------------------------------------- what is done */

static int begin_force(struct scene *s, int ni, unsigned want)
{
    sapporo_request request = problem_request(&problem, 0, ni);
    request.want = want;
    return sapporo_force_begin(s->c, &request, &s->job);
}

static int begin_many(struct scene *s) { return begin_force(s, NI, 0); }
static int begin_few(struct scene *s) { return begin_force(s, 5, 0); }
static int begin_with_all(struct scene *s) { return begin_force(s, NI, OUT_NEAREST | OUT_LISTS); }
static int begin_few_with_all(struct scene *s) { return begin_force(s, 5, OUT_NEAREST | OUT_LISTS); }

/* The job before keeps its place in `first`. */
static int begin_after(struct scene *s)
{
    if (!s->first) s->first = s->job;
    return begin_few(s);
}

static int end_force(struct scene *s, int ni)
{
    const sapporo_result result = {.size = sizeof result, .acc = s->acc, .pot = s->pot, .nearest = s->nearest};
    const int status = sapporo_force_end(s->job, ni, &result);
    for (int i = 0; i < ni && status; i++)
        if (!isnan(s->acc[i][0]) || !isnan(s->pot[i]) || s->nearest[i] != -1) fail_msg("stale outputs after an error");
    for (int i = 0; i < ni && !status; i++)
        if (!same_doubles(s->acc[i], expected[i].acc, 3) || s->nearest[i] != expected[i].nearest)
            fail_msg("wrong outputs without an error");
    return status;
}

static int end_nearest(struct scene *s) { return end_force(s, NI); }
static int end_few_nearest(struct scene *s) { return end_force(s, 5); }

static int take_list(struct scene *s)
{
    const int status = sapporo_force_neighbours(s->job, 3, ROOM, &s->n, s->list, NULL);
    if (status) assert_int_equal(s->n, 0);
    if (!status && (s->n != expected[3].nlist || memcmp(s->list, expected[3].list, (size_t)s->n * sizeof(int)) != 0))
        fail_msg("a wrong list without an error");
    return status;
}

static int open_another(struct scene *s)
{
    sapporo *other = NULL;
    const sapporo_options options = {.size = sizeof options,
                                     .precision = s->engine->precision,
                                     .backend = s->engine->backend,
                                     .cpu_isa = s->engine->isa,
                                     .threads = 1};
    const int status = sapporo_open(&options, &other);
    assert_true((status == SAPPORO_OK) == (other != NULL));
    sapporo_close(other);
    return status;
}

static int put_far(struct scene *s)
{
    const sapporo_particle p = {.mass = 1};
    return sapporo_set_particle(s->c, 100000, &p);
}

static int put_with_snap(struct scene *s)
{
    const sapporo_particle p = {.derivative = {{9, 9, 9}, {0}, {0}, {0}, {1, 1, 1}}};
    return sapporo_set_particle(s->c, N + 5, &p);
}

static int put_many(struct scene *s)
{
    static double x[20000][3];
    const sapporo_particles p = {.size = sizeof p, .derivative = {{x, 0}}};
    return sapporo_set_particles(s->c, N, 20000, &p);
}

/* The same particles again, in no order: staged while a job may need the old ones. */
static int put_some(struct scene *s, int n)
{
    int status = SAPPORO_OK;
    for (int k = 0; k < n && !status; k++) {
        const sapporo_particle p = particle_of(&problem.body[k * 7 % N]);
        status = sapporo_set_particle(s->c, problem.body[k * 7 % N].address, &p);
    }
    return status;
}

static int put_again(struct scene *s) { return put_some(s, 2 * N); }
static int put_hundred(struct scene *s) { return put_some(s, 100); }

static int read_back(struct scene *s)
{
    sapporo_particle got;
    return sapporo_get_particle(s->c, 5, 0, &got);
}

static int clear_all(struct scene *s)
{
    const int status = sapporo_clear_particles(s->c);
    countdown = -1;
    if (!status) problem_load(s->c, &problem);
    return status;
}

/* What happens before, with memory, and what is done without it. */
static struct act {
    const char *name;
    int (*before[2])(struct scene *s);
    int (*act)(struct scene *s);
} acts[] = {
    {"open", {NULL}, open_another},
    {"a particle far off", {NULL}, put_far},
    {"a particle with more derivatives", {NULL}, put_with_snap},
    {"many particles", {NULL}, put_many},
    {"a force on many", {NULL}, begin_many},
    {"a force on few", {NULL}, begin_few},
    {"a force with neighbours", {NULL}, begin_with_all},
    {"a force on few with neighbours", {NULL}, begin_few_with_all},
    {"nearest, late", {begin_many}, end_nearest},
    {"nearest of few, late", {begin_few}, end_few_nearest},
    {"a list, late", {begin_many}, take_list},
    {"a list of few, late", {begin_few}, take_list},
    {"nearest after lists", {begin_many, take_list}, end_nearest},
    {"particles during a force", {begin_few}, put_again},
    {"a force after a force", {begin_many, put_hundred}, begin_after},
    {"reading during a force", {begin_many, put_hundred}, read_back},
    {"clearing during a force", {begin_many, put_hundred}, clear_all},
};

/* ------------------------------------------------------------------- checking */

/* All is as it was: particles, forces, neighbours. */
static void check_intact(const struct scene *s, const char *what)
{
    const struct ask ask = {OUT_NEAREST | OUT_LISTS, 0, 0};
    for (int k = 0; k < N; k += 13) {
        sapporo_particle got;
        const struct body *b = &problem.body[k];
        assert_int_equal(sapporo_get_particle(s->c, b->address, 0, &got), SAPPORO_OK);
        assert_true(got.mass == b->mass && got.time == b->time && got.index == b->index);
        assert_memory_equal(got.derivative, b->derivative, 2 * sizeof b->derivative[0]);
    }
    struct answer *a = problem_solve(s->c, &problem, &ask);
    answers_same(what, a, expected, NI, OUT_NEAREST | OUT_LISTS);
    answers_free(a, NI);
}

/* Does it with the n-th allocation refused; 0 once there are fewer than that. */
static int play(const struct engine *e, const struct act *act, int n)
{
    struct scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->engine = e;
    s->c = engine_open(e, 1);
    problem_load(s->c, &problem);
    sap_jstore_trim(); /* so that more particles need memory */
    for (int k = 0; k < 2; k++)
        if (act->before[k]) assert_int_equal(act->before[k](s), SAPPORO_OK);
    refused = 0;
    countdown = n;
    const int status = act->act(s);
    countdown = -1;
    const int again = refused;
    if (refused && status != SAPPORO_ERR_MEMORY && status != SAPPORO_OK)
        fail_msg("%s, allocation %d refused: status %d", act->name, n, status);
    if (!refused) assert_int_equal(status, SAPPORO_OK);
    if (status == SAPPORO_ERR_MEMORY) {
        if (s->job == NULL && act->act != open_another) assert_true(sapporo_last_error(s->c)[0] != '\0');
        const int second = act->act(s); /* now there is memory */
        if (second) fail_msg("%s, allocation %d refused, then not: status %d", act->name, n, second);
    }
    sapporo_force_free(s->job);
    sapporo_force_free(s->first);
    check_intact(s, act->name);
    sapporo_close(s->c);
    sap_jstore_trim();
    free(s);
    return again;
}

static void run_act(void **state)
{
    const struct act *act = *state;
    static const int some[] = {4, CPU_ENGINES - 2, CPU_ENGINES + 1}; /* sse2 ds, avx512 ds, cuda ds */
    for (size_t k = 0; k < sizeof some / sizeof some[0]; k++) {
        const struct engine *e = &engines[some[k]];
        if (!engine_usable(e)) continue;
        make_problem(e);
        int n = 0;
        while (play(e, act, 100000)) continue; /* nothing is refused: whatever is kept for good is had now */
        const int before = blocks;
        while (play(e, act, n)) n++;
        if (blocks != before) fail_msg("%s: %d blocks are lost", act->name, blocks - before);
        print_message("# %s, %s: %d allocations\n", e->name, act->name, n);
        answers_free(expected, NI);
        problem_free(&problem);
    }
}

int main(void)
{
    enum { ACTS = sizeof acts / sizeof acts[0] };
    struct CMUnitTest tests[ACTS];
    for (size_t k = 0; k < ACTS; k++) tests[k] = (struct CMUnitTest){acts[k].name, run_act, NULL, NULL, &acts[k]};
    return cmocka_run_group_tests_name("allocations", tests, NULL, NULL);
}

#else

SKIPPED_MAIN("allocations", "malloc is replaced by way of glibc, and not under a sanitizer")

#endif
