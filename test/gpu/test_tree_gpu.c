/*
 * test_tree_gpu.c - trees of accelerators against trees of the CPU engine: nodes one by one, forces, subsets.
 *
 *   test_tree_gpu bench [N [MAC,ACCURACY[,ORDER[,LEAF[,GROUP]]]...]]   measures a Plummer model on the first device
 *   test_tree_gpu parts [N [MAC,ACCURACY...]]                          the same with few particles active
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/tree_part.h"
#include "gpu/gpu_engine.h"
#include "sapporo.h"
#include "sapporo_experiments.h"
#include "seconds.h"
#include "tree_cases.h"
#include "tree_particles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RITTER SAPPORO_EXPERIMENTS(SAPPORO_BALL_RITTER, 0, 0)
#define MORTON SAPPORO_EXPERIMENTS(0, 0, SAPPORO_CURVE_MORTON)
static sapporo_backend backend; /* of the tests that run */
static sapporo_tree_kind kind;

static int on_opencl(void **state)
{
    (void)state;
    backend = SAPPORO_BACKEND_OPENCL;
    return 0;
}

/* On AMD GPUs, if those are what this machine has. */
static int on_cuda(void **state)
{
    (void)state;
    backend = sap_engine_cuda.count() == 0 && sap_engine_hip.count() > 0 ? SAPPORO_BACKEND_HIP : SAPPORO_BACKEND_CUDA;
    return 0;
}

static int kdtree_on_opencl(void **state)
{
    kind = SAPPORO_TREE_KDTREE;
    return on_opencl(state);
}

static int kdtree_on_cuda(void **state)
{
    kind = SAPPORO_TREE_KDTREE;
    return on_cuda(state);
}

static int usual_kind(void **state)
{
    (void)state;
    kind = SAPPORO_TREE_KIND_DEFAULT;
    return 0;
}

static void need_device(void)
{
    const struct sap_engine *const e = backend == SAPPORO_BACKEND_CUDA  ? &sap_engine_cuda
                                       : backend == SAPPORO_BACKEND_HIP ? &sap_engine_hip
                                                                        : &sap_engine_opencl;
    const char *wanted = getenv("SAPPORO_TEST_ENGINES");
    if (e->count() == 0 || (wanted && !strstr(wanted, e->name))) skip();
}

static void given(sapporo_tree *t, const struct tree_particles *p)
{
    const sapporo_tree_particles set = {.size = sizeof set, .n = p->n, .x = {p->x, 0}, .mass = {p->mass, 0}};
    assert_int_equal(sapporo_tree_set(t, &set), SAPPORO_OK);
}

static sapporo_tree *planted(sapporo_backend on, sapporo_tree_options options, const struct tree_particles *p)
{
    sapporo_tree *t = NULL;
    options.size = sizeof options;
    options.kind = kind;
    options.backend = on;
    const int status = sapporo_tree_create(&options, p->n, &t);
    if (status) print_message("%s\n", sapporo_tree_last_error(NULL));
    assert_int_equal(status, SAPPORO_OK);
    given(t, p);
    const int built = sapporo_tree_build(t);
    if (built) print_message("%s\n", sapporo_tree_last_error(t));
    assert_int_equal(built, SAPPORO_OK);
    return t;
}

/* ---- structure ---------------------------------------------------------------------------- */

static void same_nodes(sapporo_tree *a, sapporo_tree *b)
{
    struct sap_tree_structure s = tree_structure_of(a), r = tree_structure_of(b);
    const size_t n = (size_t)s.nodes;
    assert_int_equal(s.nodes, r.nodes);
    assert_int_equal(s.n, r.n);
    assert_memory_equal(s.address, r.address, (size_t)s.n * sizeof *s.address);
    assert_memory_equal(s.group, r.group, (size_t)s.n * sizeof *s.group);
    for (size_t k = 0; k < n; k++)
        if (s.first[k] != r.first[k] || s.count[k] != r.count[k] || s.level[k] != r.level[k] ||
            s.children[k] != r.children[k] || s.child[k] != r.child[k])
            fail_msg("node %zu: particles %d + %d, level %d, children %d + %d, and %d + %d, %d, %d + %d", k, s.first[k],
                     s.count[k], s.level[k], s.child[k], s.children[k], r.first[k], r.count[k], r.level[k], r.child[k],
                     r.children[k]);
    assert_memory_equal(s.mass, r.mass, n * sizeof *s.mass);
    assert_memory_equal(s.centre, r.centre, n * sizeof *s.centre);
    assert_memory_equal(s.low, r.low, n * sizeof *s.low);
    assert_memory_equal(s.high, r.high, n * sizeof *s.high);
    for (size_t k = 0; k < n; k++)
        for (int q = 0; q < 6; q++) assert_true(s.q[k][q] == r.q[k][q]); /* of zeros not the sign */
    tree_structure_free(&s);
    tree_structure_free(&r);
}

