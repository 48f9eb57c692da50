/*
 * test_native_log.c - messages: which ones each level of SAPPORO_VERBOSE prints, warnings once per context, at most 20
 * lines, errors that can be asked for later, the log function.
 *
 * The level is read once per process, so every test runs in a child whose standard error is captured.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sapporo.h"
#include "sapporo_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT = 1 << 16 };

static char said[TEXT];

/* ---------------------------------------------------------------------- children */

/* Plays a scene in a child at a level (NULL: none is set); what it said is in `said`. */
static void play(void (*scene)(void), const char *verbose)
{
    int ends[2], status = -1;
    size_t n = 0;
    ssize_t got;
    fflush(NULL);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (verbose)
            setenv("SAPPORO_VERBOSE", verbose, 1);
        else
            unsetenv("SAPPORO_VERBOSE");
        dup2(ends[1], 2);
        close(ends[0]);
        scene();
        fflush(NULL);
        _exit(0);
    }
    close(ends[1]);
    while (n < TEXT - 1 && (got = read(ends[0], said + n, TEXT - 1 - n)) > 0) n += (size_t)got;
    close(ends[0]);
    said[n] = '\0';
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status) fail_msg("the child ended with %d, saying:\n%s", status, said);
}

/* Ends the child where something is not as it should be. */
static void demand(int truth, const char *what)
{
    if (truth) return;
    fprintf(stderr, "demanded: %s\n", what);
    fflush(NULL);
    _exit(9);
}

/* Lines of `said` that contain a text; "" counts all. */
static int lines_with(const char *text)
{
    int n = 0;
    char copy[TEXT], *rest;
    memcpy(copy, said, sizeof copy);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        n += strstr(line, text) != NULL;
    return n;
}

static void expect_lines(const char *text, int n)
{
    if (lines_with(text) != n) fail_msg("%d lines with '%s', should be %d:\n%s", lines_with(text), text, n, said);
}

/* ------------------------------------------------------------------------ scenes */

static sapporo *open_as(sapporo_precision precision)
{
    const sapporo_options options = {.size = sizeof options, .precision = precision, .threads = 1};
    sapporo *c = NULL;
    demand(sapporo_open(&options, &c) == SAPPORO_OK, "opens");
    return c;
}

static void put(sapporo *c, int address, double x, double mass)
{
    const sapporo_particle p = {.derivative = {{x, 0, 0}}, .mass = mass, .index = 100 + address};
    (void)sapporo_set_particle(c, address, &p);
}

/* A force on one particle at x with everything delivered; returns the status. */
static int force(sapporo *c, int nj, double x, double h2, double eps2, int index)
{
    double at[1][3] = {{x, 0, 0}}, acc[1][3];
    int nearest[1], n;
    const sapporo_request request = {.size = sizeof request,
                                     .nj = nj,
                                     .ni = 1,
                                     .x = {at, 0},
                                     .index = {index ? &index : NULL, 0},
                                     .h2 = {&h2, 0},
                                     .eps2 = eps2};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .nearest = nearest};
    sapporo_job *job = NULL;
    int status = sapporo_force_begin(c, &request, &job);
    if (status) return status;
    status = sapporo_force_end(job, 1, &result);
    (void)sapporo_force_neighbours(job, 0, 0, &n, NULL, NULL);
    sapporo_force_free(job);
    return status;
}

static void scene_well(void)
{
    sapporo *c = open_as(SAPPORO_DS);
    for (int a = 0; a < 10; a++) put(c, a, a, 1);
    for (int n = 0; n < 5; n++) force(c, 10, n, 1, 0, 100 + n);
    sapporo_close(c);
}

/* Devices by names that no device has, on the CPU engine, whose one device has none. */
static void scene_absent_devices(void)
{
    setenv("SAPPORO_BACKEND", "cpu", 1);
    setenv("SAPPORO_DEVICES", " NVIDIA H200 , 0,7,12345678901234567890", 1);
    sapporo_close(open_as(SAPPORO_DS));
}

