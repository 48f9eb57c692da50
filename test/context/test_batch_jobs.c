/*
 * test_batch_jobs.c - batches that are begun and ended apart: bits of sapporo_force_batch, several in flight, inputs
 * and particles that change meanwhile, what is refused, and handles that are closed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3000, LISTS = 300, NI = 20, FLIGHTS = 3 };

/* Particles, lists on them, and results; the first row of list 5 is not finite if `odd`. */
struct lists {
    double x[N][3], mass[N];
    int address[N], ni[LISTS];
    sapporo_small_force list[LISTS];
    sapporo_result result[LISTS];
    double acc[LISTS][NI][3], pot[LISTS][NI];
};

static struct lists *new_lists(unsigned seed)
{
    struct lists *m = zeroed(1, sizeof *m);
    struct body *body = zeroed(N, sizeof *body);
    model_plummer(body, N, seed);
    for (int k = 0; k < N; k++) {
        memcpy(m->x[k], body[k].derivative[0], sizeof m->x[k]);
        m->mass[k] = body[k].mass;
        m->address[k] = (k * 77 + 3) % N;
    }
    free(body);
    for (int k = 0; k < LISTS; k++) {
        sapporo_small_force *const l = &m->list[k];
        *l = (sapporo_small_force){.size = sizeof *l, .ni = k % (NI + 1), .nj = k * 37 % 500, .x.base = m->x[k]};
        if (k % 50 == 7) l->nj = 2500;
        l->eps2 = 1e-3;
        if (k % 3)
            l->address = m->address + k;
        else
            l->x_j.base = m->x[k], l->mass_j.base = m->mass + k;
        m->ni[k] = l->ni;
        m->result[k] = (sapporo_result){.size = sizeof m->result[k], .acc = m->acc[k], .pot = m->pot[k]};
    }
    return m;
}

static void store_all(sapporo *c, const struct lists *m)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{m->x, 0}}, .mass = {m->mass, 0}};
    assert_int_equal(sapporo_set_particles(c, 0, N, &all), SAPPORO_OK);
}

static void same_results(const char *name, const struct lists *a, const struct lists *b)
{
    for (int k = 0; k < LISTS; k++)
        if (!same_doubles(a->acc[k][0], b->acc[k][0], (size_t)3 * NI) || !same_doubles(a->pot[k], b->pot[k], NI))
            fail_msg("%s: list %d differs: pot %a, %a", name, k, a->pot[k][0], b->pot[k][0]);
}

/* The first rows of some lists against sums in long double. */
static void check_sums(const struct engine *e, const struct lists *m)
{
    const long double bound = e->root == SAPPORO_ROOT_FAST ? 5e-4L : 2e-5L;
    for (int k = 1; k < LISTS; k += 7) {
        const sapporo_small_force *const l = &m->list[k];
        long double sum[4] = {0}, size = 0; /* of the magnitudes of accelerations */
        for (int n = 0; n < l->nj && l->ni > 0; n++) {
            const int j = l->address ? l->address[n] : k + n;
            long double r[3], r2 = l->eps2;
            for (int c = 0; c < 3; c++) r[c] = (long double)m->x[j][c] - m->x[k][c], r2 += r[c] * r[c];
            sum[3] -= m->mass[j] / sqrtl(r2);
            size += m->mass[j] * sqrtl(r2 - l->eps2) / (r2 * sqrtl(r2));
            for (int c = 0; c < 3; c++) sum[c] += m->mass[j] * r[c] / (r2 * sqrtl(r2));
        }
        if (l->ni == 0) continue;
        for (int c = 0; c < 3; c++)
            if (!(fabsl(m->acc[k][0][c] - sum[c]) <= bound * size))
                fail_msg("%s: list %d, acc %g, in long double %Lg", e->name, k, m->acc[k][0][c], sum[c]);
        if (!(fabsl(m->pot[k][0] - sum[3]) <= bound * fabsl(sum[3])))
            fail_msg("%s: list %d, pot %g, in long double %Lg", e->name, k, m->pot[k][0], sum[3]);
    }
}

