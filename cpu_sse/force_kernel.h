/*
 * force_kernel.h - the CPU kernels: one kernel source for every order, path and precision.
 *
 * force_instance.c includes it after the operations of a path; instances.mk lists the instances, each with SAP_ORDER
 * (2, 6, 8; else 4) and SAP_KERNEL_SP, _DS or _DP.  No operation may depend on the number of i-particles or on the
 * distribution of the work: see lib/physics/arithmetic.h.
 */
#include <math.h>
#include <string.h>

#include "kernel.h"

#if defined(SAP_KERNEL_DP)
#include "working_double.h"
#else
#include "working_float.h"
#endif

#include "physics/accumulate.h"
#include "physics/interaction.h"
#include "physics/predictor.h"
#include "physics/tree_pair.h"

#ifndef SAP_ORDER
#define SAP_ORDER 4
#endif

/* Low words of positions. */
#if defined(SAP_KERNEL_DS)
enum { LOW = 3 };
#else
enum { LOW = 0 };
#endif

/*
 * Words of a predicted j-particle: x, then HIGHER derivatives from v on. The first KEPT words form a record of RECORD
 * words. Words that few forces need are stored beside the packets, by address. An i-particle has the same words without
 * mass and index.
 */
#if SAP_ORDER == 2
enum { SUMS = SAP_SUMS2, HIGHER = 0 };
enum { JX, JV = 0, JM = 3, JLOW = 4, KEPT = 4 + LOW, JID = KEPT, JE, JWORDS, RECORD = LOW ? 8 : 4 };
enum { IX, IV = 0, ILOW = 3, IE = 3 + LOW, IT = IE, IWORDS };
#else
enum { SUMS = 1 + 3 * SAP_ORDER / 2, HIGHER = SAP_ORDER / 2 - 1 };
enum { JX, JV = 3, JM = 3 + 3 * HIGHER, JID, JLOW, KEPT = JLOW + LOW, JE = KEPT, JWORDS, RECORD = (KEPT + 3) / 4 * 4 };
enum { IX, IV = 3, ILOW = 3 + 3 * HIGHER, IE = ILOW + LOW };
#endif
#if SAP_ORDER == 4
enum { IT = IE + 1, IWORDS }; /* the time ahead */
#elif SAP_ORDER > 4
enum { IT = IE, IWORDS };
#endif

/* Sums rounded up to whole vectors, and derivatives that the predictor of orders 6 and 8 uses. */
enum { PADDED = (SUMS + D_LANES - 1) / D_LANES * D_LANES, FULL_TERMS = SAP_ORDER == 6 ? 5 : 7 };

/* Vectors of 16 addresses predicted at a time, one block of each packet, and their words. */
enum { CHUNK = SAP_BLOCK, WORDS = JWORDS > RECORD ? JWORDS : RECORD };

/* Packets are one cache line further apart than they are long, so that they do not share cache sets. */
enum { PACKET_WORDS = SAP_CPU_PACKET * RECORD + (int)(64 / sizeof(W)) };

/* Behind the packets: indices if they are in no record, squared softening. */
enum { TILE = SAP_CPU_SUPERPACKET, AT_INDEX = PACKET_WORDS * SAP_CPU_LANES };
enum { AT_EPS2 = AT_INDEX + (JID < KEPT ? 0 : TILE) };
/*
 * Of batches: two words per address (kernel_counts.h), moments in packets that are as far apart as those above, floors,
 * the largest second word of each block of each packet.
 */
enum { QUAD_PACKET = SAP_CPU_PACKET * SAP_QUAD_WORDS + 16 };
enum {
    AT_BOUNDS = AT_EPS2 + TILE,
    AT_QUAD = AT_BOUNDS + 2 * TILE,
    AT_FLOOR = AT_QUAD + QUAD_PACKET * SAP_CPU_LANES,
    AT_WITHIN = AT_FLOOR + TILE,
    TILE_END = AT_WITHIN + SAP_BLOCKS * SAP_CPU_LANES
};

