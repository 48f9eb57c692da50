/*
 * test_stepper_files.c - steppers that save at once, without standard streams, to a full file; files that are no
 * stepper's; times that steps do not change.
 */
#define _XOPEN_SOURCE 700 /* truncate */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "child.h"
#include "runs.h"
#include "stepper_places.h"
#include "tree_cases.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { N = 1000, SAVES = 20 };

static char folder[] = "/tmp/sapporo_steps.XXXXXX", path[64];

static int enter_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    (void)snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int leave_folder(void **state)
{
    (void)state;
    return unlink(path) || rmdir(folder); /* fails if a part of a file is left */
}

/* A stepper with a Plummer sphere of N stars by direct sums on the CPU, which is usable everywhere. */
static sapporo_stepper *cluster(void)
{
    const sapporo_tree_options tree = {.size = sizeof tree, .eps2 = 1e-2, .backend = SAPPORO_BACKEND_CPU};
    const sapporo_stepper_options o = {.size = sizeof o, .method = SAPPORO_STEP_DIRECT, .tree = &tree, .dt = 1.0 / 64};
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *const s = stepper_make(&o, N);
    stepper_put(s, N, b.x, b.v, b.mass, 0);
    bodies_free(&b);
    return s;
}

/* ---- saves at once ------------------------------------------------------------------------- */

static atomic_int failed;

static void *save_often(void *stepper)
{
    for (int k = 0; k < SAVES; k++) failed += sapporo_stepper_save(stepper, path) != SAPPORO_OK;
    return NULL;
}

/* Two threads that save two steppers to one path: all saves succeed, and the file is whole. */
static void two_threads(void **state)
{
    (void)state;
    sapporo_stepper *const s[2] = {cluster(), cluster()};
    pthread_t thread;
    failed = 0;
    stepper_advance(s[1], 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, save_often, s[0]), 0);
    (void)save_often(s[1]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(failed, 0);
    if (sapporo_stepper_restore(s[0], path)) fail_msg("%s", sapporo_stepper_last_error(s[0]));
    sapporo_stepper_destroy(s[0]);
    sapporo_stepper_destroy(s[1]);
}

/* ---- the process --------------------------------------------------------------------------- */

static atomic_int stop;

/* Makes errors, which the library prints. */
static void *be_noisy(void *unused)
{
    const sapporo_options wrong = {.size = sizeof wrong, .order = 3};
    for (sapporo *context; !stop;) (void)sapporo_open(&wrong, &context);
    return unused;
}

/* Messages to a closed stderr are in no file. */
static int without_stderr(void)
{
    sapporo_stepper *const s = cluster();
    pthread_t thread;
    int wrong = 0;
    (void)close(2);
    if (pthread_create(&thread, NULL, be_noisy, NULL)) return CHILD_SKIPPED;
    for (int k = 0; k < SAVES && !wrong; k++) wrong = sapporo_stepper_save(s, path) || sapporo_stepper_restore(s, path);
    stop = 1;
    (void)pthread_join(thread, NULL);
    return wrong;
}

CHILD_TEST(without_stderr, "no threads")

