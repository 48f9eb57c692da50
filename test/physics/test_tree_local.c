/*
 * test_tree_local.c - the polynomial of distant cells (lib/physics/tree_local.h) against the pull of cells in long
 * double.
 *
 * The reference differentiates nothing: it evaluates the potential of a cell's mass and second moments, and differences
 * of it, at the position of the particle.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "isa.h"
#include "physics/ops_scalar.h"
#include "rng.h"

typedef double V;
typedef int VM;
#define v_set1         d_set1
#define v_add          d_add
#define v_sub          d_sub
#define v_mul          d_mul
#define v_fma          d_fma
#define v_fnma         d_fnma
#define v_lt           d_lt
#define v_select       d_select
#define vm_and         dm_and
#define SAP_ROOT_SCALE 1.0

#include "physics/tree_local.h"
#include "sapporo.h"
#include "worst.h"

typedef long double real;

/* A cell: mass, centre from the middle of the group, second moments, squared softening. */
struct cell {
    double mass, r[3], q[SAP_MOMENTS2], eps2;
};

/* Returns the potential of a cell at y, positive for a positive mass. */
static real potential(const struct cell *c, const real *y)
{
    static const int at[3][3] = {{SAP_XX, SAP_XY, SAP_XZ}, {SAP_XY, SAP_YY, SAP_YZ}, {SAP_XZ, SAP_YZ, SAP_ZZ}};
    real r[3], r2 = c->eps2, pull = 0;
    for (int k = 0; k < 3; k++) r[k] = c->r[k] - y[k], r2 += r[k] * r[k];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) pull += c->q[at[i][k]] * r[i] * r[k];
    const real trace = c->q[SAP_XX] + c->q[SAP_YY] + c->q[SAP_ZZ], u = 1 / sqrtl(r2);
    return c->mass * u - trace / 2 * u * u * u + 1.5L * pull * u * u * u * u * u;
}

/* Computes the acceleration as the slope of the potential, by differences of fourth order. */
static void acceleration(const struct cell *c, const double *y, real *acc)
{
    const real h = 1e-4L;
    for (int k = 0; k < 3; k++) {
        real at[4][3];
        for (int n = 0; n < 4; n++) {
            for (int i = 0; i < 3; i++) at[n][i] = y[i];
            at[n][k] += h * (n < 2 ? n - 2 : n - 1);
        }
        acc[k] =
            (potential(c, at[0]) - 8 * potential(c, at[1]) + 8 * potential(c, at[2]) - potential(c, at[3])) / (12 * h);
    }
}

static double uniform(rng *random) { return 2 * rng_uniform(random) - 1; }

/* Makes a cell of twelve particles within `size` of a point at a distance of about 1. */
static struct cell some_cell(rng *random, double size, double eps2)
{
    struct cell c = {.eps2 = eps2};
    double x[12][3], m[12], mean[3] = {0}, away[3], r = 0;
    for (int k = 0; k < 3; k++) away[k] = uniform(random), r += away[k] * away[k];
    for (int p = 0; p < 12; p++) {
        m[p] = 1.5 + uniform(random);
        c.mass += m[p];
        for (int k = 0; k < 3; k++) x[p][k] = size * uniform(random), mean[k] += m[p] * x[p][k];
    }
    for (int k = 0; k < 3; k++) mean[k] /= c.mass, c.r[k] = away[k] / sqrt(r) + mean[k];
    for (int p = 0; p < 12; p++)
        for (int i = 0, at = 0; i < 3; i++)
            for (int k = i; k < 3; k++) c.q[at++] += m[p] * (x[p][i] - mean[i]) * (x[p][k] - mean[k]);
    return c;
}

