/*
 * test_null_copies.c - calls of size 0 whose arrays are NULL: the library passes NULL neither to memcpy nor to memmove
 * and memset, which is undefined in C11 also for 0 bytes and ends clients that are built with UBSan.
 *
 * This program has these functions itself, so that every call of the library comes here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sapporo.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

static int nulls; /* number of copies from or to NULL */

#ifndef SANITIZED
/* Other names than in C: under its own a compiler takes for granted that arguments are not NULL. */
void *watched_memcpy(void *to, const void *from, size_t n) __asm__("memcpy");
void *watched_memmove(void *to, const void *from, size_t n) __asm__("memmove");
void *watched_memset(void *to, int byte, size_t n) __asm__("memset");

/*
 * volatile: else the compiler replaces the loops by calls of these functions.  The analyzer takes the count of NULLs
 * for a sign that loops see them.
 */
/* NOLINTBEGIN(clang-analyzer-core.NullDereference) */
void *watched_memcpy(void *to, const void *from, size_t n)
{
    volatile char *const t = to;
    const volatile char *const f = from;
    nulls += !to || !from;
    for (size_t k = 0; k < n; k++) t[k] = f[k];
    return to;
}

void *watched_memmove(void *to, const void *from, size_t n)
{
    volatile char *const t = to;
    const volatile char *const f = from;
    nulls += !to || !from;
    for (size_t k = 0; k < n && (uintptr_t)to < (uintptr_t)from; k++) t[k] = f[k];
    for (size_t k = n; k > 0 && (uintptr_t)to > (uintptr_t)from; k--) t[k - 1] = f[k - 1];
    return to;
}

void *watched_memset(void *to, int byte, size_t n)
{
    volatile char *const t = to;
    nulls += !to;
    for (size_t k = 0; k < n; k++) t[k] = (char)byte;
    return to;
}
/* NOLINTEND(clang-analyzer-core.NullDereference) */
#endif

static const double x[2][3] = {{1, 0, 0}, {0, 1, 0}}, mass[2] = {1, 1};

static sapporo *open_order(int order)
{
    const sapporo_options options = {
        .size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .order = order, .threads = 1};
    sapporo *c;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    nulls = 0;
    return c;
}

/* Batches without lists, targets, sources or counts. */
static void batches(void **state)
{
    double acc[2][3], pot[2];
    int ni[2] = {0, 0}, count[2];
    (void)state;
    sapporo *const c = open_order(2);
    for (int more = 0; more < 2; more++)
        for (int nj = 0; nj <= 2; nj += 2) {
            sapporo_small_force l[2] = {{.size = sizeof *l, .nj = nj, .x_j = {x, 0}, .mass_j = {mass, 0}, .eps2 = 0.1}};
            if (nj == 0) l[0].x_j.base = l[0].mass_j.base = NULL;
            if (more) l[0].floor2 = 0.5;
            l[1] = l[0];
            sapporo_result r[2] = {{.size = sizeof *r, .acc = acc, .pot = pot}};
            if (more) r[0].count = count;
            r[1] = r[0];
            sapporo_batch *b;
            for (int n = 0; n <= 2; n++) {
                assert_int_equal(sapporo_force_batch(c, n, l, r), SAPPORO_OK);
                assert_int_equal(sapporo_force_batch_begin(c, n, l, &b), SAPPORO_OK);
                assert_int_equal(sapporo_force_batch_end(b, n, ni, r), SAPPORO_OK);
                sapporo_force_batch_free(b);
            }
        }
    sapporo_close(c);
    assert_int_equal(nulls, 0);
}

/* Forces, lists and neighbour forces of nothing. */
static void forces(void **state)
{
    (void)state;
    for (int order = 2; order <= 8; order += 2) {
        const sapporo_request r = {.size = sizeof r, .nj = 0, .ni = 0};
        const sapporo_result to = {.size = sizeof to};
        const sapporo_particles p = {.size = sizeof p, .derivative = {{x, 0}}, .mass = {mass, 0}};
        const sapporo_neighbour_request q = {.size = sizeof q};
        sapporo_job *job;
        sapporo *const c = open_order(order);
        for (int n = 0; n <= 2; n += 2) {
            assert_int_equal(sapporo_set_particles(c, 0, n, &p), SAPPORO_OK);
            assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
            assert_int_equal(sapporo_force_end(job, 0, &to), SAPPORO_OK);
            assert_int_equal(sapporo_force_neighbour_lists(job, 0, 0, 0, NULL, NULL), SAPPORO_OK);
            sapporo_force_free(job);
            if (order == 4) assert_int_equal(sapporo_neighbour_force(c, &q, &to), SAPPORO_OK);
        }
        sapporo_close(c);
    }
    assert_int_equal(nulls, 0);
}

/* Trees of no and of two particles; forces and neighbours of nothing. */
static void trees(void **state)
{
    const sapporo_column none = {NULL, 0};
    (void)state;
    for (int kind = SAPPORO_TREE_OCTREE; kind <= SAPPORO_TREE_KDTREE; kind++) {
        const sapporo_tree_options options = {
            .size = sizeof options, .kind = (sapporo_tree_kind)kind, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
        const sapporo_tree_request r = {.size = sizeof r};
        long long first[1];
        sapporo_tree *t;
        for (int n = 0; n <= 2; n += 2) {
            const sapporo_tree_particles p = {
                .size = sizeof p, .n = n, .x = {n ? x : NULL, 0}, .mass = {n ? mass : NULL, 0}};
            assert_int_equal(sapporo_tree_create(&options, n, &t), SAPPORO_OK);
            nulls = 0;
            assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
            assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
            assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
            assert_int_equal(sapporo_tree_refresh_or_build(t, 0, NULL), SAPPORO_OK);
            assert_int_equal(sapporo_tree_force(t, &r, NULL, NULL), SAPPORO_OK);
            assert_int_equal(sapporo_tree_neighbours(t, 0, none, none, first, 0, NULL), SAPPORO_OK);
            sapporo_tree_destroy(t);
            assert_int_equal(nulls, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches), cmocka_unit_test(forces), cmocka_unit_test(trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
