/*
 * test_snapshot_hdf5.c - snapshots in HDF5: every bit comes back; units; damaged files are errors, and no crash.
 * Files of other programs: test_hdf5.sh.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rng.h"
#include "snapshot.h"
#include "snapshot_hdf5.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DAMAGES = 400, MOST = 1 << 16 };

static char folder[64], path[96], other[96];

static void need_hdf5(void)
{
    if (snapshot_hdf5_built()) return;
    print_message("skipped: this build has no libhdf5\n");
    skip();
}

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_snapshot_hdf5.XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/a.hdf5", folder);
    snprintf(other, sizeof other, "%s/b.hdf5", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(other);
    return rmdir(folder); /* fails if a file is left */
}

/* Random numbers of all sizes, the ends of double among them. */
static double wild(rng *source)
{
    static const double ends[] = {0, -0.0, DBL_MIN, -DBL_MAX, DBL_MAX, 4.9e-324, 1.0 / 3};
    const int kind = (int)(rng_uniform(source) * 12);
    return kind < 7 ? ends[kind] : ldexp(rng_uniform(source) - 0.5, (int)(rng_uniform(source) * 2000) - 1000);
}

static void make(bodies *set, int n)
{
    rng source;
    rng_seed(&source, 5, 0);
    assert_int_equal(bodies_allocate(set, n), 0);
    set->time = 0.1 + n;
    for (int k = 0; k < n; k++) {
        set->id[k] = k % 2 ? LLONG_MAX - 1 - k : k;
        set->mass[k] = fabs(wild(&source));
        for (int c = 0; c < 3; c++) {
            set->x[k][c] = wild(&source);
            set->v[k][c] = wild(&source);
        }
    }
}

static void check_same(const bodies *a, const bodies *b)
{
    const size_t n = (size_t)a->n;
    assert_int_equal(a->n, b->n);
    assert_memory_equal(&a->time, &b->time, sizeof a->time);
    assert_memory_equal(a->id, b->id, n * sizeof *a->id);
    assert_memory_equal(a->mass, b->mass, n * sizeof *a->mass);
    assert_memory_equal(a->x, b->x, n * sizeof *a->x);
    assert_memory_equal(a->v, b->v, n * sizeof *a->v);
    assert_string_equal(a->units, b->units);
    assert_string_equal(a->parts, b->parts);
}

static void write_well(const char *to, const bodies *set)
{
    message about = {""};
    if (snapshot_write(to, set, SNAPSHOT_HDF5, &about)) fail_msg("not written: %s", about.text);
}

static void read_well(bodies *set)
{
    message about = {""};
    snapshot_form form;
    if (snapshot_read(path, set, &form, &about)) fail_msg("refused: %s", about.text);
    assert_int_equal(form, SNAPSHOT_HDF5);
    assert_string_equal(about.text, "");
}

static size_t load(const char *from, unsigned char bytes[MOST])
{
    FILE *const file = fopen(from, "rb");
    assert_non_null(file);
    const size_t length = fread(bytes, 1, MOST, file);
    fclose(file);
    return length;
}

/* The bits of all numbers, ids of 63 bits or negative ones, and the remarks; the same set gives the same bytes. */
static void test_round_trip(void **state)
{
    static unsigned char first[MOST], second[MOST];
    static const int sizes[] = {1, 2, 333};
    (void)state;
    need_hdf5();
    for (int k = 0; k < 3; k++) {
        bodies set, back;
        make(&set, sizes[k]);
        if (k == 2) {
            set.id[7] = -5;
            snprintf(set.units, sizeof set.units, "N-body: G = 1, M = 1, E = -1/4");
            snprintf(set.parts, sizeof set.parts, "halo 300, disc 33");
        }
        write_well(path, &set);
        write_well(other, &set);
        const size_t length = load(path, first);
        assert_int_equal(load(other, second), length);
        assert_memory_equal(first, second, length);
        read_well(&back);
        check_same(&set, &back);
        assert_true(back.G == 0);
        bodies_free(&set);
        bodies_free(&back);
    }
}

