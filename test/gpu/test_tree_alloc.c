/*
 * test_tree_alloc.c - memory runs out at every place where a tree allocates, once or for good: the call reports it and
 * its outputs are NaN, or it has the bits of an undisturbed run; the existing tree keeps its bits; the same call
 * succeeds once memory is sufficient again; nothing leaks.
 *
 * malloc and its relatives are replaced for the whole program; they refuse calls from the program's own code, which
 * includes the static library.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"
#include "runs.h"
#include "sapporo.h"
#include "sapporo_experiments.h"
#include "scarce.h"
#include "tree_particles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if SCARCE

/* The n-th allocation from now is refused (-1: none is); good: those after it, too. */
static void plan(long n, int good)
{
    countdown = n;
    for_good = good;
    refused = 0;
}

/* -------------------------------------------------------------------- scenes */

enum { N = 700, SOME = 40 };

/* Before: a cube with few nodes for its leaves.  After: a cluster, whose tree has more of them. */
static struct tree_particles before, after;
static int active[SOME];

static const struct kind {
    const char *name;
    sapporo_tree_kind tree;
    sapporo_backend backend;
    int threads;
    sapporo_tree_mac mac;
    sapporo_tree_walk walk;
} kinds[] = {
    {"cpu", SAPPORO_TREE_OCTREE, SAPPORO_BACKEND_CPU, 1, SAPPORO_MAC_OPENING, SAPPORO_WALK_GROUPS},
    {"cpu, by acceleration", SAPPORO_TREE_OCTREE, SAPPORO_BACKEND_CPU, 1, SAPPORO_MAC_ACCELERATION,
     SAPPORO_WALK_GROUPS},
    {"cpu, by many threads", SAPPORO_TREE_OCTREE, SAPPORO_BACKEND_CPU, 3, SAPPORO_MAC_MULTIPOLE, SAPPORO_WALK_GROUPS},
    {"cpu, stackless", SAPPORO_TREE_OCTREE, SAPPORO_BACKEND_CPU, 1, SAPPORO_MAC_OPENING, SAPPORO_WALK_STACKLESS},
    {"cpu, kd-tree", SAPPORO_TREE_KDTREE, SAPPORO_BACKEND_CPU, 1, SAPPORO_MAC_ACCELERATION, SAPPORO_WALK_GROUPS},
    {"cpu, kd-tree, by many threads", SAPPORO_TREE_KDTREE, SAPPORO_BACKEND_CPU, 3, SAPPORO_MAC_OPENING,
     SAPPORO_WALK_GROUPS},
    {"opencl", SAPPORO_TREE_OCTREE, SAPPORO_BACKEND_OPENCL, 1, SAPPORO_MAC_ACCELERATION, SAPPORO_WALK_GROUPS},
    {"cuda", SAPPORO_TREE_OCTREE, SAPPORO_BACKEND_CUDA, 1, SAPPORO_MAC_ACCELERATION, SAPPORO_WALK_GROUPS},
    {"opencl, kd-tree", SAPPORO_TREE_KDTREE, SAPPORO_BACKEND_OPENCL, 1, SAPPORO_MAC_OPENING, SAPPORO_WALK_GROUPS},
    {"cuda, kd-tree", SAPPORO_TREE_KDTREE, SAPPORO_BACKEND_CUDA, 1, SAPPORO_MAC_OPENING, SAPPORO_WALK_GROUPS}};

static const struct kind *kind;

/* What a call has written. */
struct outputs {
    double acc[N][3], pot[N];
    long long first[SOME + 1];
    int list[SOME * N];
    sapporo_tree_statistics statistics;
};

struct scene {
    sapporo_tree *tree;
    struct outputs out;
};

static sapporo_tree_options options_here(void)
{
    return (sapporo_tree_options){.size = sizeof(sapporo_tree_options),
                                  .kind = kind->tree,
                                  .eps2 = 1e-4,
                                  .mac = kind->mac,
                                  .experiments = SAPPORO_EXPERIMENTS(0, kind->walk, 0),
                                  .leaf_size = 1,
                                  .group_size = 32,
                                  .backend = kind->backend,
                                  .threads = kind->threads};
}

static int create(struct scene *s)
{
    const sapporo_tree_options options = options_here();
    return sapporo_tree_create(&options, N, &s->tree);
}

static int set(struct scene *s, const struct tree_particles *p)
{
    const sapporo_tree_particles all = {.size = sizeof all, .n = p->n, .x = {p->x, 0}, .mass = {p->mass, 0}};
    return sapporo_tree_set(s->tree, &all);
}

static int set_before(struct scene *s) { return set(s, &before); }
static int set_after(struct scene *s) { return set(s, &after); }
static int build(struct scene *s) { return sapporo_tree_build(s->tree); }
static int refresh(struct scene *s) { return sapporo_tree_refresh(s->tree); }

static int force(struct scene *s, sapporo_tree_request r)
{
    r.size = sizeof r;
    const int status = sapporo_tree_force(s->tree, &r, s->out.acc, s->out.pot);
    for (int i = 0; i < r.ni && status < 0; i++)
        for (int c = 0; c < 3; c++) assert_true(isnan(s->out.acc[i][c]) && isnan(s->out.pot[i]));
    return status;
}

