/*
 * bare.cu - what a card can do at most: the all-pairs loop of order 4 with nothing around it.
 *
 *   nvcc -arch=native -O3 -std=c++17 -o bare test/gpu/bare.cu && ./bare [N [SAMPLES]]
 *
 * The library's speed is judged by its distance from these figures, so they
 * must come from the same card in the same session (test/gpu.sh does that).
 * Positions are two floats (ds) or doubles (dp), packets of 32 j-particles are
 * summed in the working type and flushed to double.  Switches add what a
 * library cannot do without: the mask of the particle itself, the test for zero
 * distance, the nearest neighbour without softening.  Of every variant the best
 * shape is told: threads of a block, i-particles a thread, slices of the j side.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../support/worst.h"

#define CHECK(call) check(call, #call)

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "bare: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

enum { SUMS = 7, PACKET = 32, MOST_SLICES = 16 }; /* pot, acc, jerk */
enum { MASK = 1, ZERO = 2, NEAREST = 4 };         /* switches of the loop */

static const double EPS2 = 1.0 / 65536;

/* ---- particles ------------------------------------------------------------------------ */

/* In the memory of the card, by scheme: rows of four words. */
struct alignas(16) wide4 {
    double x, y, z, w;
};
struct ds {
    using word = float;
    using row = float4;
    enum { ROWS = 3 }; /* x y z m | vx vy vz index | low x y z, nothing */
};
struct dp {
    using word = double;
    using row = wide4;
    enum { ROWS = 2 }; /* x y z m | vx vy vz index */
};

struct particle {
    double x[3], v[3], m;
};

static double uniform()
{
    static unsigned long long state = 42;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* A point on the sphere of that radius. */
static void direction(double radius, double *x)
{
    const double z = 2 * uniform() - 1, angle = 2 * M_PI * uniform(), side = std::sqrt(1 - z * z);
    x[0] = radius * side * std::cos(angle);
    x[1] = radius * side * std::sin(angle);
    x[2] = radius * z;
}

/* Like a Plummer sphere in density; velocities of its size. */
static std::vector<particle> make_particles(int n)
{
    std::vector<particle> all((size_t)n);
    for (auto &p : all) {
        direction(0.6 / std::sqrt(std::pow(0.999 * uniform(), -2.0 / 3) - 1), p.x);
        direction(0.7 * uniform(), p.v);
        p.m = 1.0 / n;
    }
    return all;
}

static float4 row_of(float x, float y, float z, float w) { return make_float4(x, y, z, w); }
static wide4 row_of(double x, double y, double z, double w) { return wide4{x, y, z, w}; }

/* The index as bits of a word. */
static float word_of(float, int index)
{
    float word;
    memcpy(&word, &index, sizeof word);
    return word;
}
static double word_of(double, int index) { return (double)index; }

template <class S> static typename S::row *upload(const std::vector<particle> &all)
{
    using word = typename S::word;
    std::vector<typename S::row> rows;
    typename S::row *card;
    for (size_t k = 0; k < all.size(); k++) {
        const particle &p = all[k];
        word high[3], low[3];
        for (int c = 0; c < 3; c++) {
            high[c] = (word)p.x[c];
            low[c] = (word)(p.x[c] - (double)high[c]);
        }
        rows.push_back(row_of(high[0], high[1], high[2], (word)p.m));
        rows.push_back(row_of((word)p.v[0], (word)p.v[1], (word)p.v[2], word_of(word(), (int)k)));
        if (S::ROWS == 3) rows.push_back(row_of(low[0], low[1], low[2], word(0)));
    }
    CHECK(cudaMalloc(&card, rows.size() * sizeof rows[0]));
    CHECK(cudaMemcpy(card, rows.data(), rows.size() * sizeof rows[0], cudaMemcpyHostToDevice));
    return card;
}

/* ---- the loop --------------------------------------------------------------------------- */

static __device__ int index_of(float word) { return __float_as_int(word); }
static __device__ int index_of(double word) { return (int)word; }

static __device__ float root(float r2) { return rsqrtf(r2); }

/* A seed of single precision and one step of third order. */
static __device__ double root(double r2)
{
    const double y = (double)rsqrtf((float)r2), h = fma(-r2 * y, y, 1.0);
    return fma(y * h, fma(0.375, h, 0.5), y);
}

template <class T> struct target {
    T x[3], low[3], v[3];
    int index;
    double sum[SUMS];
    T near_r2;
    int near;
};

static __device__ void distance(const target<float> &i, const float4 *j, float *r)
{
    r[0] = (j[0].x - i.x[0]) + (j[2].x - i.low[0]);
    r[1] = (j[0].y - i.x[1]) + (j[2].y - i.low[1]);
    r[2] = (j[0].z - i.x[2]) + (j[2].z - i.low[2]);
}

static __device__ void distance(const target<double> &i, const wide4 *j, double *r)
{
    r[0] = j[0].x - i.x[0];
    r[1] = j[0].y - i.x[1];
    r[2] = j[0].z - i.x[2];
}

/* One pair: terms are added to the packet's sums. */
template <int SWITCHES, class T, class Row> static __device__ void pair(target<T> &i, const Row *j, T eps2, T *sum)
{
    T r[3];
    distance(i, j, r);
    const T v[3] = {j[1].x - i.v[0], j[1].y - i.v[1], j[1].z - i.v[2]};
    const T r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], rv = r[0] * v[0] + r[1] * v[1] + r[2] * v[2];
    const T soft = r2 + eps2;
    T one = root(soft);
    if (SWITCHES & ZERO) one = soft > 0 ? one : T(0);
    const bool self = (SWITCHES & (MASK | NEAREST)) != 0 && index_of(j[1].w) == i.index;
    if (SWITCHES & MASK) one = self ? T(0) : one;
    if (SWITCHES & NEAREST) {
        const bool nearer = !self && r2 < i.near_r2;
        i.near_r2 = nearer ? r2 : i.near_r2;
        i.near = nearer ? index_of(j[1].w) : i.near;
    }
    const T one2 = one * one, m = j[0].w * one, m3 = m * one2, a = T(-3) * rv * one2;
    sum[0] -= m;
    for (int c = 0; c < 3; c++) {
        sum[1 + c] += m3 * r[c];
        sum[4 + c] += m3 * (v[c] + a * r[c]);
    }
}