/* G and units come back; a remark of units becomes units in cgs, and G follows from units in cgs. */
static void test_units(void **state)
{
    static const struct {
        const char *remark;
        double G, mass, length, velocity;
    } known[] = {{"1 Msun, 1 pc, 1 km/s, 0.977792 Myr", 4.30091e-3, 1.98841e33, 3.085678e18, 1e5},
                 {"1e10 Msun, 1 kpc, 207.386 km/s, 4.71483 Myr (G = 1)", 1, 1.98841e43, 3.085678e21, 2.07386e7},
                 {"Msun, au, yr", 39.47692, 1.98841e33, 1.495979e13, 4.740472e5},
                 {"1 kpc, 1 km/s", 43009.1, 1.98841e43, 3.085678e21, 1e5},
                 {"g, cm, s", CGS_G, 1, 1, 1}};
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        cgs_units units, again;
        char remark[BODIES_REMARK];
        assert_int_equal(cgs_units_read(known[k].remark, known[k].G, &units), 0);
        assert_true(fabs(units.mass / known[k].mass - 1) < 1e-5);
        assert_true(fabs(units.length / known[k].length - 1) < 1e-6);
        assert_true(fabs(units.velocity / known[k].velocity - 1) < 1e-5);
        assert_true(fabs(cgs_units_constant(&units, CGS_G) / known[k].G - 1) < 1e-4);
        cgs_units_print(&units, remark);
        assert_int_equal(cgs_units_read(remark, 1, &again), 0);
        assert_true(fabs(again.mass / units.mass - 1) < 1e-5 && fabs(again.velocity / units.velocity - 1) < 1e-5);
        if (!snapshot_hdf5_built()) continue;
        bodies set, back;
        make(&set, 3);
        set.G = known[k].G;
        memcpy(set.units, known[k].remark, strlen(known[k].remark) + 1);
        write_well(path, &set);
        read_well(&back);
        check_same(&set, &back);
        assert_true(back.G == set.G);
        bodies_free(&set);
        bodies_free(&back);
    }
    cgs_units none;
    assert_int_equal(cgs_units_read("N-body: G = 1, M = 1, E = -1/4", 1, &none), -1);
    assert_int_equal(cgs_units_read("", 1, &none), -1);
}

/* Writes bytes, reads them as a snapshot; returns whether it was read. */
static int try_bytes(const unsigned char *bytes, size_t length)
{
    bodies set;
    message about = {""};
    snapshot_form form;
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    const int status = snapshot_read(path, &set, &form, &about);
    if (status) assert_true(set.n == 0 && about.text[0] != 0);
    for (int k = 0; !status && k < set.n; k++) assert_true(set.mass[k] >= 0 && isfinite(set.x[k][0]));
    bodies_free(&set);
    return !status;
}

static void test_damage(void **state)
{
    static unsigned char whole[MOST], damaged[MOST];
    bodies set;
    rng source;
    (void)state;
    need_hdf5();
    make(&set, 20);
    write_well(path, &set);
    bodies_free(&set);
    const size_t length = load(path, whole);
    assert_true(try_bytes(whole, length));
    for (size_t part = 0; part < length; part += 257) assert_false(try_bytes(whole, part));
    rng_seed(&source, 6, 0);
    for (int k = 0; k < DAMAGES; k++) {
        memcpy(damaged, whole, length);
        for (int e = 0; e <= k % 3; e++)
            damaged[(size_t)(rng_uniform(&source) * (double)length)] ^= (unsigned char)(1 + rng_uniform(&source) * 255);
        (void)try_bytes(damaged, length);
    }
}

/* A file that must not grow: an error, the old file stays, and no other file. */
static void test_full(void **state)
{
    static unsigned char before[MOST], after[MOST];
    bodies set;
    message about = {""};
    struct rlimit usual, little;
    (void)state;
    need_hdf5();
    make(&set, 200);
    write_well(path, &set);
    const size_t length = load(path, before);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    little = usual;
    little.rlim_cur = 4096;
    set.time = -1;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    const int status = snapshot_write(path, &set, SNAPSHOT_HDF5, &about);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    assert_int_equal(status, -1);
    assert_non_null(strstr(about.text, "File too large"));
    assert_int_equal(load(path, after), length);
    assert_memory_equal(before, after, length);
    bodies_free(&set);
}

static void test_absent(void **state)
{
    message about = {""};
    bodies set;
    snapshot_form form;
    (void)state;
    if (snapshot_hdf5_built()) return;
    make(&set, 2);
    assert_int_equal(snapshot_write(path, &set, SNAPSHOT_HDF5, &about), -1);
    assert_non_null(strstr(about.text, "built without HDF5"));
    bodies_free(&set);
    assert_false(try_bytes((const unsigned char *)"\x89HDF\r\n\x1a\n", 8));
    assert_int_equal(snapshot_read(path, &set, &form, &about), -1);
    assert_non_null(strstr(about.text, "built without HDF5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_round_trip, begin, end),
                                       cmocka_unit_test_setup_teardown(test_units, begin, end),
                                       cmocka_unit_test_setup_teardown(test_damage, begin, end),
                                       cmocka_unit_test_setup_teardown(test_full, begin, end),
                                       cmocka_unit_test_setup_teardown(test_absent, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
