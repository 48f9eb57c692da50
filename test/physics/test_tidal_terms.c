/*
 * test_tidal_terms.c - the tidal tensors of pairs and cells (lib/physics/tree_tidal.h) against second differences of
 * their potentials in long double.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "physics/ops_scalar.h"
#include "reference_spline.h"
#include "rng.h"

typedef double V;
typedef int VM;
#define v_set1             d_set1
#define v_add              d_add
#define v_sub              d_sub
#define v_mul              d_mul
#define v_fma              d_fma
#define v_fnma             d_fnma
#define v_select           d_select
#define v_less             d_lt
#define SAP_NOT_LESS(a, b) d_nlt(a, b)
#define SAP_LARGER(a, b)   d_max(a, b)
#define SAP_ROOT_SCALE     2.0 /* powers of another scale show */

static double sap_inverse_length(double h2) { return h2 > 0 ? SAP_ROOT_SCALE / sqrt(h2) : 0; }

#include "physics/spline.h"
#include "physics/tree_tidal.h"
#include "worst.h"

/* What pulls at a distance r: a cell, or a particle with a spline if `law`. */
struct source {
    double mass, q[SAP_MOMENTS2], eps2, hi, hj;
    int order, law;
};

/* Returns the potential at a distance, positive for a positive mass. */
static real potential(const struct source *s, const real *r)
{
    static const int at[3][3] = {{SAP_XX, SAP_XY, SAP_XZ}, {SAP_XY, SAP_YY, SAP_YZ}, {SAP_XZ, SAP_YZ, SAP_ZZ}};
    real r2 = s->eps2, pull = 0, pot, acc;
    for (int k = 0; k < 3; k++) r2 += r[k] * r[k];
    if (s->law) {
        reference_spline_pair(s->law == SAP_SPLINE_MEAN, sqrtl(r2), s->hi, s->hj, &pot, &acc);
        return -s->mass * pot;
    }
    for (int i = 0; i < 3 && s->order > 1; i++)
        for (int k = 0; k < 3; k++) pull += s->q[at[i][k]] * r[i] * r[k];
    const real trace = s->order > 1 ? s->q[SAP_XX] + s->q[SAP_YY] + s->q[SAP_ZZ] : 0, u = 1 / sqrtl(r2);
    return s->mass * u - trace / 2 * u * u * u + 1.5L * pull * u * u * u * u * u;
}

/* Returns a second derivative of the potential at r, by differences of fourth order. */
static real second(const struct source *s, const double *r, int i, int k)
{
    static const real weight[] = {1 / 12.0L, -8 / 12.0L, 0, 8 / 12.0L, -1 / 12.0L};
    const real h = 1e-3L;
    real sum = 0;
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++) {
            real at[3] = {r[0], r[1], r[2]};
            at[i] += h * (a - 2);
            at[k] += h * (b - 2);
            sum += weight[a] * weight[b] * potential(s, at);
        }
    return sum / (h * h);
}

/* Computes the same by the library. */
static void tensor(const struct source *s, const double *r, double *sum)
{
    const double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + s->eps2, u = r2 > 0 ? SAP_ROOT_SCALE / sqrt(r2) : 0;
    double q[SAP_MOMENTS2];
    for (int m = 0; m < SAP_MOMENTS2; m++) q[m] = 3 * s->q[m], sum[m] = 0;
    if (s->law)
        sap_tidal_pair_spline(sum, r, s->mass, u, 1, s->hi * s->hi, s->hj * s->hj, s->law);
    else if (s->order > 1)
        sap_tidal_cell(sum, r, s->mass, q, (q[SAP_XX] + q[SAP_YY] + q[SAP_ZZ]) / 2, u);
    else
        sap_tidal_pair(sum, r, s->mass, u);
    for (int m = 0; m < SAP_MOMENTS2; m++) sum[m] *= SAP_SCALE_ACC;
}

static void check(const struct source *s, const double *r, const char *what)
{
    double found[SAP_MOMENTS2], worst = 0, size = 0;
    tensor(s, r, found);
    for (int i = 0, m = 0; i < 3; i++)
        for (int k = i; k < 3; k++, m++) {
            const double right = (double)second(s, r, i, k);
            worst = worst_of(worst, fabs(found[m] - right));
            size = larger_of(size, fabs(right));
        }
    if (!(worst <= 1e-8 * size)) fail_msg("%s at %g %g %g: error %.1e of %.1e", what, r[0], r[1], r[2], worst, size);
    const double trace = found[SAP_XX] + found[SAP_YY] + found[SAP_ZZ];
    if (!s->law && s->eps2 == 0 && !(fabs(trace) <= 1e-14 * size)) fail_msg("%s: trace %.1e", what, trace);
}

static double uniform(rng *random) { return 2 * rng_uniform(random) - 1; }

static void somewhere(rng *random, double size, double *r)
{
    for (int c = 0; c < 3; c++) r[c] = size * uniform(random);
}

/* Cells of both orders at distances of about 1, with and without softening. */
static void cells(void **state)
{
    rng random;
    (void)state;
    rng_seed(&random, 5, 0);
    for (int n = 0; n < 60; n++) {
        struct source s = {.mass = 1 + uniform(&random), .order = 1 + n % 2, .eps2 = n % 3 ? 0 : 0.3};
        double r[3];
        for (int m = 0; m < SAP_MOMENTS2; m++) s.q[m] = 0.2 * uniform(&random);
        somewhere(&random, 1, r);
        r[n % 3] += r[n % 3] < 0 ? -0.7 : 0.7;
        check(&s, r, s.order > 1 ? "cell" : "mass");
    }
}

/* Distances from the centre to beyond both lengths. */
static void splines(void **state)
{
    rng random;
    (void)state;
    rng_seed(&random, 7, 0);
    for (int n = 0; n < 200; n++) {
        const struct source s = {
            .mass = 1.5, .law = 1 + n % 2, .hi = n % 5 ? 1.1 : 0, .hj = n % 7 ? 0.6 + 0.01 * n : 0.3};
        double r[3];
        somewhere(&random, 0.02 * (1 + n % 40), r);
        if (n % 5 == 0)
            r[n % 3] += r[n % 3] < 0 ? -0.3 : 0.3; /* the mean of a point and a length is no smooth law at 0 */
        check(&s, r, "spline");
    }
}

/* Pairs at no distance, and pairs that do not count. */
static void centres(void **state)
{
    const double at[3] = {0}, h = 0.5;
    double sum[SAP_MOMENTS2] = {0};
    (void)state;
    sap_tidal_pair(sum, at, 3, 0);
    sap_tidal_pair_spline(sum, at, 3, 0, 0, h * h, h * h, SAP_SPLINE_MEAN);
    sap_tidal_pair_spline(sum, at, 3, 0, 1, 0, 0, SAP_SPLINE_LARGER);
    for (int m = 0; m < SAP_MOMENTS2; m++) assert_true(sum[m] == 0);
    sap_tidal_pair_spline(sum, at, 3, 0, 1, h * h, 0, SAP_SPLINE_LARGER);
    for (int m = 0; m < SAP_MOMENTS2; m++) {
        const int diagonal = m == SAP_XX || m == SAP_YY || m == SAP_ZZ;
        assert_true(fabs(sum[m] * SAP_SCALE_ACC + (diagonal ? 3 * 32 / 3.0 / (h * h * h) : 0)) <= 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cells), cmocka_unit_test(splines), cmocka_unit_test(centres)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