/* Compares the nodes of both engines, after a build and after a refresh of particles that have moved. */
static void structure_with(struct tree_particles *p, sapporo_tree_options options)
{
    sapporo_tree *here = planted(backend, options, p), *cpu = planted(SAPPORO_BACKEND_CPU, options, p);
    same_nodes(here, cpu);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < 3; k++) p->x[i][k] *= 1 + 1e-3 * k;
    given(here, p);
    given(cpu, p);
    assert_int_equal(sapporo_tree_refresh(here), SAPPORO_OK);
    assert_int_equal(sapporo_tree_refresh(cpu), SAPPORO_OK);
    same_nodes(here, cpu);
    sapporo_tree_destroy(here);
    sapporo_tree_destroy(cpu);
}

static void structure_of(enum tree_model model, int n, sapporo_tree_options options)
{
    struct tree_particles p = tree_particles_make(model, n);
    structure_with(&p, options);
    tree_particles_free(&p);
}

static void structures(void **state)
{
    (void)state;
    need_device();
    static const int few[] = {0, 1, 2, 15, 17, 1025};
    for (size_t k = 0; k < sizeof few / sizeof *few; k++)
        structure_of(TREE_CUBE, few[k], (sapporo_tree_options){.leaf_size = 16});
    for (int model = 0; model < TREE_MODELS; model++)
        structure_of((enum tree_model)model, 6000, (sapporo_tree_options){.leaf_size = model % 2 ? 1 : 16});
    structure_of(TREE_CLUSTER, 5000, (sapporo_tree_options){.leaf_size = 1000, .experiments = MORTON});
}

/* Particles that are difficult for the planes of kd-trees. */
enum difficulty {
    COARSE,   /* on the points of a grid, so that coordinates are equal */
    LINE,     /* in a line, by halves at one point */
    MASSLESS, /* masses of 0 and of both signs */
    DEEP,     /* distances that halve again and again: large nodes, too, are divided into halves of particles */
    EXTREME,  /* a box from the least double to the largest allowed coordinate */
    DIFFICULTIES
};

static void make_difficult(struct tree_particles *p, enum difficulty what)
{
    for (int i = 0; i < p->n; i++) {
        if (what == MASSLESS) p->mass[i] *= i % 3 - 1;
        for (int k = 0; k < 3; k++) {
            double *const x = &p->x[i][k];
            if (what == COARSE) *x = floor(4 * *x);
            if (what == LINE) *x = k == 1 && i % 2 ? *x : 0.25;
            if (what == DEEP) *x = k == i % 3 ? ldexp(1, -(i % 90)) : 0;
            if (what == EXTREME) *x = i % 2 ? ldexp(*x, -1074 + i % 200) : 1e100 * (*x - 0.5);
        }
    }
}

static void difficult(void **state)
{
    (void)state;
    need_device();
    for (int what = 0; what < DIFFICULTIES; what++)
        for (int alone = 0; alone < 2; alone++) {
            const sapporo_tree_options options = {.leaf_size = alone ? 1 : 8,
                                                  .experiments =
                                                      SAPPORO_EXPERIMENTS(0, alone ? SAPPORO_WALK_STACKLESS : 0, 0)};
            struct tree_particles p = tree_particles_make(TREE_CUBE, what == DEEP ? 40000 : 4000);
            make_difficult(&p, (enum difficulty)what);
            structure_with(&p, options);
            tree_particles_free(&p);
        }
}

/* Groups of every size, and leaves that are larger than any group. */
static void groups(void **state)
{
    static const int sizes[][2] = {{8, 64}, {1, 1}, {1, 2}, {16, 5}, {1, 256}, {1024, 64}};
    (void)state;
    need_device();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const sapporo_tree_options options = {.leaf_size = sizes[k][0], .group_size = sizes[k][1]};
        structure_of(TREE_CLUSTER, 3000, options);
        structure_of(TREE_CUBE, 3000, options);
        struct tree_particles p = tree_particles_make(TREE_CUBE, 1000);
        for (int i = 0; i < p.n; i++) memset(p.x[i], 0, sizeof p.x[i]);
        structure_with(&p, options);
        tree_particles_free(&p);
    }
}

/* Groups with a limit of their extent have the same parts on every engine. */
static void extents_of_groups(void **state)
{
    static const int sizes[][2] = {{16, 64}, {8, 256}, {1024, 96}};
    static const double limit[] = {1e-300, 0.1, 0.4, INFINITY};
    (void)state;
    need_device();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t l = 0; l < sizeof limit / sizeof *limit; l++) {
            const sapporo_tree_options options = {
                .leaf_size = sizes[k][0], .group_size = sizes[k][1], .group_extent = limit[l]};
            structure_of(TREE_CLUSTER, 3000, options);
            structure_of(TREE_CUBE, l == 1 ? 17 : 1500, options);
        }
    structure_of(TREE_CUBE, 0, (sapporo_tree_options){.group_extent = 0.1});
    struct tree_particles p = tree_particles_make(TREE_CUBE, 1000);
    for (int i = 0; i < p.n; i++) memset(p.x[i], 0, sizeof p.x[i]);
    structure_with(&p, (sapporo_tree_options){.group_extent = 1e-300});
    tree_particles_free(&p);
}

