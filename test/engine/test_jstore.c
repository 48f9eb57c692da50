/*
 * test_jstore.c - the particles of a context by address: growth, gaps, addresses far apart, columns that come late,
 * versions.  test_jstore_contexts.c tests contexts and their memory, test_jstore_alloc.c runs out of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/context_private.h"
#include "engine/jstore.h"
#include "model.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the store alone */

/* A particle whose every number tells its address, with derivatives up to `terms`. */
static struct sap_staged particle_at(int address, int terms)
{
    struct sap_staged p = {.mass = address + 0.5, .time = -address, .address = address, .index = ~address};
    for (int k = 0; k <= terms; k++)
        for (int c = 0; c < 3; c++) p.derivative[k][c] = address + 10.0 * k + c + 0.25;
    return p;
}

static void put_at(struct sap_jstore *store, int address, int terms)
{
    const struct sap_staged p = particle_at(address, terms);
    assert_int_equal(sap_jstore_reserve(store, address, terms), 0);
    sap_jstore_put(store, &p);
}

static void check_at(const struct sap_jstore *store, int address, int terms)
{
    const struct sap_staged p = particle_at(address, terms);
    struct sap_staged got = {.address = address};
    assert_true(sap_jstore_has(store, address));
    sap_jstore_get(store, address, got.derivative, &got.mass, &got.time, &got.index);
    assert_memory_equal(&got, &p, sizeof p);
}

static void sparse(void **state)
{
    static const int addresses[] = {SAP_SEGMENT, 1000000, 0, SAP_SEGMENT - 1, SAP_ADDRESSES - 1, 5 * SAP_SEGMENT + 7};
    enum { MANY = sizeof addresses / sizeof addresses[0] };
    struct sap_jstore store = {0};
    (void)state;
    assert_false(sap_jstore_has(&store, 0));
    for (int k = 0; k < MANY; k++) put_at(&store, addresses[k], k % SAP_DERIVATIVES);
    for (int k = 0; k < MANY; k++) {
        check_at(&store, addresses[k], k % SAP_DERIVATIVES);
        assert_false(sap_jstore_has(&store, addresses[k] - 2));
        assert_false(sap_jstore_has(&store, addresses[k] / 2 + 3));
    }
    assert_int_equal(store.count, MANY);
    assert_int_equal(store.upper, SAP_ADDRESSES);
    assert_false(sap_jstore_has(&store, -1));
    assert_false(sap_jstore_has(&store, INT_MAX));
    assert_null(sap_jstore_segment(&store, 2 * SAP_SEGMENT)); /* gaps cost nothing */
    sap_jstore_free(&store);
    assert_false(sap_jstore_has(&store, 0));
}

static void growth(void **state)
{
    enum { N = 3 * SAP_SEGMENT + 100 };
    struct sap_jstore store = {0};
    (void)state;
    for (int n = 0; n < N; n++) {
        const int address = (int)((int64_t)n * 7919 % N); /* in no order */
        put_at(&store, address, address % SAP_DERIVATIVES);
        assert_int_equal(store.count, n + 1);
    }
    assert_int_equal(store.upper, N);
    for (int a = 0; a < N; a++) check_at(&store, a, a % SAP_DERIVATIVES);
    sap_jstore_free(&store);
}

/* Room is no particle, and brings no change that a force could see. */
static void room_is_empty(void **state)
{
    struct sap_jstore store = {0};
    (void)state;
    put_at(&store, 5, 1);
    const uint64_t version = store.version;
    assert_int_equal(sap_jstore_reserve(&store, 9 * SAP_CPU_SUPERPACKET, 4), 0);
    assert_int_equal(sap_jstore_reserve(&store, 6, 4), 0);
    assert_false(sap_jstore_has(&store, 9 * SAP_CPU_SUPERPACKET));
    assert_false(sap_jstore_has(&store, 6));
    assert_int_equal(store.count, 1);
    assert_int_equal(store.upper, 6);
    assert_true(store.version == version);
    check_at(&store, 5, 1);
    sap_jstore_free(&store);
}

