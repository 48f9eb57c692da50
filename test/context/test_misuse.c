/*
 * test_misuse.c - requests that forget a member: nj, the size of a struct, masses, particles.  A call either fails with
 * a message that names the member, or it warns once; neighbours that are asked for too late have a message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sapporo.h"

#include <stdio.h>
#include <string.h>

enum { N = 3 };

static const double x[N][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}}, v[N][3], mass[N] = {1, 2, 3};
static char said[1024];
static int messages;

static void hear(void *user, int level, const char *text)
{
    (void)user, (void)level;
    snprintf(said, sizeof said, "%s", text);
    messages++;
}

static int listen(void **state)
{
    (void)state;
    messages = 0;
    said[0] = '\0';
    sapporo_set_log(hear, NULL);
    return 0;
}

static sapporo *open_order(int order)
{
    const sapporo_options options = {
        .size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .order = order, .threads = 1};
    sapporo *c;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    return c;
}

static sapporo *open_loaded(int order)
{
    const sapporo_particles p = {.size = sizeof p, .derivative = {{x, 0}}, .mass = {mass, 0}};
    sapporo *const c = open_order(order);
    assert_int_equal(sapporo_set_particles(c, 0, N, &p), SAPPORO_OK);
    return c;
}

/* Begins and collects a force on the first particle; returns the status. */
static int force(sapporo *c, int nj, int ni, unsigned want, double acc[3])
{
    const sapporo_request r = {.size = sizeof r, .nj = nj, .ni = ni, .x = {x, 0}, .want = want};
    const sapporo_result to = {.size = sizeof to, .acc = (double(*)[3])acc};
    sapporo_job *job;
    int status = sapporo_force_begin(c, &r, &job);
    assert_true((status != SAPPORO_OK) == (job == NULL));
    if (!status) status = sapporo_force_end(job, ni, &to);
    sapporo_force_free(job);
    return status;
}

static void expect_words(const char *text, const char *words)
{
    if (!strstr(text, words)) fail_msg("'%s' does not say '%s'", text, words);
}

/* A force of no particle: an error if the context holds some, one warning if it holds none; none if it is meant. */
static void forgotten_nj(void **state)
{
    double acc[3];
    (void)state;
    sapporo *c = open_loaded(4);
    assert_int_equal(force(c, 0, 1, 0, acc), SAPPORO_ERR_ARGUMENT);
    expect_words(sapporo_last_error(c), "nj is 0");
    expect_words(sapporo_last_error(c), "SAPPORO_ALLOW_EMPTY");
    assert_int_equal(messages, 1);
    acc[0] = acc[1] = acc[2] = 7;
    assert_int_equal(force(c, 0, 1, SAPPORO_ALLOW_EMPTY, acc), SAPPORO_OK);
    assert_true(acc[0] == 0 && acc[1] == 0 && acc[2] == 0);
    assert_int_equal(force(c, 0, 0, 0, acc), SAPPORO_OK);
    assert_int_equal(messages, 1);
    assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
    assert_int_equal(force(c, 0, 1, SAPPORO_ALLOW_EMPTY, acc), SAPPORO_OK);
    assert_int_equal(messages, 1);
    for (int k = 0; k < 3; k++) assert_int_equal(force(c, 0, 1, 0, acc), SAPPORO_OK);
    assert_int_equal(messages, 2);
    expect_words(said, "the context holds none");
    sapporo_close(c);
    c = open_order(4); /* a particle that is set alone may wait to be stored */
    const sapporo_particle one = {.mass = 1};
    assert_int_equal(sapporo_set_particle(c, 0, &one), SAPPORO_OK);
    assert_int_equal(force(c, 0, 1, 0, acc), SAPPORO_ERR_ARGUMENT);
    sapporo_close(c);
}

/* Expects that a call without a size failed, and that a text names the struct and its size. */
static void expect_unsized(int status, const char *text, const char *name)
{
    char words[128];
    snprintf(words, sizeof words, "size of %s is 0: it must be sizeof(%s)", name, name);
    assert_int_equal(status, SAPPORO_ERR_ARGUMENT);
    expect_words(text, words);
}

/* The text is asked for after the call. */
#define UNSIZED(call, text, name)                                                                                      \
    do {                                                                                                               \
        const int status = (call);                                                                                     \
        expect_unsized(status, (text), (name));                                                                        \
    } while (0)