enum { LANES = SAP_CPU_LANES, VECTORS = LANES / V_LANES, D_VECTORS = LANES / D_LANES };

#ifndef SAP_MANY_VECTORS
#define SAP_MANY_VECTORS 1 /* vectors of i-particles that many_i holds in registers */
#endif
enum { NV = SAP_MANY_VECTORS, GROUP = NV * V_LANES, G_HALVES = NV * V_HALVES };

/*
 * Processors of x86-64 and AArch64 have a vector path, so their scalar kernels, with which tests compare, are made to
 * compile fast: loops over lanes stay loops, and one instance serves all variants.
 */
#if defined(SAP_SMALL_KERNELS)
#define UNROLL _Pragma("GCC unroll 1")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/*
 * Returns n, so that the compiler does not know it. Loops up to it are not unrolled: loops that contain loops would
 * take long to compile and gain nothing. (gcc 12 unrolls a loop of two rounds in spite of `unroll 1`.)
 */
SAP_INLINE int hidden(int n)
{
    if (n > 2) __asm__("" : "+r"(n));
    return n;
}

/* Functions that several instances share: copies of them take long to compile and gain nothing. */
#define SHARED static __attribute__((noinline))

#include "kernel_counts.h"

#include "kernel_records.h"

#include "kernel_pairs.h"

#include "kernel_lists.h"

#include "kernel_many.h"

#include "kernel_few.h"

/* ------------------------------------------------------- the list of variants */

enum { IN_DOUBLE = sizeof(W) == sizeof(double) };

/*
 * Returns the instance that can do everything. Common softening counts as softening per i-particle (load_many and
 * few_chunk fill the words), which is as fast.
 */
SAP_INLINE struct sap_variant general(struct sap_variant v)
{
    return (struct sap_variant){3, 1, v.skip_own, IN_DOUBLE, v.soft == 2 ? 2 : 1, 0, 0, 0, 0, 0};
}

/* Returns the instance that serves a variant. A variant has its own if that makes it faster by 3 % or more. */
#if SAP_ORDER > 4
/* Clients of these orders skip their own index, and ask for the nearest or for no neighbours. */
SAP_INLINE struct sap_variant instance_of(struct sap_variant v)
{
    if (!v.skip_own || v.soft || (IN_DOUBLE && v.wide) || v.near & SAP_LISTS) return general(v);
    return (struct sap_variant){v.near, v.near ? 1 : v.zero, 1, 0, 0, 0, 0, 0, 0, 0};
}
#else
SAP_INLINE struct sap_variant instance_of(struct sap_variant v)
{
    if (IN_DOUBLE && v.wide) return general(v);
    if (SAP_ORDER == 2 && !v.near && !(v.skip_own && v.soft == 2))
        return (struct sap_variant){0, v.zero, v.skip_own, 0, v.soft == 2 ? 2 : 1, 0, 0, 0, 0, 0};
    if (v.soft) return general(v);
    if (SAP_ORDER == 4 &&
        (v.skip_own ? v.near < SAP_LISTS || (!v.zero && (IN_DOUBLE || v.near == SAP_LISTS)) : !v.near && !v.zero))
        return (struct sap_variant){v.near, v.zero, v.skip_own, 0, 0, 0, 0, 0, 0, 0};
    return IN_DOUBLE ? (struct sap_variant){3, 1, v.skip_own, 0, 0, 0, 0, 0, 0, 0} : general(v);
}
#endif

#define VARIANT_KEY(v) ((((v).near * 2 + (v).zero) * 2 + (v).skip_own) * 2 + (v).wide) * 3 + (v).soft

/* Runs F(A, B, variant) with a variant that is a constant for the compiler. */
#define CASE(F, A, B, near, zero, own, wide, soft)                                                                     \
    case ((((near)*2 + (zero)) * 2 + (own)) * 2 + (wide)) * 3 + (soft):                                                \
        F(A, B, ((struct sap_variant){near, zero, own, wide, soft, 0, 0, 0, 0, 0}));                                   \
        return;
