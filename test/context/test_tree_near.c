/*
 * test_tree_near.c - pairs that are near in units of their groups, on every engine: rounding adds at most 1e-4 (sp) or
 * 1e-6 (ds) of its largest single pair to the force on each target, whatever the groups.
 *
 * Each system is one of the kinds that `make fuzz-trees` draws, with the bounds of multiscale_proof.h.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends.h"
#include "model.h"
#include "multiscale_proof.h"

struct named {
    const char *name;
    uint64_t seed; /* of a system that has such pairs in different groups */
    struct multiscale_recipe recipe;
};

#define OPTIONS(kind_, mac_, accuracy_, order_, group)                                                                 \
    .scale = 1, .options.kind = SAPPORO_TREE_##kind_, .options.mac = SAPPORO_MAC_##mac_,                               \
    .options.accuracy = (accuracy_), .options.order = (order_), .options.group_size = (group), .options.leaf_size = 4
#define PAIRS(number, least, most) .binaries = (number), .near_least = (least), .near_most = (most)
#define SPLINE(which, least, most)                                                                                     \
    .options.softening = SAPPORO_SOFTENING_SPLINE_##which, .h_least = (least), .h_most = (most)
#define POSITIONS(number, least, most)                                                                                 \
    .form = MULTISCALE_POSITIONS, .ni = (number), .position_least = (least), .position_most = (most)
#define MASSLESS(number, least, most)                                                                                  \
    .form = MULTISCALE_MASSLESS, .ni = (number), .position_least = (least), .position_most = (most)

