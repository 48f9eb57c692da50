/*
 * test_sparse.c - one particle at the highest address and a few at the lowest: every call takes memory in proportion to
 * the existing particles, and returns what it returns for the same particles at neighbouring addresses.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"
#include "sapporo_g5.h"
#include "sapporo_g6.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { N = 5, LAST = (1 << 30) - 1, MOST_KILOBYTES = 100000 };

/* Addresses of the same particles next to each other, and with all others between the last two empty. */
static const int dense[N] = {0, 1, 2, 3, 4}, sparse[N] = {0, 1, 2, 70000, LAST};

/* Results of all calls. */
struct results {
    double acc[N][3], jerk[N][3], pot[N], r2[N];
    int nearest[N], list[N], length;
};

static long most_kilobytes;

/* Looks at the memory of the process while a context is open. */
static void note_memory(void)
{
    const long now = resident_kilobytes();
    if (now > most_kilobytes) most_kilobytes = now;
}

static sapporo_particle particle(int k)
{
    sapporo_particle p = {.index = 10 + k, .mass = 1.0 + k};
    p.derivative[0][0] = k;
    p.derivative[0][1] = 0.25 * k * k;
    p.derivative[1][2] = 0.5;
    return p;
}

static void store(sapporo *c, const int *address)
{
    for (int k = 0; k < N; k++) {
        const sapporo_particle p = particle(k);
        assert_int_equal(sapporo_set_particle(c, address[k], &p), SAPPORO_OK);
    }
    for (int k = 0; k < N; k++) {
        sapporo_particle p;
        assert_int_equal(sapporo_get_particle(c, address[k], 1, &p), SAPPORO_OK);
        assert_int_equal(p.index, 10 + k);
    }
}

/* Keeps the first rows. */
static void take(struct results *r, double (*acc)[3], double (*jerk)[3], const double *pot, const double *r2,
                 const int *nearest)
{
    memcpy(r->acc, acc, sizeof r->acc);
    memcpy(r->jerk, jerk, sizeof r->jerk);
    memcpy(r->pot, pot, sizeof r->pot);
    memcpy(r->r2, r2, sizeof r->r2);
    memcpy(r->nearest, nearest, sizeof r->nearest);
}

/* A force of all on `ni` target particles, with the list of the first: few and many have kernels of their own. */
static void force(sapporo *c, const int *address, int ni, struct results *r)
{
    enum { MANY = 300 };
    static double x[MANY][3], v[MANY][3], h2[MANY], acc[MANY][3], jerk[MANY][3], pot[MANY], r2[MANY];
    static int index[MANY], nearest[MANY];
    sapporo_job *job;
    h2[0] = 1e10;
    for (int k = 0; k < ni; k++) {
        const sapporo_particle p = particle(k % N);
        memcpy(x[k], p.derivative[0], sizeof x[k]);
        memcpy(v[k], p.derivative[1], sizeof v[k]);
        index[k] = p.index;
    }
    const sapporo_request q = {.size = sizeof q,
                               .nj = address[N - 1] + 1,
                               .ni = ni,
                               .x = {x, 0},
                               .v = {v, 0},
                               .h2 = {h2, 0},
                               .index = {index, 0},
                               .want = SAPPORO_WANT_LISTS | SAPPORO_WANT_NEAREST};
    const sapporo_result result = {
        .size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest, .nearest_r2 = r2};
    int total;
    assert_int_equal(sapporo_force_begin(c, &q, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, ni, &result), SAPPORO_OK);
    assert_int_equal(sapporo_force_neighbours(job, 0, N, &r->length, r->list, &total), SAPPORO_OK);
    sapporo_force_free(job);
    take(r, acc, jerk, pot, r2, nearest);
}

/* The neighbour force of each from all, `ni` times: accelerators compute calls with many members. */
static void neighbour_force(sapporo *c, const int *address, int ni, struct results *r)
{
    double(*const acc)[3] = zeroed((size_t)ni, sizeof *acc), (*const jerk)[3] = zeroed((size_t)ni, sizeof *jerk);
    double *const pot = zeroed((size_t)ni, sizeof *pot), *const r2 = zeroed((size_t)ni, sizeof *r2);
    int *const nearest = zeroed((size_t)ni, sizeof *nearest), *const own = zeroed((size_t)ni, sizeof *own);
    int *const length = zeroed((size_t)ni, sizeof *length);
    const int **const list = zeroed((size_t)ni, sizeof *list);
    for (int i = 0; i < ni; i++) own[i] = address[i % N], list[i] = address, length[i] = N;
    const sapporo_neighbour_request l = {.size = sizeof l, .ni = ni, .address = own, .list = list, .length = length};
    const sapporo_result result = {
        .size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest, .nearest_r2 = r2};
    assert_int_equal(sapporo_neighbour_force(c, &l, &result), SAPPORO_OK);
    take(r, acc, jerk, pot, r2, nearest);
    void *const all[] = {acc, jerk, pot, r2, nearest, own, length, list};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) free(all[k]);
}

