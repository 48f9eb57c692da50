/* test_jstore_contexts.c - the j-store behind a context: gaps, refusals, clearing, and its memory. */
#define _GNU_SOURCE /* fork, sysconf */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/context_private.h"
#include "context/partial.h"
#include "reference.h"
#include "sanitized.h"

#include <limits.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* -------------------------------------------------------------------- contexts */

static void put_particle(sapporo *c, int address, double x, int index)
{
    const sapporo_particle p = {.derivative = {{x, 0.5, -0.25}, {0.125, 0, 1}}, .mass = 1, .index = index};
    assert_int_equal(sapporo_set_particle(c, address, &p), SAPPORO_OK);
}

/* Forces on particles at addresses from the first to the last, as the reference has them. */
static void sparse_forces(void **state)
{
    static const int addresses[] = {16383, 1000000, 0, 16384, (1 << 30) - 1, 1999, 3 * 2048};
    enum { N = sizeof addresses / sizeof addresses[0] };
    (void)state;
    for (int e = 1; e < ENGINES; e += 3) { /* one precision will do */
        struct problem p;
        if (!engine_usable(&engines[e])) continue;
        problem_new(&p, N, 60);
        model_plummer(p.body, N, 3);
        for (int k = 0; k < N; k++) p.body[k].address = addresses[k];
        for (int i = 0; i < p.ntargets; i++) {
            memcpy(p.target[i].x, p.body[i % N].derivative[0], sizeof p.target[i].x);
            p.target[i].index = p.body[i % N].index;
            p.target[i].h2 = 1;
        }
        p.nj = 1 << 30;
        sapporo *c = engine_open(&engines[e], 2);
        problem_load(c, &p);
        struct reference *r = reference_new(&p);
        for (int batch = 0; batch < 2; batch++) {
            const struct ask ask = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, batch ? 7 : 0};
            struct answer *a = problem_solve(c, &p, &ask);
            for (int i = 0; i < p.ntargets; i++) {
                struct exact exact;
                reference_solve(r, i, &exact);
                assert_int_equal(a[i].nearest, exact.nearest);
                assert_int_equal(a[i].nlist, exact.nlist);
                assert_memory_equal(a[i].list, exact.list, (size_t)exact.nlist * sizeof *exact.list);
                assert_true(fabs(a[i].pot - (double)exact.pot) < 1e-5 * exact.size[POT]);
                free(exact.list);
            }
            answers_free(a, p.ntargets);
        }
        reference_free(r);
        sapporo_close(c);
        problem_free(&p);
    }
}

static void refusals(void **state)
{
    static const int bad[] = {-1, INT_MIN, 1 << 30, INT_MAX};
    const double columns[6] = {1, 2, 3, 4, 5, 6};
    const sapporo_particle p = {.mass = 2};
    const sapporo_particles two = {.size = sizeof two, .derivative = {{columns, 0}}};
    sapporo_particle got;
    (void)state;
    sapporo *c = engine_open(engine_any(), 1);
    put_particle(c, 7, 0.75, 70);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_int_equal(sapporo_set_particle(c, bad[k], &p), SAPPORO_ERR_ARGUMENT);
        assert_int_equal(sapporo_set_particles(c, bad[k], 2, &two), SAPPORO_ERR_ARGUMENT);
        assert_int_equal(sapporo_get_particle(c, bad[k], 0, &got), SAPPORO_ERR_ARGUMENT);
    }
    assert_int_equal(sapporo_set_particles(c, (1 << 30) - 1, 2, &two), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_get_particle(c, (1 << 30) - 1, 0, &got), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(got.index, -1);
    assert_true(isnan(got.mass) && isnan(got.time) && isnan(got.derivative[0][0]) && isnan(got.derivative[6][2]));
    assert_int_equal(sapporo_get_particle(c, 7, 0, &got), SAPPORO_OK);
    assert_true(got.derivative[0][0] == 0.75 && got.index == 70);
    sapporo_close(c);
}

/* Clearing empties every address; what comes afterwards is not mixed with what was there. */
static void clearing(void **state)
{
    sapporo_particle got;
    (void)state;
    sapporo *c = engine_open(engine_any(), 1);
    const struct sap_jstore *const host = &sap_context_of(c)->host;
    for (int turn = 0; turn < 3; turn++) {
        for (int a = turn; a < 5000; a += 3) put_particle(c, a, a + turn, a);
        for (int a = 0; a < 5000; a++)
            assert_int_equal(sapporo_get_particle(c, a, 0, &got), a % 3 == turn ? SAPPORO_OK : SAPPORO_ERR_ARGUMENT);
        assert_null(host->segment[0]->eps2); /* no memory for softenings that no particle has */
        const uint64_t version = host->version, cleared = host->cleared;
        assert_true(version > cleared);
        assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
        assert_int_equal(sapporo_get_particle(c, turn, 0, &got), SAPPORO_ERR_ARGUMENT);
        assert_true(host->cleared > version);
        assert_true(host->version >= host->cleared);
    }
    sapporo_close(c);
}

