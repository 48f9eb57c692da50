/*
 * test_batch_addresses.c - addresses of batches of small forces, on every engine: lists whose addresses lie within
 * 65,536 of each other, which devices get in half the bytes, and wider ones have the bits of lists with sources of
 * their own; an address without a particle anywhere in a long batch is found and told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/context_private.h"
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than 65,536 particles; lists for several slabs of a device, which take 6 MiB of addresses each. */
enum { N = 70001, FORMS = 12, NI = 3, NJ = 1025, MANY = 2500, FEW = 1000 };

/* A list by address, and the same sources as its own. */
struct forms {
    double x[N][3], mass[N];
    int address[FORMS][NJ];
    double x_j[FORMS][NJ][3], mass_j[FORMS][NJ];
    sapporo_small_force list[2 * FORMS];
    sapporo_result result[2 * FORMS];
    double acc[2 * FORMS][NI][3], pot[2 * FORMS][NI];
};

static void store_all(sapporo *c, const struct forms *f)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{f->x, 0}}, .mass = {f->mass, 0}};
    assert_int_equal(sapporo_set_particles(c, 0, N, &all), SAPPORO_OK);
}

/* Lists about the widest of 16 bits, at both ends of the addresses, in no order, of all lengths about vectors. */
static struct forms *new_forms(void)
{
    static const int length[FORMS] = {1, 2, 7, 8, 9, 31, 33, 1000, 1023, 1024, 1025, 1025};
    static const int width[FORMS] = {1, 65536, 65536, 65537, 65535, 65536, 70001, 65536, 100, 65537, 65536, 65537};
    struct forms *f = zeroed(1, sizeof *f);
    struct body *body = zeroed(N, sizeof *body);
    model_plummer(body, N, 4);
    for (int k = 0; k < N; k++) {
        memcpy(f->x[k], body[k].derivative[0], sizeof f->x[k]);
        f->mass[k] = 1e-3 * (k % 7);
    }
    free(body);
    for (int k = 0; k < FORMS; k++) {
        const int low = k % 2 ? N - width[k] : 0;
        for (int j = 0; j < length[k]; j++) {
            const int a = j == 0 ? low + width[k] - 1 : j == 1 ? low : low + (int)(j * 7919L % width[k]);
            f->address[k][j] = a;
            memcpy(f->x_j[k][j], f->x[a], sizeof f->x[a]);
            f->mass_j[k][j] = f->mass[a];
        }
    }
    for (int k = 0; k < 2 * FORMS; k++) {
        sapporo_small_force *const l = &f->list[k];
        *l = (sapporo_small_force){.size = sizeof *l, .ni = NI, .nj = length[k / 2], .eps2 = 1e-4};
        l->x.base = f->x[k / 2];
        if (k % 2 == 0)
            l->address = f->address[k / 2];
        else
            l->x_j.base = f->x_j[k / 2], l->mass_j.base = f->mass_j[k / 2];
        f->result[k] = (sapporo_result){.size = sizeof f->result[k], .acc = f->acc[k], .pot = f->pot[k]};
    }
    return f;
}

static void check_forms(const struct engine *e, const struct forms *f)
{
    for (int k = 0; k < 2 * FORMS; k += 2)
        if (!same_doubles(f->acc[k][0], f->acc[k + 1][0], (size_t)3 * NI) ||
            !same_doubles(f->pot[k], f->pot[k + 1], NI))
            fail_msg("%s, list %d: acc %a, pot %a by address; %a, %a", e->name, k / 2, f->acc[k][0][0], f->pot[k][0],
                     f->acc[k + 1][0][0], f->pot[k + 1][0]);
}

