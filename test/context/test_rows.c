/*
 * test_rows.c - target particles row by row: one that is not finite makes its own row NaN and no other, at each row and
 * in each number; results end with the last row; a force knows nothing of the force before it; messages have the
 * numbers of the row.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "opened.h"
#include "outputs.h"

enum { ROWS = 131, SOURCES = 6, VECTORS = 4, PLACES = 11 };

/* Rows at the ends of words, of blocks of 64, and of all. */
static const int places[PLACES] = {0, 1, 2, 3, 31, 62, 63, 64, 65, 129, 130};

/* Targets, with a row of NaN behind the last one. */
static double given[VECTORS][ROWS + 1][3], h2[ROWS + 1], eps2_i[ROWS + 1], dtr[ROWS + 1];
static int index_i[ROWS + 1], of_sources[ROWS + 1]; /* of_sources: some are indices of sources */

/* All that a force gives, with room for a row more. */
struct rows {
    double three[VECTORS][ROWS + 1][3], pot[ROWS + 1], r2[ROWS + 1];
    int nearest[ROWS + 1], length[ROWS + 1], list[ROWS][SOURCES];
};

static char said[8][256];
static int messages;

static void hear(void *user, int level, const char *text)
{
    (void)user, (void)level;
    (void)snprintf(said[messages % 8], sizeof said[0], "%s", text);
    messages++;
}

static void expect_said(const char *words)
{
    for (int k = 0; k < 8; k++)
        if (strstr(said[k], words)) return;
    fail_msg("no message says '%s', the last is '%s'", words, said[(messages + 7) % 8]);
}

static int listen(void **state)
{
    (void)state;
    messages = 0;
    memset(said, 0, sizeof said);
    sapporo_set_log(hear, NULL);
    for (int i = 0; i <= ROWS; i++) {
        for (int k = 0; k < VECTORS; k++)
            for (int c = 0; c < 3; c++) given[k][i][c] = i == ROWS ? (double)NAN : sin(1.7 * i + 2.3 * c + 0.9 * k);
        h2[i] = i == ROWS ? (double)NAN : 0.3 + 0.01 * (i % 40);
        eps2_i[i] = i == ROWS ? (double)NAN : 0.02 * (i % 7);
        dtr[i] = i == ROWS ? (double)NAN : 0.5 * (i % 5);
        index_i[i] = 1000 + i;
        of_sources[i] = 50 + i % 20;
    }
    return 0;
}

static sapporo *open_sources(int order)
{
    sapporo *const c = open_order(order);
    for (int j = 0; j < SOURCES; j++) {
        sapporo_particle p = {.mass = 1 + 0.5 * j, .index = 50 + j};
        for (int k = 0; k < order; k++)
            for (int axis = 0; axis < 3; axis++) p.derivative[k][axis] = cos((2.1 + k) * j + 1.3 * axis + k);
        assert_int_equal(sapporo_set_particle(c, j, &p), SAPPORO_OK);
    }
    return c;
}

static sapporo_request request_of(int ni)
{
    return (sapporo_request){.size = sizeof(sapporo_request),
                             .nj = SOURCES,
                             .ni = ni,
                             .x = {given[0], 0},
                             .v = {given[1], 0},
                             .a = {given[2], 0},
                             .jerk = {given[3], 0},
                             .index = {index_i, 0},
                             .h2 = {h2, 0},
                             .want = SAPPORO_WANT_NEAREST | SAPPORO_WANT_LISTS};
}

static sapporo_result result_of(struct rows *to, int order)
{
    memset(to, 0x42, sizeof *to);
    return (sapporo_result){.size = sizeof(sapporo_result),
                            .acc = to->three[0],
                            .jerk = order > 2 ? to->three[1] : NULL,
                            .snap = order > 4 ? to->three[2] : NULL,
                            .crackle = order > 6 ? to->three[3] : NULL,
                            .pot = to->pot,
                            .nearest = to->nearest,
                            .nearest_r2 = to->r2};
}