/* Each warning, three times in each of two contexts. */
static void scene_warnings(void)
{
    for (int context = 0; context < 2; context++) {
        sapporo *c = open_as(SAPPORO_DS);
        for (int turn = 0; turn < 3; turn++) {
            sapporo_clear_particles(c);
            put(c, 0, 1, 1);
            put(c, 2, 3, 1);
            force(c, 3, 0, 1, 0, -1);         /* an empty address */
            force(c, 2000000000, 0, 1, 0, 0); /* many of them */
            force(c, 3, 3, 1, 0, 77);         /* on top of another */
            force(c, 1, 0, -1, 0, -1);        /* a bad radius */
            force(c, 1, 0, NAN, 0, -1);
            force(c, 1, NAN, 1, 0, -1); /* a bad target */
            put(c, 1, 1e16, 1);         /* far out for single precision */
            put(c, 1, 1e-14, 1);        /* a force beyond it */
            force(c, 3, 0, 1, 0, -1);
        }
        sapporo_close(c);
    }
}

static void late_list(sapporo *c)
{
    double x[2][3] = {{0}}, h2[2] = {9, 9};
    const sapporo_request r = {.size = sizeof r, .nj = 2, .ni = 2, .x = {x, 0}, .h2 = {h2, 0}};
    const sapporo_result result = {.size = sizeof result};
    sapporo_job *one, *two;
    int n;
    sapporo_force_begin(c, &r, &one);
    sapporo_force_end(one, 2, &result);
    put(c, 0, 2, 1);
    sapporo_force_begin(c, &r, &two);
    demand(sapporo_force_neighbours(one, 0, 0, &n, NULL, NULL) == SAPPORO_ERR_GONE, "lists are gone");
}

static void scene_gone(void)
{
    sapporo *c = open_as(SAPPORO_DS);
    put(c, 0, 1, 1);
    put(c, 1, 2, 1);
    late_list(c);
    sapporo_close(c);
}

/* A hundred errors in one context, and as many in another. */
static void scene_errors(void)
{
    for (int context = 0; context < 2; context++) {
        char text[32];
        sapporo *c = open_as(SAPPORO_DP);
        for (int n = 1; n <= 100; n++) put(c, -n, 0, 1);
        demand(strstr(sapporo_last_error(c), "-100") != NULL, "the last error is there, printed or not");
        snprintf(text, sizeof text, "%.20s", sapporo_last_error(c));
        put(c, 3, 0, 1); /* it stays until it is cleared */
        demand(strncmp(text, sapporo_last_error(c), strlen(text)) == 0, "it stays");
        sapporo_clear_error(c);
        demand(sapporo_last_error(c)[0] == 0, "it is cleared");
        sapporo_close(c);
    }
}

/* Softened pairs at zero distance are nothing to warn of, with and without indices. */
static void scene_softened(void)
{
    for (int precision = SAPPORO_SP; precision <= SAPPORO_DP; precision++)
        for (int index = 0; index < 2; index++) {
            sapporo *c = open_as((sapporo_precision)precision);
            for (int a = 0; a < 40; a++) put(c, a, a % 7, 1);
            for (int n = 0; n < 3; n++) force(c, 40, 3, 4, 0.01, index);
            sapporo_close(c);
        }
}

struct heard {
    int count[4], bad;
    char last[200];
};

static void hear(void *user, int level, const char *text)
{
    struct heard *h = user;
    if (level < SAPPORO_LOG_ERROR || level > SAPPORO_LOG_CALL || strchr(text, '\n') || !*text)
        h->bad++;
    else
        h->count[level]++;
    snprintf(h->last, sizeof h->last, "%s", text);
}