/* j-particles first to last-1 for I i-particles a thread; sums of slice blockIdx.y go to rows of their own. */
template <class S, int SWITCHES, int I, int THREADS>
__global__ void __launch_bounds__(THREADS) bare(const typename S::row *all, int n, int per_slice, typename S::word eps2,
                                                double *out, double *near_r2, int *near)
{
    using word = typename S::word;
    using row = typename S::row;
    __shared__ row tile[THREADS * S::ROWS];
    target<word> target_of[I];
    for (int k = 0; k < I; k++) {
        target<word> &i = target_of[k];
        i = {};
        i.index = (blockIdx.x * I + k) * THREADS + threadIdx.x;
        const row *own = all + (size_t)i.index * S::ROWS, &low = own[S::ROWS - 1];
        i.x[0] = own[0].x, i.x[1] = own[0].y, i.x[2] = own[0].z;
        i.v[0] = own[1].x, i.v[1] = own[1].y, i.v[2] = own[1].z;
        if (S::ROWS == 3) i.low[0] = low.x, i.low[1] = low.y, i.low[2] = low.z;
        i.near_r2 = INFINITY;
        i.near = -1;
    }
    const int first = blockIdx.y * per_slice;
    for (int from = first; from < first + per_slice; from += THREADS) {
        __syncthreads();
        for (int k = threadIdx.x; k < THREADS * S::ROWS; k += THREADS) tile[k] = all[(size_t)from * S::ROWS + k];
        __syncthreads();
        for (int packet = 0; packet < THREADS; packet += PACKET) {
            word sum[I][SUMS] = {};
#pragma unroll 8
            for (int e = 0; e < PACKET; e++)
                for (int k = 0; k < I; k++) pair<SWITCHES>(target_of[k], tile + (packet + e) * S::ROWS, eps2, sum[k]);
            for (int k = 0; k < I; k++)
                for (int q = 0; q < SUMS; q++) target_of[k].sum[q] += (double)sum[k][q];
        }
    }
    for (int k = 0; k < I; k++) {
        const target<word> &i = target_of[k];
        for (int q = 0; q < SUMS; q++) out[((size_t)blockIdx.y * SUMS + q) * n + i.index] = i.sum[q];
        if (SWITCHES & NEAREST) near_r2[(size_t)blockIdx.y * n + i.index] = (double)i.near_r2;
        if (SWITCHES & NEAREST) near[(size_t)blockIdx.y * n + i.index] = i.near;
    }
}