#if SAP_ORDER > 4
#define ORDER_CASES(F, A, B)                                                                                           \
    CASE(F, A, B, 0, 0, 1, 0, 0)                                                                                       \
    CASE(F, A, B, 0, 1, 1, 0, 0)                                                                                       \
    CASE(F, A, B, 1, 1, 1, 0, 0)
#elif SAP_ORDER == 2
#define ORDER_CASES(F, A, B)                                                                                           \
    CASE(F, A, B, 0, 0, 0, 0, 1)                                                                                       \
    CASE(F, A, B, 0, 1, 0, 0, 1)                                                                                       \
    CASE(F, A, B, 0, 0, 1, 0, 1)                                                                                       \
    CASE(F, A, B, 0, 1, 1, 0, 1)                                                                                       \
    CASE(F, A, B, 0, 0, 0, 0, 2)                                                                                       \
    CASE(F, A, B, 0, 1, 0, 0, 2)
#else
#define ORDER_CASES(F, A, B)                                                                                           \
    CASE(F, A, B, 0, 0, 0, 0, 0)                                                                                       \
    CASE(F, A, B, 0, 0, 1, 0, 0)                                                                                       \
    CASE(F, A, B, 0, 1, 1, 0, 0)                                                                                       \
    CASE(F, A, B, 1, 0, 1, 0, 0)                                                                                       \
    CASE(F, A, B, 1, 1, 1, 0, 0)                                                                                       \
    CASE(F, A, B, 2, 0, 1, 0, 0)
#endif
#if defined(SAP_KERNEL_DP)
#define WIDE 1
#else
#define WIDE 0
#endif
/* Spline softening: forces without other results, and one instance for all others. */
#if SAP_ORDER == 2
#define SPLINE(F, A, B, near, own, wide, soft)                                                                         \
    case ((near) != 0) * 4 + (own)*2 + ((soft) == 2):                                                                  \
        F(A, B, ((struct sap_variant){near, 0, own, wide, soft, 0, 0, 1, 0, 0}));                                      \
        return;
#define SPLINE_CASES(F, A, B, v)                                                                                       \
    if ((v).spline) {                                                                                                  \
        switch (((v).near || (v).wide) * 4 + (v).skip_own * 2 + ((v).soft == 2)) {                                     \
            SPLINE(F, A, B, 0, 0, 0, 1)                                                                                \
            SPLINE(F, A, B, 0, 0, 0, 2)                                                                                \
            SPLINE(F, A, B, 0, 1, 0, 1)                                                                                \
            SPLINE(F, A, B, 0, 1, 0, 2)                                                                                \
            SPLINE(F, A, B, 3, 0, WIDE, 1)                                                                             \
            SPLINE(F, A, B, 3, 0, WIDE, 2)                                                                             \
            SPLINE(F, A, B, 3, 1, WIDE, 1)                                                                             \
        default:                                                                                                       \
            F(A, B, ((struct sap_variant){3, 0, 1, WIDE, 2, 0, 0, 1, 0, 0}));                                          \
        }                                                                                                              \
        return;                                                                                                        \
    }
#else
#define SPLINE_CASES(F, A, B, v)
#endif
/* The one variant that excludes members of lists. */
#if SAP_ORDER == 4
#define OUTSIDE_CASE(F, A, B, v)                                                                                       \
    if ((v).outside) {                                                                                                 \
        F(A, B, ((struct sap_variant){SAP_LISTS, 1, 0, WIDE, 0, 1, 0, 0, 0, 0}));                                      \
        return;                                                                                                        \
    }
