/*
 * test_rows.c - target particles row by row: one that is not finite makes its own row NaN and no other, at each row and
 * in each number; results end with the last row; a force knows nothing of the force before it; messages have the
 * numbers of the row.  Copies of rows by themselves, in each layout that an engine may have.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "context/job_rows.h"
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
    if (!same || memcmp(a->list[i], b->list[i], sizeof a->list[i]) != 0)
        fail_msg("%s: row %d is not the same", what, i);
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
            if (!isnan(a->three[k][i][c]))
                fail_msg("order %d, row %d: derivative %d is %g", order, i, k, a->three[k][i][c]);
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
    static const sapporo_regular ahead = {.size = sizeof ahead, .dtr = {dtr, 0}},
                                 by_mass = {.size = sizeof by_mass, .h2_by_mass = 1};
    sapporo_request r = request_of(k == 9 ? 3 : k == 10 ? ROWS : 40);
    const int outside = k >= 4 && k <= 6;
    if (k == 1) r.eps2_i.base = eps2_i;
    if (k == 2) r.eps2 = 0.5;
    r.index.base = k == 3 ? NULL : of_sources;
    if (outside) r.pairs = SAPPORO_PAIRS_OUTSIDE, r.index.base = NULL, r.want = 0;
    if (k == 5) r.regular = &ahead;
    if (k == 6) r.regular = &by_mass;
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

/* ---- copies of rows alone ------------------------------------------------------------------------------ */

enum { LARGE = 2500, SUMS = 13 }; /* so many rows that threads share them */

static struct {
    double x[LARGE][3], rest[3][LARGE][3], radius[LARGE], eps2[LARGE];
    int32_t index[LARGE];
    unsigned char bad[LARGE];
} room;

static sapporo_job job_of(int n)
{
    static sapporo context = {.settings = {.gravity = 1}};
    return (sapporo_job){.context = &context,
                         .ni = n,
                         .room = LARGE,
                         .vectors = VECTORS,
                         .x = room.x,
                         .v = room.rest[0],
                         .a = room.rest[1],
                         .jerk = room.rest[2],
                         .index = room.index,
                         .h2 = room.radius,
                         .bad = room.bad};
}

/* What a copy of n rows tells where number c of vector k of a row is x. */
static struct sap_rows_found found_with(int n, int row, int k, int c, double x)
{
    static double column[VECTORS][LARGE][3], zero[LARGE];
    sapporo_request r = {.size = sizeof r, .ni = n, .h2 = {zero, 0}};
    sapporo_job job = job_of(n);
    r.x.base = column[0], r.v.base = column[1], r.a.base = column[2], r.jerk.base = column[3];
    if (k < VECTORS)
        column[k][row][c] = x;
    else
        zero[row] = x;
    const struct sap_rows_found found = sap_rows_copy(&job, &r);
    for (int i = 0; i < n; i++) assert_int_equal(room.bad[i], found.bad && i == row);
    if (!found.bad && k < VECTORS) assert_true((k ? room.rest[k - 1] : room.x)[row][c] == x);
    if (found.bad) assert_true(isfinite(room.x[row][0]) && isfinite(room.rest[2][row][2]));
    if (k < VECTORS)
        column[k][row][c] = 0;
    else
        zero[row] = 0;
    return found;
}

static void expect_found(int n, int row, int k, int c, double x, struct sap_rows_found e)
{
    const struct sap_rows_found f = found_with(n, row, k, c, x);
    if (f.bad != e.bad || f.wide != e.wide || f.far != e.far || f.near != e.near || f.odd != e.odd)
        fail_msg("%d rows, row %d, number %d of vector %d is %g: bad %d, wide %d, far %d, near %d, odd %d", n, row, c,
                 k, x, f.bad, f.wide, f.far, f.near, f.odd);
}