/* Columns that come late are zero for those who were there before, and for those who come without. */
static void late_columns(void **state)
{
    struct sap_jstore store = {0};
    (void)state;
    for (int a = 0; a < 100; a++) put_at(&store, a, 1);
    assert_int_equal(sap_jstore_segment(&store, 0)->terms, 1);
    const size_t before = store.bytes;
    put_at(&store, 40, 3);
    assert_int_equal(sap_jstore_segment(&store, 0)->terms, 3);
    assert_true(store.bytes > before);
    put_at(&store, 200, 4);
    put_at(&store, 4000, 2); /* a tile that was not there yet */
    put_at(&store, 40, 1);   /* and a particle that loses its derivatives */
    for (int a = 0; a < 100; a++) check_at(&store, a, 1);
    check_at(&store, 200, 4);
    check_at(&store, 4000, 2);
    sap_jstore_free(&store);
}

/* Segments of stores that were freed are used again, empty, and only so many are kept. */
static void kept_segments(void **state)
{
    enum { MANY = SAP_SEGMENTS_KEPT + 4 };
    struct sap_jstore store = {0};
    (void)state;
    sap_jstore_trim();
    assert_int_equal(sap_segments.n, 0);
    for (int k = 0; k < MANY; k++)
        for (int tile = 0; tile < SAP_SEGMENT_TILES; tile++)
            put_at(&store, k * SAP_SEGMENT + tile * SAP_CPU_SUPERPACKET, SAP_DERIVATIVES - 1);
    const size_t bytes = store.bytes;
    assert_true(bytes == MANY * sap_jstore_segment_bytes(SAP_DERIVATIVES - 1));
    for (int k = 0; k < MANY; k++)
        for (int tile = 0; tile < SAP_SEGMENT_TILES; tile++)
            check_at(&store, k * SAP_SEGMENT + tile * SAP_CPU_SUPERPACKET, SAP_DERIVATIVES - 1);
    sap_jstore_free(&store);
    assert_int_equal(sap_segments.n, SAP_SEGMENTS_KEPT);
    for (int k = 0; k < MANY; k++) put_at(&store, k * SAP_SEGMENT + 1, 1);
    assert_int_equal(sap_segments.n, 0);
    assert_int_equal(store.count, MANY);
    assert_true(store.bytes == MANY * sap_jstore_segment_bytes(1));
    for (int k = 0; k < MANY; k++) {
        const struct sap_segment *s = sap_jstore_segment(&store, k * SAP_SEGMENT);
        assert_int_equal(s->terms, 1);
        assert_false(sap_jstore_has(&store, k * SAP_SEGMENT));
        assert_false(s->ready[1]);
        check_at(&store, k * SAP_SEGMENT + 1, 1);
        put_at(&store, k * SAP_SEGMENT + 2, 3); /* columns that had other numbers */
        check_at(&store, k * SAP_SEGMENT + 1, 1);
        check_at(&store, k * SAP_SEGMENT + 2, 3);
    }
    int32_t got[2 * MANY + 1];
    assert_int_equal(sap_jstore_take_changes(&store, 0, 0, got, 2 * MANY + 1), 2 * MANY);
    sap_jstore_free(&store);
    sap_jstore_trim();
    assert_int_equal(sap_segments.n, 0);
}

static void check_empty(const struct sap_jstore *store, int address)
{
    double derivative[SAP_DERIVATIVES][3], mass, time;
    int32_t index;
    assert_false(sap_jstore_has(store, address));
    sap_jstore_get(store, address, derivative, &mass, &time, &index);
    for (int k = 0; k < SAP_DERIVATIVES; k++)
        for (int c = 0; c < 3; c++) assert_true(derivative[k][c] == (k == 0 ? SAP_EMPTY_X : 0.0));
    assert_true(mass == 0 && time == 0 && index == 0);
}