#else
#define OUTSIDE_CASE(F, A, B, v)
#endif
#if defined(SAP_KERNEL_DP) && SAP_ORDER == 4
#define NEAR_CASES(F, A, B)                                                                                            \
    CASE(F, A, B, 3, 0, 1, 0, 0)                                                                                       \
    CASE(F, A, B, 3, 1, 0, 0, 0)                                                                                       \
    CASE(F, A, B, 3, 1, 1, 0, 0)
#elif defined(SAP_KERNEL_DP) && SAP_ORDER == 2
#define NEAR_CASES(F, A, B)                                                                                            \
    CASE(F, A, B, 3, 1, 0, 0, 0)                                                                                       \
    CASE(F, A, B, 3, 1, 1, 0, 0)
#else
#define NEAR_CASES(F, A, B)
#endif
#if defined(SAP_SMALL_KERNELS)
/* Completes a variant as instance_of does: members of lists leave the sums, and only dp has wide distances. */
SAP_INLINE struct sap_variant completed(struct sap_variant v)
{
    if (v.outside) return (struct sap_variant){SAP_LISTS, 1, 0, IN_DOUBLE, 0, 1, 0, 0, 0, 0};
    v.wide = IN_DOUBLE && v.wide;
    v.zero = v.zero && !v.spline;
    return v;
}
#define DISPATCH(F, A, B, v) F(A, B, completed(v));
#else
#define DISPATCH(F, A, B, v)                                                                                           \
    const struct sap_variant of = instance_of(v);                                                                      \
    OUTSIDE_CASE(F, A, B, v)                                                                                           \
    SPLINE_CASES(F, A, B, v)                                                                                           \
    switch (VARIANT_KEY(of)) {                                                                                         \
        ORDER_CASES(F, A, B)                                                                                           \
        NEAR_CASES(F, A, B)                                                                                            \
        CASE(F, A, B, 3, 1, 0, WIDE, 1)                                                                                \
        CASE(F, A, B, 3, 1, 1, WIDE, 1)                                                                                \
        CASE(F, A, B, 3, 1, 0, WIDE, 2)                                                                                \
    default:                                                                                                           \
        F(A, B, ((struct sap_variant){3, 1, 1, WIDE, 2, 0, 0, 0, 0, 0}));                                              \
    }
#endif

#if SAP_MORE_HERE && !defined(SAP_SMALL_KERNELS)
/*
 * Returns the instance that serves a variant with a floor, counts or moments.  Common softening counts as softening per
 * i-particle, as in `general`.
 */
SAP_INLINE struct sap_variant more_instance_of(struct sap_variant v)
{
    const int rare = (v.more & SAP_QUAD && (v.more & SAP_COUNTS || v.zero || v.soft == 2)) ||
                     (v.more & SAP_FLOORS && (v.zero || v.soft == 2));
    return (struct sap_variant){0, rare || v.zero, 0, 0, rare || v.soft == 2 ? 2 : 1, 0, 0, 0, v.more, 0};
}

#define MORE_KEY(v) ((v).more * 2 + (v).zero) * 2 + ((v).soft == 2)
#define MORE(more, zero, soft)                                                                                         \
    case ((more)*2 + (zero)) * 2 + ((soft) == 2):                                                                      \
        many_tile(a, g, ((struct sap_variant){0, zero, 0, 0, soft, 0, 0, 0, more, 0}));                                \
        return;
