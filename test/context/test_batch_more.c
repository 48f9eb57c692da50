/*
 * test_batch_more.c - batches with second moments of sources, a floor of the distance and counts of neighbours: against
 * sums in long double, with the same bits on every engine that computes them in double; structs of older callers; what
 * is refused.
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

enum { N = 600, LISTS = 12, NI = 9 };

struct more {
    double x[N][3], mass[N], eps2[N], h2[N], floor2[N], quad[N][6];
    int address[N], ni[LISTS];
    sapporo_small_force list[LISTS];
    sapporo_result result[LISTS];
    double acc[LISTS][NI][3], pot[LISTS][NI];
    int count[LISTS][NI];
};

static struct more *new_more(void)
{
    struct more *m = zeroed(1, sizeof *m);
    struct body *body = zeroed(N, sizeof *body);
    model_plummer(body, N, 8);
    for (int k = 0; k < N; k++) {
        memcpy(m->x[k], body[k].derivative[0], sizeof m->x[k]);
        m->mass[k] = 1e-3 * (1 + k % 7);
        m->eps2[k] = 1e-4 * (k % 3);
        m->h2[k] = 0.02 * (k % 5);
        m->floor2[k] = 0.01 * (k % 4);
        for (int q = 0; q < 6; q++)
            m->quad[k][q] = 1e-5 * ((k * 7 + q * 11) % 13) * (q < 3 ? 1 : (k + q) % 2 ? 0.3 : -0.3);
        m->address[k] = (k * 77 + 3) % N;
    }
    free(body);
    for (int k = 0; k < LISTS; k++) {
        sapporo_small_force *const l = &m->list[k];
        *l = (sapporo_small_force){.size = sizeof *l, .ni = k == 5 ? 0 : NI, .nj = k * 37 % 101, .x.base = m->x[k * 9]};
        l->eps2 = k % 4 ? 1e-3 : 0;
        if (k % 3) l->eps2_i.base = m->eps2 + k;
        if (k % 2)
            l->address = m->address + k;
        else
            l->x_j.base = m->x[k], l->mass_j.base = m->mass + k;
        if (k % 4 == 2) l->eps2_j.base = m->eps2 + k;
        const int first = l->address ? 0 : k; /* columns by address begin at address 0 */
        if (k % 3 != 1) l->quad_j.base = m->quad[first];
        if (k % 3 != 2) l->h2_i.base = m->h2 + k;
        if (k % 5 != 4) l->h2_j.base = m->h2 + first;
        if (k % 2 || k == 4) l->floor2 = 0.01;
        if (k % 5 == 1) l->floor2_i.base = m->floor2 + k;
        if (k % 4 == 3 || k == 6) l->floor2_j.base = m->floor2 + first;
        m->ni[k] = l->ni;
        m->result[k] =
            (sapporo_result){.size = sizeof m->result[k], .acc = m->acc[k], .pot = m->pot[k], .count = m->count[k]};
    }
    return m;
}

static void store_all(sapporo *c, const struct more *m)
{
    const sapporo_particles all = {
        .size = sizeof all, .derivative = {{m->x, 0}}, .mass = {m->mass, 0}, .eps2 = {m->eps2, 0}};
    assert_int_equal(sapporo_set_particles(c, 0, N, &all), SAPPORO_OK);
}

/* Sums over the sources of a target; size: of accelerations, without signs. */
struct pair_sums {
    long double acc[3], pot, size;
    int count;
};

