/*
 * kernel_more.h - forces of order 2 with second moments of sources, a floor of the distance, and counts of neighbours:
 * lists of batches that ask for more than monopoles.  In double, with correctly rounded operations in a fixed order, so
 * every instruction path and precision gives the same bits.
 */
#ifndef SAP_KERNEL_MORE_H
#define SAP_KERNEL_MORE_H

#include <stdint.h>
#include <string.h>
#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { MORE_LANES = SAP_MORE_LANES };

typedef double more_v __attribute__((vector_size(8 * MORE_LANES)));
typedef int64_t more_m __attribute__((vector_size(8 * MORE_LANES)));

/* b where it is larger than a, else a, also where a is NaN. */
#define MORE_LARGER(a, b) ((more_v)(((more_m)(b) & ((b) > (a))) | ((more_m)(a) & ~((b) > (a)))))

static inline void more_root(const more_v *of, more_v *root)
{
#if defined(__AVX512F__)
    const __m512d r = _mm512_sqrt_pd((__m512d)*of);
    memcpy(root, &r, sizeof r);
#elif defined(__AVX__)
    __m256d half[2];
    memcpy(half, of, sizeof half);
    half[0] = _mm256_sqrt_pd(half[0]);
    half[1] = _mm256_sqrt_pd(half[1]);
    memcpy(root, half, sizeof half);
#elif defined(__aarch64__)
    float64x2_t part[MORE_LANES / 2];
    memcpy(part, of, sizeof part);
    for (int k = 0; k < MORE_LANES / 2; k++) part[k] = vsqrtq_f64(part[k]);
    memcpy(root, part, sizeof part);
#else
    for (int l = 0; l < MORE_LANES; l++) (*root)[l] = __builtin_sqrt((*of)[l]);
#endif
}

static inline void more_load(const double *column, int at, more_v *to) { memcpy(to, column + at, sizeof *to); }

/*
 * Adds the terms of second moments Q = sum of m x x of a source at d = R e: with R the softened distance and u = 1/R,
 *     pot = -(3 e.Q e - tr Q) u^3 / 2,  acc = ((15 e.Q e - 3 tr Q) e / 2 - 3 Q e) u^4,
 * the second order of the expansion of m / R about the source.  pot has the opposite sign here, like that of masses.
 * Powers of u beyond u^2, which may be infinite, are factors one after the other: moments of 0 give 0.
 */
static inline void more_add_quad(const double *const quad[6], int at, const more_v *e, const more_v *u, more_v *sum)
{
    more_v q[6], qe[3];
    for (int k = 0; k < 6; k++) more_load(quad[k], at, &q[k]);
    const more_v u2 = *u * *u, trace = q[0] + q[1] + q[2];
    qe[0] = q[0] * e[0] + q[3] * e[1] + q[4] * e[2];
    qe[1] = q[3] * e[0] + q[1] * e[1] + q[5] * e[2];
    qe[2] = q[4] * e[0] + q[5] * e[1] + q[2] * e[2];
    const more_v eqe = e[0] * qe[0] + e[1] * qe[1] + e[2] * qe[2], along = 7.5 * eqe - 1.5 * trace;
    sum[0] += (1.5 * eqe - 0.5 * trace) * u2 * *u;
    for (int c = 0; c < 3; c++) sum[1 + c] += (along * e[c] - 3.0 * qe[c]) * u2 * u2;
}

static double more_total(const more_v *v)
{
    double part[MORE_LANES];
    memcpy(part, v, sizeof part);
    for (int half = MORE_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) part[l] += part[l + half];
    return part[0];
}

static void more(const struct sap_more_args *a, const struct sap_more_target *t, double *sums, int *count)
{
    more_v sum[4] = {{0}};
    more_m near = {0};
    const more_v zero = {0}, floor2 = zero + t->floor2, own = zero + t->h2, tiny = zero + SAP_COINCIDENT_R2;
    more_m lane;
    for (int l = 0; l < MORE_LANES; l++) lane[l] = l;
    for (int at = 0; at < a->n; at += MORE_LANES) {
        more_v d[3], mass, soft, other, least, R2, root;
        for (int c = 0; c < 3; c++) more_load(a->x[c], at, &d[c]), d[c] -= t->x[c];
        more_load(a->mass, at, &mass);
        more_load(a->eps2, at, &soft);
        more_load(a->h2, at, &other);
        more_load(a->floor2, at, &least);
        const more_v r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], softened = r2 + (soft + t->eps2);
        const more_v reach = MORE_LARGER(own, other);
        near -= (r2 < reach) & (lane + at < (int64_t)a->n);
        least = MORE_LARGER(floor2, least);
        R2 = MORE_LARGER(softened, least);
        more_root(&R2, &root);
        const more_v u = (more_v)((more_m)(1.0 / root) & ~(R2 < tiny)), mu = mass * u, mu2 = mu * u;
        sum[0] += mu;
        for (int c = 0; c < 3; c++) d[c] *= u, sum[1 + c] += mu2 * d[c];
        if (a->quad[0]) more_add_quad(a->quad, at, d, &u, sum);
    }
    for (int q = 0; q < 4; q++) sums[q] = more_total(&sum[q]);
    sums[0] = -sums[0];
    int64_t all = 0;
    for (int l = 0; l < MORE_LANES; l++) all += near[l];
    *count = (int)all;
}

#endif
