/*
 * test_stored_many.c - more particles in columns than threads copy at once: each address holds what was given, in every
 * order, from columns with and without gaps, on one thread and on several.  Numbers that are not finite are found in
 * each column, and by each way of copying words.  Forces have the bits that they have from particles that are set one
 * by one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/finite.h"
#include "context/partial.h"
#include "context/particles_words.h"
#include "model.h"

/* First address and number: the store is told of 131,072 addresses at a time; neither limit is one of 16 addresses. */
enum { FIRST = 2043, N = 140003, SOME = 9000, TARGETS = 5 };

/* Particles of a caller. */
struct row {
    double derivative[SAPPORO_DERIVATIVES][3], mass, time;
    int index;
};

static struct row *row;

static int make(void **state)
{
    (void)state;
    row = malloc(N * sizeof *row);
    assert_non_null(row);
    for (int k = 0; k < N; k++) {
        for (int d = 0; d < SAPPORO_DERIVATIVES; d++)
            for (int axis = 0; axis < 3; axis++) row[k].derivative[d][axis] = sin(1.3 * k + 0.7 * axis + 5 * d);
        row[k].mass = 1 + 0.25 * cos(k), row[k].time = k % 7 / 16.0, row[k].index = 3 * k - 70;
    }
    return 0;
}

static int drop(void **state)
{
    (void)state;
    free(row);
    return 0;
}

/* The rows as columns with gaps; derivatives from number `highest` + 1 on are absent. */
static sapporo_particles columns_of(const struct row *from, int highest)
{
    const ptrdiff_t stride = sizeof *from;
    sapporo_particles all = {.size = sizeof all,
                             .mass = {&from->mass, stride},
                             .time = {&from->time, stride},
                             .index = {&from->index, stride}};
    for (int d = 0; d <= highest; d++) all.derivative[d] = (sapporo_column){from->derivative[d], stride};
    return all;
}

static sapporo *open_with(int order, int threads)
{
    const sapporo_options o = {
        .size = sizeof o, .order = order, .threads = threads, .backend = SAPPORO_BACKEND_CPU, .precision = SAPPORO_DP};
    sapporo *c = NULL;
    assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
    return c;
}

/* The particle that an order keeps of a row: what sapporo_set_particle stores. */
static sapporo_particle kept_of(const struct row *r, int highest)
{
    sapporo_particle p = {.mass = r->mass, .time = r->time, .index = r->index};
    for (int d = 0; d <= highest; d++) memcpy(p.derivative[d], r->derivative[d], sizeof p.derivative[d]);
    return p;
}

/* Fails unless address `at` of one context holds the bits that it holds in the other. */
static void expect_same(sapporo *c, sapporo *wanted, int at)
{
    sapporo_particle p = {.mass = 0}, q = {.mass = 0};
    assert_int_equal(sapporo_get_particle(c, at, 0, &p), SAPPORO_OK);
    assert_int_equal(sapporo_get_particle(wanted, at, 0, &q), SAPPORO_OK);
    if (memcmp(&p, &q, sizeof p) != 0) fail_msg("address %d: mass %g, not %g", at, p.mass, q.mass);
}

/* Copies n elements of a column without gaps to *to, moves *to behind them, and makes the copy the column. */
static void tighten(sapporo_column *column, size_t size, int n, char **to)
{
    if (!column->base) return;
    for (int k = 0; k < n; k++) memcpy(*to + (size_t)k * size, (const char *)column->base + k * column->stride, size);
    *column = (sapporo_column){*to, 0};
    *to += (size_t)n * size;
}

/* Removes the gaps of all columns but the index, which becomes that of the address.  Returns their memory. */
static void *tighten_all(sapporo_particles *all, int n)
{
    void *const memory = malloc((size_t)n * sizeof *row);
    char *to = memory;
    assert_non_null(memory);
    to += 4; /* not aligned: an index has left room */
    all->index = (sapporo_column){NULL, 0};
    for (int d = 0; d < SAPPORO_DERIVATIVES; d++) tighten(&all->derivative[d], 3 * sizeof(double), n, &to);
    tighten(&all->mass, sizeof(double), n, &to);
    tighten(&all->time, sizeof(double), n, &to);
    return memory;
}