/* A batch of one small force by address. */
static void batch(sapporo *c, const int *address, struct results *r)
{
    static const double x[N][3] = {{0.5}, {1.5}, {2.5}, {3.5}, {4.5}};
    const sapporo_small_force l = {.size = sizeof l, .ni = N, .nj = N, .x = {x, 0}, .address = address, .eps2 = 0.01};
    const sapporo_result result = {.size = sizeof result, .acc = r->acc, .pot = r->pot};
    assert_int_equal(sapporo_force_batch(c, 1, &l, &result), SAPPORO_OK);
}

enum { FORCE, FORCE_ON_MANY, NEIGHBOUR_FORCE, MANY_NEIGHBOUR_FORCES, BATCH, KINDS };

/* Everything with particles at these addresses. */
static void compute(const struct engine *e, const int *address, struct results *r)
{
    struct engine order2 = *e;
    sapporo *const c = engine_open(e, 2);
    memset(r, 0, KINDS * sizeof *r);
    store(c, address);
    assert_int_equal(sapporo_set_time(c, 0.5), SAPPORO_OK);
    force(c, address, N, &r[FORCE]);
    force(c, address, 300, &r[FORCE_ON_MANY]);
    for (int k = 0; k < 300; k++) { /* stamps of the rows go round */
        assert_int_equal(sapporo_set_time(c, 0.5 + k % 2), SAPPORO_OK);
        neighbour_force(c, address, N, &r[NEIGHBOUR_FORCE]);
    }
    neighbour_force(c, address, 40000, &r[MANY_NEIGHBOUR_FORCES]);
    note_memory();
    assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
    store(c, address);
    note_memory();
    sapporo_close(c);
    order2.order = 2;
    sapporo *const c2 = engine_open(&order2, 2);
    store(c2, address);
    batch(c2, address, &r[BATCH]);
    note_memory();
    sapporo_close(c2);
}

/* Whether n numbers have the same bits, or, since a force adds up per tile, differ by roundings only. */
static int close_to(const double *a, const double *b, int n, int kind)
{
    if (kind > FORCE_ON_MANY) return same_doubles(a, b, n);
    for (int k = 0; k < n; k++)
        if (!(fabs(a[k] - b[k]) <= 1e-6 * (1 + fabs(a[k])))) return 0;
    return 1;
}

static void same(const struct engine *e, const struct results *a, const struct results *b)
{
    for (int k = 0; k < KINDS; k++) {
        const int good = close_to(a[k].acc[0], b[k].acc[0], 3 * N, k) && close_to(a[k].pot, b[k].pot, N, k) &&
                         close_to(a[k].jerk[0], b[k].jerk[0], 3 * N, k) && same_doubles(a[k].r2, b[k].r2, N) &&
                         memcmp(a[k].nearest, b[k].nearest, sizeof a[k].nearest) == 0 &&
                         memcmp(a[k].list, b[k].list, sizeof a[k].list) == 0 && a[k].length == b[k].length;
        if (!good) fail_msg("%s: results of call %d differ where addresses are sparse", e->name, k);
        assert_true(a[k].pot[0] < 0);
    }
    assert_int_equal(a[FORCE].length, N - 1);
}

static void native(void **state)
{
    int tested = 0;
    (void)state;
    for (int k = 0; k < ENGINES; k++) {
        struct results a[KINDS], b[KINDS];
        if (engines[k].precision == SAPPORO_SP || !engine_usable(&engines[k])) continue;
        compute(&engines[k], dense, a);
        const long before = most_kilobytes = resident_kilobytes();
        compute(&engines[k], sparse, b);
        const long more = most_kilobytes - before;
        if (more > MOST_KILOBYTES) fail_msg("%s: %ld kB for %d particles", engines[k].name, more, N);
        same(&engines[k], a, b);
        tested++;
    }
    if (!tested) skip();
}

/* The first engine of a backend; NULL: there is none. */
static const struct engine *engine_of(sapporo_backend backend)
{
    for (int k = 0; k < ENGINES; k++)
        if (engines[k].backend == backend && engine_usable(&engines[k])) return &engines[k];
    return NULL;
}