static void unsized_of_contexts(void **state)
{
    const sapporo_options options = {.order = 4};
    const sapporo_particles particles = {.mass = {mass, 0}};
    const sapporo_request request = {.nj = N}, good = {.size = sizeof good, .nj = N, .ni = 1, .x = {x, 0}};
    const sapporo_result result = {.acc = NULL}, sized = {.size = sizeof sized};
    const sapporo_neighbour_request neighbours = {.ni = 0};
    const sapporo_small_force list = {.ni = 0};
    sapporo *c, *none;
    sapporo_job *job;
    (void)state;
    UNSIZED(sapporo_open(&options, &none), sapporo_last_error(NULL), "sapporo_options");
    c = open_loaded(4);
    UNSIZED(sapporo_set_particles(c, 0, N, &particles), sapporo_last_error(c), "sapporo_particles");
    UNSIZED(sapporo_force_begin(c, &request, &job), sapporo_last_error(c), "sapporo_request");
    assert_int_equal(sapporo_force_begin(c, NULL, &job), SAPPORO_ERR_ARGUMENT);
    expect_words(sapporo_last_error(c), "sapporo_request is NULL");
    assert_int_equal(sapporo_force_begin(c, &good, &job), SAPPORO_OK);
    UNSIZED(sapporo_force_end(job, 1, &result), sapporo_last_error(c), "sapporo_result");
    sapporo_force_free(job);
    UNSIZED(sapporo_neighbour_force(c, &neighbours, &sized), sapporo_last_error(c), "sapporo_neighbour_request");
    const sapporo_neighbour_request none_of_them = {.size = sizeof none_of_them};
    UNSIZED(sapporo_neighbour_force(c, &none_of_them, &result), sapporo_last_error(c), "sapporo_result");
    sapporo_close(c);
    c = open_loaded(2);
    UNSIZED(sapporo_force_batch(c, 1, &list, &sized), sapporo_last_error(c), "sapporo_small_force");
    const sapporo_small_force whole = {.size = sizeof whole};
    UNSIZED(sapporo_force_batch(c, 1, &whole, &result), sapporo_last_error(c), "sapporo_result");
    sapporo_close(c);
}

/* A size that was never set may be any number: it is also the distance of the elements of an array. */
static void huge_sizes(void **state)
{
    const sapporo_small_force list = {.size = (size_t)1 << 40, .ni = 1};
    const sapporo_result result = {.size = (size_t)1 << 40}, sized = {.size = sizeof sized};
    const sapporo_small_force whole = {.size = sizeof whole};
    sapporo *const c = open_loaded(2);
    (void)state;
    assert_int_equal(sapporo_force_batch(c, 3, &list, &sized), SAPPORO_ERR_ARGUMENT);
    expect_words(sapporo_last_error(c), "size of sapporo_small_force is 1099511627776");
    assert_int_equal(sapporo_force_batch(c, 3, &whole, &result), SAPPORO_ERR_ARGUMENT);
    expect_words(sapporo_last_error(c), "size of sapporo_result is 1099511627776");
    sapporo_close(c);
}

static void unsized_of_trees(void **state)
{
    const sapporo_tree_options unsized = {.order = 2},
                               options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU};
    const sapporo_tree_particles bad = {.n = N}, good = {.size = sizeof good, .n = N, .x = {x, 0}, .mass = {mass, 0}};
    const sapporo_tree_request request = {.ni = 1};
    sapporo_tree_statistics statistics = {.n = 0};
    double acc[1][3];
    sapporo_tree *t;
    (void)state;
    UNSIZED(sapporo_tree_create(&unsized, N, &t), sapporo_last_error(NULL), "sapporo_tree_options");
    assert_int_equal(sapporo_tree_create(&options, N, &t), SAPPORO_OK);
    UNSIZED(sapporo_tree_set(t, &bad), sapporo_tree_last_error(t), "sapporo_tree_particles");
    assert_int_equal(sapporo_tree_set(t, &good), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    UNSIZED(sapporo_tree_force(t, &request, acc, NULL), sapporo_tree_last_error(t), "sapporo_tree_request");
    UNSIZED(sapporo_tree_get_statistics(t, &statistics), sapporo_tree_last_error(t), "sapporo_tree_statistics");
    sapporo_tree_destroy(t);
}

static void unsized_of_steppers(void **state)
{
    const sapporo_tree_options tree = {.size = sizeof tree, .backend = SAPPORO_BACKEND_CPU, .eps2 = 0.01};
    const sapporo_stepper_options unsized = {.dt = 1}, options = {.size = sizeof options, .dt = 0.1, .tree = &tree};
    const sapporo_stepper_particles bad = {.n = N};
    const sapporo_stepper_particles good = {.size = sizeof good, .n = N, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}};
    const sapporo_stepper_output output = {.n = N};
    sapporo_stepper_totals totals = {.time = 0};
    sapporo_stepper_statistics statistics = {.n = 0};
    sapporo_stepper *s;
    (void)state;
    UNSIZED(sapporo_stepper_create(&unsized, N, &s), sapporo_last_error(NULL), "sapporo_stepper_options");
    assert_int_equal(sapporo_stepper_create(&options, N, &s), SAPPORO_OK);
    UNSIZED(sapporo_stepper_set(s, &bad), sapporo_stepper_last_error(s), "sapporo_stepper_particles");
    assert_int_equal(sapporo_stepper_set(s, &good), SAPPORO_OK);
    UNSIZED(sapporo_stepper_get(s, &output), sapporo_stepper_last_error(s), "sapporo_stepper_output");
    UNSIZED(sapporo_stepper_energy(s, &totals), sapporo_stepper_last_error(s), "sapporo_stepper_totals");
    UNSIZED(sapporo_stepper_get_statistics(s, &statistics), sapporo_stepper_last_error(s),
            "sapporo_stepper_statistics");
    sapporo_stepper_destroy(s);
}