static int force_all(struct scene *s) { return force(s, (sapporo_tree_request){.ni = N}); }
static int force_some(struct scene *s) { return force(s, (sapporo_tree_request){.ni = SOME, .active = active}); }
static int force_places(struct scene *s) { return force(s, (sapporo_tree_request){.ni = SOME, .x = {after.x, 0}}); }

static int search_with(struct scene *s, long long room)
{
    double h[SOME];
    for (int i = 0; i < SOME; i++) h[i] = 0.3;
    memset(s->out.list, 0, sizeof s->out.list);
    for (int i = 0; i <= SOME; i++) s->out.first[i] = 7;
    const int status = sapporo_tree_neighbours(s->tree, SOME, (sapporo_column){before.x, 0}, (sapporo_column){h, 0},
                                               s->out.first, room, s->out.list);
    for (int i = 0; i <= SOME && status < 0; i++) assert_int_equal(s->out.first[i], 0);
    return status == SAPPORO_TRUNCATED ? SAPPORO_OK : status;
}

static int search(struct scene *s) { return search_with(s, (long long)SOME * N); }
static int search_truncated(struct scene *s) { return search_with(s, 30); }

static int statistics(struct scene *s)
{
    s->out.statistics.size = sizeof s->out.statistics;
    const int status = sapporo_tree_get_statistics(s->tree, &s->out.statistics);
    if (status) assert_true(s->out.statistics.cells == 0 && s->out.statistics.leaves == 0 && s->out.statistics.n == 0);
    memset(s->out.statistics.seconds, 0, sizeof s->out.statistics.seconds);
    s->out.statistics.host_bytes = 0; /* grows with what was tried */
    return status;
}

/* ---------------------------------------------------------------------- acts */

/* What happens before, with memory; what is done without it; what tells then whether all is as before. */
static const struct act {
    const char *name;
    int (*first[5])(struct scene *s);
    int (*act)(struct scene *s);
    int (*look)(struct scene *s);
} acts[] = {
    {"create", {NULL}, create, NULL},
    {"the first build", {create, set_before}, build, NULL},
    {"a build", {create, set_before, build, set_after}, build, force_all},
    {"a build, forces on some", {create, set_before, build, set_after}, build, force_some},
    {"a build, neighbours", {create, set_before, build, set_after}, build, search},
    {"a build, statistics", {create, set_before, build, set_after}, build, statistics},
    {"a refresh", {create, set_before, build, set_after}, refresh, force_all},
    {"a force", {create, set_before, build}, force_all, force_places},
    {"a force on some", {create, set_before, build}, force_some, force_some},
    {"a force on places", {create, set_before, build}, force_places, force_places},
    {"neighbours", {create, set_before, build}, search, search},
    {"neighbours, truncated", {create, set_before, build}, search_truncated, search},
    {"statistics", {create, set_before, build}, statistics, force_all},
};

static void prepare(struct scene *s, const struct act *act)
{
    memset(s, 0, sizeof *s);
    for (int k = 0; k < 5 && act->first[k]; k++) assert_int_equal(act->first[k](s), SAPPORO_OK);
}

/* Of the act itself, and of looking before and after it, where nothing fails. */
static struct outputs own, old, new;

/* The outputs of `call` in a scene where nothing fails; `done`: after the act. */
static void undisturbed(const struct act *act, int done, int (*call)(struct scene *s), struct outputs *out)
{
    static struct scene s;
    prepare(&s, act);
    if (done) assert_int_equal(act->act(&s), SAPPORO_OK);
    memset(&s.out, 0, sizeof s.out);
    if (call) assert_int_equal(call(&s), SAPPORO_OK);
    *out = s.out;
    sapporo_tree_destroy(s.tree);
}

static void expect_same(struct scene *s, int (*call)(struct scene *s), const struct outputs *right, const char *what)
{
    memset(&s->out, 0, sizeof s->out);
    const int status = call(s);
    if (status) fail_msg("%s: status %d, %s", what, status, sapporo_tree_last_error(s->tree));
    if (memcmp(&s->out, right, sizeof *right) != 0) fail_msg("%s: other outputs than undisturbed", what);
}

static int is_built(const struct act *act)
{
    int built = 0;
    for (int k = 0; k < 5 && act->first[k]; k++) built |= act->first[k] == build;
    return built;
}

/* A device without memory for a second tree beside the first loses that one, and says so. */
static int is_lost(struct scene *s, const struct act *act, int good)
{
    if (kind->backend == SAPPORO_BACKEND_CPU || act->act != build || !good) return 0;
    if (!strstr(sapporo_tree_last_error(s->tree), "the last tree is lost")) return 0;
    assert_true(statistics(s) == SAPPORO_OK && s->out.statistics.cells == 0);
    assert_int_equal(force_all(s), SAPPORO_ERR_ARGUMENT);
    return 1;
}