static void add_source(const struct more *m, const sapporo_small_force *l, int i, int j, struct pair_sums *s)
{
    const double *const x = (const double *)l->x.base + (ptrdiff_t)3 * i, *const q = m->quad[j];
    const double eps_j = l->address ? m->eps2[j] : l->eps2_j.base ? m->eps2[j] : 0;
    long double d[3], r2 = 0, qd[3], dqd = 0;
    for (int c = 0; c < 3; c++) d[c] = (long double)m->x[j][c] - x[c], r2 += d[c] * d[c];
    const double h_i = l->h2_i.base ? ((const double *)l->h2_i.base)[i] : 0, h_j = l->h2_j.base ? m->h2[j] : 0;
    s->count += r2 < (long double)(h_i > h_j ? h_i : h_j);
    long double R2 = r2 + l->eps2 + (l->eps2_i.base ? ((const double *)l->eps2_i.base)[i] : 0) + eps_j;
    if (R2 < l->floor2) R2 = l->floor2;
    if (l->floor2_i.base && R2 < ((const double *)l->floor2_i.base)[i]) R2 = ((const double *)l->floor2_i.base)[i];
    if (l->floor2_j.base && R2 < m->floor2[j]) R2 = m->floor2[j];
    if (R2 < 0x1p-1022L) return;
    const long double R = sqrtl(R2), mass = m->mass[j];
    s->pot -= mass / R;
    s->size += mass / R2;
    for (int c = 0; c < 3; c++) s->acc[c] += mass * d[c] / (R * R2);
    if (!l->quad_j.base) return;
    qd[0] = q[0] * d[0] + q[3] * d[1] + q[4] * d[2];
    qd[1] = q[3] * d[0] + q[1] * d[1] + q[5] * d[2];
    qd[2] = q[4] * d[0] + q[5] * d[1] + q[2] * d[2];
    for (int c = 0; c < 3; c++) dqd += d[c] * qd[c];
    const long double trace = (long double)q[0] + q[1] + q[2], R5 = R2 * R2 * R;
    s->pot -= (3 * dqd / R5 - trace / (R2 * R)) / 2;
    s->size += (fabsl(dqd) / R5 + trace / (R2 * R)) / R;
    for (int c = 0; c < 3; c++) s->acc[c] += d[c] * (15 * dqd / (R5 * R2) - 3 * trace / R5) / 2 - 3 * qd[c] / R5;
}

/* Whether an engine computes a list in single precision, with errors and bits of its own (test_batch_single.c). */
static int is_single(const struct engine *e, const sapporo_small_force *l)
{
    return e->precision != SAPPORO_DP && l->nj > 0;
}

/* Errors of accelerations of a list over the sum of its terms; fast roots have 12 bits, which count thrice and more. */
static double unit_of(const struct engine *e, const sapporo_small_force *l)
{
    return !is_single(e, l) ? 1e-12 : e->root == SAPPORO_ROOT_FAST ? 2e-3 : 1e-5;
}

static void check_sums(const struct more *m, const struct engine *e)
{
    const char *const name = e->name;
    for (int k = 0; k < LISTS; k++)
        for (int i = 0; i < m->ni[k]; i++) {
            const sapporo_small_force *const l = &m->list[k];
            const long double unit = unit_of(e, l);
            struct pair_sums s = {.size = 1e-30L};
            for (int n = 0; n < l->nj; n++) add_source(m, l, i, l->address ? l->address[n] : k + n, &s);
            if (s.count != m->count[k][i])
                fail_msg("%s, list %d: %d neighbours, not %d", name, k, m->count[k][i], s.count);
            for (int c = 0; c < 3; c++)
                if (!(fabsl(m->acc[k][i][c] - s.acc[c]) <= unit * s.size))
                    fail_msg("%s, list %d, row %d: acc %g, not %Lg", name, k, i, m->acc[k][i][c], s.acc[c]);
            if (!(fabsl(m->pot[k][i] - s.pot) <= 0.1L * unit * (fabsl(s.pot) + s.size)))
                fail_msg("%s, list %d, row %d: pot %g, not %Lg", name, k, i, m->pot[k][i], s.pot);
        }
}

/* Compares lists with those of another context; of_engine: lists in single precision are not compared. */
static void compare_lists(const struct more *m, const struct more *with, const struct engine *of_engine)
{
    for (int k = 0; k < LISTS; k++) {
        assert_memory_equal(m->count[k], with->count[k], sizeof m->count[k]);
        if (of_engine && is_single(of_engine, &m->list[k])) continue;
        assert_memory_equal(m->acc[k], with->acc[k], sizeof m->acc[k]);
        assert_memory_equal(m->pot[k], with->pot[k], sizeof m->pot[k]);
    }
}