/* What is unusual of one row is found wherever it is, and both limits of coordinates are sharp. */
static void copied_rows(void **state)
{
    static const struct sap_rows_found none = {0}, bad = {.bad = 1, .odd = 1}, wide = {.wide = 1},
                                       far = {.wide = 1, .far = 1}, near = {.near = 1}, odd = {.near = 1, .odd = 1};
    static const int counts[] = {1, 2, 3, 5, 63, 64, 65, 131, LARGE};
    (void)state;
    for (size_t at = 0; at < sizeof counts / sizeof *counts; at++)
        for (int k = 0; k < 2 * PLACES; k++) {
            const int n = counts[at], row = k < PLACES ? places[k] : n - 1 - places[k - PLACES];
            if (row < 0 || row >= n) continue;
            for (int c = 0; c < 3; c++) {
                for (int vector = 0; vector < VECTORS; vector++) {
                    expect_found(n, row, vector, c, vector % 2 ? -(double)INFINITY : (double)NAN, bad);
                    expect_found(n, row, vector, c, vector ? 1e300 : nextafter(SAP_WIDE, 0), none);
                }
                expect_found(n, row, 0, c, -SAP_WIDE, wide);
                expect_found(n, row, 0, c, nextafter(SAP_FAR, 0), wide);
                expect_found(n, row, 0, c, -SAP_FAR, far);
            }
            expect_found(n, row, VECTORS, 0, 1e-300, near);
            expect_found(n, row, VECTORS, 0, -1e-300, odd);
            expect_found(n, row, VECTORS, 0, (double)NAN, odd);
            expect_found(n, row, VECTORS, 0, (double)INFINITY, odd);
        }
}

/* Sum q of row i, before it is divided by the units. */
static double sum_at(int i, int q) { return (i + 1) * 0.25 + q * 1024; }

static double sums[LARGE * SUMS], squares[LARGE];
static int32_t nearest[LARGE];
static struct rows_out {
    double three[VECTORS][LARGE + 1][3], pot[LARGE + 1], r2[LARGE + 1];
    int nearest[LARGE + 1];
} out;

/* Writes rows from .. to-1 of n; returns what sap_rows_write does. */
static struct sap_rows_written write_rows(const sapporo_job *job, int n, int from, int to, int in_columns)
{
    const struct sap_force_output o = {.rows = n,
                                       .sum = sums,
                                       .sum_row = in_columns ? 1 : SUMS,
                                       .sum_column = in_columns ? n : 1,
                                       .nearest = nearest,
                                       .nearest_r2 = squares};
    const sapporo_result r = {.size = sizeof r,
                              .acc = out.three[0],
                              .jerk = out.three[1],
                              .snap = out.three[2],
                              .crackle = out.three[3],
                              .pot = out.pot,
                              .nearest = out.nearest,
                              .nearest_r2 = out.r2};
    memset(&out, 0x42, sizeof out);
    return sap_rows_write(job, from, to, &r, &o);
}

static void fill_sums(int n, int in_columns)
{
    for (int i = 0; i < n; i++) {
        for (int q = 0; q < SUMS; q++) sums[in_columns ? q * n + i : i * SUMS + q] = sum_at(i, q);
        nearest[i] = 7 * i;
        squares[i] = 0.5 * i;
    }
}

/* Rows from .. to-1 have the sums, divided by the units; no other row is written. */
static void expect_written(int n, int from, int to, const struct sap_units *u)
{
    assert_true(from == 0 || is_poison(&out.pot[from - 1], sizeof out.pot[0]));
    assert_true(is_poison(&out.pot[to], sizeof out.pot[0]) && is_poison(&out.r2[to], sizeof out.r2[0]) &&
                is_poison(&out.nearest[to], sizeof out.nearest[0]));
    for (int k = 0; k < VECTORS; k++) assert_true(is_poison(out.three[k][to], sizeof out.three[k][to]));
    for (int i = from; i < to; i++) {
        int good = out.pot[i] == ldexp(sum_at(i, 0), u->length - u->mass) && out.nearest[i] == 7 * i &&
                   out.r2[i] == ldexp(0.5 * i, -2 * u->length);
        for (int q = 1; q < SUMS; q++) {
            const int k = (q - 1) / 3;
            good = good && out.three[k][i][(q - 1) % 3] == ldexp(sum_at(i, q), 2 * u->length + k * u->time - u->mass);
        }
        if (!good) fail_msg("row %d of %d, written from %d to %d, is wrong", i, n, from, to);
    }
}