/* Sources without masses: one warning per context or tree, none where masses are given, be they 0. */
static void forgotten_masses(void **state)
{
    const double zero[N] = {0};
    const sapporo_particles massless = {.size = sizeof massless, .derivative = {{x, 0}}};
    const sapporo_particles light = {.size = sizeof light, .derivative = {{x, 0}}, .mass = {zero, 0}};
    sapporo_small_force list = {.size = sizeof list, .ni = 1, .nj = N, .x = {x, 0}, .x_j = {x, 0}, .eps2 = 1};
    double acc[1][3];
    const sapporo_result result = {.size = sizeof result, .acc = acc};
    (void)state;
    sapporo *c = open_order(4);
    assert_int_equal(sapporo_set_particles(c, 0, N, &light), SAPPORO_OK);
    assert_int_equal(messages, 0);
    for (int k = 0; k < 3; k++) assert_int_equal(sapporo_set_particles(c, 0, N, &massless), SAPPORO_OK);
    assert_int_equal(messages, 1);
    expect_words(said, "without masses");
    sapporo_close(c);
    c = open_order(2);
    list.mass_j.base = zero;
    assert_int_equal(sapporo_force_batch(c, 1, &list, &result), SAPPORO_OK);
    assert_int_equal(messages, 1);
    list.mass_j.base = NULL;
    for (int k = 0; k < 3; k++) assert_int_equal(sapporo_force_batch(c, 1, &list, &result), SAPPORO_OK);
    assert_int_equal(messages, 2);
    expect_words(said, "mass_j");
    sapporo_close(c);
}

/* Builds a tree and computes forces; returns the number of messages of all this. */
static int messages_of_tree(int n, const double *masses)
{
    const sapporo_tree_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU};
    const sapporo_tree_particles p = {.size = sizeof p, .n = n, .x = {x, 0}, .mass = {masses, 0}};
    const sapporo_tree_request r = {.size = sizeof r, .ni = 1, .x = {x + 1, 0}};
    const int before = messages;
    double acc[1][3];
    sapporo_tree *t;
    assert_int_equal(sapporo_tree_create(&options, N, &t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    for (int k = 0; k < 3; k++) assert_int_equal(sapporo_tree_force(t, &r, acc, NULL), SAPPORO_OK);
    sapporo_tree_destroy(t);
    return messages - before;
}

static void trees_without_sources(void **state)
{
    (void)state;
    assert_int_equal(messages_of_tree(N, mass), 0);
    assert_int_equal(messages_of_tree(0, NULL), 1);
    expect_words(said, "a tree without particles");
    assert_int_equal(messages_of_tree(N, NULL), 1);
    expect_words(said, "without masses");
}

/* Neighbours after the particles have changed: the status has a message, which is printed once. */
static void late_neighbours(void **state)
{
    const double h2[1] = {9};
    const sapporo_request r = {.size = sizeof r, .nj = N, .ni = 1, .x = {x, 0}, .h2 = {h2, 0}};
    const sapporo_small_force list = {.size = sizeof list};
    double acc[1][3];
    int nearest[1], n;
    const sapporo_result plain = {.size = sizeof plain, .acc = acc};
    const sapporo_result late = {.size = sizeof late, .nearest = nearest};
    const sapporo_particle moved = {.derivative = {{5, 0, 0}}, .mass = 1};
    sapporo_job *job;
    sapporo *const c = open_loaded(2);
    (void)state;
    assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, 1, &plain), SAPPORO_OK);
    assert_int_equal(sapporo_set_particle(c, 1, &moved), SAPPORO_OK);
    assert_int_equal(sapporo_force_batch(c, 1, &list, &plain), SAPPORO_OK);
    assert_int_equal(sapporo_force_neighbours(job, 0, 0, &n, NULL, NULL), SAPPORO_ERR_GONE);
    expect_words(sapporo_last_error(c), "neighbours of a force");
    sapporo_clear_error(c);
    assert_int_equal(sapporo_force_end(job, 1, &late), SAPPORO_ERR_GONE);
    expect_words(sapporo_last_error(c), "neighbours of a force");
    assert_int_equal(messages, 1);
    sapporo_close(c);
}

/* More threads than the library uses: a warning, and the number that is used. */
static void many_threads(void **state)
{
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .threads = 100000};
    sapporo *c;
    (void)state;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    assert_int_equal(messages, 1);
    expect_words(said, "threads is 100000; the library uses at most 1023");
    assert_int_equal(sapporo_get_threads(c), 1023);
    sapporo_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(forgotten_nj, listen),
        cmocka_unit_test_setup(unsized_of_contexts, listen),
        cmocka_unit_test_setup(huge_sizes, listen),
        cmocka_unit_test_setup(unsized_of_trees, listen),
        cmocka_unit_test_setup(unsized_of_steppers, listen),
        cmocka_unit_test_setup(forgotten_masses, listen),
        cmocka_unit_test_setup(trees_without_sources, listen),
        cmocka_unit_test_setup(late_neighbours, listen),
        cmocka_unit_test_setup(many_threads, listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