/* Numbers of particles around those where a node becomes large, and large leaves. */
static void sizes_of_nodes(void **state)
{
    static const int sizes[] = {3, 7, 31, 32, 33, 254, 255, 256, 257, 511, 512, 513, 1300};
    (void)state;
    need_device();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        structure_of(TREE_CLUSTER, sizes[k], (sapporo_tree_options){.leaf_size = 1});
    structure_of(TREE_CLUSTER, 3000, (sapporo_tree_options){.leaf_size = 300});
    structure_of(TREE_CUBE, 1000, (sapporo_tree_options){.leaf_size = 1024});
    structure_of(TREE_CLUSTER, 30000, (sapporo_tree_options){.leaf_size = 8}); /* runs of tiles within one node */
}

/* A tree that is built again, of other and of fewer particles, is a new tree. */
static void builds_again(void **state)
{
    (void)state;
    need_device();
    struct tree_particles p = tree_particles_make(TREE_CLUSTER, 3000);
    const sapporo_tree_options options = {.leaf_size = 2};
    sapporo_tree *here = planted(backend, options, &p), *cpu = planted(SAPPORO_BACKEND_CPU, options, &p);
    for (p.n = 3000; p.n > 0; p.n -= 1250) {
        for (int i = 0; i < p.n; i++) p.x[i][i % 3] *= -1.5;
        given(here, &p);
        given(cpu, &p);
        assert_int_equal(sapporo_tree_build(here), SAPPORO_OK);
        assert_int_equal(sapporo_tree_build(cpu), SAPPORO_OK);
        same_nodes(here, cpu);
    }
    sapporo_tree_destroy(here);
    sapporo_tree_destroy(cpu);
    tree_particles_free(&p);
}

/* ---- forces -------------------------------------------------------------------------------- */

struct forces {
    double (*acc)[3], *pot;
};

static struct forces room_for(int n)
{
    return (struct forces){calloc((size_t)n + 1, sizeof(double[3])), calloc((size_t)n + 1, sizeof(double))};
}

static void drop_forces(struct forces *f)
{
    free(f->acc);
    free(f->pot);
}

static void force_of(sapporo_tree *t, const sapporo_tree_request *given, struct forces *f)
{
    sapporo_tree_request r = *given;
    r.size = sizeof r;
    const int status = sapporo_tree_force(t, &r, f->acc, f->pot);
    if (status) print_message("%s\n", sapporo_tree_last_error(t));
    assert_int_equal(status, SAPPORO_OK);
}

/*
 * Largest difference of accelerations over their root mean square; the same of potentials if it is larger.  Infinity if
 * a row is not finite, as rows are that no kernel wrote.
 */
static double difference(const struct forces *a, const struct forces *b, int n)
{
    double acc = 0, pot = 0, most_acc = 0, most_pot = 0;
    for (int i = 0; i < n; i++) {
        const double off_pot = fabs(a->pot[i] - b->pot[i]);
        double d2 = 0;
        for (int c = 0; c < 3; c++) {
            d2 += (a->acc[i][c] - b->acc[i][c]) * (a->acc[i][c] - b->acc[i][c]);
            acc += b->acc[i][c] * b->acc[i][c];
        }
        if (!isfinite(d2 + off_pot)) return INFINITY;
        most_acc = d2 > most_acc * most_acc ? sqrt(d2) : most_acc;
        most_pot = off_pot > most_pot ? off_pot : most_pot;
        pot += b->pot[i] * b->pot[i];
    }
    if (!(pot > 0)) return most_acc > most_pot ? most_acc : most_pot;
    const double of_acc = most_acc / sqrt(acc / n), of_pot = most_pot / sqrt(pot / n);
    return of_acc > of_pot ? of_acc : of_pot;
}

/* The direct sum, in double. */
static struct forces direct(const struct tree_particles *p, double eps2)
{
    struct forces f = room_for(p->n);
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) {
            double d[3], r2 = eps2;
            for (int c = 0; c < 3; c++) d[c] = p->x[j][c] - p->x[i][c], r2 += d[c] * d[c];
            if (j == i || !(r2 > 0)) continue;
            const double u = 1 / sqrt(r2), mu = p->mass[j] * u;
            f.pot[i] -= mu;
            for (int c = 0; c < 3; c++) f.acc[i][c] += mu * u * u * d[c];
        }
    return f;
}

/* Forces against the direct sum; where every cell is opened they are as good as pair terms are. */
static void force_case(enum tree_model model, int n, sapporo_tree_options options, double bound)
{
    struct tree_particles p = tree_particles_make(model, n);
    const sapporo_tree_request all = {.ni = n};
    sapporo_tree *t = planted(backend, options, &p);
    struct forces f = room_for(n), sum = direct(&p, options.eps2);
    force_of(t, &all, &f);
    const double off = difference(&f, &sum, n);
    const sapporo_tree_statistics s = tree_statistics(t);
    print_message("model %d, n %d, mac %d, order %d: %.3g, %.0f + %.0f interactions, %d wide of %d\n", (int)model, n,
                  (int)options.mac, options.order, off, (double)s.particle_particle / n, (double)s.particle_cell / n,
                  s.wide_groups, s.groups);
    assert_true(off <= bound);
    drop_forces(&f);
    drop_forces(&sum);
    sapporo_tree_destroy(t);
    tree_particles_free(&p);
}

