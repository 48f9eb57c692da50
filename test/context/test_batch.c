/*
 * test_batch.c - each force of a batch of small forces has the bits that it has alone, on every engine; order 2 refuses
 * what it does not support.
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

enum { N = 5000, LISTS = 24, ROOM = 70 };

/* Particles, lists on them, and results. */
struct many {
    double x[N][3], mass[N], eps2[N];
    int address[N];
    sapporo_small_force list[LISTS];
    sapporo_result result[LISTS];
    double acc[LISTS][ROOM][3], pot[LISTS][ROOM];
};

/* Sizes about those of vectors, packets and tiles; sources of their own and by address; all ways of softening. */
static struct many *new_many(void)
{
    static const int sizes[] = {1, 15, 16, 17, 500, 0, 2047, 2048, 2049, 4500};
    struct many *m = zeroed(1, sizeof *m);
    struct body *body = zeroed(N, sizeof *body);
    model_plummer(body, N, 4);
    for (int k = 0; k < N; k++) {
        memcpy(m->x[k], body[k].derivative[0], sizeof m->x[k]);
        m->mass[k] = 1e-3 * (k % 7);
        m->eps2[k] = 1e-4 * (k % 3);
        m->address[k] = (k * 77 + 3) % N;
    }
    free(body);
    for (int k = 0; k < LISTS; k++) {
        sapporo_small_force *const l = &m->list[k];
        l->size = sizeof *l;
        l->ni = k % ROOM * 3;
        l->nj = sizes[k % 10];
        l->x.base = m->x[k * 11];
        if (k % 3 == 1) l->eps2_i.base = m->eps2 + k * 7;
        if (k % 4 == 2)
            l->address = m->address + k;
        else
            l->x_j.base = m->x[k], l->mass_j.base = m->mass + k;
        if (k % 6 == 4 && !l->address) l->eps2_j.base = m->eps2 + k;
        l->eps2 = k % 5 ? 1e-3 : 0;
        m->result[k] = (sapporo_result){.size = sizeof m->result[k], .acc = m->acc[k], .pot = m->pot[k]};
    }
    return m;
}

static void store_some(sapporo *c, const struct many *m, int n)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{m->x, 0}}, .mass = {m->mass, 0}};
    assert_int_equal(sapporo_set_particles(c, 0, n, &all), SAPPORO_OK);
}

static void store_all(sapporo *c, const struct many *m) { store_some(c, m, N); }

/* The same list by itself: its sources at addresses 0 to nj-1 of a context of their own. */
static void check_alone(const struct engine *e, const struct many *m, int k)
{
    const sapporo_small_force *const l = &m->list[k];
    double acc[ROOM][3], pot[ROOM];
    sapporo_job *job;
    sapporo *c = engine_open(e, 1);
    sapporo_particles all = {.size = sizeof all, .derivative = {l->x_j}, .mass = l->mass_j, .eps2 = l->eps2_j};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    for (int j = 0; j < l->nj && l->address; j++) {
        const int a = l->address[j];
        const sapporo_particle p = {.derivative = {{m->x[a][0], m->x[a][1], m->x[a][2]}}, .mass = m->mass[a]};
        assert_int_equal(sapporo_set_particle(c, j, &p), SAPPORO_OK);
    }
    if (!l->address) assert_int_equal(sapporo_set_particles(c, 0, l->nj, &all), SAPPORO_OK);
    const sapporo_request r = {
        .size = sizeof r, .nj = l->nj, .ni = l->ni, .x = l->x, .eps2 = l->eps2, .eps2_i = l->eps2_i};
    assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, l->ni, &result), SAPPORO_OK);
    for (int i = 0; i < l->ni; i++)
        if (!same_doubles(acc[i], m->acc[k][i], 3) || !same_doubles(&pot[i], &m->pot[k][i], 1))
            fail_msg("%s, list %d (nj %d), target %d: acc %a, pot %a; alone %a, %a", e->name, k, l->nj, i,
                     m->acc[k][i][0], m->pot[k][i], acc[i][0], pot[i]);
    sapporo_force_free(job);
    sapporo_close(c);
}