static void expect_told(struct sap_rows_written found, int not_finite, int faint)
{
    assert_int_equal(found.not_finite, not_finite);
    assert_int_equal(found.faint, faint);
}

/* Of potentials that are faint, but not 0, the first of a good row is told. */
static void faint_rows(void **state)
{
    enum { FAR = 131 };
    (void)state;
    for (int in_columns = 0; in_columns < 2; in_columns++)
        for (int k = 0; k < PLACES && places[k] < FAR; k++) {
            sapporo_job job = job_of(FAR);
            memset(room.bad, 0, sizeof room.bad);
            fill_sums(FAR, in_columns);
            double *const pot = &sums[in_columns ? places[k] : places[k] * SUMS];
            *pot = -0x1p-50;
            expect_told(write_rows(&job, FAR, 0, FAR, in_columns), -1, -1);
            job.faint = 0x1p-49;
            expect_told(write_rows(&job, FAR, 0, FAR, in_columns), -1, places[k]);
            if (places[k] > 0) expect_told(write_rows(&job, FAR, 0, places[k], in_columns), -1, -1);
            job.bad[places[k]] = 1;
            expect_told(write_rows(&job, FAR, 0, FAR, in_columns), -1, -1);
            job.bad[places[k]] = 0;
            *pot = 0;
            expect_told(write_rows(&job, FAR, 0, FAR, in_columns), -1, -1);
        }
}

/* Sums in rows and in columns, with and without units, are copied; of those not finite the first row is told. */
static void written_rows(void **state)
{
    static const struct sap_units units[] = {{0, 0, 0}, {32, -64, 96}};
    static const int counts[] = {1, 2, 3, 64, 65, 131, LARGE};
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        for (size_t at = 0; at < sizeof counts / sizeof *counts; at++) {
            const int n = counts[at], in_columns = kind % 2;
            sapporo_job job = job_of(n);
            job.units = units[kind / 2];
            memset(room.bad, 0, sizeof room.bad);
            fill_sums(n, in_columns);
            for (int from = 0; from < 4 && from < n; from++) {
                expect_told(write_rows(&job, n, from, n, in_columns), -1, -1);
                expect_written(n, from, n, &job.units);
            }
            for (int k = 0; k < PLACES; k++)
                for (int q = 0; q < SUMS && places[k] < n; q++) {
                    double *const number = &sums[in_columns ? q * n + places[k] : places[k] * SUMS + q], kept = *number;
                    *number = q % 2 ? (double)NAN : (double)INFINITY;
                    expect_told(write_rows(&job, n, 0, n, in_columns), places[k], -1);
                    job.bad[places[k]] = 1; /* told already */
                    job.nbad = 1;
                    expect_told(write_rows(&job, n, 0, n, in_columns), -1, -1);
                    assert_true(isnan(out.pot[places[k]]) && out.nearest[places[k]] == -1);
                    job.bad[places[k]] = 0;
                    job.nbad = 0;
                    *number = kept;
                }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(one_bad, listen),
                                       cmocka_unit_test_setup(bad_radii, listen),
                                       cmocka_unit_test_setup(numbers_of_rows, listen),
                                       cmocka_unit_test_setup(nothing_remains, listen),
                                       cmocka_unit_test_setup(names_of_rows, listen),
                                       cmocka_unit_test_setup(names_of_pairs, listen),
                                       cmocka_unit_test(copied_rows),
                                       cmocka_unit_test(written_rows),
                                       cmocka_unit_test(faint_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