/* ---------------------------------------------------------------------- memory */

/* Bytes of this process in memory. */
static double resident(void) { return 1024.0 * (double)resident_kilobytes(); }

static void fill(sapporo *c, int n, double shift)
{
    for (int a = 0; a < n; a++) {
        sapporo_particle p = {.mass = 1.0 / n, .index = a};
        for (int k = 0; k <= highest_of(4); k++)
            for (int x = 0; x < 3; x++) p.derivative[k][x] = shift + (a * (double)(k + 1) + x) / n;
        if (sapporo_set_particle(c, a, &p)) _exit(3);
    }
}

static sapporo_job *begin_on(sapporo *c, int n, int ni)
{
    static double x[100][3];
    const sapporo_request request = {.size = sizeof request, .nj = n, .ni = ni, .x = {x, 0}, .eps2 = 0.01};
    sapporo_job *job;
    if (sapporo_force_begin(c, &request, &job)) _exit(4);
    return job;
}

static void end_with_nearest(sapporo_job *job, int ni)
{
    int nearest[100];
    const sapporo_result result = {.size = sizeof result, .nearest = nearest};
    if (sapporo_force_end(job, ni, &result)) _exit(4);
    sapporo_force_free(job);
}

/* Bytes a particle that a process grows by, told through the pipe. */
static void measure(sapporo_precision precision, int n, int to)
{
    const sapporo_options options = {
        .size = sizeof options, .precision = precision, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
    sapporo *c;
    double bytes[3];
    sap_jstore_trim(); /* what other tests left does not hide what comes */
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
    if (sapporo_open(&options, &c)) _exit(2);
    const double before = resident();
    fill(c, n, 0);
    sapporo_job *few = begin_on(c, n, 1), *many = begin_on(c, n, 100);
    bytes[0] = (resident() - before) / n;
    fill(c, n, 1); /* all anew while forces are alive that may yet be asked for neighbours: staged */
    end_with_nearest(few, 1);
    end_with_nearest(many, 100);
    end_with_nearest(begin_on(c, n, 100), 100);
    bytes[1] = (resident() - before) / n;
    bytes[2] = (double)sapporo_memory_needed(c, n, NULL) / n;
    if (write(to, bytes, sizeof bytes) != (ssize_t)sizeof bytes) _exit(5);
    _exit(0);
}

static void check_memory(sapporo_precision precision, int n)
{
    int ends[2], status = -1;
    double bytes[3] = {0};
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) measure(precision, n, ends[1]);
    assert_true(child > 0);
    close(ends[1]);
    assert_int_equal(read(ends[0], bytes, sizeof bytes), sizeof bytes);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    print_message("# precision %d, %d particles: %.0f bytes a particle, %.0f when sent again, %.0f announced\n",
                  (int)precision, n, bytes[0], bytes[1], bytes[2]);
    assert_true(bytes[0] <= 256 && bytes[1] <= 256 && bytes[2] <= 256);
    assert_true(bytes[0] > 0.7 * bytes[2] && bytes[0] < 1.2 * bytes[2]);
}

static void memory_a_particle(void **state)
{
    (void)state;
#if SANITIZED
    print_message("skip: sanitizers take memory of their own\n");
    skip();
#endif
    if (getenv("MALLOC_PERTURB_")) {
        print_message("skip: memory that malloc fills is all resident\n");
        skip();
    }
    if (resident() == 0) {
        print_message("skip: there is no /proc/self/statm\n");
        skip();
    }
    for (int precision = SAPPORO_SP; precision <= SAPPORO_DP; precision++) {
        check_memory((sapporo_precision)precision, 65536);
        check_memory((sapporo_precision)precision, 1000000);
    }
}

static void announced_memory(void **state)
{
    size_t device = 1;
    (void)state;
    sapporo *c = engine_open(engine_any(), 1);
    assert_int_equal(sapporo_memory_needed(c, 0, &device), 0);
    assert_int_equal(device, 0);
    assert_int_equal(sapporo_memory_needed(c, -5, NULL), 0);
    assert_int_equal(sapporo_memory_needed(NULL, 100, NULL), 0);
    assert_true(sapporo_memory_needed(c, 1, NULL) > 0);
    assert_true(sapporo_memory_needed(c, 100000, NULL) > sapporo_memory_needed(c, 1000, NULL));
    assert_true(sapporo_memory_needed(c, INT_MAX, NULL) > (size_t)INT_MAX * 100);
    sapporo_close(c);
}

/* ---------------------------------------------------------------------- rows of other contexts */

enum { COPIED = 40, GAP = 7, ROW_MOST = 3 * SAPPORO_DERIVATIVES + sizeof(struct sap_partial_tail) / sizeof(double) };