static void forces(void **state)
{
    (void)state;
    need_device();
    const double eps2 = 1e-4;
    force_case(TREE_CUBE, 1, (sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = eps2}, 0);
    force_case(TREE_CUBE, 3000, (sapporo_tree_options){.eps2 = eps2, .accuracy = 1e-6}, 1e-5);
    force_case(TREE_CLUSTER, 3000, (sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = eps2}, 0.02);
    force_case(TREE_CLUSTER, 3000,
               (sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = eps2, .order = 1, .group_size = 200}, 0.05);
    force_case(TREE_CLUSTER, 3000, (sapporo_tree_options){.eps2 = eps2, .mac = SAPPORO_MAC_ACCELERATION}, 0.02);
    force_case(TREE_CLUSTER, 3000, (sapporo_tree_options){.eps2 = eps2, .mac = SAPPORO_MAC_MULTIPOLE, .accuracy = 1e-4},
               0.02);
    /* balls that hold a crowd: walkers alone */
    force_case(TREE_CLUSTER, 3000,
               (sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = eps2, .leaf_size = 32, .group_size = 8},
               0.02);
    force_case(TREE_CLUSTER, 3000,
               (sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = eps2, .group_extent = 0.1}, 0.02);
    force_case(TREE_CLUSTER, 3000,
               (sapporo_tree_options){.eps2 = eps2, .mac = SAPPORO_MAC_ACCELERATION, .group_extent = 1e-9}, 0.02);
    force_case(TREE_FAR, 2000, (sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = eps2, .experiments = RITTER},
               0.02);
    force_case(TREE_PAIRS, 2000,
               (sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = 0, .leaf_size = 4, .group_size = 7}, 1e-4);
    force_case(TREE_CLUSTER, 2000, (sapporo_tree_options){.eps2 = eps2, .accuracy = 1e-6, .precision = SAPPORO_DP},
               1e-12);
}

enum { ALONE = SAPPORO_EXPERIMENTS(0, SAPPORO_WALK_STACKLESS, 0) };

/* Rows of some particles, and of their positions, have the bits that they have in a force on all. */
static void same_alone(sapporo_tree *t, const struct tree_particles *p, const struct forces *all)
{
    enum { EVERY = 7 };
    int active[EVERY * 40] = {0}, n = 0;
    double x[EVERY * 40][3];
    for (int i = 3; i < p->n && n < EVERY * 40; i += EVERY, n++) {
        active[n] = i;
        memcpy(x[n], p->x[i], sizeof x[n]);
    }
    struct forces f = room_for(n);
    const sapporo_tree_request some = {.ni = n, .active = active}, places = {.ni = n, .x = {x, 0}};
    force_of(t, &some, &f);
    for (int k = 0; k < n; k++) {
        assert_memory_equal(f.acc[k], all->acc[active[k]], sizeof f.acc[k]);
        assert_true(f.pot[k] == all->pot[active[k]]);
    }
    force_of(t, &places, &f); /* their own particles are at no distance, and do not act */
    for (int k = 0; k < n; k++) assert_memory_equal(f.acc[k], all->acc[active[k]], sizeof f.acc[k]);
    drop_forces(&f);
}

/* Each particle walks alone: all shapes of leaves, and what it walks along follows a refresh. */
static void single_particles(void **state)
{
    static const struct {
        int leaf, order;
        sapporo_tree_mac mac;
    } shape[] = {{1, 1, SAPPORO_MAC_ACCELERATION}, {1, 2, SAPPORO_MAC_OPENING},    {2, 2, SAPPORO_MAC_MULTIPOLE},
                 {3, 2, SAPPORO_MAC_ACCELERATION}, {16, 1, SAPPORO_MAC_MULTIPOLE}, {1024, 1, SAPPORO_MAC_OPENING}};
    (void)state;
    need_device();
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
        sapporo_tree_options o = {.leaf_size = shape[k].leaf,
                                  .order = shape[k].order,
                                  .mac = shape[k].mac,
                                  .experiments = ALONE,
                                  .accuracy = shape[k].mac == SAPPORO_MAC_OPENING ? 0.7 : 1e-3};
        force_case(TREE_CLUSTER, 3000, o, 0.05);
        force_case(TREE_CUBE, 1 + 31 * (int)k, o, 0.05);
        o.accuracy = 1e-40; /* a direct sum */
        force_case(TREE_PAIRS, 1000, o, 1e-9);
        struct tree_particles p = tree_particles_make(TREE_CLUSTER, 2000);
        const sapporo_tree_request all = {.ni = p.n};
        sapporo_tree *t = planted(backend, o, &p);
        struct forces f = room_for(p.n);
        force_of(t, &all, &f);
        if (o.mac != SAPPORO_MAC_ACCELERATION) same_alone(t, &p, &f); /* whose criterion follows each force */
        for (int i = 0; i < p.n; i++) p.x[i][i % 3] *= 1.5;
        given(t, &p);
        assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
        force_of(t, &all, &f);
        struct forces sum = direct(&p, 0);
        assert_true(difference(&f, &sum, p.n) <= 1e-9);
        drop_forces(&sum);
        drop_forces(&f);
        sapporo_tree_destroy(t);
        tree_particles_free(&p);
    }
}