static void as_own(void **state)
{
    struct forms *f = new_forms();
    (void)state;
    for (int k = 0; k < ENGINES2; k++) {
        if (!engine_usable(&engines2[k])) continue;
        sapporo *c = engine_open(&engines2[k], 2);
        sapporo_batch *batch;
        int ni[2 * FORMS];
        store_all(c, f);
        assert_int_equal(sapporo_force_batch(c, 2 * FORMS, f->list, f->result), SAPPORO_OK);
        check_forms(&engines2[k], f);
        memset(f->acc, 0x11, sizeof f->acc);
        for (int l = 0; l < 2 * FORMS; l++) ni[l] = NI;
        assert_int_equal(sapporo_force_batch_begin(c, 2 * FORMS, f->list, &batch), SAPPORO_OK);
        assert_int_equal(sapporo_force_batch_end(batch, 2 * FORMS, ni, f->result), SAPPORO_OK);
        check_forms(&engines2[k], f);
        sapporo_force_batch_free(batch);
        sapporo_close(c);
    }
    free(f);
}

/* A long batch by address. */
struct chain {
    sapporo_small_force list[MANY];
    sapporo_result result[MANY];
    double pot[MANY];
    int address[FEW], faulty[FEW];
};

static struct chain *new_chain(const struct forms *f)
{
    struct chain *n = zeroed(1, sizeof *n);
    for (int j = 0; j < FEW; j++) n->address[j] = n->faulty[j] = j * 69;
    for (int k = 0; k < MANY; k++) {
        n->list[k] = (sapporo_small_force){
            .size = sizeof n->list[k], .ni = 1, .nj = FEW, .x.base = f->x[k], .eps2 = 1e-4, .address = n->address};
        n->result[k] = (sapporo_result){.size = sizeof n->result[k], .pot = &n->pot[k]};
    }
    return n;
}

/* Whether all potentials are NaN. */
static void check_failed(const char *name, const sapporo *c, const struct chain *n, int list)
{
    char told[64];
    (void)snprintf(told, sizeof told, "list %d names an address", list);
    if (!strstr(sapporo_last_error(c), told)) fail_msg("%s: \"%s\", not \"%s\"", name, sapporo_last_error(c), told);
    for (int k = 0; k < MANY; k++)
        if (!isnan(n->pot[k])) fail_msg("%s, fault in list %d: potential %d is %g", name, list, k, n->pot[k]);
}

/* Wrong addresses in the first, a middle and the last list: the first of them is told, and the next call is right. */
static void faults(void **state)
{
    static const int wrong[] = {-1, N, INT32_MAX, INT32_MIN}, place[] = {0, MANY / 2, MANY - 1};
    struct forms *f = new_forms();
    struct chain *n = new_chain(f);
    (void)state;
    for (int e = 0; e < ENGINES2; e++) {
        const char *const name = engines2[e].name;
        if (!engine_usable(&engines2[e])) continue;
        sapporo *c = engine_open(&engines2[e], 2);
        sapporo_batch *batch;
        store_all(c, f);
        for (int k = 0; k < 3; k++) {
            n->faulty[(k * 499 + 7) % FEW] = wrong[(k + e) % 4];
            n->list[place[k]].address = n->list[MANY - 1].address = n->faulty;
            assert_int_equal(sapporo_force_batch(c, MANY, n->list, n->result), SAPPORO_ERR_ARGUMENT);
            check_failed(name, c, n, place[k]);
            assert_int_equal(sapporo_force_batch_begin(c, MANY, n->list, &batch), SAPPORO_ERR_ARGUMENT);
            assert_null(batch);
            n->list[place[k]].address = n->list[MANY - 1].address = n->address;
            memcpy(n->faulty, n->address, sizeof n->faulty);
        }
        n->faulty[2] = N; /* of a list without targets */
        n->list[5].ni = 0, n->list[5].address = n->faulty;
        assert_int_equal(sapporo_force_batch(c, MANY, n->list, n->result), SAPPORO_ERR_ARGUMENT);
        n->list[5].ni = 1, n->list[5].address = n->address;
        memcpy(n->faulty, n->address, sizeof n->faulty);
        assert_int_equal(sapporo_force_batch(c, MANY, n->list, n->result), SAPPORO_OK);
        for (int k = 0; k < MANY; k++)
            if (!(n->pot[k] < 0)) fail_msg("%s: potential %d is %g", name, k, n->pot[k]);
        sapporo_close(c);
    }
    free(n);
    free(f);
}