static void as_alone(void **state)
{
    struct many *m = new_many();
    (void)state;
    for (int k = 0; k < ENGINES2; k++) {
        const struct engine *const e = &engines2[k];
        if (!engine_usable(e)) continue;
        for (int threads = 1; threads <= 3; threads += 2) {
            sapporo *c = engine_open(e, threads);
            store_all(c, m);
            assert_int_equal(sapporo_force_batch(c, LISTS, m->list, m->result), SAPPORO_OK);
            for (int l = 0; l < LISTS; l++) check_alone(e, m, l);
            sapporo_close(c);
        }
    }
    free(m);
}

/* Everything that a caller may get wrong, one at a time: rows are NaN, if there is a number of them. */
static void bad_lists(void **state)
{
    struct many *m = new_many();
    static double jerk[ROOM][3];
    static const double negative[ROOM] = {-1};
    static const int nobody[1] = {N};
    sapporo *c = engine_open(&engines2[0], 1), *hermite = engine_open(&engines[0], 1);
    (void)state;
    store_all(c, m);
    const sapporo_small_force good = m->list[3];
    const sapporo_result well = m->result[3];
    sapporo_small_force bad[9];
    for (int k = 0; k < 9; k++) bad[k] = good;
    bad[0].ni = -1;
    bad[1].nj = -1;
    bad[2].x.base = NULL;
    bad[3].x_j.base = NULL;
    bad[4].eps2 = -1;
    bad[5].eps2 = NAN;
    bad[6].eps2_i.base = negative;
    bad[7].eps2_j.base = negative;
    bad[8].address = nobody, bad[8].nj = 1;
    for (int k = 0; k < 9; k++) {
        m->pot[3][0] = 7;
        assert_int_equal(sapporo_force_batch(c, 1, &bad[k], &well), SAPPORO_ERR_ARGUMENT);
        assert_true(bad[k].ni < 0 ? m->pot[3][0] == 7 : isnan(m->pot[3][0]));
    }
    sapporo_result more = well;
    more.jerk = jerk;
    assert_int_equal(sapporo_force_batch(c, 1, &good, &more), SAPPORO_ERR_UNSUPPORTED);
    assert_int_equal(sapporo_force_batch(hermite, 1, &good, &well), SAPPORO_ERR_UNSUPPORTED);
    assert_int_equal(sapporo_force_batch(c, -1, &good, &well), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_batch(c, 1, NULL, &well), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_batch(NULL, 1, &good, &well), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_force_batch(c, 0, NULL, NULL), SAPPORO_OK);
    assert_int_equal(sapporo_force_batch(c, 1, &good, &well), SAPPORO_OK);
    sapporo_close(c);
    sapporo_close(hermite);
    free(m);
}

/* Kept addresses that were good say nothing of those that are kept after them, nor of these once they change. */
static void bad_after_good(sapporo *c, struct many *m, const char *name)
{
    static int good[100], bad[100];
    static const int wrong[] = {N, -1, INT32_MAX, INT32_MIN};
    sapporo_small_force list = m->list[6];
    list.nj = 100;
    for (int k = 0; k < 100; k++) good[k] = bad[k] = k;
    for (int k = 0; k < 4; k++) {
        bad[97] = wrong[k];
        assert_int_equal(sapporo_keep_addresses(c, good, 100), SAPPORO_OK);
        list.address = good;
        assert_int_equal(sapporo_force_batch(c, 1, &list, &m->result[6]), SAPPORO_OK);
        assert_int_equal(sapporo_keep_addresses(c, bad, 100), SAPPORO_OK);
        list.address = bad;
        m->pot[6][0] = 7;
        if (sapporo_force_batch(c, 1, &list, &m->result[6]) != SAPPORO_ERR_ARGUMENT)
            fail_msg("%s: address %d of kept ones is taken", name, wrong[k]);
        assert_true(isnan(m->pot[6][0]));
    }
}