/* Returns interactions per particle of a force on all. */
static double interactions_on(sapporo_backend on, const sapporo_tree_options *options, const struct tree_particles *p)
{
    const sapporo_tree_request all = {.ni = p->n};
    sapporo_tree *t = planted(on, *options, p);
    struct forces f = room_for(p->n);
    force_of(t, &all, &f);
    const sapporo_tree_statistics s = tree_statistics(t);
    drop_forces(&f);
    sapporo_tree_destroy(t);
    return (double)(s.particle_particle + s.particle_cell) / p->n;
}

/* Walks on a device meet as many particles and cells as on the CPU: their groups have the same balls, to rounding. */
static void interactions(void **state)
{
    static const sapporo_tree_options options[] = {{.eps2 = 1e-4},
                                                   {.eps2 = 1e-4, .order = 1, .accuracy = 0.5},
                                                   {.eps2 = 1e-4, .group_extent = 0.15},
                                                   {.eps2 = 1e-4, .order = 1, .mac = SAPPORO_MAC_ACCELERATION},
                                                   {.order = 1, .leaf_size = 1, .experiments = ALONE},
                                                   {.leaf_size = 5, .experiments = ALONE}};
    (void)state;
    need_device();
    struct tree_particles p = tree_particles_make(TREE_CUBE, 8000);
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        const double here = interactions_on(backend, &options[k], &p);
        const double cpu = interactions_on(SAPPORO_BACKEND_CPU, &options[k], &p);
        print_message("%.1f interactions per particle, on the CPU %.1f\n", here, cpu);
        assert_true(fabs(here - cpu) <= 1e-3 * cpu);
    }
    tree_particles_free(&p);
}

/* ---- active subsets -------------------------------------------------------------------------- */

enum { REPEATED = 40, SAMPLE = 1000, REPEATS = 7 };

/* Rows: each `every`-th particle, `many` at most; 0: as many rows of the first REPEATED again and again. */
static int choose(const struct tree_particles *p, int every, int many, int *active)
{
    int n = 0;
    for (int i = 0; i < p->n && n<many; i += every> 0 ? every : 1)
        active[n++] = every > 0 ? (int)((long long)i * 7919 % p->n) : i % REPEATED;
    return n;
}

/* Active particles get the forces of all, to the errors of the tree, and again the same bits, unless by the
 * accelerations that the force itself has made new. */
static void subset_case(sapporo_tree *t, const struct tree_particles *p, const struct forces *all, int every, int many,
                        int repeats, double bound)
{
    int *const active = calloc((size_t)p->n + 1, sizeof *active);
    const int n = choose(p, every, many, active);
    const sapporo_tree_request r = {.ni = n, .active = active};
    struct forces f = room_for(n), again = room_for(n), same = room_for(n);
    for (int i = 0; i < n; i++) {
        memcpy(same.acc[i], all->acc[active[i]], sizeof *same.acc);
        same.pot[i] = all->pot[active[i]];
    }
    force_of(t, &r, &f);
    force_of(t, &r, &again);
    if (repeats) assert_memory_equal(f.acc, again.acc, (size_t)n * sizeof *f.acc);
    if (repeats) assert_memory_equal(f.pot, again.pot, (size_t)n * sizeof *f.pot);
    const double off = difference(&f, &same, n);
    print_message("%d active of %d: %.3g\n", n, p->n, off);
    assert_true(off <= bound);
    drop_forces(&f);
    drop_forces(&again);
    drop_forces(&same);
    free(active);
}

static void subsets_of(int n, sapporo_tree_options options, double bound)
{
    struct tree_particles p = tree_particles_make(TREE_CLUSTER, n);
    const sapporo_tree_request whole = {.ni = p.n};
    sapporo_tree *t = planted(backend, options, &p);
    struct forces all = room_for(p.n);
    force_of(t, &whole, &all);
    force_of(t, &whole, &all); /* by accelerations that are known */
    const int repeats = options.mac != SAPPORO_MAC_ACCELERATION;
    subset_case(t, &p, &all, 1, n / 10 * 9, repeats, bound); /* out of all */
    subset_case(t, &p, &all, 1, n / 6 * 5, repeats, bound);  /* in bunches */
    subset_case(t, &p, &all, 1, n / 20 * 9, repeats, bound); /* in bunches: of eight where n is 20,000 */
    subset_case(t, &p, &all, 9, p.n, repeats, bound);        /* in bunches, or each alone, where n is 20,000 */
    subset_case(t, &p, &all, 500, p.n, repeats, bound);      /* each alone */
    subset_case(t, &p, &all, 0, n / 3, repeats, bound);      /* more rows than a bunch has */
    drop_forces(&all);
    sapporo_tree_destroy(t);
    tree_particles_free(&p);
}