/*
 * Two lists that are bad at the same time, of which a thread finds the second one last: its softening is bad in the
 * last of four million sources, while the thread of the first list takes a third of that time.  The first one is told.
 */
static void two_faults(void **state)
{
    enum { LONG = 4000000, SHORT = 400000, LISTS = 1000 };
    double x[1][3] = {{0}}, mass[1] = {1}, *soft = zeroed(LONG, sizeof *soft); /* others than lengths are not read */
    double pot[LISTS];
    sapporo_small_force *const list = zeroed(LISTS, sizeof *list);
    sapporo_result *const result = zeroed(LISTS, sizeof *result);
    const double bad[1] = {-1};
    sapporo *c = engine_open(&engines2[0], 4);
    (void)state;
    soft[LONG - 1] = -1;
    for (int k = 0; k < LISTS; k++) {
        list[k] = (sapporo_small_force){.size = sizeof *list, .ni = 1, .nj = k < 3 ? SHORT : k < 200 ? 1 : LONG};
        list[k].x.base = list[k].x_j.base = x;
        list[k].mass_j.base = mass;
        list[k].eps2_j.base = k == 3 ? bad : soft;
        result[k] = (sapporo_result){.size = sizeof *result, .pot = &pot[k]};
    }
    for (int turn = 0; turn < 20; turn++) {
        assert_int_equal(sapporo_force_batch(c, LISTS, list, result), SAPPORO_ERR_ARGUMENT);
        if (!strstr(sapporo_last_error(c), "list 3 ")) fail_msg("turn %d: %s", turn, sapporo_last_error(c));
    }
    sapporo_close(c);
    free(soft);
    free(list);
    free(result);
}

/*
 * Kept addresses are checked in parts of 65,536, to the last one and not beyond it: numbers about the ends of parts,
 * before addresses that hold no particle.
 */
static void kept_parts(void **state)
{
    enum { PART = 65536, HELD = 10 };
    static const int sizes[] = {1, PART - 1, PART, PART + 1, 2 * PART - 1, 2 * PART};
    int *const address = zeroed(4 * PART, sizeof *address);
    const double x[3] = {1, 2, 3};
    double pot;
    (void)state;
    sapporo *const c = engine_open(&engines2[0], 2);
    for (int a = 0; a < HELD; a++)
        assert_int_equal(sapporo_set_particle(c, a, &(sapporo_particle){.mass = 1, .derivative = {{a}}}), SAPPORO_OK);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const int n = sizes[k];
        const sapporo_small_force list = {.size = sizeof list, .ni = 1, .nj = 1, .x = {x, 0}, .address = address};
        const sapporo_result result = {.size = sizeof result, .pot = &pot};
        for (int i = 0; i < 4 * PART; i++) address[i] = i < n ? i % HELD : -1;
        assert_int_equal(sapporo_keep_addresses(c, address, (size_t)n), SAPPORO_OK);
        assert_int_equal(sapporo_force_batch(c, 1, &list, &result), SAPPORO_OK);
        assert_int_equal(sap_context_of(c)->kept_below, HELD);
        address[n - 1] = HELD;
        assert_int_equal(sapporo_keep_addresses(c, address, (size_t)n), SAPPORO_OK);
        assert_int_equal(sapporo_force_batch(c, 1, &list, &result), n == 1 ? SAPPORO_ERR_ARGUMENT : SAPPORO_OK);
        assert_int_equal(sap_context_of(c)->kept_below, 0);
    }
    sapporo_close(c);
    free(address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_own), cmocka_unit_test(faults), cmocka_unit_test(two_faults),
                                       cmocka_unit_test(kept_parts)};
    return cmocka_run_group_tests_name("batch addresses", tests, NULL, NULL);
}