/* Stores all rows in columns and one by one, and compares all addresses. */
static void store_both(int order, int threads, int tight)
{
    const int highest = highest_of(order);
    sapporo *const c = open_with(order, threads), *const wanted = open_with(order, 1);
    sapporo_particles all = columns_of(row, highest);
    void *const memory = tight ? tighten_all(&all, N) : NULL;
    assert_int_equal(sapporo_set_particles(c, FIRST, N, &all), SAPPORO_OK);
    for (int k = 0; k < N; k++) {
        sapporo_particle p = kept_of(&row[k], highest);
        if (tight) p.index = FIRST + k;
        assert_int_equal(sapporo_set_particle(wanted, FIRST + k, &p), SAPPORO_OK);
    }
    for (int k = 0; k < N; k++) expect_same(c, wanted, FIRST + k);
    sapporo_particle none;
    assert_int_equal(sapporo_get_particle(c, FIRST - 1, 0, &none), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_get_particle(c, FIRST + N, 0, &none), SAPPORO_ERR_ARGUMENT);
    sapporo_close(c);
    sapporo_close(wanted);
    free(memory);
}

static void every_address(void **state)
{
    (void)state;
    for (int order = 2; order <= 8; order += 2)
        for (int tight = 0; tight < 2; tight++) store_both(order, tight ? 4 : 1, tight);
}

/* ---- numbers that are not finite -------------------------------------------------------------------- */

/* The number of row k in a column: derivatives, then mass and time. */
static double *number_of(int k, int column)
{
    return column < SAPPORO_DERIVATIVES    ? &row[k].derivative[column][column % 3]
           : column == SAPPORO_DERIVATIVES ? &row[k].mass
                                           : &row[k].time;
}

/* Stores rows of which one has a number in a column that is not finite; the others are kept. */
static void store_bad(int order, int column, int tight)
{
    const int highest = highest_of(order);
    sapporo *const c = open_with(order, 3);
    sapporo_particles all = columns_of(row, highest);
    const int bad = 4097 + 100 * column, is_kept = column <= highest || column >= SAPPORO_DERIVATIVES;
    double *const number = number_of(bad, column), good = *number;
    *number = NAN;
    void *const memory = tight ? tighten_all(&all, SOME) : NULL;
    char words[80];
    (void)snprintf(words, sizeof words, "j-particle at address %d is not finite", 16 + bad);
    assert_int_equal(sapporo_set_particles(c, 16, SOME, &all), is_kept ? SAPPORO_ERR_NOT_FINITE : SAPPORO_OK);
    if (is_kept && !strstr(sapporo_last_error(c), words)) fail_msg("%s", sapporo_last_error(c));
    *number = good;
    for (int k = bad - 20; k < bad + 20; k++) {
        sapporo_particle p;
        assert_int_equal(sapporo_get_particle(c, 16 + k, 0, &p), SAPPORO_OK);
        assert_true(k == bad || p.mass == row[k].mass);
        assert_true(k == bad || p.derivative[0][0] == row[k].derivative[0][0]);
    }
    sapporo_close(c);
    free(memory);
}

static void bad_numbers(void **state)
{
    (void)state;
    sapporo_print_errors(0);
    for (int order = 4; order <= 8; order += 2)
        for (int column = 0; column < SAPPORO_DERIVATIVES + 2; column++)
            for (int tight = 0; tight < 2; tight++) store_bad(order, column, tight);
    sapporo_print_errors(1);
}

/* ---- ways of copying words --------------------------------------------------------------------------- */

enum { WORDS = 3, IN_WORD = 16, NUMBERS = 3 * IN_WORD * WORDS };

/* Fails unless a way copies vectors, or numbers, and finds `odd` at place `at` alone, which may be none. */
static void copy_by(const struct sap_words *way, int vectors, double factor, double odd, int at)
{
    double given[NUMBERS] = {0}, to[NUMBERS];
    char from[sizeof given + 1]; /* not aligned */
    unsigned char strange[WORDS] = {0};
    const int n = vectors ? NUMBERS : NUMBERS / 3, in_word = n / WORDS;
    for (int k = 0; k < n; k++) given[k] = k == at ? odd : sin(k);
    memcpy(from + 1, given, sizeof given);
    if (vectors)
        way->vectors(to, from + 1, WORDS, factor, if_not_finite, strange);
    else
        way->numbers(to, from + 1, WORDS, if_not_finite, strange);
    for (int k = 0; k < n; k++) {
        const int in = k % in_word, place = vectors ? k - in + in % 3 * IN_WORD + in / 3 : k;
        if (k != at) assert_true(to[place] == (vectors ? given[k] / factor : given[k]));
    }
    for (int w = 0; w < WORDS; w++) assert_int_equal(strange[w], at / in_word == w && !isfinite(odd));
}

static void ways(void **state)
{
    (void)state;
    static const double odd[] = {1, NAN, -INFINITY};
    for (int lanes = 2; lanes <= 4; lanes += 2) {
        const struct sap_words *const way = sap_words_of(lanes);
        for (int at = 0; at < NUMBERS && way; at++)
            for (int k = 0; k < 3; k++) {
                copy_by(way, 1, at % 2 ? 1 : 6, odd[k], at);
                if (at < NUMBERS / 3) copy_by(way, 0, 1, odd[k], at);
            }
    }
    assert_non_null(sap_words_of(2));
}