/* Fills all addresses but each seventh; all numbers differ, also those that an order does not use. */
static void fill_with_gaps(sapporo *c, double scale)
{
    for (int a = 0; a < COPIED; a++) {
        sapporo_particle p = {.mass = scale * (1 + a), .time = 0.125 * a, .eps2 = scale * (a % 3), .index = 3 * a + 1};
        for (int k = 0; k < 3 * SAPPORO_DERIVATIVES; k++) p.derivative[k / 3][k % 3] = scale * (0.3 * a - 0.7 * k + 1);
        if (a % GAP != GAP - 1) assert_int_equal(sapporo_set_particle(c, a, &p), SAPPORO_OK);
    }
}

/* What both contexts read from each address, also predicted, has the same bits. */
static void read_the_same(sapporo *a, sapporo *b, int n)
{
    for (int k = 0; k < 2 * n; k++) {
        sapporo_particle x, y;
        const int status = sapporo_get_particle(a, k / 2, k % 2, &x);
        assert_int_equal(status, k / 2 % GAP == GAP - 1 ? SAPPORO_ERR_ARGUMENT : SAPPORO_OK);
        assert_int_equal(sapporo_get_particle(b, k / 2, k % 2, &y), status);
        assert_memory_equal(x.derivative, y.derivative, sizeof x.derivative);
        assert_memory_equal(&x.mass, &y.mass, sizeof x.mass);
        assert_memory_equal(&x.time, &y.time, sizeof x.time);
        assert_memory_equal(&x.eps2, &y.eps2, sizeof x.eps2);
        assert_int_equal(x.index, y.index);
    }
}

/* Computes a force, before which the context chooses units for its particles. */
static void take_units(sapporo *c)
{
    const double x[1][3] = {{0}};
    double pot[1];
    const sapporo_request r = {.size = sizeof r, .nj = COPIED, .ni = 1, .x = {x, 0}};
    const sapporo_result result = {.size = sizeof result, .pot = pot};
    sapporo_job *job = NULL;
    assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, 1, &result), SAPPORO_OK);
    assert_true(pot[0] < 0 && isfinite(pot[0]));
    sapporo_force_free(job);
}

/* Rows of one context, stored in another one, are the same particles, in every order and unit; gaps stay gaps. */
static void rows_of_others(void **state)
{
    static const int orders[] = {2, 4, 6, 8}, doubles[] = {3 + 4, 15 + 4, 18 + 4, 24 + 4};
    static const double scales[] = {1, 0x1p-90};
    (void)state;
    for (int k = 0; k < 8; k++) {
        const sapporo_precision precision = k / 4 && k % 4 < 2 ? SAPPORO_SP : SAPPORO_DP; /* sp: stored in units */
        const sapporo_options o = {
            .size = sizeof o, .backend = SAPPORO_BACKEND_CPU, .precision = precision, .order = orders[k % 4]};
        double rows[COPIED + 1][ROW_MOST], *const row = rows[0];
        sapporo *from, *to;
        assert_int_equal(sapporo_open(&o, &from), SAPPORO_OK);
        assert_int_equal(sapporo_open(&o, &to), SAPPORO_OK);
        fill_with_gaps(from, scales[k / 4]);
        take_units(from);
        for (size_t d = 0; d < sizeof rows / sizeof *row; d++) row[d] = NAN;
        assert_int_equal(sap_partial_read(from, 0, COPIED, row), SAPPORO_OK);
        const int all = COPIED * doubles[k % 4];
        assert_true(!isnan(row[all - 2]) && isnan(row[all])); /* all rows, and nothing behind them */
        assert_int_equal(sap_partial_store(to, 0, 10, row), SAPPORO_OK);
        assert_int_equal(sap_partial_store(to, 10, COPIED - 10, row + 10 * doubles[k % 4]), SAPPORO_OK);
        assert_int_equal(sapporo_set_time(from, 0.75), SAPPORO_OK);
        assert_int_equal(sapporo_set_time(to, 0.75), SAPPORO_OK);
        read_the_same(from, to, COPIED);
        assert_int_equal(sap_partial_first_lost(to, COPIED), -1);
        sap_context_lose(sap_context_of(to), 5, 3);
        assert_int_equal(sap_partial_first_lost(to, 5), -1);
        assert_int_equal(sap_partial_first_lost(to, COPIED), 5);
        assert_int_equal(sap_partial_store(to, 5, 3, row + 5 * doubles[k % 4]), SAPPORO_OK);
        assert_int_equal(sap_partial_first_lost(to, COPIED), 6); /* the row of a gap stores nothing */
        sapporo_close(from);
        sapporo_close(to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_forces),     cmocka_unit_test(refusals),         cmocka_unit_test(clearing),
        cmocka_unit_test(memory_a_particle), cmocka_unit_test(announced_memory), cmocka_unit_test(rows_of_others),
    };
    return cmocka_run_group_tests_name("jstore_contexts", tests, NULL, NULL);
}