/* All engines have the bits of the first one in `dp`, where they compute in double; begun and ended, too. */
static void sums(void **state)
{
    struct more *m = new_more(), *first = NULL, *own = zeroed(1, sizeof *own);
    (void)state;
    for (int e = ENGINES2 - 1; e >= 0; e--) {
        if (!engine_usable(&engines2[e])) continue;
        sapporo *c = engine_open(&engines2[e], 2);
        sapporo_batch *batch;
        store_all(c, m);
        assert_int_equal(sapporo_force_batch(c, LISTS, m->list, m->result), SAPPORO_OK);
        check_sums(m, &engines2[e]);
        if (!first && engines2[e].precision == SAPPORO_DP) {
            first = zeroed(1, sizeof *first);
            memcpy(first, m, sizeof *first);
        }
        memcpy(own, m, sizeof *own);
        for (int turn = 0; turn < 2; turn++) {
            if (first) compare_lists(m, first, &engines2[e]);
            compare_lists(m, own, NULL);
            memset(m->acc, 0, sizeof m->acc);
            memset(m->count, 0, sizeof m->count);
            assert_int_equal(sapporo_force_batch_begin(c, LISTS, m->list, &batch), SAPPORO_OK);
            assert_int_equal(sapporo_force_batch_end(batch, LISTS, m->ni, m->result), SAPPORO_OK);
            sapporo_force_batch_free(batch);
        }
        sapporo_close(c);
    }
    free(first);
    free(own);
    free(m);
}

/*
 * Lists of addresses of one tree: all name the same columns, which lie between other members of a struct.  Lists end
 * about the widths of groups of threads and of superpackets, and some lie in kept addresses.
 */
enum { STORED = 2500, TREE_LISTS = 9, MOST = 40 };

struct node {
    double quad[6], other, h2, floor2;
};

struct tree {
    struct node node[STORED];
    double x[STORED][3], mass[STORED], eps2[STORED];
    int address[2 * STORED];
    sapporo_small_force list[TREE_LISTS];
    sapporo_result result[TREE_LISTS];
    double acc[TREE_LISTS][MOST][3], pot[TREE_LISTS][MOST];
    int count[TREE_LISTS][MOST];
};

static struct tree *new_tree(void)
{
    static const int ni[TREE_LISTS] = {1, 16, 17, 40, 15, 33, 5, 8, 32},
                     nj[TREE_LISTS] = {7, 127, 128, 129, STORED, 1025, 8, 0, 1024};
    struct tree *t = zeroed(1, sizeof *t);
    struct body *body = zeroed(STORED, sizeof *body);
    model_plummer(body, STORED, 9);
    for (int k = 0; k < STORED; k++) {
        memcpy(t->x[k], body[k].derivative[0], sizeof t->x[k]);
        t->mass[k] = body[k].mass;
        t->eps2[k] = 1e-4 * (k % 4);
        t->node[k].h2 = 0.01 * (k % 11);
        t->node[k].floor2 = 0.002 * (k % 5);
        for (int q = 0; q < 6; q++) t->node[k].quad[q] = 1e-6 * ((k * 5 + q * 3) % 17 - 2);
    }
    free(body);
    for (int k = 0; k < 2 * STORED; k++) t->address[k] = k * 911 % STORED;
    for (int k = 0; k < TREE_LISTS; k++) {
        sapporo_small_force *const l = &t->list[k];
        *l = (sapporo_small_force){.size = sizeof *l, .ni = ni[k], .nj = nj[k], .x.base = t->x[k * 50], .eps2 = 1e-3};
        l->address = t->address + 200 * k;
        if (k % 2) l->quad_j = (sapporo_column){t->node[0].quad, sizeof t->node[0]};
        l->h2_j = (sapporo_column){&t->node[0].h2, sizeof t->node[0]};
        l->floor2 = 0.002;
        if (k % 3 == 0) l->floor2_j = (sapporo_column){&t->node[0].floor2, sizeof t->node[0]};
        t->result[k] =
            (sapporo_result){.size = sizeof t->result[k], .acc = t->acc[k], .pot = t->pot[k], .count = t->count[k]};
    }
    return t;
}

/* Superpackets come in order, or the last one first: then a device has them in other slots. */
static void store_tree(sapporo *c, const struct tree *t, int in_order)
{
    for (int k = 0; k < 2; k++) {
        const int first = (k == 0) == in_order ? 0 : STORED / 2;
        const sapporo_particles half = {.size = sizeof half,
                                        .derivative = {{t->x[first], 0}},
                                        .mass = {t->mass + first, 0},
                                        .eps2 = {t->eps2 + first, 0}};
        assert_int_equal(sapporo_set_particles(c, first, STORED / 2, &half), SAPPORO_OK);
        assert_int_equal(sapporo_force_batch(c, 1, &t->list[TREE_LISTS - 2], &t->result[TREE_LISTS - 2]), SAPPORO_OK);
    }
}

/*
 * Compares list k with that of an engine in double.  Fast roots have errors of 12 bits of terms, of which moments here
 * are larger than the potential (measured: 0.012).
 */