/* Slices become one. */
__global__ void join(int n, int slices, double *out, double *near_r2, int *near)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int s = 1; s < slices; s++) {
        for (int q = 0; q < SUMS; q++) out[(size_t)q * n + i] += out[((size_t)s * SUMS + q) * n + i];
        if (near_r2[(size_t)s * n + i] >= near_r2[i]) continue;
        near_r2[i] = near_r2[(size_t)s * n + i];
        near[i] = near[(size_t)s * n + i];
    }
}

/* ---- results, checked ----------------------------------------------------------------------- */

/* What a few i-particles get, in long double. */
struct truth {
    int i;
    long double acc[3], jerk[3];
    int near;
};

static truth solve(const std::vector<particle> &all, int i)
{
    truth t = {i, {0}, {0}, -1};
    long double best = INFINITY;
    for (size_t j = 0; j < all.size(); j++) {
        if ((int)j == i) continue; /* adds nothing to acc and jerk without the mask either */
        long double r[3], v[3], r2 = 0, rv = 0;
        for (int c = 0; c < 3; c++) {
            r[c] = (long double)all[j].x[c] - all[i].x[c];
            v[c] = (long double)all[j].v[c] - all[i].v[c];
            r2 += r[c] * r[c];
            rv += r[c] * v[c];
        }
        if (r2 < best) best = r2, t.near = (int)j;
        const long double soft = r2 + EPS2, m3 = all[j].m / (soft * sqrtl(soft));
        for (int c = 0; c < 3; c++) {
            t.acc[c] += m3 * r[c];
            t.jerk[c] += m3 * (v[c] - 3 * rv / soft * r[c]);
        }
    }
    return t;
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
    std::vector<particle> all;
    std::vector<truth> truths;
    double *out, *near_r2;
    int *near;
    double acc_error, jerk_error; /* largest of a variant, all shapes */
    int wrong_near;
};

