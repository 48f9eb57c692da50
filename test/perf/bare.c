/*
 * bare.c - what one core can do in order 4 with AVX-512: the pair terms in a bare loop, i-particles in the lanes of
 * one or two vectors, j-particles in the nearest cache, nothing around it.
 *
 *   cc -O3 -march=native -fno-math-errno -fno-tree-slp-vectorize test/perf/bare.c -o bare && ./bare
 *
 * Prints a JSON object per precision with interactions per second, the median of 45, and the best.  The loop is written
 * anew on purpose: it is what kernels are measured against (docs/performance.md), and shares nothing with them.
 */
#define _POSIX_C_SOURCE 200809L
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NJ = 512, TURNS = 4000, BLOCK = 16, REPEAT = 45, SP = 0, DS = 1, DP = 2 };

static float single[NJ][12] __attribute__((aligned(64))); /* x, low words of x, v, mass */
static double full[NJ][8] __attribute__((aligned(64)));   /* x, v, mass */
static volatile double sink;

/* Two vectors of floats: 32 targets. */
static inline __attribute__((always_inline)) void loop_single(const int words, const __m512 at[2][9], __m512 sum[2][7])
{
    const __m512 one = _mm512_set1_ps(1), half = _mm512_set1_ps(0.5F), three = _mm512_set1_ps(3);
    __m512 s[2][7];
    for (int i = 0; i < 2; i++)
        for (int q = 0; q < 7; q++) s[i][q] = sum[i][q];
    for (int j = 0; j < NJ; j++) {
        const float *p = single[j];
        for (int i = 0; i < 2; i++) {
            __m512 d[3], v[3];
            for (int c = 0; c < 3; c++) {
                d[c] = _mm512_sub_ps(_mm512_set1_ps(p[c]), at[i][c]);
                if (words == 2) d[c] = _mm512_add_ps(d[c], _mm512_sub_ps(_mm512_set1_ps(p[3 + c]), at[i][3 + c]));
                v[c] = _mm512_sub_ps(_mm512_set1_ps(p[6 + c]), at[i][6 + c]);
            }
            __m512 r2 = _mm512_fmadd_ps(d[0], d[0], _mm512_set1_ps(1e-4F)), rv = _mm512_mul_ps(d[0], v[0]);
            for (int c = 1; c < 3; c++) r2 = _mm512_fmadd_ps(d[c], d[c], r2), rv = _mm512_fmadd_ps(d[c], v[c], rv);
            __m512 y = _mm512_rsqrt14_ps(r2); /* one step of second order */
            y = _mm512_fmadd_ps(_mm512_mul_ps(y, half), _mm512_fnmadd_ps(_mm512_mul_ps(r2, y), y, one), y);
            const __m512 mu = _mm512_mul_ps(_mm512_set1_ps(p[9]), y), y2 = _mm512_mul_ps(y, y);
            const __m512 m3 = _mm512_mul_ps(mu, y2), a3 = _mm512_mul_ps(_mm512_mul_ps(rv, three), y2);
            s[i][0] = _mm512_add_ps(s[i][0], mu);
            for (int c = 0; c < 3; c++) {
                s[i][1 + c] = _mm512_fmadd_ps(m3, d[c], s[i][1 + c]);
                s[i][4 + c] = _mm512_fmadd_ps(m3, _mm512_fnmadd_ps(a3, d[c], v[c]), s[i][4 + c]);
            }
        }
    }
    for (int i = 0; i < 2; i++)
        for (int q = 0; q < 7; q++) sum[i][q] = s[i][q];
}

/* Reciprocal root: a seed of 14 bits, a step of second order and one of third. */
static inline __m512d root(__m512d r2)
{
    const __m512d one = _mm512_set1_pd(1), half = _mm512_set1_pd(0.5);
    __m512d y = _mm512_rsqrt14_pd(r2);
    y = _mm512_fmadd_pd(_mm512_mul_pd(y, half), _mm512_fnmadd_pd(_mm512_mul_pd(r2, y), y, one), y);
    const __m512d e = _mm512_fnmadd_pd(_mm512_mul_pd(r2, y), y, one);
    return _mm512_fmadd_pd(_mm512_mul_pd(y, e), _mm512_fmadd_pd(e, _mm512_set1_pd(0.375), half), y);
}

