/*
 * test_tree_bodies.c - the particles of a rank's caller with an accelerator that divides them (engine/tree_bodies.h):
 * their order and weights along the curve, what travels, and forces that come back, against the same from the host and
 * a tree that was set.  Then calls of the driver that fail.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/tree_bodies.h"
#include "context/tree_part.h"
#include "faulty_driver.h"
#include "physics/tree_key.h"
#include "tree_faults.h"
#include "tree_particles.h"

#include <stdlib.h>
#include <string.h>

/* Particles of the caller; those that stay, and how many arrive; keys that are asked for; places that are read. */
enum { N = 900, FIRST = 200, STAYS = 500, AT = 60, ARRIVED = 640, KEYS = 70, PLACES = 40, SOME = 50, MEAN = 40 };

static struct tree_particles p;      /* of the caller */
static struct tree_particles others; /* of other ranks */
static double size[N];
static int64_t work[N];
static const struct sap_bodies_way way = {.n = N, .first = FIRST, .stays = STAYS, .at = AT, .arrived = ARRIVED};

/* All that calls return. */
struct found {
    struct sap_bodies_look look;
    double place[PLACES][3];
    uint64_t key[KEYS], weight[KEYS], count[KEYS];
    int order[N];
    double out[N][SAP_BODY], answer[ARRIVED][SAP_ANSWER];
    double acc[N][3], pot[N], size[N], some_acc[SOME][3], some_pot[SOME], some_size[N];
    int64_t work[N], some_work[N];
};

static int is_other(int address) { return address < AT || address >= AT + STAYS; }

/* Record k of what arrives; the particles have no known size of their acceleration. */
static void write_arrival(int k, double *record)
{
    memcpy(record, others.x[k], sizeof *others.x);
    record[SAP_BODY_MASS] = others.mass[k];
    record[SAP_BODY_A] = -1;
}

/* The answer of another rank to record k. */
static void write_answer(int k, double *row)
{
    for (int c = 0; c < SAP_ANSWER; c++) row[c] = 3 * k + c;
}

static struct sap_cube cube_of(void)
{
    double sample[3][SAP_CUBE_SAMPLE], low[3], high[3];
    const int members = sap_cube_sample(N);
    for (int c = 0; c < 3; c++) {
        low[c] = high[c] = p.x[0][c];
        for (int i = 0; i < N; i++) {
            if (p.x[i][c] < low[c]) low[c] = p.x[i][c];
            if (p.x[i][c] > high[c]) high[c] = p.x[i][c];
        }
        for (int k = 0; k < members; k++) sample[c][k] = p.x[sap_cube_member(N, k)][c];
    }
    return sap_cube_of(low, high, sample, members);
}

static uint64_t key_of(const struct sap_cube *cube, int i)
{
    sap_cell_number cell[3];
    for (int c = 0; c < 3; c++) {
        const double x = cube->gaps.any ? sap_gaps_map(&cube->gaps, c, p.x[i][c]) : p.x[i][c];
        cell[c] = sap_key_cell(x, cube->low[c], cube->cells);
    }
    return sap_key_hilbert(cell[0], cell[1], cell[2]);
}

static uint64_t weight_of(int i)
{
    const uint64_t known = work[i] < 0 ? MEAN : (uint64_t)work[i];
    if (tree_fault_place->kind == SAPPORO_TREE_KDTREE) return 2 * known + MEAN;
    return 8 * known > 5 * MEAN ? 8 * known : 5 * MEAN;
}

/* ---- the calls -------------------------------------------------------------------------- */

/* Divides, and looks at what can be asked. */
static int divide(sapporo_tree *t, const struct sap_cube *cube, struct found *f)
{
    const sapporo_tree_particles set = {.size = sizeof set, .n = N, .x = {p.x, 0}, .mass = {p.mass, 0}};
    int list[PLACES];
    for (int k = 0; k < PLACES; k++) list[k] = k * 37 % N;
    for (int k = 0; k < KEYS; k++) f->key[k] = k ? key_of(cube, k * 11 % N) + (uint64_t)(k % 2) : 0;
    int status = sap_bodies_take(t, &set, 1);
    if (!status) status = sap_bodies_know(t, N, size, work);
    if (!status) status = sap_bodies_look(t, &f->look);
    if (!status) status = sap_bodies_places(t, PLACES, list, f->place);
    if (!status) status = sap_bodies_sort(t, cube, MEAN);
    if (!status) status = sap_bodies_below(t, 1, KEYS, f->key, f->weight);
    if (!status) status = sap_bodies_below(t, 0, KEYS, f->key, f->count);
    return status ? status : sap_bodies_order(t, N, f->order);
}