/* Relative error of the acceleration that a body of the mass 1e-6 makes at a distance. */
static double error_at(sapporo_precision precision, double distance)
{
    const double x[1][3] = {{0, 0, 0}}, mass = 1e-6, exact = mass / distance / distance;
    double acc[1][3];
    const sapporo_request request = {.size = sizeof request, .nj = 1, .ni = 1, .x = {x, 0}};
    const sapporo_result result = {.size = sizeof result, .acc = acc};
    sapporo *c = open_as(precision);
    sapporo_job *job;
    put(c, 0, distance, mass);
    sapporo_force_begin(c, &request, &job);
    sapporo_force_end(job, 1, &result);
    sapporo_close(c);
    return isfinite(acc[0][0]) ? fabs(acc[0][0] - exact) / exact : 1;
}

/* Distances at which single precision fails, far and near: it may, but not in silence. */
static void scene_loss(void)
{
    for (int precision = SAPPORO_SP; precision <= SAPPORO_DP; precision++)
        for (int power = -17; power <= 30; power++) {
            struct heard h = {{0}, 0, ""};
            char what[80];
            sapporo_set_log(hear, &h);
            const double error = error_at((sapporo_precision)precision, pow(10, power));
            snprintf(what, sizeof what, "a word on an error of %.1e at 1e%d in precision %d", error, power, precision);
            if (error > 1e-5) demand(h.count[SAPPORO_LOG_WARNING] > 0 && precision != SAPPORO_DP, what);
        }
}

static void scene_refused(void)
{
    const sapporo_options options = {.size = sizeof options, .cpu_isa = "mmx"};
    sapporo *c;
    demand(sapporo_open(&options, &c) == SAPPORO_ERR_ARGUMENT && !c, "is refused");
    demand(strstr(sapporo_last_error(NULL), "mmx") != NULL, "it is said why");
}

static void scene_log_function(void)
{
    struct heard h = {{0}, 0, ""};
    sapporo_set_log(hear, &h);
    sapporo *c = open_as(SAPPORO_DS);
    put(c, -5, 0, 1);
    demand(h.count[SAPPORO_LOG_ERROR] == 1 && strstr(h.last, "-5"), "an error is heard");
    put(c, 1, 0, 1);
    force(c, 2, 0, 1, 1, -1);
    demand(h.count[SAPPORO_LOG_WARNING] == 1 && h.bad == 0, "a warning is heard");
    sapporo_set_log(NULL, NULL);
    put(c, -6, 0, 1);
    demand(h.count[SAPPORO_LOG_ERROR] == 1, "no more is heard");
    sapporo_close(c);
}

/* Particles without masses exert no force: that is told of a context and of a tree, once, and of no others. */
static void scene_masses(void)
{
    const sapporo_tree_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .eps2 = 0.01};
    const double x[2][3] = {{0, 0, 0}, {1, 0, 0}}, mass[2] = {1, 1};
    const sapporo_particles none = {.size = sizeof none, .derivative = {{x, 0}}};
    const sapporo_tree_request all = {.size = sizeof all, .ni = 2};
    struct heard h = {{0}, 0, ""};
    double acc[2][3], pot[2];
    sapporo_set_log(hear, &h);
    sapporo *c = open_as(SAPPORO_DP);
    demand(sapporo_set_particles(c, 0, 0, &none) == SAPPORO_OK && h.count[SAPPORO_LOG_WARNING] == 0,
           "none are no matter");
    for (int k = 0; k < 2; k++) demand(sapporo_set_particles(c, 0, 2, &none) == SAPPORO_OK, "particles are stored");
    demand(h.count[SAPPORO_LOG_WARNING] == 1 && strstr(h.last, "without masses"), "a context warns once");
    sapporo_close(c);
    for (int has = 1; has >= 0; has--) {
        sapporo_tree_particles p = {.size = sizeof p, .n = 2, .x = {x, 0}};
        sapporo_tree *t = NULL;
        if (has) p.mass.base = mass;
        demand(sapporo_tree_create(&options, 2, &t) == SAPPORO_OK, "a tree opens");
        demand(sapporo_tree_set(t, &p) == SAPPORO_OK && sapporo_tree_build(t) == SAPPORO_OK, "it is built");
        for (int k = 0; k < 2; k++) demand(sapporo_tree_force(t, &all, acc, pot) == SAPPORO_OK, "it has forces");
        demand(h.count[SAPPORO_LOG_WARNING] == (has ? 1 : 2), "a tree warns of particles without masses, once");
        sapporo_tree_destroy(t);
    }
}