/* Does it with the n-th allocation refused; 0 once there are fewer than that. */
static int play(const struct act *act, long n, int good)
{
    static struct scene s;
    char what[120];
    (void)snprintf(what, sizeof what, "%s, %s, allocation %ld refused%s", kind->name, act->name, n,
                   good ? " for good" : "");
    prepare(&s, act);
    memset(&s.out, 0, sizeof s.out);
    plan(n, good);
    const int status = act->act(&s);
    const int met = refused > 0;
    plan(-1, 0);
    if (status == SAPPORO_OK && memcmp(&s.out, &own, sizeof own) != 0) fail_msg("%s: wrong outputs", what);
    if (status && (status != SAPPORO_ERR_MEMORY || !met || !sapporo_tree_last_error(s.tree)[0]))
        fail_msg("%s: status %d, %s", what, status, sapporo_tree_last_error(s.tree));
    if (status && act->act == create) assert_null(s.tree);
    if (status && act->act == build && !is_built(act)) {
        assert_int_equal(force_all(&s), SAPPORO_ERR_ARGUMENT);
        assert_int_equal(search(&s), SAPPORO_ERR_ARGUMENT);
        assert_true(statistics(&s) == SAPPORO_OK && s.out.statistics.cells == 0 && s.out.statistics.n == 0);
    }
    if (status && act->look && !is_lost(&s, act, good)) expect_same(&s, act->look, &old, what);
    if (status && act->act == build) expect_same(&s, act->act, &own, what);
    if (act->look && act->act == build && kind->mac != SAPPORO_MAC_ACCELERATION) expect_same(&s, act->look, &new, what);
    sapporo_tree_destroy(s.tree);
    return met;
}

static int usable(void)
{
    const char *const wanted = getenv("SAPPORO_TEST_ENGINES");
    struct scene s;
    if (kind->backend == SAPPORO_BACKEND_CPU) return 1;
    if (wanted && !strstr(wanted, kind->backend == SAPPORO_BACKEND_CUDA ? "cuda" : "opencl")) return 0;
    const int there = create(&s) == SAPPORO_OK;
    sapporo_tree_destroy(s.tree);
    return there;
}

static void refuse_all(void **state)
{
    kind = *state;
    if (!usable()) skip();
    for (size_t k = 0; k < sizeof acts / sizeof acts[0]; k++) {
        undisturbed(&acts[k], 0, acts[k].act, &own);
        if (acts[k].look) undisturbed(&acts[k], 0, acts[k].look, &old);
        if (acts[k].look) undisturbed(&acts[k], 1, acts[k].look, &new);
        (void)play(&acts[k], 1000000, 0); /* whatever is kept for good is allocated now */
        const int mine = blocks;
        long n = 0;
        for (int good = 0; good < 2; good++)
            for (n = 0; play(&acts[k], n, good);) n++;
        if (blocks != mine) fail_msg("%s, %s: %d blocks are lost", kind->name, acts[k].name, blocks - mine);
        print_message("# %s, %s: %ld allocations\n", kind->name, acts[k].name, n);
    }
}

/* The nodes of a build of which one allocation failed are those of any other, whatever it was. */
static void nodes_of_a_build(void **state)
{
    kind = *state;
    static struct scene s;
    prepare(&s, &acts[1]);
    assert_true(build(&s) == SAPPORO_OK && statistics(&s) == SAPPORO_OK);
    const int cells = s.out.statistics.cells;
    assert_true(cells > N);
    sapporo_tree_destroy(s.tree);
    for (long n = 0, met = 1; met; n++) {
        prepare(&s, &acts[1]);
        plan(n, 0);
        const int status = build(&s);
        met = refused > 0;
        plan(-1, 0);
        assert_int_equal(statistics(&s), SAPPORO_OK);
        assert_int_equal(s.out.statistics.cells, status ? 0 : cells);
        sapporo_tree_destroy(s.tree);
    }
}

int main(void)
{
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    enum { CPU_OCTREE = 0, CPU_KDTREE = 4 };
    struct CMUnitTest tests[KINDS + 2] = {
        [KINDS] = cmocka_unit_test_prestate(nodes_of_a_build, (void *)(uintptr_t)&kinds[CPU_OCTREE]),
        [KINDS + 1] = cmocka_unit_test_prestate(nodes_of_a_build, (void *)(uintptr_t)&kinds[CPU_KDTREE])};
    (void)setenv("SAPPORO_VERBOSE", "0", 1);
    for (int k = 0; k < KINDS; k++)
        tests[k] = (struct CMUnitTest){kinds[k].name, refuse_all, NULL, NULL, (void *)(uintptr_t)&kinds[k]};
    before = tree_particles_make(TREE_CUBE, N);
    after = tree_particles_make(TREE_CLUSTER, N);
    for (int i = 0; i < SOME; i++) active[i] = 17 * i;
    const int failed = cmocka_run_group_tests_name("allocations of trees", tests, NULL, NULL);
    tree_particles_free(&before);
    tree_particles_free(&after);
    return failed;
}

#else

SKIPPED_MAIN("allocations of trees", "malloc is replaced by way of glibc, and not under a sanitizer")

#endif
