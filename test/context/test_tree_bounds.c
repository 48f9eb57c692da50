/*
 * test_tree_bounds.c - bounds of groups: they hold their particles, and each row has as many interactions as a walk in
 * long double finds.  The cells that this walk accepts satisfy the criterion for every particle of the group.  Some
 * models have long and thin groups.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bodies.h"
#include "context/tree_part.h"
#include "engine/pull.h"
#include "engine/tree_nodes.h"
#include "physics/scalars.h"
#include "sapporo_experiments.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 4500 }; /* more than accelerators sum in bunches of one particle */

typedef long double real;

/* ---- models ---------------------------------------------------------------------------- */

enum shape { ROUND, NEEDLE, OBLIQUE, DISC, SHAPES };

/* A cluster; the same stretched along an axis, and along a diagonal; a disc. */
static bodies shaped(enum shape shape)
{
    if (shape == DISC) return tree_input(TREE_DISC, N);
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    for (int i = 0; i < N; i++) {
        double *const x = b.x[i];
        if (shape != ROUND) x[0] *= 200;
        if (shape == OBLIQUE) x[1] += 0.8 * x[0], x[2] -= 0.5 * x[0];
    }
    return b;
}

/* ---- a tree, as the test sees it -------------------------------------------------------- */

struct seen {
    const bodies *b;
    const sapporo_tree_options *o;
    const double *a; /* sizes of accelerations by address */
    struct sap_tree_structure s;
    int *first;       /* [groups + 1] of the sorted particles of each group */
    real (*reach)[2]; /* [nodes]: the distance of any particle, and that of one with accuracy times acceleration 1 */
    real size;        /* of the model */
    real tolerance;   /* of MULTIPOLE */
    real accuracy;    /* of ACCELERATION */
};

/* The unit of the tolerance of MULTIPOLE (test/engine/test_pull.c). */
static double pull_of(const bodies *b, double weight)
{
    static double sample[3][SAP_CUBE_SAMPLE];
    const int m = sap_cube_sample(b->n);
    for (int k = 0; k < m; k++)
        for (int c = 0; c < 3; c++) sample[c][k] = b->x[sap_cube_member(b->n, k)][c];
    return sap_pull_of((const double(*)[SAP_CUBE_SAMPLE])sample, m, weight);
}

static struct seen see(sapporo_tree *t, const bodies *b, const sapporo_tree_options *o, const double *a)
{
    struct seen v = {.b = b, .o = o, .a = a};
    assert_int_equal(sap_part_structure(t, &v.s), SAPPORO_OK);
    v.s.node = zeroed((size_t)v.s.nodes, sizeof *v.s.node);
    v.s.cell = zeroed((size_t)v.s.nodes, sizeof *v.s.cell);
    v.s.address = zeroed((size_t)v.s.n, sizeof *v.s.address);
    v.s.group = zeroed((size_t)v.s.n, sizeof *v.s.group);
    v.s.bound = zeroed((size_t)v.s.groups, sizeof *v.s.bound);
    v.reach = zeroed((size_t)v.s.nodes, sizeof *v.reach);
    v.first = zeroed((size_t)v.s.groups + 1, sizeof *v.first);
    assert_int_equal(sap_part_structure(t, &v.s), SAPPORO_OK);
    for (int k = 0; k < v.s.n; k++) v.first[v.s.group[k] + 1] = k + 1;
    const struct sap_cell *const root = &v.s.cell[0];
    for (int c = 0; c < 3; c++) v.size = larger_of_long(v.size, root->high[c] - root->low[c]);
    v.accuracy = o->accuracy * (v.s.bound[0].radius > 0 ? 1 : (real)SAP_BOX_PART);
    v.tolerance = o->accuracy * (real)pull_of(b, root->weight);
    return v;
}

static void look_away(struct seen *v)
{
    free(v->s.node);
    free(v->s.cell);
    free(v->s.address);
    free(v->s.group);
    free(v->s.bound);
    free(v->first);
    free(v->reach);
}

