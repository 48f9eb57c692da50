/*
 * bare_high.cu - what a card can do at most in orders 6 and 8: the all-pairs loop with nothing around it.
 *
 *   nvcc -arch=native -O3 -std=c++17 -o bare_high test/gpu/bare_high.cu && ./bare_high [N [SAMPLES]]
 *
 * As bare.cu, for the sums up to the snap or to the crackle (Nitadori & Makino 2008).  Written anew on purpose: it is
 * what kernels are measured against (docs/performance.md), and shares nothing with them.  Every pair counts; the
 * particle itself adds to the potential alone.  Results are compared with sums in long double.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../support/worst.h"

#define CHECK(call) check(call, #call)

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "bare_high: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

enum { PACKET = 32, TILE = 256, MOST_SLICES = 16, MOST_SUMS = 13 };

static const double EPS2 = 1.0 / 65536;

/* In the memory of the card: position, derivatives up to the jerk, mass, what a float leaves of the position. */
template <class W> struct alignas(16) particle {
    W d[4][3], m, low[3];
};

static double uniform()
{
    static unsigned long long state = 42;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static std::vector<particle<double>> make_particles(int n)
{
    std::vector<particle<double>> all((size_t)n);
    for (auto &p : all) {
        for (auto &d : p.d)
            for (double &x : d) x = 2 * uniform() - 1;
        p.m = 1.0 / n;
    }
    return all;
}

template <class W> static particle<W> *upload(const std::vector<particle<double>> &all)
{
    std::vector<particle<W>> rows(all.size());
    particle<W> *card;
    for (size_t k = 0; k < all.size(); k++) {
        for (int d = 0; d < 4; d++)
            for (int c = 0; c < 3; c++) rows[k].d[d][c] = (W)all[k].d[d][c];
        for (int c = 0; c < 3; c++) rows[k].low[c] = (W)(all[k].d[0][c] - (double)rows[k].d[0][c]);
        rows[k].m = (W)all[k].m;
    }
    CHECK(cudaMalloc(&card, rows.size() * sizeof rows[0]));
    CHECK(cudaMemcpy(card, rows.data(), rows.size() * sizeof rows[0], cudaMemcpyHostToDevice));
    return card;
}

/* ---- the loop --------------------------------------------------------------------------- */

static __device__ float root(float r2) { return rsqrtf(r2); }

/* A seed of single precision and one step of third order. */
static __device__ double root(double r2)
{
    const double y = (double)rsqrtf((float)r2), h = fma(-r2 * y, y, 1.0);
    return fma(y * h, fma(0.375, h, 0.5), y);
}

template <class W> static __device__ W dot(const W *a, const W *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

template <int ORDER, class W> static __device__ void pair(const particle<W> &i, const particle<W> &j, W eps2, W *sum)
{
    W d[4][3];
    for (int k = 0; k < ORDER / 2; k++)
        for (int c = 0; c < 3; c++) d[k][c] = j.d[k][c] - i.d[k][c];
    for (int c = 0; c < 3 && sizeof(W) == sizeof(float); c++) d[0][c] += j.low[c] - i.low[c];
    const W *r = d[0], *v = d[1], *a = d[2], *w = d[3];
    const W u = root(dot(r, r) + eps2), u2 = u * u, m = j.m * u, m3 = m * u2;
    const W alpha = dot(r, v) * u2, beta = (dot(v, v) + dot(r, a)) * u2 + alpha * alpha;
    const W gamma = ORDER == 8 ? (3 * dot(v, a) + dot(r, w)) * u2 + alpha * (3 * beta - 4 * alpha * alpha) : 0;
    sum[0] -= m;
    for (int c = 0; c < 3; c++) {
        const W jerk = v[c] - 3 * alpha * r[c], snap = a[c] - 6 * alpha * jerk - 3 * beta * r[c];
        sum[1 + c] += m3 * r[c];
        sum[4 + c] += m3 * jerk;
        sum[7 + c] += m3 * snap;
        if (ORDER == 8) sum[10 + c] += m3 * (w[c] - 9 * alpha * snap - 9 * beta * jerk - 3 * gamma * r[c]);
    }
}

/* I i-particles a thread; sums of slice blockIdx.y of the j-particles go to rows of their own. */
template <int ORDER, class W, int I, int THREADS, int GROUPS>
__global__ void __launch_bounds__(THREADS, GROUPS)
    bare(const particle<W> *all, int n, int per_slice, W eps2, double *out)
{
    enum { SUMS = 1 + 3 * ORDER / 2 };
    __shared__ particle<W> tile[TILE];
    particle<W> own[I];
    double total[I][SUMS] = {};
    for (int k = 0; k < I; k++) own[k] = all[(blockIdx.x * I + k) * THREADS + threadIdx.x];
    const int first = blockIdx.y * per_slice;
    for (int from = first; from < first + per_slice; from += TILE) {
        __syncthreads();
        for (int k = threadIdx.x; k < TILE; k += THREADS) tile[k] = all[from + k];
        __syncthreads();
        for (int packet = 0; packet < TILE; packet += PACKET) {
            W sum[I][SUMS] = {};
#pragma unroll 4
            for (int e = 0; e < PACKET; e++)
                for (int k = 0; k < I; k++) pair<ORDER>(own[k], tile[packet + e], eps2, sum[k]);
            for (int k = 0; k < I; k++)
                for (int q = 0; q < SUMS; q++) total[k][q] += (double)sum[k][q];
        }
    }
    for (int k = 0; k < I; k++)
        for (int q = 0; q < SUMS; q++)
            out[((size_t)blockIdx.y * SUMS + q) * n + (blockIdx.x * I + k) * THREADS + threadIdx.x] = total[k][q];
}

/* Slices become one. */
static __global__ void join(int sums, int n, int slices, double *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int s = 1; s < slices; s++)
        for (int q = 0; q < sums; q++) out[(size_t)q * n + i] += out[((size_t)s * sums + q) * n + i];
}

/* ---- results, checked ----------------------------------------------------------------------- */

/* The acceleration and its highest derivative, straight from the formulas. */
static void solve(const std::vector<particle<double>> &all, int order, int i, long double *acc, long double *last)
{
    for (int c = 0; c < 3; c++) acc[c] = last[c] = 0;
    for (const particle<double> &j : all) {
        long double d[4][3], dots[4][4] = {};
        for (int k = 0; k < 4; k++)
            for (int c = 0; c < 3; c++) d[k][c] = (long double)j.d[k][c] - all[i].d[k][c];
        for (int k = 0; k < 4; k++)
            for (int l = 0; l < 4; l++)
                for (int c = 0; c < 3; c++) dots[k][l] += d[k][c] * d[l][c];
        const long double r2 = dots[0][0] + EPS2, m3 = j.m / (r2 * sqrtl(r2)), alpha = dots[0][1] / r2;
        const long double beta = (dots[1][1] + dots[0][2]) / r2 + alpha * alpha;
        const long double gamma = (3 * dots[1][2] + dots[0][3]) / r2 + alpha * (3 * beta - 4 * alpha * alpha);
        for (int c = 0; c < 3; c++) {
            const long double jerk = d[1][c] - 3 * alpha * d[0][c];
            const long double snap = d[2][c] - 6 * alpha * jerk - 3 * beta * d[0][c];
            const long double crackle = d[3][c] - 9 * alpha * snap - 9 * beta * jerk - 3 * gamma * d[0][c];
            acc[c] += m3 * d[0][c];
            last[c] += m3 * (order == 8 ? crackle : snap);
        }
    }
}

static double relative(const double *got, const long double *right)
{
    long double off = 0, size = 0;
    for (int c = 0; c < 3; c++) {
        off += (got[c] - right[c]) * (got[c] - right[c]);
        size += right[c] * right[c];
    }
    const double error = (double)sqrtl(off / size);
    return std::isfinite(error) ? error : INFINITY;
}

struct bench {
    int n, samples;
    std::vector<particle<double>> all;
    double *out, acc_error, last_error;
    double rate; /* of the best shape */
    int threads, per_thread, slices, registers;
};

static void look_at(bench &b, int order)
{
    enum { LOOKED_AT = 4 };
    const int sums = 1 + 3 * order / 2;
    std::vector<double> sum((size_t)b.n * sums);
    CHECK(cudaMemcpy(sum.data(), b.out, sum.size() * sizeof(double), cudaMemcpyDeviceToHost));
    for (int k = 0; k < LOOKED_AT; k++) {
        const int i = (int)((long)k * (b.n - 1) / (LOOKED_AT - 1));
        long double acc[3], last[3];
        double got[MOST_SUMS];
        solve(b.all, order, i, acc, last);
        for (int q = 0; q < sums; q++) got[q] = sum[(size_t)q * b.n + i];
        b.acc_error = worst_of(b.acc_error, relative(got + 1, acc));
        b.last_error = worst_of(b.last_error, relative(got + sums - 3, last));
    }
}

template <int ORDER, class W, int I, int THREADS, int GROUPS>
static void try_shape(bench &b, const particle<W> *card, int slices)
{
    const auto kernel = bare<ORDER, W, I, THREADS, GROUPS>;
    cudaFuncAttributes attributes;
    cudaEvent_t from, to;
    float shortest = INFINITY;
    CHECK(cudaFuncGetAttributes(&attributes, kernel));
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    for (int sample = -1; sample < b.samples; sample++) { /* the first warms up */
        float ms;
        CHECK(cudaEventRecord(from));
        kernel<<<dim3(b.n / (I * THREADS), slices), THREADS>>>(card, b.n, b.n / slices, (W)EPS2, b.out);
        CHECK(cudaGetLastError());
        join<<<b.n / 256, 256>>>(1 + 3 * ORDER / 2, b.n, slices, b.out);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(to));
        CHECK(cudaEventSynchronize(to));
        CHECK(cudaEventElapsedTime(&ms, from, to));
        if (sample >= 0 && ms < shortest) shortest = ms;
    }
    CHECK(cudaEventDestroy(from));
    CHECK(cudaEventDestroy(to));
    const double rate = (double)b.n * b.n / (1e-3 * shortest);
    if (rate <= b.rate) return;
    b.rate = rate, b.threads = THREADS, b.per_thread = I, b.slices = slices, b.registers = attributes.numRegs;
}