/* Adds the coefficients of a cell. */
static void expand(const struct cell *c, double *all)
{
    double s[SAP_MOMENTS2], low[SAP_LOCAL4], high[SAP_LOCAL - SAP_LOCAL4];
    for (int q = 0; q < SAP_MOMENTS2; q++) s[q] = 3 * c->q[q];
    const double t = (s[SAP_XX] + s[SAP_YY] + s[SAP_ZZ]) / 2;
    const double u = 1 / sqrt(c->r[0] * c->r[0] + c->r[1] * c->r[1] + c->r[2] * c->r[2] + c->eps2);
    sap_local_low(low, c->r[0], c->r[1], c->r[2], c->mass, s, t, u);
    sap_local_high(high, c->r[0], c->r[1], c->r[2], c->mass, u);
    for (int q = 0; q < SAP_LOCAL; q++) all[q] += q < SAP_LOCAL4 ? low[q] : high[q - SAP_LOCAL4];
}

/* Errors of potential and acceleration of twenty cells together at the corners of a box of half edge `size`. */
struct errors {
    double pot, acc;
};

static struct errors errors_of(double size, double eps2)
{
    enum { CELLS = 20 };
    rng random;
    struct cell cell[CELLS];
    double all[SAP_LOCAL] = {0};
    struct errors worst = {0, 0};
    rng_seed(&random, 7, 0);
    for (int c = 0; c < CELLS; c++) cell[c] = some_cell(&random, size, eps2), expand(&cell[c], all);
    for (int corner = 0; corner < 8; corner++) {
        const double y[3] = {corner & 1 ? size : -size, corner & 2 ? size : -size, corner & 4 ? size : -size};
        const real at[3] = {y[0], y[1], y[2]};
        double sum[SAP_SUMS2] = {0};
        real pot = 0, acc[3] = {0}, off = 0, size2 = 0;
        for (int c = 0; c < CELLS; c++) {
            real mine[3];
            acceleration(&cell[c], y, mine);
            pot += potential(&cell[c], at);
            for (int k = 0; k < 3; k++) acc[k] += mine[k];
        }
        sap_local_at(all, y, sum);
        for (int k = 0; k < 3; k++)
            off += (sum[SAP_ACC + k] - acc[k]) * (sum[SAP_ACC + k] - acc[k]), size2 += acc[k] * acc[k];
        worst.pot = worst_of(worst.pot, (double)fabsl(sum[SAP_POT] / pot - 1));
        worst.acc = worst_of(worst.acc, (double)sqrtl(off / size2));
    }
    return worst;
}

/* In the middle of the group nothing is expanded but the cell: potential and acceleration are those of tree_pair.h. */
static void middle(void **state)
{
    (void)state;
    rng random;
    rng_seed(&random, 3, 0);
    const double none[3] = {0, 0, 0};
    for (int n = 0; n < 50; n++) {
        const struct cell c = some_cell(&random, 0.3, n % 2 ? 0.1 : 0);
        const real at[3] = {0, 0, 0};
        double all[SAP_LOCAL] = {0}, sum[SAP_SUMS2] = {0};
        real acc[3], size2 = 0, off = 0;
        expand(&c, all);
        sap_local_at(all, none, sum);
        acceleration(&c, none, acc);
        for (int k = 0; k < 3; k++)
            off += (sum[SAP_ACC + k] - acc[k]) * (sum[SAP_ACC + k] - acc[k]), size2 += acc[k] * acc[k];
        assert_true(fabsl(sum[SAP_POT] / potential(&c, at) - 1) < 1e-14L); /* a few roundings */
        assert_true(off < 1e-26L * size2); /* differences of step 1e-4 are good to 1e-14 */
    }
}

/* With half the sizes of cells and group, errors are those of terms of fifth and fourth order: 2^-5 and 2^-4. */
static void order(void **state)
{
    (void)state;
    for (int softened = 0; softened < 2; softened++) {
        for (double size = 0.1; size > 0.02; size /= 2) {
            const struct errors whole = errors_of(size, softened ? 0.2 : 0),
                                half = errors_of(size / 2, softened ? 0.2 : 0);
            assert_true(half.pot < whole.pot / 24 && half.pot > whole.pot / 44); /* 32, but for terms of higher order */
            assert_true(half.acc < whole.acc / 12 && half.acc > whole.acc / 22); /* 16 */
            assert_true(whole.acc < 2 * pow(3 * size, 4)); /* of corners at 1.7 sizes, cells as large, at distance 1 */
        }
    }
}