static const double *place(const struct seen *v, int k) { return v->b->x[v->s.address[k]]; }

/* ---- bounds ------------------------------------------------------------------------------ */

/* Returns the distance of a point from a bound; 0: within. */
static real distance_from(const struct sap_bound *b, const double *x)
{
    real d2 = 0;
    for (int c = 0; c < 3; c++) {
        const real d = larger_of_long(fabsl((real)x[c] - b->centre[c]) - b->extent[c], 0);
        d2 += d * d;
    }
    return larger_of_long(sqrtl(d2) - b->radius, 0);
}

/* A bound holds its particles; a box is no larger than they need. */
static void check_bound(const struct seen *v, int g)
{
    const struct sap_bound *const bound = &v->s.bound[g];
    const double *const at = place(v, v->first[g]);
    double low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]};
    for (int k = v->first[g]; k < v->first[g + 1]; k++) {
        const double *const x = place(v, k);
        assert_true(distance_from(bound, x) <= 1e-13L * v->size);
        for (int c = 0; c < 3; c++) low[c] = fmin(low[c], x[c]), high[c] = larger_of(high[c], x[c]);
    }
    if (bound->radius > 0 || v->first[g + 1] == v->first[g] + 1) return;
    for (int c = 0; c < 3; c++) assert_true(2 * bound->extent[c] - (high[c] - low[c]) <= 1e-13L * v->size);
}

/* ---- the criterion ------------------------------------------------------------------------ */

/*
 * Returns the largest distance at which the error of a cell's quadrupoles exceeds the tolerance, by bisection. Second
 * moments count as at least a sixteenth of what all mass at the distance `far` had (docs/tree.md).
 */
static real multipole_reach(const struct seen *v, const struct sap_cell *c, real far)
{
    const real least = far * far * c->weight / 16;
    const real b3 = far * larger_of_long(c->q[SAP_XX] + c->q[SAP_YY] + c->q[SAP_ZZ], least);
    real low = far, high = 1e6L * v->size;
    for (int k = 0; k < 200; k++) {
        const real d = (low + high) / 2;
        if (4 * b3 > v->tolerance * d * d * d * (d - far) * (d - far))
            low = d;
        else
            high = d;
    }
    return high;
}

/* Finds the distances from its centre beyond which particles accept a cell. */
static void find_reach(const struct seen *v, const struct sap_cell *c, real *reach)
{
    real edge = 0, offset2 = 0, far2 = 0;
    for (int k = 0; k < 3; k++) {
        const real low = (real)c->centre[k] - c->low[k], high = (real)c->high[k] - c->centre[k];
        edge = larger_of_long(edge, low + high);
        offset2 += (low - high) * (low - high) / 4;
        far2 += larger_of_long(low, high) * larger_of_long(low, high);
    }
    reach[0] = edge + sqrtl(offset2);
    reach[1] = v->o->mac == SAPPORO_MAC_ACCELERATION ? sqrtl(sqrtl(c->mass * edge * edge)) : 0;
    if (v->o->mac == SAPPORO_MAC_OPENING) reach[0] = edge / v->o->accuracy + sqrtl(offset2);
    if (v->o->mac == SAPPORO_MAC_MULTIPOLE) reach[0] = multipole_reach(v, c, sqrtl(far2));
    if (v->o->softening) reach[0] = larger_of_long(reach[0], sqrtl(far2) + sqrtl(v->o->eps2));
}

/* Returns the distance beyond which a particle with acceleration a accepts node k. */
static real reach_of(const struct seen *v, int k, double a)
{
    return larger_of_long(v->reach[k][0], v->reach[k][1] / sqrtl(sqrtl(v->accuracy * a)));
}

/* Returns the distance from a bound within which no cell is accepted: float does not resolve it. */
static real close_to(const struct sap_bound *b)
{
    const real x = b->extent[0], y = b->extent[1], z = b->extent[2];
    return (b->radius + sqrtl(x * x + y * y + z * z)) / 128;
}