static void compare_tree(const struct tree *t, const struct tree *right, int k, const struct engine *e, int keep)
{
    const int single = is_single(e, &t->list[k]), fast = e->root == SAPPORO_ROOT_FAST;
    if (memcmp(t->count[k], right->count[k], sizeof t->count[k]) != 0) fail_msg("%s, kept %d: counts", e->name, keep);
    for (int i = 0; i < t->list[k].ni; i++) {
        const double size = single ? (fast ? 0.03 : 1e-5) * fabs(right->pot[k][i]) : 0;
        for (int c = 0; c < 3; c++)
            if (!(fabs(t->acc[k][i][c] - right->acc[k][i][c]) <= (fast ? 1 : 10) * size))
                fail_msg("%s, kept %d: acc", e->name, keep);
        if (!(fabs(t->pot[k][i] - right->pot[k][i]) <= size)) fail_msg("%s, kept %d: pot", e->name, keep);
    }
}

/* Keeps none, some or all of the addresses. */
static void compare_trees(sapporo *c, struct tree *t, const struct tree *right, const struct engine *e)
{
    for (int keep = 0; keep < 3; keep++) {
        memset(t->acc, 0, sizeof t->acc);
        memset(t->count, 0, sizeof t->count);
        assert_int_equal(sapporo_keep_addresses(c, t->address, (size_t)keep * STORED), SAPPORO_OK);
        assert_int_equal(sapporo_force_batch(c, TREE_LISTS, t->list, t->result), SAPPORO_OK);
        for (int k = 0; k < TREE_LISTS; k++) compare_tree(t, right, k, e, keep);
    }
}

static void trees(void **state)
{
    struct tree *t = new_tree(), *first = zeroed(1, sizeof *first);
    (void)state;
    sapporo *c = engine_open(&engines2[2], 2); /* the scalar path in double, whose sums the test above compares */
    store_tree(c, t, 1);
    assert_int_equal(sapporo_force_batch(c, TREE_LISTS, t->list, t->result), SAPPORO_OK);
    assert_true(t->count[4][0] > 10 && t->count[4][0] < STORED / 2);
    memcpy(first, t, sizeof *first);
    sapporo_close(c);
    for (int e = 0; e < ENGINES2; e++) {
        if (!engine_usable(&engines2[e])) continue;
        for (int in_order = 0; in_order < 2; in_order++) {
            c = engine_open(&engines2[e], 2);
            store_tree(c, t, in_order);
            compare_trees(c, t, first, &engines2[e]);
            sapporo_close(c);
        }
    }
    free(first);
    free(t);
}

/* The gradient of the potential, by differences: the terms of moments belong together. */
static void gradient(void **state)
{
    struct more *m = new_more();
    static const double step = 1e-4;
    static double x[7][3], acc[7][3], pot[7];
    sapporo *c = engine_open(&engines2[2], 1);
    const sapporo_small_force l = {.size = sizeof l,
                                   .ni = 7,
                                   .nj = 40,
                                   .x.base = x,
                                   .x_j.base = m->x,
                                   .mass_j.base = m->mass,
                                   .quad_j.base = m->quad,
                                   .eps2 = 0.1};
    const sapporo_result r = {.size = sizeof r, .acc = acc, .pot = pot};
    (void)state;
    for (int k = 0; k < 7; k++) x[k][0] = 0.3, x[k][1] = -0.2, x[k][2] = 0.5;
    for (int k = 0; k < 3; k++) x[1 + 2 * k][k] += step, x[2 + 2 * k][k] -= step;
    assert_int_equal(sapporo_force_batch(c, 1, &l, &r), SAPPORO_OK);
    for (int k = 0; k < 3; k++) {
        const double slope = (pot[2 + 2 * k] - pot[1 + 2 * k]) / (2 * step);
        if (!(fabs(slope - acc[0][k]) < 1e-6 * fabs(pot[0]))) fail_msg("axis %d: %g, not %g", k, acc[0][k], slope);
    }
    sapporo_close(c);
    free(m);
}