/* Kept addresses that were good are looked at again where the context holds fewer particles than before. */
static void fewer_than_kept(sapporo *c, struct many *m)
{
    const sapporo_small_force all = m->list[6];
    m->list[6].nj = N, m->list[6].address = m->address;
    assert_int_equal(sapporo_keep_addresses(c, m->address, N), SAPPORO_OK);
    for (int turn = 0; turn < 2; turn++) {
        store_all(c, m);
        assert_int_equal(sapporo_force_batch(c, 1, &m->list[6], &m->result[6]), SAPPORO_OK);
        assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
        store_some(c, m, N - 1);
        assert_int_equal(sapporo_force_batch(c, 1, &m->list[6], &m->result[6]), SAPPORO_ERR_ARGUMENT);
        assert_true(isnan(m->pot[6][0]));
        assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
    }
    m->list[6] = all;
}

/* Addresses that are announced and kept: nothing is different, whatever happens to them and to the particles. */
static void kept_addresses(void **state)
{
    struct many *m = new_many(), *other = new_many();
    static const int none[] = {N};
    (void)state;
    for (int k = 0; k < ENGINES2; k++) {
        if (!engine_usable(&engines2[k])) continue;
        sapporo *c = engine_open(&engines2[k], 1);
        assert_int_equal(sapporo_keep_addresses(c, m->address, N), SAPPORO_OK); /* before there is anybody */
        m->list[6].nj = 3;
        assert_int_equal(sapporo_force_batch(c, 1, &m->list[6], m->result), SAPPORO_ERR_ARGUMENT);
        memset(m->acc, 0, sizeof m->acc); /* NaN by now */
        memset(m->pot, 0, sizeof m->pot);
        for (int turn = 0; turn < 3; turn++) {
            m->mass[turn] = other->mass[turn] = 3 + turn;
            m->list[6].nj = other->list[6].nj = 3 + 1000 * turn;
            store_all(c, m);
            assert_int_equal(sapporo_force_batch(c, LISTS, m->list, m->result), SAPPORO_OK);
            assert_int_equal(sapporo_keep_addresses(c, turn ? NULL : none, turn ? 0 : 1), SAPPORO_OK); /* no use */
            assert_int_equal(sapporo_force_batch(c, LISTS, other->list, other->result), SAPPORO_OK);
            assert_memory_equal(m->acc, other->acc, sizeof m->acc);
            assert_memory_equal(m->pot, other->pot, sizeof m->pot);
            assert_int_equal(sapporo_keep_addresses(c, m->address + turn, N - (size_t)turn), SAPPORO_OK);
        }
        bad_after_good(c, m, engines2[k].name);
        assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
        assert_int_equal(sapporo_force_batch(c, 1, &m->list[6], m->result), SAPPORO_ERR_ARGUMENT);
        fewer_than_kept(c, m);
        assert_int_equal(sapporo_keep_addresses(c, NULL, 1), SAPPORO_ERR_ARGUMENT);
        sapporo_close(c);
    }
    assert_int_equal(sapporo_keep_addresses(NULL, m->address, 1), SAPPORO_ERR_CLOSED);
    free(m);
    free(other);
}

/* A target that is not finite costs nobody else anything. */
static void not_finite(void **state)
{
    struct many *m = new_many();
    double x[2][3] = {{INFINITY, 0, 0}, {0.5, 0, 0}};
    (void)state;
    m->list[4].x.base = x;
    m->list[4].ni = 2;
    for (int k = 0; k < ENGINES2; k++) {
        if (!engine_usable(&engines2[k])) continue;
        sapporo *c = engine_open(&engines2[k], 1);
        store_all(c, m);
        assert_int_equal(sapporo_force_batch(c, LISTS, m->list, m->result), SAPPORO_PARTIAL);
        assert_true(isnan(m->pot[4][0]) && isnan(m->acc[4][0][1]));
        assert_true(m->pot[4][1] < 0 && isfinite(m->acc[4][1][2]));
        sapporo_close(c);
    }
    free(m);
}