static void expect_little(const char *what, const char *backend, long before)
{
    const long more = resident_kilobytes() - before;
    if (more > MOST_KILOBYTES) fail_msg("%s on %s: %ld kB for %d particles", what, backend, more, N);
}

/* GRAPE-6 calls: the force of the first particle in units of the masses; all lie on one line. */
static void grape6(const int *address, double *acc)
{
    double zero[3] = {0}, x[1][3] = {{-1}}, v[1][3] = {{0}}, old[1][3] = {{0}}, phi[1] = {0}, h2[1] = {0};
    double jerk[1][3], pot[1], out[1][3];
    int index[1] = {1};
    assert_int_equal(g6_open(0), 0);
    for (int k = 0; k < N; k++) {
        double at[3] = {k};
        assert_int_equal(g6_set_j_particle(0, address[k], 10 + k, 0, 0, 1, zero, zero, zero, zero, at), 0);
    }
    g6calc_firsthalf(0, address[N - 1] + 1, 1, index, x, v, old, old, phi, 0, h2);
    assert_int_equal(g6calc_lasthalf(0, address[N - 1] + 1, 1, index, x, v, 0, h2, out, jerk, pot), 0);
    g6_close(0);
    *acc = out[0][0];
}

/* GRAPE-5 calls, by direct summation or by a tree: n is far beyond the particles, whose addresses follow each other. */
static void grape5(int n, double *acc)
{
    double x[1][3] = {{-1}}, at[N][3] = {{0}}, mass[N], out[1][3], pot[1];
    assert_int_equal(g5_open(), 0);
    g5_set_eps_to_all(0.01);
    for (int k = 0; k < N; k++) at[k][0] = k, mass[k] = 1;
    assert_int_equal(g5_set_xmj(0, N, at, mass), 0);
    g5_set_n(n);
    g5_calculate_force_on_x(x, out, pot, 1);
    g5_close();
    *acc = out[0][0];
}

/* Calls of GRAPE-6 and GRAPE-5, on every backend. */
static void grapes(void **state)
{
    static const struct {
        sapporo_backend backend;
        const char *name;
    } all[] = {{SAPPORO_BACKEND_CPU, "cpu"}, {SAPPORO_BACKEND_OPENCL, "opencl"}, {SAPPORO_BACKEND_CUDA, "cuda"}};
    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        double near, far;
        if (!engine_of(all[k].backend)) continue;
        setenv("SAPPORO_BACKEND", all[k].name, 1);
        grape6(dense, &near);
        const long before = resident_kilobytes();
        grape6(sparse, &far);
        expect_little("GRAPE-6", all[k].name, before);
        assert_true(fabs(near - far) < 1e-6 && fabs(far - 5269.0 / 3600) < 1e-6);
        for (int tree = 0; tree < 2; tree++) {
            setenv("SAPPORO_METHOD", tree ? "tree" : "direct", 1);
            grape5(N, &near);
            const long before5 = resident_kilobytes();
            grape5(LAST + 1, &far);
            expect_little(tree ? "GRAPE-5 with a tree" : "GRAPE-5", all[k].name, before5);
            assert_true(fabs(near - far) < 1e-5 && fabs(far - 5269.0 / 3600) < 1e-3);
        }
    }
    unsetenv("SAPPORO_BACKEND");
    unsetenv("SAPPORO_METHOD");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Without address space for the rows of all addresses, a neighbour force fails and says so, and the next works. */
static void no_address_space(void **state)
{
    struct rlimit before;
    struct results r;
    const int address[1] = {LAST}, length[1] = {1}, *const list[1] = {sparse};
    const sapporo_neighbour_request l = {.size = sizeof l, .ni = 1, .address = address, .list = list, .length = length};
    const sapporo_result result = {.size = sizeof result, .acc = r.acc, .pot = r.pot, .nearest = r.nearest};
    (void)state;
    if (SANITIZED || getrlimit(RLIMIT_AS, &before)) skip();
    sapporo *const c = engine_open(&engines[0], 1);
    store(c, sparse);
    const struct rlimit little = {(rlim_t)1 << 34, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    memset(&r, 0, sizeof r);
    const int status = sapporo_neighbour_force(c, &l, &result);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(status, SAPPORO_ERR_MEMORY);
    assert_true(isnan(r.acc[0][0]) && isnan(r.pot[0]) && r.nearest[0] == -1);
    assert_int_equal(sapporo_neighbour_force(c, &l, &result), SAPPORO_OK);
    assert_true(r.pot[0] < 0 && r.nearest[0] == 10);
    sapporo_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(native), cmocka_unit_test(grapes),
                                       cmocka_unit_test(no_address_space)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