/* Each particle of a group accepts a cell. */
static void check_particles(const struct seen *v, int g, int node)
{
    const struct sap_cell *const c = &v->s.cell[node];
    for (int k = v->first[g]; k < v->first[g + 1]; k++) {
        const double *const x = place(v, k);
        const real dx = x[0] - (real)c->centre[0], dy = x[1] - (real)c->centre[1], dz = x[2] - (real)c->centre[2];
        const real reach = reach_of(v, node, v->a[v->s.address[k]]);
        assert_true(sqrtl(dx * dx + dy * dy + dz * dz) >= (1 - 1e-12L) * reach);
    }
}

/* ---- walks --------------------------------------------------------------------------------- */

/* Interactions per row; two numbers, since words of float refuse some cells that are accepted narrowly. */
struct range {
    int least, most;
};

static struct range walk(const struct seen *v, int g, double a, int k)
{
    const struct sap_tree_node *const node = &v->s.node[k];
    const struct sap_cell *const cell = &v->s.cell[k];
    const real d = distance_from(&v->s.bound[g], cell->centre),
               reach = larger_of_long(reach_of(v, k, a), close_to(&v->s.bound[g]));
    const int accepted = d > reach + 1e-13L * v->size, surely = d > reach + 0x1p-17L * (reach + v->size);
    const int alone = !node->children && node->count <= 2 ? node->count : 1;
    struct range open = {node->count, node->count};
    if (accepted) check_particles(v, g, k);
    if (surely) return (struct range){alone, alone};
    if (node->children) open = (struct range){0, 0};
    for (int c = 0; c < node->children; c++) {
        const struct range r = walk(v, g, a, node->child + c);
        open.least += r.least;
        open.most += r.most;
    }
    if (accepted && alone < open.least) open.least = alone;
    if (accepted && alone > open.most) open.most = alone;
    return open;
}

/*
 * Checks the groups of a tree, and the interactions of its rows; most groups have one number of them.  Accelerators
 * divide groups whose bounds hold a crowd of leaves (lib/device/tree_walk.h), so some rows have fewer.
 */
static void check_walks(const struct seen *v, const int *work, int divides)
{
    int exact = 0;
    for (int g = 0; g < v->s.groups; g++) {
        double a = INFINITY;
        check_bound(v, g);
        for (int k = v->first[g]; k < v->first[g + 1]; k++) a = fmin(a, v->a[v->s.address[k]]);
        const struct range r = walk(v, g, a, 0);
        for (int k = v->first[g]; k < v->first[g + 1]; k++) {
            const int mine = work[v->s.address[k]];
            assert_in_range(mine, divides ? 0 : r.least - 1, r.most - 1);
            exact += r.least == r.most && mine == r.most - 1;
        }
    }
    assert_true(exact > N / 3);
}

/* Returns the interactions of all rows. */
static double try_tree(const struct engine *e, const bodies *b, const sapporo_tree_options *given, const double *a)
{
    sapporo_tree_options o = *given;
    const struct sap_tree_pass pass = {.a = o.mac == SAPPORO_MAC_ACCELERATION ? a : NULL};
    const sapporo_tree_options on = tree_on(e);
    o.backend = on.backend, o.cpu_isa = on.cpu_isa, o.kind = on.kind;
    o.precision = on.precision == SAPPORO_DP ? SAPPORO_DP : SAPPORO_SP;
    sapporo_tree *const t = tree_of(b, &o);
    typedef double row[3];
    row *const acc = zeroed(N, sizeof *acc);
    double *const pot = zeroed(N, sizeof *pot);
    double sum = 0;
    int *const work = zeroed(N, sizeof *work);
    assert_int_equal(sap_part_walk(t, &pass, acc, pot, work), SAPPORO_OK);
    struct seen v = see(t, b, &o, a);
    for (int k = 0; k < v.s.nodes; k++) find_reach(&v, &v.s.cell[k], v.reach[k]);
    check_walks(&v, work, !e->isa);
    for (int i = 0; i < N; i++) sum += work[i];
    look_away(&v);
    free(acc);
    free(pot);
    free(work);
    sapporo_tree_destroy(t);
    return sum;
}