#define MORE_CASES(a, g, v)                                                                                            \
    if ((v).more) {                                                                                                    \
        const struct sap_variant more = more_instance_of(v);                                                           \
        switch (MORE_KEY(more)) {                                                                                      \
            MORE(SAP_FLOOR, 0, 1)                                                                                      \
            MORE(SAP_FLOOR, 0, 2)                                                                                      \
            MORE(SAP_COUNTS, 0, 1)                                                                                     \
            MORE(SAP_COUNTS, 0, 2)                                                                                     \
            MORE(SAP_COUNTS, 1, 1)                                                                                     \
            MORE(SAP_COUNTS, 1, 2)                                                                                     \
            MORE(SAP_QUAD, 0, 1)                                                                                       \
            MORE(SAP_QUAD, 1, 2)                                                                                       \
            MORE(SAP_COUNTS | SAP_QUAD, 1, 2)                                                                          \
            MORE(SAP_COUNTS | SAP_FLOORS, 0, 1)                                                                        \
            MORE(SAP_COUNTS | SAP_FLOORS, 1, 2)                                                                        \
        default:                                                                                                       \
            many_tile(a, g, ((struct sap_variant){0, 1, 0, 0, 2, 0, 0, 0, SAP_COUNTS | SAP_QUAD | SAP_FLOORS, 0}));    \
        }                                                                                                              \
        return;                                                                                                        \
    }
#else
#define MORE_CASES(a, g, v)
#endif

#if SAP_ORDER == 2 && SAP_MANY_VECTORS == 2 && !defined(SAP_SMALL_KERNELS)
enum { HALF_GROUP = V_LANES };

/*
 * Runs the most frequent variants for a group with one vector of i-particles, in half the time.  Lists of trees and of
 * batches have few targets, so many of their groups are such.
 */
#define HALF(zero, own, more)                                                                                          \
    case ((more)*2 + (zero)) * 2 + (own):                                                                              \
        many_tile(a, g, ((struct sap_variant){0, zero, own, 0, 1, 0, 0, 0, more, 1}));                                 \
        return;
#if SAP_MORE_HERE
#define HALF_MORE HALF(0, 0, SAP_FLOOR) HALF(0, 0, SAP_COUNTS) HALF(0, 0, SAP_QUAD)
#else
#define HALF_MORE
#endif
#define HALF_CASES(a, g, v)                                                                                            \
    if ((g)->n <= HALF_GROUP && !(v).near && !(v).wide && (v).soft < 2 && !(v).spline) {                               \
        switch (((v).more * 2 + (v).zero) * 2 + (v).skip_own) {                                                        \
            HALF(0, 0, 0)                                                                                              \
            HALF(1, 0, 0)                                                                                              \
            HALF(0, 1, 0)                                                                                              \
            HALF(1, 1, 0)                                                                                              \
            HALF_MORE                                                                                                  \
        default:                                                                                                       \
            break;                                                                                                     \
        }                                                                                                              \
    }
#else
enum { HALF_GROUP = 0 };
#define HALF_CASES(a, g, v)
#endif

static void many_i(const struct sap_many_args *a, struct sap_group *g)
{
    HALF_CASES(a, g, a->variant)
    MORE_CASES(a, g, a->variant)
    DISPATCH(many_tile, a, g, a->variant)
}

static void few_i_chunk(const struct few_work *w, struct sap_single *s, struct sap_variant variant)
{
    DISPATCH(few_chunk, w, s, variant)
}

static void few_i(const struct sap_few_args *a, struct sap_single *singles)
{
    _Alignas(64) W soa[CHUNK][WORDS][LANES];
    const int vectors = (a->n + LANES - 1) / LANES;
    for (int i = 0; i < a->ni; i++) clear_packets(&singles[i]);
    for (int from = 0; from < vectors; from += CHUNK) {
        const int count = vectors - from < CHUNK ? vectors - from : CHUNK;
        const struct few_work work = {.soa = (const W(*)[WORDS][LANES])soa,
                                      .count = count,
                                      .n = a->n - from * LANES,
                                      .block = (int)(a->first / SAP_BLOCK) + from / CHUNK,
                                      .first = a->first + (uint32_t)(from * LANES),
                                      .eps2 = a->eps2,
                                      .soft = a->variant.soft,
                                      .spline = a->variant.spline};
        struct sap_variant variant = a->variant;
        if (predict_chunk(a->columns, a->terms, a->time, from, count, soa)) variant.wide = 1;
        for (int e = 0; e < count && variant.soft == 2; e++) copy_squares(a->columns->eps2, from + e, soa[e][JE]);
        if ((from + count) * LANES > a->n) blank(soa[count - 1], a->n - (from + count - 1) * LANES);
        for (int i = 0; i < a->ni; i++) few_i_chunk(&work, &singles[i], variant);
    }
    for (int i = 0; i < a->ni; i++) close_superpacket(&singles[i]);
}