/* Gives the tree its particles, and builds it. */
static int travel(sapporo_tree *t, struct found *f)
{
    static double in[ARRIVED][SAP_BODY];
    for (int k = 0; k < ARRIVED; k++)
        if (is_other(k)) write_arrival(k, in[k]);
    int status = sap_bodies_grow(t, ARRIVED);
    if (!status) status = sap_bodies_send(t, &way, 1, f->out);
    if (!status) status = sap_bodies_arrive(t, &way, (const double(*)[SAP_BODY])in);
    return status ? status : sapporo_tree_build(t);
}

/* Forces on all particles. */
static int force(sapporo_tree *t, struct found *f)
{
    static double in[N][SAP_ANSWER];
    const struct sap_tree_pass pass = {.stays = 1};
    const struct sap_bodies_wish wish = {
        .way = way, .all = 1, .ni = N, .sized = 1, .first_force = 1, .acc = f->acc, .pot = f->pot};
    for (int k = 0; k < N; k++) write_answer(k, in[k]);
    int status = sap_part_walk(t, &pass, NULL, NULL, NULL);
    if (!status) status = sap_bodies_answer(t, &wish, f->answer);
    if (!status) status = sap_bodies_deliver(t, &wish, (const double(*)[SAP_ANSWER])in);
    return status ? status : sap_bodies_tell(t, f->size, f->work);
}

/* Address number k of the active particles, all of which stay on the rank. */
static int active_address(int k) { return AT + 3 * k; }

/* Forces on some particles, told in the opposite order. */
static int force_some(sapporo_tree *t, struct found *f)
{
    int address[SOME], item[SOME], particle[SOME];
    for (int k = 0; k < SOME; k++) {
        address[k] = active_address(k);
        item[k] = f->order[address[k] - AT + FIRST];
        particle[SOME - 1 - k] = item[k];
    }
    const struct sap_tree_pass pass = {.stays = 1, .ni = SOME, .active = address};
    const struct sap_bodies_wish wish = {.way = {.n = SOME, .stays = SOME, .arrived = SOME},
                                         .item = item,
                                         .ni = SOME,
                                         .particle = particle,
                                         .acc = f->some_acc,
                                         .pot = f->some_pot};
    int status = sap_part_walk(t, &pass, NULL, NULL, NULL);
    if (!status) status = sap_bodies_answer(t, &wish, NULL);
    if (!status) status = sap_bodies_deliver(t, &wish, NULL);
    return status ? status : sap_bodies_tell(t, f->some_size, f->some_work);
}

static int do_all(sapporo_tree *t, const struct sap_cube *cube, struct found *f)
{
    int status = divide(t, cube, f);
    if (!status) status = travel(t, f);
    if (!status) status = force(t, f);
    return status ? status : force_some(t, f);
}

/* ---- what is right ---------------------------------------------------------------------- */

static void right_division(const struct sap_cube *cube, const struct found *f)
{
    double weight = 0, known = 0, sum = 0, unknown = 0;
    for (int i = 0; i < N; i++) {
        weight += fabs(p.mass[i]);
        known += work[i] >= 0, sum += work[i] >= 0 ? (double)work[i] : 0;
        unknown += size[i] < 0;
        for (int c = 0; c < 3; c++) assert_true(f->look.low[c] <= p.x[i][c] && p.x[i][c] <= f->look.high[c]);
    }
    assert_true(fabs(f->look.weight - weight) < 1e-13 * weight);
    assert_true(f->look.known == known && f->look.work == sum && f->look.unknown == unknown);
    for (int k = 0; k < PLACES; k++) assert_memory_equal(f->place[k], p.x[k * 37 % N], sizeof *p.x);
    for (int k = 0; k < KEYS; k++) {
        uint64_t all = 0, count = 0;
        for (int i = 0; i < N; i++)
            if (key_of(cube, i) < f->key[k]) all += weight_of(i), count++;
        assert_true(f->weight[k] == all && f->count[k] == count);
    }
    for (int k = 1; k < N; k++) {
        const uint64_t a = key_of(cube, f->order[k - 1]), b = key_of(cube, f->order[k]);
        assert_true(a < b || (a == b && f->order[k - 1] < f->order[k]));
    }
}