/* A cell is distant only if it is accepted far away, in units of its radius and the group's. */
static void distant(void **state)
{
    (void)state;
    assert_true(sap_is_distant(0, 1, 4, 9, 0, 1));
    assert_true(sap_is_distant(0.25, 1, 9, 9, 0, 1));
    assert_false(sap_is_distant(1, 1, 9, 9, 0, 1));
    assert_false(sap_is_distant(1, 1, 63, 9, 0, 1));
    assert_true(sap_is_distant(1, 1, 65, 9, 0, 1));
    for (int by_a = 0; by_a < 2; by_a++) {
        assert_false(sap_is_distant(1, 0, 1e6, 9, by_a, 1)); /* a point has no error of its own, so none is allowed */
        assert_false(sap_is_distant(0, 0, 1, 9, by_a, 1));
        assert_false(sap_is_distant(NAN, 1, 1e6, 9, by_a, 1));
    }
}

/*
 * By acceleration a cell may have a part of what the criterion allows: 2^2 from^4 < 6^6 / 128, which is so for from = 3
 * but not for 4.  Or half of its own error: 2^2 < 9 / 2.  Where the expansion does not converge, nothing is allowed.
 */
static void distant_by_acceleration(void **state)
{
    (void)state;
    assert_false(sap_is_distant(1, 1, 36, 9, 0, 3));
    assert_true(sap_is_distant(1, 1, 36, 9, 1, 3));
    assert_false(sap_is_distant(1, 1, 36, 9, 1, 4));
    assert_true(sap_is_distant(1, 1, 81, 9, 1, 9) && !sap_is_distant(1, 1, 49, 9, 1, 7));
    assert_true(sap_is_distant(2.4, 1, 36, 9, 1, 1));
    assert_false(sap_is_distant(2.6, 1, 36, 9, 1, 1));
    assert_false(sap_is_distant(50, 1, 1e4, 9, 1, 0.1));
    for (double unit = 1; unit > 1e-4; unit /= 8) { /* in any unit */
        assert_true(sap_is_distant((float)unit, (float)unit, (float)(36 * unit * unit), 1, 1, (float)(3 * unit)));
        assert_false(sap_is_distant((float)unit, (float)unit, (float)(36 * unit * unit), 1, 1, (float)(4 * unit)));
    }
}

/* Cells whose radius is mostly what it was padded by are not distant from anything. */
static void distant_padded(void **state)
{
    (void)state;
    for (int by_a = 0; by_a < 2; by_a++) {
        assert_true(sap_is_distant(0, 0x1p-15F, 1, 1, by_a, 0x1p-14F));
        assert_false(sap_is_distant(0, 0x1p-17F, 1, 1, by_a, 0x1p-16F));
        assert_true(sap_is_distant(0, 0x1p-17F, 1, 0.0625F, by_a, 0x1p-16F));
    }
}

/* ---- the kernels of the CPU engine ---- */

enum { MOST_CELLS = 600, MOST_LANES = 96 };

/* Where the group of the kernels lies, and the half edge of its box and of the cells. */
static const double group_middle[3] = {0.3, -0.2, 0.15};
static const double group_size = 0.05;

/* Distant cells, and target particles of a group, as the CPU engine has them; coefficients in double. */
static struct problem {
    struct sap_tree_source source[MOST_CELLS];
    int number[MOST_CELLS];
    double x[MOST_LANES][4], all[SAP_LOCAL];
} problem;