/* Tiles that are filled in order are empty elsewhere once they are finished, whatever lay in their memory. */
static void opened_tiles(void **state)
{
    enum { TILE = SAP_CPU_SUPERPACKET, FIRST = 40, SECOND = TILE + 7 };
    struct sap_jstore store = {0};
    (void)state;
    for (int a = 0; a < 3 * TILE; a++) put_at(&store, a, SAP_DERIVATIVES - 1);
    sap_jstore_free(&store);           /* what is kept is not empty */
    for (int a = 0; a < SECOND; a++) { /* the second tile finishes the first, in which a gap is left */
        if (a == FIRST) a = TILE;
        const struct sap_staged p = particle_at(a, 3);
        assert_int_equal(sap_jstore_open(&store, a, a < 20 ? 1 : 3), 0); /* columns come late */
        if (a < 20) assert_int_equal(sap_jstore_reserve(&store, a, 3), 0);
        sap_jstore_put(&store, &p);
    }
    assert_int_equal(store.open, 2);
    for (int a = FIRST; a < TILE; a++) check_empty(&store, a);
    sap_jstore_finish(&store);
    assert_int_equal(store.open, 0);
    for (int a = 0; a < 2 * TILE; a++)
        if (a < FIRST || (a >= TILE && a < SECOND))
            check_at(&store, a, 3);
        else
            check_empty(&store, a);
    put_at(&store, 100, 3);
    sap_jstore_finish(&store);
    check_at(&store, 100, 3);
    assert_int_equal(store.count, FIRST + 7 + 1);
    sap_jstore_free(&store);
    assert_int_equal(store.open, 0);
}

/* Every change raises the version of the store and of its tile, and of no other tile. */
static void versions(void **state)
{
    enum { TILE = SAP_CPU_SUPERPACKET };
    struct sap_jstore store = {0};
    (void)state;
    for (int a = 0; a < 3 * TILE; a += TILE) put_at(&store, a, 1);
    for (int n = 0; n < 1000; n++) {
        const struct sap_segment *s = sap_jstore_segment(&store, 0);
        uint64_t old[3] = {0};
        const int tile = n * 7 % 3, count = store.count, address = tile * TILE + n % 50;
        const int was_there = sap_jstore_has(&store, address);
        for (int t = 0; t < 3 && s; t++) old[t] = s->version[t];
        const uint64_t last = store.version;
        put_at(&store, address, 1);
        assert_true(store.version > last);
        assert_int_equal(store.count, count + !was_there);
        for (int t = 0; t < 3 && s; t++) assert_true(t == tile ? s->version[t] > last : s->version[t] == old[t]);
    }
    sap_jstore_free(&store);
}

/* --------------------------------------------------------------------- changes */

/* Takes everything, `room` at a time, as an engine would; returns how many. */
static int take_all(struct sap_jstore *store, uint64_t seen, int32_t *address, int room)
{
    int n = 0, from = 0, got;
    do {
        got = sap_jstore_take_changes(store, seen, from, address + n, room);
        n += got;
        from = n ? address[n - 1] + 1 : 0;
    } while (got == room);
    return n;
}

/* Changes are told once, in rising order, however many are taken at a time. */
static void changes_are_told(void **state)
{
    static const int addresses[] = {16, 15, 2047, 2048, 0, 5 * SAP_SEGMENT + 7, SAP_SEGMENT, SAP_SEGMENT - 1, 17, 16};
    static const int rising[] = {0, 15, 16, 17, 2047, 2048, SAP_SEGMENT - 1, SAP_SEGMENT, 5 * SAP_SEGMENT + 7};
    enum { MANY = sizeof addresses / sizeof addresses[0], ONCE = MANY - 1 };
    (void)state;
    for (int room = 1; room <= MANY; room++) {
        struct sap_jstore store = {0};
        int32_t got[3 * MANY];
        assert_int_equal(sap_jstore_take_changes(&store, 0, 0, got, MANY), 0);
        for (int k = 0; k < MANY; k++) put_at(&store, addresses[k], 1);
        assert_int_equal(take_all(&store, 0, got, room), ONCE);
        assert_memory_equal(got, rising, sizeof rising);
        const uint64_t seen = store.version;
        assert_int_equal(take_all(&store, 0, got, room), 0);
        put_at(&store, 17, 1);
        assert_int_equal(take_all(&store, seen, got, room), 1);
        assert_int_equal(got[0], 17);
        sap_jstore_free(&store);
    }
}