/* ---------------------------------------------------------------- results */

/* Sums carry powers of SAP_ROOT_SCALE (all derivatives as the acceleration); the potential is negative. */
SAP_INLINE double scale_of(int q) { return q == SAP_POT ? -SAP_SCALE_POT : SAP_SCALE_ACC; }

static void finish_group(const struct sap_group *g, const double *scale, double *out)
{
    for (int q = 0; q < SUMS; q++) {
        const struct sap_sum_lanes *s = &g->sum[q];
        _Alignas(64) double total[SAP_GROUP_MAX];
        for (int h = 0; h < GROUP; h += D_LANES) {
            D limb[SAP_LIMBS];
            for (int k = 0; k < SAP_LIMBS; k++) limb[k] = d_load(s->limb[k] + h);
            const D sum = g->alone ? limb[0] : sap_total(d_load(s->unit + h), limb, d_load(s->special + h));
            d_store(total + h, d_mul(sum, d_set1(scale[q])));
        }
        for (int lane = 0; lane < g->n; lane++) out[lane * SUMS + q] = total[lane];
    }
}

static void finish_single(const struct sap_single *s, const double *scale, double *out)
{
    _Alignas(64) double total[PADDED];
    for (int h = 0; h < PADDED; h += D_LANES) {
        D limb[SAP_LIMBS];
        for (int k = 0; k < SAP_LIMBS; k++) limb[k] = d_load(s->limb[k] + h);
        d_store(total + h, s->alone ? limb[0] : sap_total(d_load(s->unit + h), limb, d_load(s->special + h)));
    }
    for (int q = 0; q < SUMS; q++) out[q] = total[q] * scale[q];
}

static struct sap_near near_of(const struct sap_near_lanes *n, int lane)
{
    struct sap_near near;
    near.best = (double)((const W *)n->best)[lane];
    near.second = (double)((const W *)n->second)[lane];
    if (near.best >= (double)W_HUGE) near.best = DBL_MAX;
    if (near.second >= (double)W_HUGE) near.second = DBL_MAX;
#if defined(SAP_KERNEL_DP)
    near.block = (int64_t)((const double *)(const void *)n->block)[lane];
#else
    near.block = ((const int32_t *)(const void *)n->block)[lane];
#endif
    return near;
}

static struct sap_near near_group(const struct sap_group *g, int lane) { return near_of(&g->near, lane); }

static struct sap_near near_single(const struct sap_single *s)
{
    struct sap_near all = {DBL_MAX, DBL_MAX, -1};
    for (int l = 0; l < LANES; l++) {
        const struct sap_near n = near_of(&s->near, l);
        const double worse = n.best < all.best ? all.best : n.best;
        if (worse < all.second) all.second = worse;
        if (n.second < all.second) all.second = n.second;
        if (n.best < all.best) all.best = n.best, all.block = n.block + l * SAP_BLOCKS;
    }
    return all;
}