static void make_problem(rng *random, int cells, int order)
{
    for (int q = 0; q < SAP_LOCAL; q++) problem.all[q] = 0;
    for (int k = 0; k < cells; k++) {
        struct cell c = some_cell(random, group_size, 0.001);
        struct sap_tree_source *const to = &problem.source[k];
        for (int a = 0; a < 3; a++) to->x[a] = group_middle[a] + c.r[a];
        for (int q = 0; q < SAP_MOMENTS2; q++) to->s[q] = 3 * c.q[q];
        to->t = (to->s[SAP_XX] + to->s[SAP_YY] + to->s[SAP_ZZ]) / 2;
        to->mass = c.mass;
        problem.number[k] = k;
        for (int q = 0; q < SAP_MOMENTS2 && order == 1; q++) c.q[q] = 0; /* moments act with order 2 alone */
        expand(&c, problem.all);
    }
    for (int k = 0; k < MOST_LANES; k++)
        for (int a = 0; a < 3; a++) problem.x[k][a] = group_middle[a] + group_size * uniform(random);
}

/* Compares the sums of a kernel with the polynomial in double: they have the errors of their words alone. */
static void check_kernel(const struct sap_tree_kernel *kernel, int cells, int order, int lanes)
{
    static _Alignas(64) struct sap_tree_lanes sums;
    static _Alignas(64) char words[MOST_CELLS * SAP_TREE_CELL_WORDS * sizeof(double)];
    struct sap_tree_frame frame = {.unit = 1, .eps2 = 0.001};
    const double error = kernel->word == sizeof(float) ? 3e-6 : 1e-13;
    int which[MOST_LANES] = {0}, number[MOST_LANES] = {0};
    for (int k = 0; k < lanes; k++) which[k] = number[k] = k;
    for (int c = 0; c < 3; c++) frame.middle[c] = group_middle[c];
    for (int c = 0; c < 3; c++) frame.centre[c] = kernel->word == sizeof(float) ? group_middle[c] : 0;
    kernel->start(&frame, (const double(*)[4])problem.x, which, number, lanes, &sums);
    kernel->take_cells(&frame, problem.source, problem.number, cells, order, words);
    kernel->distant(&frame, words, order, cells, &sums);
    for (int k = 0; k < lanes; k++) {
        double y[3], want[SAP_SUMS2] = {0}, size = 0;
        for (int c = 0; c < 3; c++) y[c] = problem.x[k][c] - group_middle[c];
        sap_local_at(problem.all, y, want);
        for (int c = 0; c < 3; c++) size = larger_of(size, fabs(want[SAP_ACC + c]));
        /* accelerations of cells in all directions cancel */
        assert_true(fabs(sums.sum[SAP_POT][k] * kernel->pot_scale - want[SAP_POT]) < error * want[SAP_POT]);
        for (int c = 0; c < 3; c++)
            assert_true(fabs(sums.sum[SAP_ACC + c][k] * kernel->acc_scale - want[SAP_ACC + c]) <
                        error * (size + want[SAP_POT]));
    }
}

/* Every path computes the polynomial, for any number of cells and target particles. */
static void paths(void **state)
{
    static const int cells[] = {1, 2, 15, 16, 17, 255, 256, 257, MOST_CELLS}, lanes[] = {1, 7, 16, 17, 64, MOST_LANES};
    rng random;
    (void)state;
    rng_seed(&random, 11, 0);
    for (size_t n = 0; n < sizeof cells / sizeof cells[0]; n++) {
        for (int order = 1; order <= 2; order++) {
            make_problem(&random, cells[n], order);
            for (enum sap_isa isa = SAP_ISA_SCALAR; isa < SAP_ISAS; isa++) {
                if (!sap_isa_usable(isa)) continue;
                for (size_t l = 0; l < sizeof lanes / sizeof lanes[0]; l++) {
                    check_kernel(sap_isa_tree_kernel(isa, SAPPORO_SP), cells[n], order, lanes[l]);
                    check_kernel(sap_isa_tree_kernel(isa, SAPPORO_DP), cells[n], order, lanes[l]);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(middle),         cmocka_unit_test(order),
                                       cmocka_unit_test(distant),        cmocka_unit_test(distant_by_acceleration),
                                       cmocka_unit_test(distant_padded), cmocka_unit_test(paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