/* So many groups walk in the order of their accelerations: each does, and once. */
static void many_groups(void **state)
{
    enum { N = 70000 };
    const sapporo_tree_options options = {.eps2 = 1e-4, .mac = SAPPORO_MAC_ACCELERATION, .accuracy = 0.2, .order = 1};
    (void)state;
    need_device();
    struct tree_particles p = tree_particles_make(TREE_CLUSTER, N);
    struct forces here = room_for(N), cpu = room_for(N);
    sapporo_tree *trees[2] = {planted(backend, options, &p), planted(SAPPORO_BACKEND_CPU, options, &p)};
    memset(here.pot, 0xff, N * sizeof *here.pot);
    force_of(trees[0], &(sapporo_tree_request){.ni = N}, &here);
    force_of(trees[1], &(sapporo_tree_request){.ni = N}, &cpu);
    sapporo_tree_statistics s[2] = {{.size = sizeof *s}, {.size = sizeof *s}};
    for (int k = 0; k < 2; k++) assert_int_equal(sapporo_tree_get_statistics(trees[k], &s[k]), SAPPORO_OK);
    const double off = difference(&here, &cpu, N), cells = (double)s[1].particle_cell;
    print_message("%d groups: %.3g\n", N / 64, off);
    assert_true(off <= 0.2); /* monopoles by a loose criterion */
    assert_true(fabs((double)s[0].particle_cell - cells) <= 0.2 * cells);
    for (int k = 0; k < 2; k++) sapporo_tree_destroy(trees[k]);
    drop_forces(&here);
    drop_forces(&cpu);
    tree_particles_free(&p);
}

/*
 * So many active particles walk in parts of 64, and the scattered ones of them in bunches.  The tree of the CPU gives
 * the forces that they should have, since a CPU of OpenCL takes as long for these as for the rest of the test.
 */
static void many_active(void **state)
{
    enum { MANY = 1 << 19, DENSE = MANY - 20000, N_MANY = 750000 };
    const sapporo_tree_options options = {.eps2 = 1e-4, .accuracy = 1.5, .order = 1};
    (void)state;
    need_device();
    struct tree_particles p = tree_particles_make(TREE_CLUSTER, N_MANY);
    int *const active = calloc(MANY, sizeof *active);
    sapporo_tree *t = planted(backend, options, &p), *cpu = planted(SAPPORO_BACKEND_CPU, options, &p);
    struct forces all = room_for(p.n), f = room_for(MANY), same = room_for(MANY);
    force_of(cpu, &(sapporo_tree_request){.ni = p.n}, &all);
    sapporo_tree_destroy(cpu);
    int dense = 0, other = 0;
    for (int i = 0; i < p.n; i++) {
        const double r2 = p.x[i][0] * p.x[i][0] + p.x[i][1] * p.x[i][1] + p.x[i][2] * p.x[i][2];
        if (r2 < 4 && dense < DENSE)
            active[dense++] = i;
        else if (i % 11 == 0 && other < MANY - DENSE)
            active[MANY - 1 - other++] = i;
    }
    assert_true(dense == DENSE && other == MANY - DENSE);
    for (int i = 0; i < MANY; i++) {
        memcpy(same.acc[i], all.acc[active[i]], sizeof *same.acc);
        same.pot[i] = all.pot[active[i]];
    }
    force_of(t, &(sapporo_tree_request){.ni = MANY, .active = active}, &f);
    const double off = difference(&f, &same, MANY);
    print_message("%d active of %d: %.3g\n", (int)MANY, p.n, off);
    assert_true(off <= 0.2); /* monopoles by an opening angle of 1.5 */
    drop_forces(&all);
    drop_forces(&f);
    drop_forces(&same);
    sapporo_tree_destroy(t);
    tree_particles_free(&p);
    free(active);
}

static void subsets(void **state)
{
    (void)state;
    need_device();
    subsets_of(20000, (sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = 1e-4}, 0.02);
    subsets_of(3000, (sapporo_tree_options){.eps2 = 1e-4, .group_size = 10, .accuracy = 1e-9}, 1e-5);
    subsets_of(6000, (sapporo_tree_options){.eps2 = 1e-4, .mac = SAPPORO_MAC_ACCELERATION, .group_size = 100}, 0.02);
    subsets_of(3000, (sapporo_tree_options){.eps2 = 1e-4, .accuracy = 1e-9, .precision = SAPPORO_DP}, 1e-12);
}

/* ---- measures ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Relative errors of the accelerations of a sample; what lies above median and 99 %. */
static void errors_of(const struct forces *f, const struct forces *exact, const int *active, double *median,
                      double *most)
{
    double error[SAMPLE];
    for (int i = 0; i < SAMPLE; i++) {
        double d2 = 0, a2 = 0;
        for (int c = 0; c < 3; c++) {
            const double a = exact->acc[i][c], d = f->acc[active[i]][c] - a;
            d2 += d * d, a2 += a * a;
        }
        error[i] = sqrt(d2 / a2);
    }
    qsort(error, SAMPLE, sizeof *error, by_value);
    *median = error[SAMPLE / 2];
    *most = error[SAMPLE * 99 / 100];
}