static void look_at(bench &b, int switches)
{
    std::vector<double> sum((size_t)b.n * SUMS);
    std::vector<int> near((size_t)b.n);
    CHECK(cudaMemcpy(sum.data(), b.out, sum.size() * sizeof(double), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(near.data(), b.near, near.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (const truth &t : b.truths) {
        double got[SUMS];
        for (int q = 0; q < SUMS; q++) got[q] = sum[(size_t)q * b.n + t.i];
        b.acc_error = worst_of(b.acc_error, relative(got + 1, t.acc));
        b.jerk_error = worst_of(b.jerk_error, relative(got + 4, t.jerk));
        b.wrong_near += (switches & NEAREST) != 0 && near[t.i] != t.near;
    }
}

/* ---- shapes ------------------------------------------------------------------------------------- */

struct best {
    double rate;
    int threads, per_thread, slices, registers;
};

template <class S, int SWITCHES, int I, int THREADS>
static void try_shape(bench &b, const typename S::row *card, int slices, best &best)
{
    const auto kernel = bare<S, SWITCHES, I, THREADS>;
    cudaFuncAttributes attributes;
    cudaEvent_t from, to;
    float shortest = INFINITY;
    CHECK(cudaFuncGetAttributes(&attributes, kernel));
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    for (int sample = -1; sample < b.samples; sample++) { /* the first warms up */
        float ms;
        CHECK(cudaEventRecord(from));
        kernel<<<dim3(b.n / (I * THREADS), slices), THREADS>>>(card, b.n, b.n / slices, (typename S::word)EPS2, b.out,
                                                               b.near_r2, b.near);
        CHECK(cudaGetLastError());
        join<<<b.n / 256, 256>>>(b.n, slices, b.out, b.near_r2, b.near);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(to));
        CHECK(cudaEventSynchronize(to));
        CHECK(cudaEventElapsedTime(&ms, from, to));
        if (sample >= 0 && ms < shortest) shortest = ms;
    }
    CHECK(cudaEventDestroy(from));
    CHECK(cudaEventDestroy(to));
    look_at(b, SWITCHES);
    const double rate = (double)b.n * b.n / (1e-3 * shortest);
    if (rate > best.rate) best = {rate, THREADS, I, slices, attributes.numRegs};
}

template <class S, int SWITCHES> static int try_variant(bench &b, const typename S::row *card, const char *name)
{
    best best = {};
    b.acc_error = b.jerk_error = 0, b.wrong_near = 0;
    for (int slices = 4; slices <= MOST_SLICES; slices *= 4) {
        try_shape<S, SWITCHES, 1, 128>(b, card, slices, best);
        try_shape<S, SWITCHES, 2, 128>(b, card, slices, best);
        try_shape<S, SWITCHES, 4, 128>(b, card, slices, best);
        try_shape<S, SWITCHES, 1, 256>(b, card, slices, best);
        try_shape<S, SWITCHES, 2, 256>(b, card, slices, best);
        try_shape<S, SWITCHES, 4, 256>(b, card, slices, best);
    }
    const double limit = sizeof(typename S::word) == sizeof(float) ? 1e-5 : 1e-11;
    const bool right = b.acc_error < limit && b.jerk_error < 20 * limit && b.wrong_near == 0;
    printf("%-42s %10.3e  %3d x %d, %2d slices, %3d registers  %8.1e %8.1e%s\n", name, best.rate, best.threads,
           best.per_thread, best.slices, best.registers, b.acc_error, b.jerk_error, right ? "" : "  WRONG");
    fflush(stdout);
    return !right;
}

template <class S> static int try_scheme(bench &b, const char *const *names)
{
    typename S::row *card = upload<S>(b.all);
    int wrong = try_variant<S, 0>(b, card, names[0]);
    wrong += try_variant<S, MASK>(b, card, names[1]);
    wrong += try_variant<S, MASK | ZERO>(b, card, names[2]);
    wrong += try_variant<S, MASK | ZERO | NEAREST>(b, card, names[3]);
    CHECK(cudaFree(card));
    return wrong;
}

int main(int argc, char **argv)
{
    static const char *const in_ds[] = {"ds", "ds + self mask", "ds + mask + zero test", "ds + mask + zero + nearest"};
    static const char *const in_dp[] = {"dp", "dp + self mask", "dp + mask + zero test", "dp + mask + zero + nearest"};
    cudaDeviceProp card;
    bench b = {};
    b.n = argc > 1 ? atoi(argv[1]) : 262144;
    b.samples = argc > 2 ? atoi(argv[2]) : 3;
    if (b.n < 4096 || b.n % 4096 != 0 || b.samples < 1) {
        fprintf(stderr, "usage: bare [N [SAMPLES]], N a multiple of 4096\n");
        return 2;
    }
    CHECK(cudaGetDeviceProperties(&card, 0));
    printf("%s, sm_%d%d, N = %d, all pairs, acc + jerk + pot; best of %d\n", card.name, card.major, card.minor, b.n,
           b.samples);
    printf("%-42s %10s  %-35s %8s %8s\n", "loop", "inter./s", "shape", "acc", "jerk");
    b.all = make_particles(b.n);
    for (int k = 0; k < 16; k++) b.truths.push_back(solve(b.all, (int)((long)k * (b.n - 1) / 15)));
    CHECK(cudaMalloc(&b.out, sizeof(double) * SUMS * MOST_SLICES * b.n));
    CHECK(cudaMalloc(&b.near_r2, sizeof(double) * MOST_SLICES * b.n));
    CHECK(cudaMalloc(&b.near, sizeof(int) * MOST_SLICES * b.n));
    CHECK(cudaMemset(b.near_r2, 0, sizeof(double) * MOST_SLICES * b.n));
    return try_scheme<ds>(b, in_ds) + try_scheme<dp>(b, in_dp) != 0;
}