/* Several batches in flight; the particles and the lists change after each begin. */
static void in_flight(void **state)
{
    (void)state;
    for (int k = 0; k < ENGINES2; k++) {
        const struct engine *const e = &engines2[k];
        if (!engine_usable(e)) continue;
        struct lists *m[FLIGHTS], *want[FLIGHTS], *given = new_lists(1);
        sapporo_batch *batch[FLIGHTS];
        sapporo *c = engine_open(e, 2), *other = engine_open(e, 1);
        for (int f = 0; f < FLIGHTS; f++) {
            m[f] = new_lists(5 + (unsigned)f), want[f] = new_lists(5 + (unsigned)f);
            store_all(other, want[f]);
            assert_int_equal(sapporo_force_batch(other, LISTS, want[f]->list, want[f]->result), SAPPORO_OK);
            check_sums(e, want[f]);
        }
        for (int turn = 0; turn < 2; turn++) {
            for (int f = 0; f < FLIGHTS; f++) {
                memcpy(given->x, m[f]->x, sizeof given->x);
                memcpy(given->mass, m[f]->mass, sizeof given->mass);
                memcpy(given->address, m[f]->address, sizeof given->address);
                if (turn) assert_int_equal(sapporo_keep_addresses(c, given->address, N), SAPPORO_OK);
                store_all(c, given);
                assert_int_equal(sapporo_force_batch_begin(c, LISTS, given->list, &batch[f]), SAPPORO_OK);
                memset(given->x, 255, sizeof given->x);
                memset(given->address, 255, sizeof given->address);
            }
            for (int f = FLIGHTS - 1; f >= 0; f--) {
                for (int again = 0; again < 2; again++) {
                    assert_int_equal(sapporo_force_batch_end(batch[f], LISTS, m[f]->ni, m[f]->result), SAPPORO_OK);
                    same_results(e->name, m[f], want[f]);
                    memset(m[f]->acc, 0, sizeof m[f]->acc);
                    memset(m[f]->pot, 0, sizeof m[f]->pot);
                }
                assert_int_equal(sapporo_force_batch_done(batch[f]), 1);
                sapporo_force_batch_free(batch[f]);
            }
        }
        sapporo_close(c);
        sapporo_close(other);
        for (int f = 0; f < FLIGHTS; f++) free(m[f]), free(want[f]);
        free(given);
    }
}

/* Forces and other batches between begin and end; targets that are not finite, and fewer rows than there are. */
static void between(void **state)
{
    struct lists *m = new_lists(3), *now = new_lists(3);
    (void)state;
    m->x[28][1] = INFINITY; /* list 28 has own targets from there on */
    for (int k = 0; k < LISTS; k++)
        if (k != 28) m->list[k].x.base = m->x[1000 + k];
    for (int k = 0; k < LISTS; k++) {
        m->list[k].nj = m->list[k].nj > 20 ? 20 : m->list[k].nj;
        if (!m->list[k].address) m->list[k].x_j.base = m->x[100 + k];
        if (m->list[k].address) m->list[k].address = m->address;
    }
    for (int e = 0; e < ENGINES2; e++) {
        if (!engine_usable(&engines2[e])) continue;
        sapporo *c = engine_open(&engines2[e], 1);
        sapporo_batch *batch;
        sapporo_job *job;
        store_all(c, now);
        assert_int_equal(sapporo_force_batch_begin(c, LISTS, m->list, &batch), SAPPORO_OK);
        const sapporo_request r = {.size = sizeof r, .nj = N, .ni = 2, .x.base = now->x, .eps2 = 1};
        double pot[2];
        const sapporo_result result = {.size = sizeof result, .pot = pot};
        assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
        assert_int_equal(sapporo_force_end(job, 2, &result), SAPPORO_OK);
        assert_true(pot[0] < 0);
        sapporo_force_free(job);
        assert_int_equal(sapporo_force_batch(c, LISTS, now->list, now->result), SAPPORO_OK);
        m->ni[27] = 1;
        m->pot[27][1] = 7;
        assert_int_equal(sapporo_force_batch_end(batch, LISTS - 1, m->ni, m->result), SAPPORO_PARTIAL);
        assert_true(isnan(m->pot[28][0]) && isnan(m->acc[28][0][2]) && m->pot[28][1] < 0 && m->pot[27][1] == 7);
        assert_true(m->pot[27][0] < 0 && m->pot[LISTS - 1][0] == 0);
        sapporo_force_batch_free(batch);
        assert_int_equal(sapporo_force_batch_end(batch, LISTS, m->ni, m->result), SAPPORO_ERR_CLOSED);
        assert_true(isnan(m->pot[27][0]) && m->pot[27][1] == 7);
        memset(m->pot, 0, sizeof m->pot);
        sapporo_close(c);
    }
    free(m);
    free(now);
}