/* What is passed over - below `from`, in tiles seen before, without room - stays told. */
static void changes_stay(void **state)
{
    enum { TILE = SAP_CPU_SUPERPACKET };
    struct sap_jstore store = {0};
    int32_t got[8];
    (void)state;
    for (int k = 0; k < 4; k++) put_at(&store, k * TILE + 20 + k, 1);
    put_at(&store, 21, 1);
    assert_int_equal(sap_jstore_take_changes(&store, store.version, 0, got, 8), 0);
    assert_int_equal(sap_jstore_take_changes(&store, 0, 0, got, 0), 0);
    assert_int_equal(sap_jstore_take_changes(&store, 4, 0, got, 8), 2); /* the first tile has changed since */
    assert_true(got[0] == 20 && got[1] == 21);
    assert_int_equal(sap_jstore_take_changes(&store, 0, 2 * TILE + 23, got, 8), 1);
    assert_int_equal(got[0], 3 * TILE + 23);
    assert_int_equal(sap_jstore_take_changes(&store, 0, -5, got, 8), 2);
    assert_true(got[0] == TILE + 21 && got[1] == 2 * TILE + 22);
    sap_jstore_free(&store);
}

/* Random changes, taken now and then: those that came since, and no other. */
static void changes_at_random(void **state)
{
    enum { N = 3 * SAP_SEGMENT };
    struct sap_jstore store = {0};
    unsigned char *waits = zeroed(N, 1);
    int32_t *got = zeroed(N, sizeof *got);
    uint64_t seen = 0;
    rng random;
    (void)state;
    rng_seed(&random, 6, 0);
    for (int turn = 0; turn < 200; turn++) {
        int expected = 0;
        for (int k = 0; k < turn * turn % 1000; k++) {
            const int address = (int)(rng_next(&random) % N);
            put_at(&store, address, 1);
            waits[address] = 1;
        }
        const int n = take_all(&store, seen, got, 1 + turn * 7 % 300);
        seen = store.version;
        for (int a = 0; a < N; a++)
            if (waits[a]) {
                assert_true(expected < n && got[expected] == a);
                expected++;
                waits[a] = 0;
            }
        assert_int_equal(n, expected);
    }
    free(waits);
    free(got);
    sap_jstore_free(&store);
}

/* An engine that lost its copy is told of every particle, and of no empty address. */
static void changes_of_all(void **state)
{
    struct sap_jstore store = {0};
    int32_t got[8];
    (void)state;
    sap_jstore_change_all(&store);
    put_at(&store, 3, 1);
    put_at(&store, 5 * SAP_CPU_SUPERPACKET, 1);
    put_at(&store, 2 * SAP_SEGMENT + 33, 1);
    assert_int_equal(sap_jstore_reserve(&store, 40000, 1), 0);
    assert_int_equal(sap_jstore_take_changes(&store, 0, 0, got, 8), 3);
    put_at(&store, 3, 1);
    const uint64_t seen = store.version;
    sap_jstore_change_all(&store);
    assert_true(store.version > seen);
    assert_int_equal(sap_jstore_take_changes(&store, seen, 0, got, 8), 3);
    assert_true(got[0] == 3 && got[1] == 5 * SAP_CPU_SUPERPACKET && got[2] == 2 * SAP_SEGMENT + 33);
    assert_int_equal(sap_jstore_take_changes(&store, seen, 0, got, 8), 0);
    sap_jstore_free(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse),         cmocka_unit_test(growth),
        cmocka_unit_test(room_is_empty),  cmocka_unit_test(late_columns),
        cmocka_unit_test(kept_segments),  cmocka_unit_test(opened_tiles),
        cmocka_unit_test(versions),       cmocka_unit_test(changes_are_told),
        cmocka_unit_test(changes_stay),   cmocka_unit_test(changes_at_random),
        cmocka_unit_test(changes_of_all),
    };
    return cmocka_run_group_tests_name("jstore", tests, NULL, NULL);
}