/* So many lists that accelerators take them in several turns; particles change between calls. */
static void many_lists(void **state)
{
    enum { MANY = 4000, NI = 20, NJ = 400 };
    struct many *m = new_many();
    sapporo_small_force *const list = zeroed(MANY, sizeof *list);
    sapporo_result *const result = zeroed(MANY, sizeof *result);
    double *const pot = zeroed((size_t)MANY * NI, sizeof *pot);
    (void)state;
    for (int k = 0; k < MANY; k++) { /* the same sources by address and as they are */
        list[k] = (sapporo_small_force){.size = sizeof *list, .ni = NI, .nj = NJ, .x.base = m->x[k % 10], .eps2 = 1e-4};
        if (k % 20 < 10)
            list[k].x_j.base = m->x, list[k].mass_j.base = m->mass;
        else
            list[k].address = m->address; /* which will be 0, 1, ... */
        result[k] = (sapporo_result){.size = sizeof *result, .pot = pot + (size_t)k * NI};
    }
    for (int k = 0; k < N; k++) m->address[k] = k;
    for (int e = 0; e < ENGINES2; e++) {
        if (!engine_usable(&engines2[e])) continue;
        sapporo *c = engine_open(&engines2[e], 2);
        store_all(c, m);
        for (int turn = 0; turn < 2; turn++) {
            assert_int_equal(sapporo_force_batch(c, MANY, list, result), SAPPORO_OK);
            for (int k = 20; k < MANY; k++)
                if (!same_doubles(pot + (size_t)k * NI, pot + k % 10 * NI, NI))
                    fail_msg("%s: list %d", engines2[e].name, k);
            m->mass[7] *= 3;
            store_all(c, m);
        }
        sapporo_close(c);
    }
    free(list);
    free(result);
    free(pot);
    free(m);
}

/* What order 2 does not have, and softening that makes no sense. */
static void order2_refuses(void **state)
{
    const double x[1][3] = {{1, 2, 3}}, bad[1] = {-1};
    double jerk[1][3] = {{0}}, pot[1] = {0};
    sapporo_particle p = {.derivative = {{0}, {5, 5, 5}}, .mass = 2, .time = 3, .index = 4, .eps2 = 0.25};
    sapporo_job *job;
    sapporo *c = engine_open(&engines2[2], 1);
    (void)state;
    assert_int_equal(sapporo_set_particle(c, 0, &p), SAPPORO_OK);
    sapporo_set_time(c, 10);
    assert_int_equal(sapporo_get_particle(c, 0, 1, &p), SAPPORO_OK);
    assert_true(p.mass == 2 && p.eps2 == 0.25 && p.index == 4 && p.derivative[1][0] == 0 && p.derivative[0][0] == 0);
    for (int k = 0; k < 3; k++) {
        p.eps2 = k == 0 ? -1 : k == 1 ? NAN : INFINITY;
        assert_int_equal(sapporo_set_particle(c, 0, &p), SAPPORO_ERR_ARGUMENT);
    }
    sapporo_request r = {.size = sizeof r, .nj = 1, .ni = 1, .x = {x, 0}, .eps2_i = {bad, 0}};
    assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_ERR_ARGUMENT);
    assert_null(job);
    r.eps2_i.base = NULL;
    r.eps2 = 1.75;
    assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
    sapporo_result result = {.size = sizeof result, .jerk = jerk, .pot = pot};
    assert_int_equal(sapporo_force_end(job, 1, &result), SAPPORO_ERR_UNSUPPORTED);
    assert_true(isnan(pot[0]) && isnan(jerk[0][0]));
    result.jerk = NULL;
    assert_int_equal(sapporo_force_end(job, 1, &result), SAPPORO_OK);
    assert_true(fabs(pot[0] + 0.5) < 1e-15); /* R^2 = 14 + 1.75 + 0.25 */
    sapporo_force_free(job);
    sapporo_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_alone),       cmocka_unit_test(bad_lists),
                                       cmocka_unit_test(kept_addresses), cmocka_unit_test(not_finite),
                                       cmocka_unit_test(many_lists),     cmocka_unit_test(order2_refuses)};
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
