/*
 * ewald.c - see ewald.h.
 *
 * K_kl is a product over the three axes of what interpolation needs, but for K itself: with the nodes t_i of one axis,
 * and B_ki = (2, or 1 for k = 0) / SAP_FAR_DEGREES times T_k(t_i),
 *     K_kl = sum over nodes i and j of B_k1i1 B_l1j1 B_k2i2 B_l2j2 B_k3i3 B_l3j3 K(x_i - x_j).
 * Since K is even in each component, and depends on differences, an axis has SAP_FAR_DEGREES^2 / 4 + 1 distances of its
 * nodes, and k and l are both even or both odd, in any order.  So a transform of an axis goes from `DISTANCES` to
 * `COUPLES`.
 */
#include "engine/ewald.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/process.h"
#include "physics/ops_scalar.h"
#include "physics/tree_periodic.h"
#include "sapporo_types.h"

enum { DEGREES = SAP_FAR_DEGREES, DISTANCES = DEGREES * DEGREES / 4 + 1, COUPLES = DEGREES / 2 * (DEGREES / 2 + 1) };
_Static_assert(DEGREES % 2 == 0, "nodes lie in pairs about the middle");

#define PI 3.14159265358979323846

/* ---- Ewald's sum ---------------------------------------------------------------------- */

/*
 * The width of the splitting.  Terms that are left out are below 1e-16: erfc(ALPHA r) beyond REACH, and waves with
 * squares of LEAST_WAVE and more.
 */
#define ALPHA 2.0
#define REACH 3.05
enum { CELLS = 4, WAVES = 4, LEAST_WAVE = 16 };

/* Returns the term of an image at a squared distance; is_near: without 1/r of the image itself. */
static double image_term(double r2, int is_near)
{
    const double r = sqrt(r2), x = ALPHA * r;
    if (!is_near) return r > REACH ? 0 : erfc(x) / r;
    return x < 1e-5 ? -2 / sqrt(PI) * ALPHA * (1 - x * x / 3) : -erf(x) / r;
}

/* The sum over images; Hernquist, Bouchet & Suto 1991, equation 2.8, the first sum. */
static double sum_of_images(const double *d)
{
    double sum = 0;
    for (int i = -CELLS; i <= CELLS; i++)
        for (int j = -CELLS; j <= CELLS; j++)
            for (int k = -CELLS; k <= CELLS; k++) {
                const double x = d[0] + i, y = d[1] + j, z = d[2] + k;
                const int is_near = i * i <= 1 && j * j <= 1 && k * k <= 1;
                sum += image_term(x * x + y * y + z * z, is_near);
            }
    return sum;
}

/* The sum over waves; the same equation, the second sum. */
static double sum_of_waves(const double *d)
{
    double wave[3][WAVES], sum = 0;
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < WAVES; k++) wave[c][k] = (k > 0 ? 2 : 1) * cos(2 * PI * k * d[c]);
    for (int i = 0; i < WAVES; i++)
        for (int j = 0; j < WAVES; j++)
            for (int k = 0; k < WAVES; k++) {
                const int k2 = i * i + j * j + k * k;
                if (k2 == 0 || k2 >= LEAST_WAVE) continue;
                sum += exp(-PI * PI / (ALPHA * ALPHA) * k2) / (PI * k2) * wave[0][i] * wave[1][j] * wave[2][k];
            }
    return sum;
}

double sap_ewald_far(const double *d) { return sum_of_images(d) + sum_of_waves(d) - PI / (ALPHA * ALPHA); }

/* ---- coefficients ----------------------------------------------------------------------- */

/* The coefficients of all boxes, which the first field of the process computes. */
static struct {
    struct sap_lock lock;
    atomic_int known;
    int couple[DEGREES][DEGREES]; /* number of two degrees of an axis; -1: one is even, the other odd */
    int first[DEGREES][DEGREES];  /* number of the first term of two degrees */
    int row[DEGREES][DEGREES];    /* of a field, where the coefficients of two degrees begin */
    int thirds[DEGREES][DEGREES]; /* and how many there are */
    double far[COUPLES][COUPLES][COUPLES];
} far;

SAP_GUARD_AT_FORK(far, SAP_LOCK_FAR, &far.lock)

static double node(int i) { return cos(PI * (i + 0.5) / DEGREES); }

/* What the transform of an axis is made of. */
struct transform {
    double distance[DISTANCES]; /* of nodes, in edges of the cube */
    double row[COUPLES][DISTANCES];
    double sample[DISTANCES][DISTANCES][DISTANCES];      /* K at triples of distances */
    double plane[DISTANCES][DISTANCES], line[DISTANCES]; /* of it, with coefficients of one axis and of two */
};

