/*
 * bare_high.c - what one core can do in orders 6 and 8, double precision, AVX-512: the pair terms in a bare loop, eight
 * i-particles in lanes, j-particles in the nearest cache, nothing around it.
 *
 *   cc -O3 -march=native -fno-math-errno -fno-tree-slp-vectorize test/perf/bare_high.c -lm -o bare_high && ./bare_high
 *
 * Prints interactions a second, the median of 15.  The loop is written anew on purpose: it is what kernels are measured
 * against (docs/performance.md), and shares nothing with them.
 */
#define _POSIX_C_SOURCE 200809L
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NJ = 512, TURNS = 4000 };

typedef __m512d D;

static double record[NJ][16] __attribute__((aligned(64)));
static volatile double sink;

static inline D set(double x) { return _mm512_set1_pd(x); }
static inline D fma3(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
static inline D fnma(D a, D b, D c) { return _mm512_fnmadd_pd(a, b, c); }
static inline D mul(D a, D b) { return _mm512_mul_pd(a, b); }

/* Reciprocal root: seed in single precision, one step of third order. */
static inline D root(D r2)
{
    const __m256 s = _mm256_div_ps(_mm256_set1_ps(1), _mm256_sqrt_ps(_mm512_cvtpd_ps(r2)));
    const D y = _mm512_cvtps_pd(s), e = fnma(mul(r2, y), y, set(1));
    return fma3(mul(y, e), fma3(e, set(0.375), set(0.5)), y);
}

static inline __attribute__((always_inline)) void loop(const int order, const D *at, D *sum)
{
    D s[13];
    for (int q = 0; q < 13; q++) s[q] = _mm512_setzero_pd();
    for (int j0 = 0; j0 < NJ; j0 += 16) {
        D u[16];
        for (int k = 0; k < 16; k++) { /* roots first: their chains are long */
            const double *p = record[j0 + k];
            D d[3];
            for (int c = 0; c < 3; c++) d[c] = _mm512_sub_pd(set(p[c]), at[c]);
            u[k] = root(fma3(d[0], d[0], fma3(d[1], d[1], fma3(d[2], d[2], set(1e-4)))));
        }
        for (int k = 0; k < 16; k++) {
            const double *p = record[j0 + k];
            D d[12];
            for (int c = 0; c < (order == 6 ? 9 : 12); c++) d[c] = _mm512_sub_pd(set(p[c]), at[c]);
            const D mu = mul(set(p[12]), u[k]), u2 = mul(u[k], u[k]), m3 = mul(mu, u2), i3 = mul(u2, set(3));
            D rv = mul(d[0], d[3]), vv = mul(d[3], d[3]);
            for (int c = 1; c < 3; c++) rv = fma3(d[c], d[3 + c], rv), vv = fma3(d[3 + c], d[3 + c], vv);
            for (int c = 0; c < 3; c++) vv = fma3(d[c], d[6 + c], vv);
            const D a3 = mul(rv, i3), b3 = fma3(vv, i3, mul(mul(a3, a3), set(1.0 / 3))), a6 = _mm512_add_pd(a3, a3);
            D J[3], S[3];
            s[0] = _mm512_add_pd(s[0], mu);
            for (int c = 0; c < 3; c++) {
                J[c] = fnma(a3, d[c], d[3 + c]);
                S[c] = fnma(b3, d[c], fnma(a6, J[c], d[6 + c]));
                s[1 + c] = fma3(m3, d[c], s[1 + c]);
                s[4 + c] = fma3(m3, J[c], s[4 + c]);
                s[7 + c] = fma3(m3, S[c], s[7 + c]);
            }
            if (order == 6) continue;
            D va = mul(d[3], d[6]), g = mul(d[0], d[9]);
            for (int c = 1; c < 3; c++) va = fma3(d[3 + c], d[6 + c], va), g = fma3(d[c], d[9 + c], g);
            g = fma3(fma3(va, set(3), g), i3, mul(a3, fnma(mul(a3, a3), set(4.0 / 9), b3)));
            const D a9 = mul(a3, set(3)), b9 = mul(b3, set(3));
            for (int c = 0; c < 3; c++)
                s[10 + c] = fma3(m3, fnma(g, d[c], fnma(b9, J[c], fnma(a9, S[c], d[9 + c]))), s[10 + c]);
        }
    }
    for (int q = 0; q < 13; q++) sum[q] = _mm512_add_pd(sum[q], s[q]);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static __attribute__((noinline)) double turns(int order)
{
    D at[12], sum[13];
    for (int q = 0; q < 13; q++) sum[q] = _mm512_setzero_pd();
    for (int c = 0; c < 12; c++) at[c] = _mm512_add_pd(set(0.1 * c), _mm512_set_pd(7, 6, 5, 4, 3, 2, 1, 0));
    const double start = seconds();
    for (int t = 0; t < TURNS; t++) {
        __asm__ volatile("" ::: "memory");
        if (order == 6)
            loop(6, at, sum);
        else
            loop(8, at, sum);
    }
    const double took = seconds() - start;
    for (int q = 0; q < 13; q++) sink = sum[q][0];
    return took;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    enum { REPEAT = 15 };
    for (int j = 0; j < NJ; j++)
        for (int c = 0; c < 13; c++) record[j][c] = (double)rand() / RAND_MAX;
    for (int order = 6; order <= 8; order += 2) {
        double t[REPEAT];
        for (int k = 0; k < REPEAT; k++) t[k] = turns(order);
        qsort(t, REPEAT, sizeof *t, rising);
        printf("order %d dp: %.3e interactions/s (best %.3e)\n", order, 8.0 * NJ * TURNS / t[REPEAT / 2],
               8.0 * NJ * TURNS / t[0]);
    }
    return 0;
}