static void measure(const struct tree_particles *p, sapporo_tree_options options, const struct forces *exact,
                    const int *active, struct forces *f)
{
    double phase[SAPPORO_PHASES][REPEATS], sum[SAPPORO_PHASES], median, most;
    sapporo_tree_statistics s = {.size = sizeof s};
    const sapporo_tree_request all = {.ni = p->n};
    sapporo_tree *t = planted(backend, options, p);
    for (int k = 0; k < REPEATS; k++) {
        assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
        force_of(t, &all, f);
        assert_int_equal(sapporo_tree_get_statistics(t, &s), SAPPORO_OK);
        for (int q = 0; q < SAPPORO_PHASES; q++) phase[q][k] = 1e3 * s.seconds[q];
    }
    for (int q = 0; q < SAPPORO_PHASES; q++) {
        qsort(phase[q], REPEATS, sizeof(double), by_value);
        sum[q] = phase[q][REPEATS / 2];
    }
    errors_of(f, exact, active, &median, &most);
    const double all_ms = sum[0] + sum[1] + sum[2] + sum[3], pp = (double)s.particle_particle / p->n;
    printf(
        "%9d mac %d %7.3g order %d leaf %3d group %3d: %8.3f ms = sort %.3f link %.3f moments %.3f walk %.3f; pp %.0f "
        "pc %.0f, %.3f ps each; error %.2e, 99 %% %.2e; cells %d depth %d wide %d\n",
        p->n, (int)options.mac, options.accuracy, options.order, options.leaf_size, options.group_size, all_ms, sum[0],
        sum[1], sum[2], sum[3], pp, (double)s.particle_cell / p->n,
        1e9 * sum[3] / (double)(s.particle_particle + s.particle_cell), median, most, s.cells, s.depth, s.wide_groups);
    (void)fflush(stdout);
    sapporo_tree_destroy(t);
}

/* A walk of one in `every`, of particles all over the model, or of those nearest to its middle. */
static void measure_part(const struct tree_particles *p, sapporo_tree *t, int every, int middle, struct forces *f)
{
    int n = 0, *const active = calloc((size_t)p->n + 1, sizeof *active);
    const double r2 = pow(0.58904862, 2) / (pow(0.999 / every, -2.0 / 3) - 1); /* Plummer's, of so much mass */
    for (int i = 0; i < p->n; i++) {
        const double *const x = p->x[i];
        if (middle ? x[0] * x[0] + x[1] * x[1] + x[2] * x[2] < r2 : i % every == 0) active[n++] = i;
    }
    double walk[REPEATS], whole[REPEATS];
    sapporo_tree_statistics s = {.size = sizeof s};
    const sapporo_tree_request some = {.ni = n, .active = active};
    for (int k = -1; k < REPEATS; k++) {
        const double begin = seconds_now();
        force_of(t, &some, f);
        if (k < 0) continue;
        whole[k] = 1e3 * (seconds_now() - begin);
        assert_int_equal(sapporo_tree_get_statistics(t, &s), SAPPORO_OK);
        walk[k] = 1e3 * s.seconds[SAPPORO_PHASE_WALK];
    }
    qsort(walk, REPEATS, sizeof(double), by_value);
    qsort(whole, REPEATS, sizeof(double), by_value);
    printf("%9d of %9d active, %s: walk %8.3f ms, whole call %8.3f ms; pp %.0f pc %.0f\n", n, p->n,
           middle ? "in the middle" : "all over", walk[REPEATS / 2], whole[REPEATS / 2],
           (double)s.particle_particle / n, (double)s.particle_cell / n);
    (void)fflush(stdout);
    free(active);
}

struct how {
    sapporo_tree_mac mac;
    double accuracy;
    int order, leaf, group;
};

static const struct how usual[] = {
    {SAPPORO_MAC_OPENING, 0.8, 2, 16, 64},      {SAPPORO_MAC_OPENING, 0.5, 2, 16, 64},
    {SAPPORO_MAC_OPENING, 0.7, 2, 8, 64},       {SAPPORO_MAC_OPENING, 0.7, 2, 32, 64},
    {SAPPORO_MAC_OPENING, 0.7, 2, 16, 32},      {SAPPORO_MAC_OPENING, 0.7, 2, 16, 128},
    {SAPPORO_MAC_OPENING, 0.5, 1, 16, 64},      {SAPPORO_MAC_ACCELERATION, 1e-2, 2, 16, 64},
    {SAPPORO_MAC_ACCELERATION, 1e-3, 2, 16, 64}};

static sapporo_tree_options options_of(const struct how *h)
{
    return (sapporo_tree_options){.eps2 = 1e-4,
                                  .mac = h->mac,
                                  .accuracy = h->accuracy,
                                  .order = h->order,
                                  .leaf_size = h->leaf,
                                  .group_size = h->group};
}

static void measures_of_parts(int n, const struct how *with, int many)
{
    struct tree_particles p = tree_particles_plummer(n);
    struct forces f = room_for(n);
    for (int k = 0; k < many; k++) {
        sapporo_tree *t = planted(backend, options_of(&with[k]), &p);
        printf("%9d mac %d %7.3g\n", p.n, (int)with[k].mac, with[k].accuracy);
        for (int every = 1; every <= 10000; every *= 10)
            for (int middle = 0; middle < 2; middle++) measure_part(&p, t, every, middle, &f);
        sapporo_tree_destroy(t);
    }
    drop_forces(&f);
    tree_particles_free(&p);
}