static void right_records(const struct found *f)
{
    for (int k = 0; k < N; k++) {
        const int i = f->order[k];
        const double record[SAP_BODY] = {p.x[i][0], p.x[i][1], p.x[i][2], p.mass[i], size[i]};
        if (k < FIRST || k >= FIRST + STAYS) assert_memory_equal(f->out[k], record, sizeof record);
    }
}

/* Forces on the particles of the tree, and interactions, by address. */
struct rows {
    double acc[ARRIVED][3], pot[ARRIVED];
    int work[ARRIVED];
};

/* Those of a tree of the same particles that were set; active: of some of them. */
static void rows_of_set(const struct found *f, const int *active, int ni, struct rows *to)
{
    static double x[ARRIVED][3], mass[ARRIVED];
    sapporo_tree_options options = tree_fault_options();
    sapporo_tree *t = NULL;
    for (int k = 0; k < ARRIVED; k++) {
        const int i = is_other(k) ? k : f->order[k - AT + FIRST];
        memcpy(x[k], is_other(k) ? others.x[i] : p.x[i], sizeof x[k]);
        mass[k] = is_other(k) ? others.mass[i] : p.mass[i];
    }
    const sapporo_tree_particles set = {.size = sizeof set, .n = ARRIVED, .x = {x, 0}, .mass = {mass, 0}};
    const struct sap_tree_pass pass = {.ni = ni, .active = active};
    assert_int_equal(sapporo_tree_create(&options, ARRIVED, &t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(t, &set), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    assert_int_equal(sap_part_walk(t, &pass, to->acc, to->pot, to->work), SAPPORO_OK);
    sapporo_tree_destroy(t);
}

static double size_of(const double *a) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static void right_forces(const struct found *f)
{
    static struct rows r;
    rows_of_set(f, NULL, 0, &r);
    for (int k = 0; k < ARRIVED; k++) {
        const double row[SAP_ANSWER] = {r.acc[k][0], r.acc[k][1], r.acc[k][2], r.pot[k], r.work[k]};
        if (is_other(k)) assert_memory_equal(f->answer[k], row, sizeof row);
    }
    for (int k = 0; k < N; k++) {
        const int i = f->order[k];
        double row[SAP_ANSWER];
        write_answer(k, row);
        if (k >= FIRST && k < FIRST + STAYS) {
            const int at = AT + k - FIRST;
            memcpy(row, r.acc[at], sizeof r.acc[at]);
            row[SAP_ANSWER_POT] = r.pot[at];
            row[SAP_ANSWER_WORK] = r.work[at];
        }
        assert_memory_equal(f->acc[i], row, sizeof f->acc[i]);
        assert_true(f->pot[i] == row[SAP_ANSWER_POT]);
        assert_true(f->work[i] == (int64_t)row[SAP_ANSWER_WORK]);
        assert_true(f->size[i] == size_of(row));
    }
}

static void right_some(const struct found *f)
{
    static struct rows r;
    int address[SOME];
    for (int k = 0; k < SOME; k++) address[k] = active_address(k);
    rows_of_set(f, address, SOME, &r);
    for (int k = 0; k < SOME; k++) {
        const int i = f->order[address[k] - AT + FIRST], row = SOME - 1 - k;
        assert_memory_equal(f->some_acc[row], r.acc[k], sizeof r.acc[k]);
        assert_true(f->some_pot[row] == r.pot[k]);
        assert_true(f->some_work[i] == f->work[i] + r.work[k]);
        assert_true(f->some_size[i] == f->size[i]); /* sizes were not wanted */
    }
}

/* ---- tests ------------------------------------------------------------------------------ */

static void make(enum tree_model model)
{
    p = tree_particles_make(model, N);
    others = tree_particles_make(TREE_CLUSTER, ARRIVED);
    for (int i = 0; i < N; i++) {
        size[i] = i % 5 ? 0.01 * (i % 11) : -1;
        work[i] = i % 7 ? 10 + i * 13 % 90 : -1;
    }
}

static void drop(void)
{
    tree_particles_free(&p);
    tree_particles_free(&others);
}

static void bodies(void **state)
{
    static struct found f;
    (void)state;
    tree_faults_need_device();
    for (int model = 0; model < TREE_MODELS; model++) {
        make((enum tree_model)model);
        const struct sap_cube cube = cube_of();
        const sapporo_tree_options options = tree_fault_options();
        sapporo_tree *t = NULL;
        assert_int_equal(sapporo_tree_create(&options, 0, &t), SAPPORO_OK);
        assert_true(sap_bodies_able(t));
        assert_int_equal(do_all(t, &cube, &f), SAPPORO_OK);
        right_division(&cube, &f);
        right_records(&f);
        right_forces(&f);
        right_some(&f);
        sapporo_tree_destroy(t);
        drop();
    }
}

/* A call of the driver that fails is reported, and the next try is right. */
static void faults(void **state)
{
    static const int kinds[] = {SAP_DRIVER_MEMORY, SAP_DRIVER_ERROR, SAP_DRIVER_LAUNCH};
    static struct found right, found;
    (void)state;
    tree_faults_need_device();
    make(TREE_CLUSTER);
    const struct sap_cube cube = cube_of();
    const sapporo_tree_options options = tree_fault_options();
    tree_faults_start();
    long n = 1;
    for (int failed = 1; failed; n += 7) {
        sapporo_tree *t = NULL;
        faulty_plan(0, SAP_DRIVER_OK);
        assert_int_equal(sapporo_tree_create(&options, 0, &t), SAPPORO_OK);
        if (n == 1) assert_int_equal(do_all(t, &cube, &right), SAPPORO_OK);
        faulty_plan(n, kinds[n / 7 % 3]);
        const int status = do_all(t, &cube, &found);
        failed = faulty.failed;
        if (failed && !faulty_is_harmless(faulty.failed_call) && (status >= 0 || !sapporo_tree_last_error(t)[0]))
            fail_msg("call %ld, %s: status %d", n, faulty.failed_call, status);
        faulty_plan(0, SAP_DRIVER_OK);
        memset(&found, 0, sizeof found);
        assert_int_equal(do_all(t, &cube, &found), SAPPORO_OK);
        assert_memory_equal(found.acc, right.acc, sizeof found.acc);
        assert_memory_equal(found.some_acc, right.some_acc, sizeof found.some_acc);
        assert_memory_equal(found.work, right.work, sizeof found.work);
        sapporo_tree_destroy(t);
    }
    assert_true(n > 100);
    drop();
}

/* The CPU engine leaves the particles to the caller; so does a tree that is closed. */
static void refusals(void **state)
{
    (void)state;
    const sapporo_tree_options how = {.size = sizeof how, .backend = SAPPORO_BACKEND_CPU};
    sapporo_tree *t = NULL;
    assert_int_equal(sapporo_tree_create(&how, 4, &t), SAPPORO_OK);
    assert_false(sap_bodies_able(t));
    assert_int_equal(sap_bodies_grow(t, 4), SAPPORO_ERR_UNSUPPORTED);
    assert_int_equal(sap_bodies_learn(t), SAPPORO_ERR_UNSUPPORTED);
    sapporo_tree_destroy(t);
    assert_false(sap_bodies_able(t));
    assert_int_equal(sap_bodies_grow(t, 4), SAPPORO_ERR_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_FAULTS_TEST("bodies", bodies, opencl), TREE_FAULTS_TEST("bodies", bodies, cuda),
        TREE_FAULTS_TEST("faults", faults, opencl), TREE_FAULTS_TEST("faults", faults, cuda),
        {"refusals", refusals, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("tree_bodies", tests, NULL, NULL);
}