template <int ORDER, class W> static int try_loop(bench &b, const char *name)
{
    particle<W> *card = upload<W>(b.all);
    b.rate = b.acc_error = b.last_error = 0;
    for (int slices = 4; slices <= MOST_SLICES; slices *= 4) {
        try_shape<ORDER, W, 1, 128, 2>(b, card, slices);
        try_shape<ORDER, W, 1, 128, 3>(b, card, slices);
        try_shape<ORDER, W, 1, 128, 4>(b, card, slices);
        try_shape<ORDER, W, 2, 128, 2>(b, card, slices);
        try_shape<ORDER, W, 2, 128, 3>(b, card, slices);
        try_shape<ORDER, W, 1, 256, 1>(b, card, slices);
        try_shape<ORDER, W, 1, 256, 2>(b, card, slices);
    }
    look_at(b, ORDER);
    CHECK(cudaFree(card));
    const double limit = sizeof(W) == sizeof(float) ? 1e-5 : 1e-11;
    const bool right = b.acc_error < limit && b.last_error < 100 * limit;
    printf("%-12s %10.3e  %3d x %d, %2d slices, %3d registers  %8.1e %8.1e%s\n", name, b.rate, b.threads, b.per_thread,
           b.slices, b.registers, b.acc_error, b.last_error, right ? "" : "  WRONG");
    fflush(stdout);
    return !right;
}

int main(int argc, char **argv)
{
    cudaDeviceProp card;
    bench b = {};
    b.n = argc > 1 ? atoi(argv[1]) : 262144;
    b.samples = argc > 2 ? atoi(argv[2]) : 2;
    if (b.n < 4096 || b.n % 4096 != 0 || b.samples < 1) {
        fprintf(stderr, "usage: bare_high [N [SAMPLES]], N a multiple of 4096\n");
        return 2;
    }
    CHECK(cudaGetDeviceProperties(&card, 0));
    printf("%s, sm_%d%d, N = %d, all pairs, all derivatives + pot; best of %d\n", card.name, card.major, card.minor,
           b.n, b.samples);
    printf("%-12s %10s  %-35s %8s %8s\n", "loop", "inter./s", "shape", "acc", "last");
    b.all = make_particles(b.n);
    CHECK(cudaMalloc(&b.out, sizeof(double) * MOST_SUMS * MOST_SLICES * b.n));
    int wrong = try_loop<6, double>(b, "order 6, dp") + try_loop<8, double>(b, "order 8, dp");
    wrong += try_loop<6, float>(b, "order 6, ds") + try_loop<8, float>(b, "order 8, ds");
    return wrong != 0;
}