static sapporo_job *begin(sapporo *c, const sapporo_request *r)
{
    sapporo_job *job;
    if (sapporo_force_begin(c, r, &job)) fail_msg("%s", sapporo_last_error(c));
    return job;
}

/* Ends a force with all outputs; returns its status. */
static int end(sapporo_job *job, int ni, int order, struct rows *to)
{
    const sapporo_result r = result_of(to, order);
    const int status = sapporo_force_end(job, ni, &r);
    assert_true(sapporo_force_neighbour_lists(job, ni, SOURCES, SOURCES, to->list[0], to->length) >= 0);
    sapporo_force_free(job);
    return status;
}

static void expect_same_row(const char *what, const struct rows *a, const struct rows *b, int i)
{
    int same = a->pot[i] == b->pot[i] && a->r2[i] == b->r2[i] && a->nearest[i] == b->nearest[i] &&
               a->length[i] == b->length[i];
    for (int k = 0; k < VECTORS; k++) same = same && memcmp(a->three[k][i], b->three[k][i], sizeof a->three[k][i]) == 0;
    if (!same || memcmp(a->list[i], b->list[i], sizeof a->list[i]) != 0) fail_msg("%s: row %d is not the same", what, i);
}

/* Nothing is written behind n rows. */
static void expect_end(const struct rows *a, int n)
{
    for (int k = 0; k < VECTORS; k++) assert_true(is_poison(a->three[k][n], sizeof a->three[k][n]));
    assert_true(is_poison(a->pot + n, sizeof *a->pot) && is_poison(a->r2 + n, sizeof *a->r2) &&
                is_poison(a->nearest + n, sizeof *a->nearest) && is_poison(a->length + n, sizeof *a->length));
}

static void expect_bad_row(const struct rows *a, int i, int order)
{
    for (int k = 0; k < order / 2; k++)
        for (int c = 0; c < 3; c++)
            if (!isnan(a->three[k][i][c])) fail_msg("order %d, row %d: derivative %d is %g", order, i, k, a->three[k][i][c]);
    assert_true(isnan(a->pot[i]) && isnan(a->r2[i]) && a->nearest[i] == -1 && a->length[i] == 0);
}

/* ---- targets that are not finite --------------------------------------------------------------- */

static void one_bad_at(sapporo *c, int order, const struct rows *clean, int row)
{
    static struct rows found;
    for (int n = 0; n < order / 2 * 3; n++) {
        double *const at = &given[n / 3][row][n % 3], kept = *at;
        const sapporo_request r = request_of(ROWS);
        *at = n % 2 ? (double)NAN : -(double)INFINITY;
        sapporo_job *const job = begin(c, &r);
        *at = kept;
        assert_int_equal(end(job, ROWS, order, &found), SAPPORO_PARTIAL);
        expect_bad_row(&found, row, order);
        for (int i = 0; i < ROWS; i++)
            if (i != row) expect_same_row("beside a bad row", &found, clean, i);
        expect_end(&found, ROWS);
    }
}

static void one_bad(void **state)
{
    static struct rows clean, again;
    (void)state;
    for (int order = 2; order <= 8; order += 2) {
        sapporo *const c = open_sources(order);
        const sapporo_request r = request_of(ROWS);
        assert_int_equal(end(begin(c, &r), ROWS, order, &clean), SAPPORO_OK);
        expect_end(&clean, ROWS);
        messages = 0;
        memset(said, 0, sizeof said);
        for (int k = 0; k < PLACES; k++) one_bad_at(c, order, &clean, places[k]);
        assert_int_equal(messages, 1);
        expect_said("1 of 131 i-particles are not finite");
        assert_int_equal(end(begin(c, &r), ROWS, order, &again), SAPPORO_OK);
        for (int i = 0; i < ROWS; i++) expect_same_row("after bad rows", &again, &clean, i);
        sapporo_close(c);
    }
}