/* A save that does not fit fails, tells why, and leaves the file that was there. */
static int full(void)
{
    const struct rlimit little = {4096, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    sapporo_stepper *const s = cluster();
    if (sapporo_stepper_save(s, path) || sapporo_stepper_advance(s, 1.0 / 64, 0)) return 1;
    (void)signal(SIGXFSZ, SIG_DFL);
    if (setrlimit(RLIMIT_FSIZE, &little)) return CHILD_SKIPPED;
    const int status = sapporo_stepper_save(s, path);
    int wrong = WRONG(status != SAPPORO_ERR_ARGUMENT);
    wrong += WRONG(!strstr(sapporo_stepper_last_error(s), path) || !strstr(sapporo_stepper_last_error(s), "unchanged"));
    (void)setrlimit(RLIMIT_FSIZE, &none);
    wrong += WRONG(sapporo_stepper_restore(s, path) != SAPPORO_OK || sapporo_stepper_get_time(s) != 0);
    return wrong;
}

CHILD_TEST(full, "no limits of files")

/* ---- files of others ----------------------------------------------------------------------- */

/* A file of 2^40 bytes that is no stepper's is refused by its first bytes; so is one whose head promises too much. */
static void vast(void **state)
{
    (void)state;
    sapporo_stepper *const s = cluster();
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    if (truncate(path, (off_t)1 << 40) != 0) skip(); /* a file system without holes */
    assert_int_equal(sapporo_stepper_restore(s, path), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_stepper_last_error(s), "no file of a stepper"));
    assert_int_equal(sapporo_stepper_save(s, path), SAPPORO_OK);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
    assert_int_equal(sapporo_stepper_restore(s, path), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_stepper_last_error(s), "incomplete"));
    assert_true(stepper_figures(s).n == N);
    assert_int_equal(sapporo_stepper_save(s, path), SAPPORO_OK);
    sapporo_stepper_destroy(s);
}

/* ---- times --------------------------------------------------------------------------------- */

static double two_x[2][3] = {{0, 0, 0}, {1, 0, 0}}, two_v[2][3] = {{0, -0.5, 0}, {0, 0.5, 0}}, two_m[2] = {0.5, 0.5};

/* Particles at a time that a whole step does not change are refused by time and step. */
static void too_late_at(const struct place *p)
{
    static const struct {
        double start, dt;
        const char *words[2];
    } late[] = {{1e100, 1e-3, {"1e+100", "step of 0.001"}},
                {1e10, 1e-9, {"10000000000", "step of 1e-09"}},
                {-1e10, 1e-9, {"-10000000000", "step of 1e-09"}}};
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    for (size_t k = 0; k < sizeof late / sizeof late[0]; k++) {
        const sapporo_stepper_options o = {
            .size = sizeof o, .method = p->method, .tree = &tree, .scheme = SAPPORO_STEPS_SHARED, .dt = late[k].dt};
        const sapporo_stepper_particles q = {
            .size = sizeof q, .n = 2, .x = {two_x, 0}, .v = {two_v, 0}, .mass = {two_m, 0}, .time = late[k].start};
        sapporo_stepper *const s = stepper_make(&o, 2);
        assert_int_equal(sapporo_stepper_set(s, &q), SAPPORO_ERR_ARGUMENT);
        for (int w = 0; w < 2; w++) assert_non_null(strstr(sapporo_stepper_last_error(s), late[k].words[w]));
        sapporo_stepper_destroy(s);
    }
}

RUNS(too_late, stepper_everywhere(too_late_at, 0))

/* A whole step changes the time, but the short steps that particles choose do not: no step is made, the time stays. */
static void too_short_at(const struct place *p)
{
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .method = p->method,
                                       .tree = &tree,
                                       .scheme = SAPPORO_STEPS_BLOCK,
                                       .dt = 1.0 / 64,
                                       .eta = 1e-14,
                                       .levels = 24};
    sapporo_stepper *const s = stepper_make(&o, 2);
    stepper_put(s, 2, two_x, two_v, two_m, 1e9);
    assert_int_equal(sapporo_stepper_advance(s, 1e9, 0), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_stepper_last_error(s), "time 1000000000,"));
    assert_true(sapporo_stepper_get_time(s) == 1e9 && stepper_figures(s).steps == 0);
    stepper_put(s, 2, two_x, two_v, two_m, 0);
    stepper_advance(s, 1, 2);
    assert_true(sapporo_stepper_get_time(s) > 0 && stepper_figures(s).steps == 2);
    sapporo_stepper_destroy(s);
}

RUNS(too_short, stepper_everywhere(too_short_at, 0))

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_threads), cmocka_unit_test(test_without_stderr),
                                       cmocka_unit_test(test_full),   cmocka_unit_test(vast),
                                       cmocka_unit_test(too_late),    cmocka_unit_test(too_short)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