static void measures_of(int n, const struct how *with, int many)
{
    struct tree_particles p = tree_particles_plummer(n);
    struct forces f = room_for(n), exact = room_for(SAMPLE);
    int active[SAMPLE];
    for (int i = 0; i < SAMPLE; i++) active[i] = (int)((long long)i * n / SAMPLE);
    sapporo_tree *t = planted(backend, (sapporo_tree_options){.eps2 = 1e-4, .accuracy = 1e-9}, &p);
    const sapporo_tree_request some = {.ni = SAMPLE, .active = active};
    force_of(t, &some, &exact);
    sapporo_tree_destroy(t);
    for (int k = 0; k < many; k++) measure(&p, options_of(&with[k]), &exact, active, &f);
    drop_forces(&f);
    drop_forces(&exact);
    tree_particles_free(&p);
}

static struct how how_of(const char *text)
{
    double x[5] = {SAPPORO_MAC_OPENING, 0.7, 2, 16, 64};
    char *end = NULL;
    for (int k = 0; k < 5 && *text; k++, text = *end == ',' ? end + 1 : end) x[k] = strtod(text, &end);
    return (struct how){(sapporo_tree_mac)x[0], x[1], (int)x[2], (int)x[3], (int)x[4]};
}

static int measures(int argc, char **argv)
{
    struct how with[16];
    const int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0, parts = strcmp(argv[1], "parts") == 0;
    int many = 0;
    for (int k = 3; k < argc && many < 16; k++) with[many++] = how_of(argv[k]);
    const int given = many > 0, usuals = (int)(sizeof usual / sizeof *usual);
    backend =
        sap_engine_cuda.count() > 0 && !getenv("SAPPORO_TEST_OPENCL") ? SAPPORO_BACKEND_CUDA : SAPPORO_BACKEND_OPENCL;
    for (int k = n > 0 ? n : 1 << 17; k <= (n > 0 ? n : 1 << 23); k *= 8)
        (parts ? measures_of_parts : measures_of)(k, given ? with : usual, given ? many : parts ? 2 : usuals);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        {"structures, opencl", structures, on_opencl, NULL, NULL},
        {"structures, cuda", structures, on_cuda, NULL, NULL},
        {"forces, opencl", forces, on_opencl, NULL, NULL},
        {"forces, cuda", forces, on_cuda, NULL, NULL},
        {"subsets, opencl", subsets, on_opencl, NULL, NULL},
        {"subsets, cuda", subsets, on_cuda, NULL, NULL},
        {"many groups, opencl", many_groups, on_opencl, NULL, NULL},
        {"many groups, cuda", many_groups, on_cuda, NULL, NULL},
        {"many active particles, opencl", many_active, on_opencl, NULL, NULL},
        {"many active particles, cuda", many_active, on_cuda, NULL, NULL},
        {"structures of kd-trees, opencl", structures, kdtree_on_opencl, usual_kind, NULL},
        {"structures of kd-trees, cuda", structures, kdtree_on_cuda, usual_kind, NULL},
        {"difficult particles, opencl", difficult, kdtree_on_opencl, usual_kind, NULL},
        {"difficult particles, cuda", difficult, kdtree_on_cuda, usual_kind, NULL},
        {"sizes of nodes, opencl", sizes_of_nodes, kdtree_on_opencl, usual_kind, NULL},
        {"sizes of nodes, cuda", sizes_of_nodes, kdtree_on_cuda, usual_kind, NULL},
        {"builds again, opencl", builds_again, kdtree_on_opencl, usual_kind, NULL},
        {"builds again, cuda", builds_again, kdtree_on_cuda, usual_kind, NULL},
        {"groups, opencl", groups, kdtree_on_opencl, usual_kind, NULL},
        {"groups, cuda", groups, kdtree_on_cuda, usual_kind, NULL},
        {"extents of groups, opencl", extents_of_groups, on_opencl, NULL, NULL},
        {"extents of groups, cuda", extents_of_groups, on_cuda, NULL, NULL},
        {"extents of groups of kd-trees, opencl", extents_of_groups, kdtree_on_opencl, usual_kind, NULL},
        {"extents of groups of kd-trees, cuda", extents_of_groups, kdtree_on_cuda, usual_kind, NULL},
        {"single particles, opencl", single_particles, on_opencl, NULL, NULL},
        {"single particles, cuda", single_particles, on_cuda, NULL, NULL},
        {"single particles of kd-trees, opencl", single_particles, kdtree_on_opencl, usual_kind, NULL},
        {"single particles of kd-trees, cuda", single_particles, kdtree_on_cuda, usual_kind, NULL},
        {"interactions, opencl", interactions, on_opencl, NULL, NULL},
        {"interactions, cuda", interactions, on_cuda, NULL, NULL},
        {"interactions of kd-trees, opencl", interactions, kdtree_on_opencl, usual_kind, NULL},
        {"interactions of kd-trees, cuda", interactions, kdtree_on_cuda, usual_kind, NULL},
        {"forces of kd-trees, opencl", forces, kdtree_on_opencl, usual_kind, NULL},
        {"forces of kd-trees, cuda", forces, kdtree_on_cuda, usual_kind, NULL},
        {"subsets of kd-trees, cuda", subsets, kdtree_on_cuda, usual_kind, NULL},
    };
    if (argc > 1 && (strcmp(argv[1], "bench") == 0 || strcmp(argv[1], "parts") == 0)) return measures(argc, argv);
    return cmocka_run_group_tests_name("tree_gpu", tests, NULL, NULL);
}