/* Adds the pair of nodes i and j, whose distance has this number. */
static void add_pair(struct transform *t, int i, int j, int number)
{
    for (int k = 0; k < DEGREES; k++)
        for (int l = k; l < DEGREES; l += 2) {
            const double b = cos(PI * k * (i + 0.5) / DEGREES) * cos(PI * l * (j + 0.5) / DEGREES);
            t->row[far.couple[k][l]][number] += (k > 0 ? 2 : 1) * (l > 0 ? 2 : 1) * b / (DEGREES * DEGREES);
        }
}

/* Numbers the distances of nodes: pairs that are mirrored, or in the other order, have the same. */
static void number_distances(struct transform *t)
{
    const double half = 0.5 + SAP_FAR_MARGIN;
    int known[DEGREES][DEGREES], n = 1;
    memset(known, 0xFF, sizeof known);
    for (int i = 0; i < DEGREES; i++) known[i][i] = 0;
    for (int i = 0; i < DEGREES; i++)
        for (int j = 0; j < DEGREES; j++) {
            if (known[i][j] < 0) {
                const int a = DEGREES - 1 - i, b = DEGREES - 1 - j;
                t->distance[n] = half * fabs(node(i) - node(j));
                known[i][j] = known[j][i] = known[a][b] = known[b][a] = n++;
            }
            add_pair(t, i, j, known[i][j]);
        }
}

/* Computes K at all triples of distances; it does not depend on their order. */
static void take_samples(struct transform *t)
{
    for (int i = 0; i < DISTANCES; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k <= j; k++) {
                const double d[3] = {t->distance[i], t->distance[j], t->distance[k]}, x = sap_ewald_far(d);
                t->sample[i][j][k] = t->sample[i][k][j] = t->sample[j][i][k] = x;
                t->sample[j][k][i] = t->sample[k][i][j] = t->sample[k][j][i] = x;
            }
}

/* Transforms the samples, axis by axis. */
static void transform_samples(struct transform *t)
{
    for (int q = 0; q < COUPLES; q++) {
        memset(t->plane, 0, sizeof t->plane);
        for (int i = 0; i < DISTANCES; i++)
            for (int j = 0; j < DISTANCES; j++)
                for (int k = 0; k < DISTANCES; k++) t->plane[j][k] += t->row[q][i] * t->sample[i][j][k];
        for (int r = 0; r < COUPLES; r++) {
            memset(t->line, 0, sizeof t->line);
            for (int j = 0; j < DISTANCES; j++)
                for (int k = 0; k < DISTANCES; k++) t->line[k] += t->row[r][j] * t->plane[j][k];
            for (int s = 0; s < COUPLES; s++) {
                double sum = 0;
                for (int k = 0; k < DISTANCES; k++) sum += t->row[s][k] * t->line[k];
                far.far[q][r][s] = sum;
            }
        }
    }
}

/* Numbers terms, and pairs of degrees. */
static void number_terms(void)
{
    int couples = 0, terms = 0, pairs = 0;
    memset(far.couple, 0xFF, sizeof far.couple);
    for (int k = 0; k < DEGREES; k++)
        for (int l = k; l < DEGREES; l += 2) far.couple[k][l] = far.couple[l][k] = couples++;
    for (int a = 0; a < DEGREES; a++)
        for (int b = 0, n = DEGREES; b < DEGREES; b++) {
            n = sap_far_thirds(n, a, b);
            far.first[a][b] = terms;
            far.row[a][b] = n > 0 ? DEGREES * pairs++ : 0;
            far.thirds[a][b] = n;
            terms += n;
        }
}

/* Computes the coefficients unless they are known. */
static int make_known(void)
{
    int status = SAPPORO_OK;
    if (atomic_load_explicit(&far.known, memory_order_acquire)) return status;
    sap_lock(&far.lock);
    if (!atomic_load_explicit(&far.known, memory_order_relaxed)) {
        struct transform *const t = calloc(1, sizeof *t);
        if (t) {
            number_terms();
            number_distances(t);
            take_samples(t);
            transform_samples(t);
            atomic_store_explicit(&far.known, 1, memory_order_release);
        }
        status = t ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
        free(t);
    }
    sap_unlock(&far.lock);
    return status;
}

/* Adds what the moments of two degrees contribute to the field of two degrees. */
static void add_thirds(const double *coefficient, const double *moments, int n, double *field, int most)
{
    for (int k = 0; k < most; k++)
        for (int l = k % 2; l < n; l += 2) field[k] += coefficient[far.couple[k][l]] * moments[l];
}

int sap_ewald_field(const double *moments, double *field)
{
    const int status = make_known();
    if (status) return status;
    memset(field, 0, SAP_FAR_FIELD * sizeof *field);
    for (int a = 0; a < DEGREES; a++)
        for (int b = 0; b < DEGREES; b++)
            for (int i = a % 2; i < DEGREES && far.thirds[a][b] > 0; i += 2)
                for (int j = b % 2; j < DEGREES; j += 2)
                    add_thirds(far.far[far.couple[a][i]][far.couple[b][j]], moments + far.first[i][j], far.thirds[i][j],
                               field + far.row[a][b], far.thirds[a][b]);
    return SAPPORO_OK;
}