/* ------------------------------------------------------------------------- tests */

static void absent_devices(void **state)
{
    (void)state;
    play(scene_absent_devices, NULL);
    expect_lines("", 3);
    expect_lines("there is no device 'NVIDIA H200': the cpu engine has 1", 1);
    expect_lines("there is no device '7'", 1);
    expect_lines("there is no device '12345678901234567890'", 1);
}

static void nothing_to_say(void **state)
{
    (void)state;
    play(scene_well, NULL);
    assert_string_equal(said, "");
    play(scene_well, "1");
    assert_string_equal(said, "");
    play(scene_softened, "1");
    assert_string_equal(said, "");
}

static void silence(void **state)
{
    (void)state;
    play(scene_warnings, "0");
    assert_string_equal(said, "");
    play(scene_errors, "0");
    assert_string_equal(said, "");
    play(scene_refused, "0");
    assert_string_equal(said, "");
}

/* Texts that tell the warnings apart; each comes once in each of two contexts. */
static void warnings_once(void **state)
{
    static const char *const texts[] = {"hold no particle",           "same place", "h2 of",
                                        "i-particles are not finite", "range",      "is not finite: a j-particle"};
    (void)state;
    for (int level = 0; level < 2; level++) {
        play(scene_warnings, level ? "1" : NULL);
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            if (k != 4) expect_lines(texts[k], 2);
        expect_lines("beyond 7e+10", 2);
        expect_lines("", 12);
        expect_lines("sapporo: ", 12);
        assert_non_null(strstr(said, "77")); /* both of those that lie at the same place */
        assert_non_null(strstr(said, "102"));
    }
}

static void lists_gone(void **state)
{
    (void)state;
    play(scene_gone, NULL);
    expect_lines("neighbours", 1);
    expect_lines("", 1);
}

static void choices_and_calls(void **state)
{
    (void)state;
    play(scene_well, "2");
    assert_true(lines_with("open") >= 1 && lines_with("cpu") + lines_with("cuda") >= 1);
    expect_lines("force_begin", 0);
    assert_int_equal(lines_with("sapporo: "), lines_with(""));
    play(scene_well, "3");
    expect_lines("force_begin", 5);
    assert_int_equal(lines_with("sapporo: "), lines_with(""));
}

/* At most 20 lines a context, unless more are asked for. */
static void twenty_lines(void **state)
{
    (void)state;
    play(scene_errors, "1");
    assert_true(lines_with("") <= 40);
    assert_true(lines_with("address -7 ") == 2);
    play(scene_errors, "2");
    expect_lines("is not between", 200);
}

static void no_silent_loss(void **state)
{
    (void)state;
    play(scene_loss, NULL);
}

static void refused_opening(void **state)
{
    (void)state;
    play(scene_refused, NULL);
    expect_lines("mmx", 1);
    expect_lines("", 1);
}

static void log_function(void **state)
{
    (void)state;
    play(scene_log_function, NULL);
    expect_lines("", 1);
    expect_lines("-6", 1);
}

static void masses(void **state)
{
    (void)state;
    play(scene_masses, NULL);
    expect_lines("", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_say),
        cmocka_unit_test(silence),
        cmocka_unit_test(warnings_once),
        cmocka_unit_test(lists_gone),
        cmocka_unit_test(choices_and_calls),
        cmocka_unit_test(twenty_lines),
        cmocka_unit_test(refused_opening),
        cmocka_unit_test(log_function),
        cmocka_unit_test(no_silent_loss),
        cmocka_unit_test(absent_devices),
        cmocka_unit_test(masses),
    };
    return cmocka_run_group_tests_name("native log", tests, NULL, NULL);
}