static const struct named systems[] = {
    {"binaries across planes of the cube",
     1,
     {MULTISCALE_PLUMMER, 160, PAIRS(6, 1e-9, 1e-9), .across = MULTISCALE_CUBES, OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"binaries across nodes of a kd-tree",
     27,
     {MULTISCALE_PLUMMER, 600, PAIRS(20, 1e-9, 1e-6), .across = MULTISCALE_BOXES, OPTIONS(KDTREE, OPENING, 0.5, 2, 8)}},
    {"binaries with softening of their separation",
     29,
     {MULTISCALE_PLUMMER, 160, PAIRS(6, 1e-6, 1e-6), .across = MULTISCALE_CUBES, .eps = 1e-6,
      OPTIONS(OCTREE, OPENING, 0.7, 1, 8)}},
    {"binaries within a short softening length",
     19,
     {MULTISCALE_UNIFORM, 100, PAIRS(8, 1e-9, 1e-5), .across = MULTISCALE_CUBES, .eps = 1e-4,
      OPTIONS(OCTREE, MULTIPOLE, 1e-3, 2, 8)}},
    {"triples",
     17,
     {MULTISCALE_UNIFORM, 120, .triples = 5, .near_least = 1e-10, .near_most = 1e-3, .across = MULTISCALE_CUBES,
      OPTIONS(OCTREE, MULTIPOLE, 1e-2, 1, 8)}},
    {"separations of 2^-39",
     13,
     {MULTISCALE_UNIFORM, 120, PAIRS(5, 0x1p-39, 0x1p-38), .across = MULTISCALE_CUBES,
      OPTIONS(OCTREE, OPENING, 0.6, 2, 8)}},
    {"particles of one key", 29, {MULTISCALE_KEY, 140, PAIRS(3, 1e-10, 1e-8), OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"cusp", 30, {MULTISCALE_CUSP, 300, OPTIONS(OCTREE, OPENING, 0.5, 2, 64)}},
    {"cores in cores", 25, {MULTISCALE_CORES, 160, OPTIONS(OCTREE, OPENING, 0.5, 1, 8)}},
    {"escaper",
     17,
     {MULTISCALE_PLUMMER, 100, PAIRS(6, 1e-7, 1e-5), .escaper = 1e9, OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"far groups",
     37,
     {MULTISCALE_GROUPS, 130, PAIRS(6, 1e-10, 1e-8), .across = MULTISCALE_CUBES,
      OPTIONS(OCTREE, MULTIPOLE, 1e-2, 2, 8)}},
    {"lattice with companions and twins",
     32,
     {MULTISCALE_LATTICE, 125, PAIRS(6, 1e-8, 1e-5), .across = MULTISCALE_CUBES, .twins = 5,
      OPTIONS(OCTREE, ACCELERATION, 1e-3, 2, 8)}},
    {"masses over 1e6",
     52,
     {MULTISCALE_PLUMMER, 140, PAIRS(6, 1e-8, 1e-4), .masses = MULTISCALE_RANGE, OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"few active particles",
     38,
     {MULTISCALE_PLUMMER, 140, PAIRS(12, 1e-9, 1e-5), .across = MULTISCALE_CUBES, .form = MULTISCALE_FEW, .ni = 60,
      OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"positions near stars",
     43,
     {MULTISCALE_PLUMMER, 200, POSITIONS(8, 1e-10, 1e-4), OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"positions near stars, kd-tree",
     32,
     {MULTISCALE_UNIFORM, 200, POSITIONS(30, 1e-10, 1e-4), OPTIONS(KDTREE, MULTIPOLE, 1e-3, 1, 8)}},
    {"positions at stars beside far ones",
     3,
     {MULTISCALE_PLUMMER, 60, POSITIONS(60, 1e-10, 1e-4), .far = 0x1p80, OPTIONS(OCTREE, OPENING, 0.5, 1, 64)}},
    {"positions at stars beside far ones, spline",
     3,
     {MULTISCALE_PLUMMER, 60, POSITIONS(60, 1e-10, 1e-4), .far = 0x1p80, SPLINE(LARGER, 1e-3, 1e-1),
      OPTIONS(KDTREE, OPENING, 0.5, 2, 64)}},
    {"positions so far away that float does not hold m / r^3",
     3,
     {MULTISCALE_PLUMMER, 60, POSITIONS(60, 1e-10, 1e-4), .far = 1e14, OPTIONS(OCTREE, OPENING, 0.5, 2, 2)}},
    {"a star that moves far away",
     5,
     {MULTISCALE_PLUMMER, 60, .moved = 0.05, .far = 0x1p80, .eps = 1e-2, OPTIONS(OCTREE, OPENING, 0.5, 2, 64)}},
    {"massless particles of a stepper",
     50,
     {MULTISCALE_PLUMMER, 200, MASSLESS(8, 1e-9, 1e-4), OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"massless particles of a stepper, kd-tree",
     31,
     {MULTISCALE_UNIFORM, 200, MASSLESS(30, 1e-9, 1e-4), OPTIONS(KDTREE, OPENING, 0.5, 2, 8)}},
    {"particles of a stepper",
     58,
     {MULTISCALE_PLUMMER, 160, PAIRS(6, 1e-9, 1e-6), .across = MULTISCALE_CUBES, .form = MULTISCALE_STEPPED,
      OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"refreshed tree",
     45,
     {MULTISCALE_PLUMMER, 140, PAIRS(6, 1e-9, 1e-5), .moved = 0.05, OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"short spline lengths, the larger",
     45,
     {MULTISCALE_PLUMMER, 120, PAIRS(6, 1e-8, 1e-4), SPLINE(LARGER, 1e-9, 1e-3), OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}},
    {"short spline lengths, the mean",
     5,
     {MULTISCALE_UNIFORM, 120, PAIRS(6, 1e-8, 1e-4), SPLINE(MEAN, 1e-9, 1e-3), .across = MULTISCALE_CUBES,
      OPTIONS(OCTREE, OPENING, 0.5, 2, 8)}}};

enum { SYSTEMS = sizeof systems / sizeof systems[0] };

/*
 * Whether the engine is here and has trees.  Trees in double are the reference of the other precisions, so they are
 * proved with each of these.
 */
static int has_trees(const struct engine *e)
{
    const sapporo_tree_options o = {.size = sizeof o, .backend = e->backend, .cpu_isa = e->isa, .threads = 1};
    sapporo_tree *t = NULL;
    if (e->precision == SAPPORO_DP || !backend_is_tested(e->backend)) return 0;
    const int status = sapporo_tree_create(&o, 1, &t);
    sapporo_tree_destroy(t);
    if (status) print_message("skip: no trees on %s\n", e->name);
    return status == SAPPORO_OK;
}

/* Proves some systems on an engine; returns how many of them fail. */
static int try_engine(const struct engine *e, const struct named *system, int n)
{
    int failed = 0;
    const struct proof_engine on = {.backend = e->backend, .isa = e->isa, .precision = e->precision, .threads = 1};
    for (int k = 0; k < n; k++) {
        struct multiscale s;
        struct proof_verdict v;
        assert_true(multiscale_make(&system[k].recipe, system[k].seed, &s));
        proof_of(&s, &on, &v);
        if (v.failed) print_message("# %s, %s: %s\n", e->name, system[k].name, v.text);
        failed += v.failed > 0;
        multiscale_free(&s);
    }
    return failed;
}

static void try_engines(const struct named *system, int n)
{
    int tried = 0, failed = 0;
    for (int e = 0; e < ENGINES; e++) {
        if (!has_trees(&engines[e])) continue;
        failed += try_engine(&engines[e], system, n);
        tried++;
    }
    if (!tried) skip();
    assert_int_equal(failed, 0);
}

static void near_pairs(void **state)
{
    (void)state;
    try_engines(systems, SYSTEMS);
}

/* Where radii span 120 powers of ten, rows are right, or a message says which are not. */
static void wide_radii(void **state)
{
    static const struct named wide[] = {
        {"radii from 1e-60 to 1e60, octree", 1, {MULTISCALE_WIDE, 300, OPTIONS(OCTREE, OPENING, 0.5, 2, 64)}},
        {"radii from 1e-60 to 1e60, kd-tree", 2, {MULTISCALE_WIDE, 300, OPTIONS(KDTREE, OPENING, 0.5, 1, 64)}}};
    (void)state;
    try_engines(wide, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(near_pairs), cmocka_unit_test(wide_radii)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