/* Makes up sizes of accelerations, smaller outside. */
static double *sizes_of(const bodies *b)
{
    double *const a = zeroed(N, sizeof *a);
    for (int i = 0; i < N; i++) a[i] = 1 / (1 + b->x[i][0] * b->x[i][0] + b->x[i][1] * b->x[i][1]);
    return a;
}

static int has_trees(const struct engine *e)
{
    const sapporo_tree_options o = tree_on(e);
    sapporo_tree *t = NULL;
    if (e->precision == SAPPORO_DS || !engine_usable(e)) return 0;
    const int status = sapporo_tree_create(&o, 1, &t);
    sapporo_tree_destroy(t);
    return status == SAPPORO_OK;
}

static void walks(void **state)
{
    const sapporo_tree_options cases[] = {
        {.mac = SAPPORO_MAC_ACCELERATION, .accuracy = 0.01},
        {.mac = SAPPORO_MAC_OPENING, .accuracy = 0.7},
        {.mac = SAPPORO_MAC_MULTIPOLE, .accuracy = 0.01, .experiments = SAPPORO_BALL_NONE},
        {.mac = SAPPORO_MAC_OPENING, .accuracy = 0.8, .experiments = SAPPORO_BALL_NONE},
        {.mac = SAPPORO_MAC_ACCELERATION, .accuracy = 0.01, .softening = SAPPORO_SOFTENING_SPLINE_LARGER}};
    (void)state;
    int tried = 0;
    for (int shape = 0; shape < SHAPES; shape++) {
        bodies b = shaped((enum shape)shape);
        double *const a = sizes_of(&b);
        for (int e = 0; e < ENGINES; e++)
            for (int k = 0; k < 5 && has_trees(&engines[e]); k++) {
                sapporo_tree_options o = cases[k];
                o.size = sizeof o, o.eps2 = 1e-4;
                tried++;
                if (engines[e].isa ? (shape + e + k) % 3 == 0 : k == 0 && shape != DISC)
                    (void)try_tree(&engines[e], &b, &o, a);
            }
        free(a);
        bodies_free(&b);
    }
    if (!tried) skip();
}

/*
 * All bounds can be chosen.  The box needs fewer interactions than every ball, with less of the accuracy; needles have
 * boxes about as wide as their balls.  Accelerators split groups whose bounds hold too many others, of which there are
 * more with balls: they tell nothing of bounds.
 */
static void balls(void **state)
{
    (void)state;
    if (engine_any()->backend != SAPPORO_BACKEND_CPU) skip();
    for (int shape = 0; shape < SHAPES; shape++) {
        bodies b = shaped((enum shape)shape);
        double *const a = sizes_of(&b), least = INFINITY, box = 0;
        for (unsigned ball = SAPPORO_BALL_BOX; ball <= SAPPORO_BALL_NONE; ball++) {
            const sapporo_tree_options o = {.size = sizeof o,
                                            .mac = SAPPORO_MAC_ACCELERATION,
                                            .accuracy = 0.01,
                                            .eps2 = 1e-4,
                                            .experiments = SAPPORO_EXPERIMENTS(ball, 0, 0)};
            box = try_tree(engine_any(), &b, &o, a);
            if (ball < SAPPORO_BALL_NONE) least = fmin(least, box);
        }
        print_message("# interactions per particle: box %.0f, balls %.0f at least\n", box / N, least / N);
        assert_true(box < (shape == ROUND || shape == DISC ? 0.95 : 1.1) * least);
        free(a);
        bodies_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(walks), TREE_TEST(balls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