/* What a caller may get wrong: an error, no handle, rows of NaN. */
static void refused(void **state)
{
    struct lists *m = new_lists(3);
    static double jerk[NI][3];
    sapporo *c = engine_open(&engines2[0], 1), *hermite = engine_open(&engines[0], 1);
    sapporo_batch *batch = (void *)m;
    (void)state;
    assert_int_equal(sapporo_force_batch_begin(c, LISTS, m->list, &batch), SAPPORO_ERR_ARGUMENT); /* no particles */
    assert_null(batch);
    store_all(c, m);
    assert_int_equal(sapporo_force_batch_begin(hermite, LISTS, m->list, &batch), SAPPORO_ERR_UNSUPPORTED);
    assert_int_equal(sapporo_force_batch_begin(c, -1, m->list, &batch), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_batch_begin(c, 1, NULL, &batch), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_batch_begin(c, LISTS, m->list, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_batch_begin(NULL, LISTS, m->list, &batch), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_force_batch_end(NULL, LISTS, m->ni, m->result), SAPPORO_ERR_ARGUMENT);
    assert_true(isnan(m->pot[1][0]) && isnan(m->acc[LISTS - 1][0][2]));
    assert_int_equal(sapporo_force_batch_begin(c, 0, NULL, &batch), SAPPORO_OK);
    assert_int_equal(sapporo_force_batch_end(batch, 0, NULL, NULL), SAPPORO_OK);
    assert_int_equal(sapporo_force_batch_end(batch, 1, m->ni, m->result), SAPPORO_ERR_ARGUMENT);
    sapporo_force_batch_free(batch);
    assert_int_equal(sapporo_force_batch_begin(c, 9, m->list, &batch), SAPPORO_OK);
    assert_int_equal(sapporo_force_batch_end(batch, 9, NULL, m->result), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_batch_end(batch, 9, m->ni, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_batch_end(batch, -1, m->ni, m->result), SAPPORO_ERR_ARGUMENT);
    for (int k = 0; k < 2; k++) {
        m->pot[4][0] = 7;
        m->ni[3] = k ? -1 : 4; /* it has 3 */
        assert_int_equal(sapporo_force_batch_end(batch, 9, m->ni, m->result), SAPPORO_ERR_ARGUMENT);
        assert_true(isnan(m->pot[4][0]));
    }
    m->ni[3] = 3;
    m->result[4].jerk = jerk;
    assert_int_equal(sapporo_force_batch_end(batch, 9, m->ni, m->result), SAPPORO_ERR_UNSUPPORTED);
    assert_true(isnan(jerk[3][2]));
    m->result[4].jerk = NULL;
    assert_int_equal(sapporo_force_batch_end(batch, 9, m->ni, m->result), SAPPORO_OK);
    assert_true(m->pot[4][0] < 0);
    assert_int_equal(sapporo_force_end((sapporo_job *)batch, 1, m->result), SAPPORO_ERR_CLOSED); /* of another kind */
    sapporo_close(c);
    assert_int_equal(sapporo_force_batch_end(batch, 9, m->ni, m->result), SAPPORO_ERR_CLOSED);
    assert_true(isnan(m->pot[4][0]));
    assert_int_equal(sapporo_force_batch_done(batch), 1);
    sapporo_force_batch_free(batch);
    sapporo_force_batch_free(NULL);
    sapporo_close(hermite);
    free(m);
}

/* Contexts that are closed with batches in flight, and batches that are freed before they end. */
static void closed_in_flight(void **state)
{
    struct lists *m = new_lists(3);
    (void)state;
    for (int e = 0; e < ENGINES2; e++) {
        if (!engine_usable(&engines2[e])) continue;
        sapporo *c = engine_open(&engines2[e], 1);
        sapporo_batch *batch[FLIGHTS];
        store_all(c, m);
        for (int f = 0; f < FLIGHTS; f++) {
            assert_int_equal(sapporo_force_batch_begin(c, LISTS, m->list, &batch[f]), SAPPORO_OK);
            if (f == 1) sapporo_force_batch_free(batch[f]);
        }
        sapporo_close(c);
        for (int f = 0; f < FLIGHTS; f++)
            assert_int_equal(sapporo_force_batch_end(batch[f], LISTS, m->ni, m->result), SAPPORO_ERR_CLOSED);
    }
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_flight), cmocka_unit_test(between),
                                       cmocka_unit_test(refused), cmocka_unit_test(closed_in_flight)};
    return cmocka_run_group_tests_name("batch_jobs", tests, NULL, NULL);
}