/* ---- forces ------------------------------------------------------------------------------------------ */

static void force_of(sapporo *c, double (*acc)[3], double *pot)
{
    const ptrdiff_t stride = sizeof *row;
    const sapporo_request r = {.size = sizeof r,
                               .nj = SOME,
                               .ni = TARGETS,
                               .x = {row[0].derivative[0], stride},
                               .v = {row[0].derivative[1], stride},
                               .a = {row[0].derivative[2], stride},
                               .jerk = {row[0].derivative[3], stride},
                               .index = {&row[0].index, stride},
                               .eps2 = 0.01};
    const sapporo_result to = {.size = sizeof to, .acc = acc, .pot = pot};
    sapporo_job *job = NULL;
    if (sapporo_set_time(c, 0.5) || sapporo_force_begin(c, &r, &job)) fail_msg("%s", sapporo_last_error(c));
    assert_int_equal(sapporo_force_end(job, TARGETS, &to), SAPPORO_OK);
    sapporo_force_free(job);
}

/* Forces before and after the particles are replaced, in both ways. */
static void compare_forces(const struct engine *e)
{
    const int highest = highest_of(e->order ? e->order : 4);
    sapporo *const c = engine_open(e, 2), *const wanted = engine_open(e, 2);
    for (int round = 0; round < 2; round++) {
        double acc[2][TARGETS][3], pot[2][TARGETS];
        const sapporo_particles all = columns_of(row + round * SOME, highest);
        assert_int_equal(sapporo_set_particles(c, 0, SOME, &all), SAPPORO_OK);
        for (int k = 0; k < SOME; k++) {
            const sapporo_particle p = kept_of(&row[round * SOME + k], highest);
            assert_int_equal(sapporo_set_particle(wanted, k, &p), SAPPORO_OK);
        }
        force_of(c, acc[0], pot[0]);
        force_of(wanted, acc[1], pot[1]);
        assert_memory_equal(acc[0], acc[1], sizeof acc[0]);
        assert_memory_equal(pot[0], pot[1], sizeof pot[0]);
    }
    sapporo_close(c);
    sapporo_close(wanted);
}

static void forces(void **state)
{
    (void)state;
    for (int k = 0; k < ENGINES; k++)
        if (engine_usable(&engines[k])) compare_forces(&engines[k]);
    for (int k = 0; k < ENGINES68; k++) {
        if (engine_usable(&engines6[k])) compare_forces(&engines6[k]);
        if (engine_usable(&engines8[k])) compare_forces(&engines8[k]);
    }
}

/* ---- rows that another context gives ------------------------------------------------------------------ */

/* Rows of a context, with holes and some with a softening, are stored in another one with their bits. */
static void rows_of_contexts(void **state)
{
    (void)state;
    for (int order = 2; order <= 8; order += 2) {
        const int terms = order == 2 ? 1 : order == 4 ? 5 : order;
        const size_t doubles = 3 * (size_t)terms + sizeof(struct sap_partial_tail) / sizeof(double);
        sapporo *const from = open_with(order, 2), *const to = open_with(order, 3);
        const sapporo_particles all = columns_of(row, highest_of(order));
        double *const rows = malloc(SOME * doubles * sizeof *rows);
        assert_non_null(rows);
        assert_int_equal(sapporo_set_particles(from, 0, 5000, &all), SAPPORO_OK);
        assert_int_equal(sapporo_set_particles(from, 5003, 1000, &all), SAPPORO_OK);
        sapporo_particle soft = kept_of(&row[0], highest_of(order));
        soft.eps2 = 0.5;
        assert_int_equal(sapporo_set_particle(from, 7001, &soft), SAPPORO_OK);
        assert_int_equal(sap_partial_read(from, 0, SOME, rows), SAPPORO_OK);
        for (int twice = 0; twice < 2; twice++) assert_int_equal(sap_partial_store(to, 0, SOME, rows), SAPPORO_OK);
        for (int k = 0; k < SOME; k++) {
            sapporo_particle p;
            if (sapporo_get_particle(from, k, 0, &p) == SAPPORO_OK)
                expect_same(to, from, k);
            else
                assert_int_equal(sapporo_get_particle(to, k, 0, &p), SAPPORO_ERR_ARGUMENT);
        }
        sapporo_close(from);
        sapporo_close(to);
        free(rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_address), cmocka_unit_test(bad_numbers),
                                       cmocka_unit_test(ways), cmocka_unit_test(forces),
                                       cmocka_unit_test(rows_of_contexts)};
    return cmocka_run_group_tests(tests, make, drop);
}