/* One vector of doubles: 8 targets. Roots of some sources come first, because their chains are long. */
static inline __attribute__((always_inline)) void loop_full(const __m512d at[6], __m512d sum[7])
{
    const __m512d three = _mm512_set1_pd(3);
    __m512d s[7];
    for (int q = 0; q < 7; q++) s[q] = sum[q];
    for (int j0 = 0; j0 < NJ; j0 += BLOCK) {
        __m512d u[BLOCK];
        for (int k = 0; k < BLOCK; k++) {
            const double *p = full[j0 + k];
            __m512d r2 = _mm512_set1_pd(1e-4);
            for (int c = 0; c < 3; c++) {
                const __m512d d = _mm512_sub_pd(_mm512_set1_pd(p[c]), at[c]);
                r2 = _mm512_fmadd_pd(d, d, r2);
            }
            u[k] = root(r2);
        }
        for (int k = 0; k < BLOCK; k++) {
            const double *p = full[j0 + k];
            __m512d d[3], v[3];
            for (int c = 0; c < 3; c++) {
                d[c] = _mm512_sub_pd(_mm512_set1_pd(p[c]), at[c]);
                v[c] = _mm512_sub_pd(_mm512_set1_pd(p[3 + c]), at[3 + c]);
            }
            __m512d rv = _mm512_mul_pd(d[0], v[0]);
            for (int c = 1; c < 3; c++) rv = _mm512_fmadd_pd(d[c], v[c], rv);
            const __m512d mu = _mm512_mul_pd(_mm512_set1_pd(p[6]), u[k]), y2 = _mm512_mul_pd(u[k], u[k]);
            const __m512d m3 = _mm512_mul_pd(mu, y2), a3 = _mm512_mul_pd(rv, _mm512_mul_pd(y2, three));
            s[0] = _mm512_add_pd(s[0], mu);
            for (int c = 0; c < 3; c++) {
                s[1 + c] = _mm512_fmadd_pd(m3, d[c], s[1 + c]);
                s[4 + c] = _mm512_fmadd_pd(m3, _mm512_fnmadd_pd(a3, d[c], v[c]), s[4 + c]);
            }
        }
    }
    for (int q = 0; q < 7; q++) sum[q] = s[q];
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static __attribute__((noinline)) double turns_single(int words)
{
    __m512 at[2][9], sum[2][7];
    for (int i = 0; i < 2; i++) {
        for (int q = 0; q < 7; q++) sum[i][q] = _mm512_setzero_ps();
        for (int c = 0; c < 9; c++) at[i][c] = _mm512_set1_ps(0.1F * (float)c + (float)i);
    }
    const double start = seconds();
    for (int t = 0; t < TURNS; t++) {
        __asm__ volatile("" ::: "memory");
        if (words == 2)
            loop_single(2, at, sum);
        else
            loop_single(1, at, sum);
    }
    const double took = seconds() - start;
    for (int i = 0; i < 2; i++)
        for (int q = 0; q < 7; q++) sink = (double)_mm512_reduce_add_ps(sum[i][q]);
    return took;
}

static __attribute__((noinline)) double turns_full(void)
{
    __m512d at[6], sum[7];
    for (int q = 0; q < 7; q++) sum[q] = _mm512_setzero_pd();
    for (int c = 0; c < 6; c++) at[c] = _mm512_set1_pd(0.1 * c);
    const double start = seconds();
    for (int t = 0; t < TURNS; t++) {
        __asm__ volatile("" ::: "memory");
        loop_full(at, sum);
    }
    const double took = seconds() - start;
    for (int q = 0; q < 7; q++) sink = _mm512_reduce_add_pd(sum[q]);
    return took;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static const char *const names[] = {[SP] = "sp", [DS] = "ds", [DP] = "dp"};
    for (int j = 0; j < NJ; j++) {
        for (int c = 0; c < 12; c++) single[j][c] = (float)rand() / (float)RAND_MAX;
        for (int c = 0; c < 8; c++) full[j][c] = (double)rand() / RAND_MAX;
    }
    for (int precision = SP; precision <= DP; precision++) {
        double t[REPEAT];
        for (int k = 0; k < REPEAT; k++) t[k] = precision == DP ? turns_full() : turns_single(precision == DS ? 2 : 1);
        qsort(t, REPEAT, sizeof *t, rising);
        const double pairs = (precision == DP ? 8.0 : 32.0) * NJ * TURNS;
        printf("{\"case\": \"bare loop\", \"precision\": \"%s\", \"interactions_per_second\": %.4g, \"best\": %.4g}\n",
               names[precision], pairs / t[REPEAT / 2], pairs / t[0]);
    }
    return 0;
}