/* Squared radii that are negative or NaN, at each row: no list there, all others as before, and a message. */
static void bad_radii(void **state)
{
    static struct rows clean, found;
    char words[80];
    (void)state;
    for (int k = 0; k < PLACES; k++)
        for (int nan = 0; nan < 2; nan++) {
            const int row = places[k];
            const double kept = h2[row];
            const sapporo_request r = request_of(ROWS);
            sapporo *const c = open_sources(4);
            assert_int_equal(end(begin(c, &r), ROWS, 4, &clean), SAPPORO_OK);
            messages = 0;
            h2[row] = nan ? (double)NAN : -1.5;
            sapporo_job *const job = begin(c, &r);
            h2[row] = kept;
            assert_int_equal(end(job, ROWS, 4, &found), SAPPORO_OK);
            (void)snprintf(words, sizeof words, "h2 of i-particle %d is %s: taken as 0", row, nan ? "nan" : "-1.5");
            expect_said(words);
            assert_int_equal(found.length[row], 0);
            memcpy(found.list[row], clean.list[row], sizeof found.list[row]);
            clean.length[row] = 0;
            for (int i = 0; i < ROWS; i++) expect_same_row("beside a bad radius", &found, &clean, i);
            sapporo_close(c);
        }
}

/* ---- numbers of rows ----------------------------------------------------------------------------- */

/* Forces on 0 to 131 targets, and fewer rows than a force has: each row is that of all targets, none is beyond. */
static void numbers_of_rows(void **state)
{
    static const int counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 66, 127, 128, 129, 130};
    static struct rows all, found;
    (void)state;
    for (int order = 2; order <= 8; order += 2) {
        sapporo *const c = open_sources(order);
        sapporo_request r = request_of(ROWS);
        assert_int_equal(end(begin(c, &r), ROWS, order, &all), SAPPORO_OK);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            for (int cut = 0; cut < 2; cut++) {
                const int n = counts[k];
                r.ni = cut ? ROWS : n;
                assert_int_equal(end(begin(c, &r), n, order, &found), SAPPORO_OK);
                for (int i = 0; i < n; i++) expect_same_row(cut ? "some rows" : "few rows", &found, &all, i);
                expect_end(&found, n);
            }
        sapporo_close(c);
    }
}

/* ---- one force after another --------------------------------------------------------------------- */

enum { REQUESTS = 12 };

/* A request of kind k. */
static sapporo_request kind_of_request(int k)
{
    sapporo_request r = request_of(k == 9 ? 3 : k == 10 ? ROWS : 40);
    const int outside = k >= 4 && k <= 6;
    if (k == 1) r.eps2_i.base = eps2_i;
    if (k == 2) r.eps2 = 0.5;
    r.index.base = k == 3 ? NULL : of_sources;
    if (outside) r.pairs = SAPPORO_PAIRS_OUTSIDE, r.index.base = NULL, r.want = 0;
    if (k == 5) r.dtr.base = dtr;
    if (k == 6) r.h2_by_mass = 1;
    if (k == 7) r.v.base = NULL;
    if (k == 8) r.h2.base = NULL;
    if (k == 11) r.x.base = given[0][ROWS - 39]; /* the last row is NaN */
    return r;
}

/* Runs a request; returns the status. */
static int run(sapporo *c, int k, struct rows *to)
{
    const sapporo_request r = kind_of_request(k);
    const int outside = r.pairs != SAPPORO_PAIRS_ALL;
    sapporo_result result = result_of(to, 4);
    if (outside) result.nearest = NULL, result.nearest_r2 = NULL;
    sapporo_job *const job = begin(c, &r);
    const int status = sapporo_force_end(job, r.ni, &result);
    assert_true(sapporo_force_neighbour_lists(job, r.ni, SOURCES, SOURCES, to->list[0], to->length) >= 0);
    sapporo_force_free(job);
    return status;
}