#if defined(SAP_KERNEL_FAST) && SAP_SEED_BITS < 24
/* Averages over seeds of x in [1, 4), weighted by 1/x; x are spread over all phases of the steps in the seeds. */
static void seed_bias(double *first, double *third)
{
    enum { SAMPLES = 1 << 14, STEP = 0x1000000 / SAMPLES };
    double weights = 0, sum = 0, cubes = 0;
    for (int k = 0; k < SAMPLES; k += F_LANES) {
        _Alignas(64) float x[F_LANES], y[F_LANES];
        for (int l = 0; l < F_LANES; l++) {
            const int32_t bits = 0x3F800000 + (k + l) * STEP + (k + l) * 619 % STEP;
            memcpy(&x[l], &bits, sizeof bits);
        }
        f_store(y, f_rsqrt_seed(f_load(x)));
        for (int l = 0; l < F_LANES; l++) {
            const double ratio = (double)y[l] * sqrt((double)x[l]), weight = (x[l] < 2 ? 1 : 2) / (double)x[l];
            weights += weight;
            sum += weight * ratio;
            cubes += weight * (ratio * ratio * ratio);
        }
    }
    *first = sum / weights;
    *third = cubes / weights;
}
#define SAP_SEED_BIAS seed_bias
#else
#define SAP_SEED_BIAS NULL
#endif

/* Rounding errors of a distance, times two: of the operations, and of the positions. */
#if defined(SAP_KERNEL_DP)
#define SAP_R2_ERROR 0x1p-49
#define SAP_X_ERROR  0x1p-44 /* predictors may differ where large terms cancel */
#elif defined(SAP_KERNEL_DS)
#define SAP_R2_ERROR 0x1p-21
#define SAP_X_ERROR  0x1p-45
#else
#define SAP_R2_ERROR 0x1p-21
#define SAP_X_ERROR  0x1p-22
#endif

#define SAP_SCALES                                                                                                     \
    {                                                                                                                  \
        -SAP_SCALE_POT, SAP_SCALE_ACC, SAP_SCALE_ACC, SAP_SCALE_ACC, SAP_SCALE_ACC, SAP_SCALE_ACC, SAP_SCALE_ACC,      \
            SAP_SCALE_ACC, SAP_SCALE_ACC, SAP_SCALE_ACC, SAP_SCALE_ACC, SAP_SCALE_ACC, SAP_SCALE_ACC                   \
    }

#if SAP_ORDER == 4
#include "kernel_neighbour.h"
#define SAP_NEIGHBOUR_KERNELS                                                                                          \
    .row_bytes = ROW * sizeof(W), .rows_ahead = AHEAD, .predict_rows = predict_rows, .neighbour = neighbour,
#else
#define SAP_NEIGHBOUR_KERNELS
#endif

#if SAP_ORDER == 2
#include "kernel_more.h"
#define SAP_MORE_KERNEL .more = more,
#else
#define SAP_MORE_KERNEL
#endif

/* The table of this path and precision. */
#define SAP_DEFINE_KERNEL(name, few_below)                                                                             \
    extern const struct sap_kernel name;                                                                               \
    const struct sap_kernel name = {.sums = SUMS,                                                                      \
                                    .group = GROUP,                                                                    \
                                    .half = HALF_GROUP,                                                                \
                                    .tile_bytes = sizeof(W) * AT_EPS2,                                                 \
                                    .soft_bytes = sizeof(W) * TILE,                                                    \
                                    .more_bytes = SAP_MORE_HERE ? sizeof(W) * (TILE_END - AT_BOUNDS) : 0,              \
                                    .few = few_below,                                                                  \
                                    .predict = predict,                                                                \
                                    .start_group = start_group,                                                        \
                                    .start_single = start_single,                                                      \
                                    .many_i = many_i,                                                                  \
                                    .few_i = few_i,                                                                    \
                                    .largest = largest,                                                                \
                                    SAP_MORE_KERNEL SAP_NEIGHBOUR_KERNELS.finish_group = finish_group,                 \
                                    .finish_single = finish_single,                                                    \
                                    .seed_bias = SAP_SEED_BIAS,                                                        \
                                    .near_group = near_group,                                                          \
                                    .near_single = near_single,                                                        \
                                    .position = position,                                                              \
                                    .rough_r2 = rough_r2,                                                              \
                                    .sort = sort,                                                                      \
                                    .scale = SAP_SCALES,                                                               \
                                    .r2_error = SAP_R2_ERROR,                                                          \
                                    .x_error = SAP_X_ERROR}