/* Lists and results of callers that do not know the new members, one kind at a time. */
static void older_structs(void **state)
{
    struct more *m = new_more();
    const size_t old_list = offsetof(sapporo_small_force, quad_j), old_result = offsetof(sapporo_result, count);
    sapporo *c = engine_open(&engines2[2], 1);
    double pot[2];
    (void)state;
    store_all(c, m);
    sapporo_small_force *const list = zeroed(1, old_list); /* exactly, so that checkers of memory see more */
    sapporo_result *const result = zeroed(1, old_result);
    memcpy(list, &m->list[2], old_list);
    memcpy(result, &m->result[2], old_result);
    list->size = old_list;
    result->size = old_result;
    assert_int_equal(sapporo_force_batch(c, 1, list, result), SAPPORO_OK);
    pot[0] = m->pot[2][0];
    assert_int_equal(sapporo_force_batch(c, 1, &m->list[2], result), SAPPORO_OK);
    pot[1] = m->pot[2][0];
    assert_true(pot[0] < 0 && fabs(pot[1] - pot[0]) > 1e-6 * fabs(pot[0])); /* the second has moments */
    assert_int_equal(sapporo_force_batch(c, 1, list, &m->result[2]), SAPPORO_OK);
    assert_int_equal(m->count[2][0], 0);
    /* of callers that do not know floors of particles, but know radii */
    const size_t middle = offsetof(sapporo_small_force, floor2_i);
    sapporo_small_force *const known = zeroed(1, middle);
    memcpy(known, &m->list[2], middle);
    known->size = middle;
    assert_int_equal(sapporo_force_batch(c, 1, &m->list[2], &m->result[2]), SAPPORO_OK);
    const double right = m->pot[2][0];
    const int count = m->count[2][0];
    assert_int_equal(sapporo_force_batch(c, 1, known, &m->result[2]), SAPPORO_OK);
    assert_true(m->pot[2][0] == right && m->count[2][0] == count && pot[1] == right);
    free(known);
    list->size = old_list - 8;
    assert_int_equal(sapporo_force_batch(c, 1, list, result), SAPPORO_ERR_ARGUMENT);
    free(list);
    free(result);
    sapporo_close(c);
    free(m);
}

static void refused(void **state)
{
    struct more *m = new_more();
    static const double bad[NI] = {-1};
    sapporo *c = engine_open(&engines2[2], 1);
    sapporo_batch *batch;
    sapporo_job *job;
    (void)state;
    store_all(c, m);
    for (int k = 0; k < 7; k++) {
        sapporo_small_force l = m->list[4];
        if (k == 0) l.floor2 = -1;
        if (k == 1) l.floor2 = NAN;
        if (k == 2) l.h2_i.base = bad;
        if (k == 3) l.h2_j.base = bad;
        if (k == 5) l.floor2_i.base = bad;
        if (k == 6) l.floor2_j.base = bad;
        if (k == 4) l.address = m->address, l.address += N - 1, m->address[N - 1] = N;
        m->count[4][0] = 7;
        assert_int_equal(sapporo_force_batch(c, 1, &l, &m->result[4]), SAPPORO_ERR_ARGUMENT);
        assert_true(m->count[4][0] == -1 && isnan(m->pot[4][0]));
    }
    double x[2][3] = {{NAN, 0, 0}, {1, 2, 3}};
    sapporo_small_force l = m->list[4];
    l.x.base = x, l.ni = 2;
    assert_int_equal(sapporo_force_batch(c, 1, &l, &m->result[4]), SAPPORO_PARTIAL);
    assert_true(m->count[4][0] == -1 && isnan(m->acc[4][0][2]) && m->count[4][1] >= 0 && m->pot[4][1] < 0);
    /* counts that nothing was asked for at the begin */
    l = m->list[4];
    l.quad_j.base = l.h2_i.base = l.h2_j.base = NULL, l.floor2 = 0;
    assert_int_equal(sapporo_force_batch_begin(c, 1, &l, &batch), SAPPORO_OK);
    assert_int_equal(sapporo_force_batch_end(batch, 1, m->ni, &m->result[4]), SAPPORO_ERR_UNSUPPORTED);
    assert_true(m->count[4][0] == -1);
    sapporo_force_batch_free(batch);
    /* other forces have no counts */
    const sapporo_request r = {.size = sizeof r, .nj = N, .ni = 2, .x.base = m->x, .eps2 = 1};
    assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
    m->count[4][0] = 7;
    assert_int_equal(sapporo_force_end(job, 2, &m->result[4]), SAPPORO_ERR_UNSUPPORTED);
    assert_true(m->count[4][0] == -1 && isnan(m->pot[4][1]));
    sapporo_force_free(job);
    sapporo_close(c);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums), cmocka_unit_test(trees), cmocka_unit_test(gradient),
                                       cmocka_unit_test(older_structs), cmocka_unit_test(refused)};
    return cmocka_run_group_tests_name("batch_more", tests, NULL, NULL);
}