/* A force has the same results whatever force its context computed before. */
static void nothing_remains(void **state)
{
    static struct rows alone[REQUESTS], found;
    int status[REQUESTS];
    (void)state;
    for (int k = 0; k < REQUESTS; k++) {
        sapporo *const c = open_sources(4);
        status[k] = run(c, k, &alone[k]);
        assert_int_equal(status[k], k == 11 ? SAPPORO_PARTIAL : SAPPORO_OK);
        for (int l = 0; l < k; l++)
            if (memcmp(&alone[k], &alone[l], sizeof found) == 0) fail_msg("requests %d and %d are the same", l, k);
        sapporo_close(c);
    }
    for (int first = 0; first < REQUESTS; first++)
        for (int k = 0; k < REQUESTS; k++) {
            sapporo *const c = open_sources(4);
            (void)run(c, first, &found);
            assert_int_equal(run(c, k, &found), status[k]);
            if (memcmp(&found, &alone[k], sizeof found) != 0) fail_msg("force %d differs after force %d", k, first);
            sapporo_close(c);
        }
}

/* ---- messages ---------------------------------------------------------------------------------------- */

/* A force beyond all numbers names the first such row and its index, wherever it is. */
static void names_of_rows(void **state)
{
    static struct rows found;
    char words[80];
    (void)state;
    for (int k = 0; k < PLACES; k++) {
        sapporo *const c = open_sources(4);
        sapporo_request r = request_of(ROWS);
        const int row = places[k];
        sapporo_particle heavy = {.mass = 1e290, .index = 77};
        memcpy(heavy.derivative[0], given[0][row], sizeof heavy.derivative[0]);
        heavy.derivative[0][1] += 1e-12;
        assert_int_equal(sapporo_set_particle(c, SOURCES, &heavy), SAPPORO_OK);
        r.nj = SOURCES + 1;
        r.want = 0;
        assert_int_equal(end(begin(c, &r), ROWS, 4, &found), SAPPORO_OK);
        (void)snprintf(words, sizeof words, "the force on i-particle %d (index %d) is not finite", row, 1000 + row);
        expect_said(words);
        for (int i = 0; i < ROWS; i++) assert_true(isfinite(found.three[0][i][1]) == (i != row));
        sapporo_close(c);
    }
}

/* Two particles at one place are named by their indices; a particle does not meet itself. */
static void names_of_pairs(void **state)
{
    static struct rows found;
    (void)state;
    for (int own = 0; own < 2; own++) {
        sapporo *const c = open_sources(4);
        sapporo_request r = request_of(ROWS);
        sapporo_particle p = {.mass = 1, .index = 1007};
        memcpy(p.derivative[0], given[0][7], sizeof p.derivative[0]);
        assert_int_equal(sapporo_set_particle(c, SOURCES, &p), SAPPORO_OK); /* target 7 itself */
        p.index = 78;
        if (!own) assert_int_equal(sapporo_set_particle(c, SOURCES + 1, &p), SAPPORO_OK);
        r.nj = SOURCES + (own ? 1 : 2);
        messages = 0;
        assert_int_equal(end(begin(c, &r), ROWS, 4, &found), SAPPORO_OK);
        assert_int_equal(messages, own ? 0 : 1);
        if (!own) expect_said("particles of index 1007 and 78 lie at the same place");
        assert_true(isfinite(found.pot[7]) && found.nearest[7] == (own ? found.nearest[7] : 78));
        sapporo_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_bad, listen),         cmocka_unit_test_setup(bad_radii, listen),
        cmocka_unit_test_setup(numbers_of_rows, listen), cmocka_unit_test_setup(nothing_remains, listen),
        cmocka_unit_test_setup(names_of_rows, listen),   cmocka_unit_test_setup(names_of_pairs, listen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
