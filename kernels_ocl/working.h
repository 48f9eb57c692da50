/*
 * working.h - the working type of one precision (SAP_KERNEL_SP, _DS or _DP) on one kind of device.
 *
 * W is a word, V what a work-item computes with: a word on GPUs, a vector of
 * LANES words on CPUs (SAP_VECTOR).  VI is the integer of V's size, which
 * comparisons give.  A predicted j-particle is PARTS parts; those of a
 * superpacket lie as [part][1024].  On GPUs a part is 16 bytes, on CPUs a word.
 */
#ifndef SAP_WORKING_H
#define SAP_WORKING_H

#include "store.h"

#if defined(SAP_KERNEL_DS)
enum { LOW = 1 };
#else
enum { LOW = 0 };
#endif

/* ------------------------------------------------------------------ types */

#if defined(SAP_KERNEL_DP)
typedef double W;
#define NAMED(name)    name##_dp
#define W_HUGE         1.7976931348623157e308
#define SAP_COINCIDENT 0x1p-1022
#if SAP_VECTOR
typedef double8 V, VD;
typedef long8 VI;
enum { LANES = 8 };
#define v_get(p)     vload8(0, p)
#define v_put(x, p)  vstore8(x, 0, p)
#define vi_get(p)    convert_long8(vload8(0, p))
#define vi_put(x, p) vstore8(convert_int8(x), 0, p)
#define as_VI        as_long8
#define as_V         as_double8
#else
typedef double V, VD;
#endif
#define v_to_d(x) (x)
#else
typedef float W;
#if defined(SAP_KERNEL_DS)
#define NAMED(name) name##_ds
#else
#define NAMED(name) name##_sp
#endif
#define W_HUGE         3.402823466e38F
#define SAP_COINCIDENT 0x1p-126F
#if SAP_VECTOR
typedef float16 V;
typedef double16 VD;
typedef int16 VI;
enum { LANES = 16 };
#define v_get(p)     vload16(0, p)
#define v_put(x, p)  vstore16(x, 0, p)
#define vi_get(p)    vload16(0, p)
#define vi_put(x, p) vstore16(x, 0, p)
#define v_to_d       convert_double16
#define as_VI        as_int16
#define as_V         as_float16
#else
typedef float V;
typedef double VD;
#define v_to_d(x) ((double)(x))
#endif
#endif
#if !SAP_VECTOR
typedef int VI;
enum { LANES = 1 };
#define v_get(p)     (*(p))
#define v_put(x, p)  (*(p) = (x))
#define vi_get(p)    (*(p))
#define vi_put(x, p) (*(p) = (x))
#endif

/* ------------------------------------------------------------- operations */

#define v_set1(x) ((V)(W)(x))
SAP_INLINE V v_add(V a, V b) { return a + b; }
SAP_INLINE V v_sub(V a, V b) { return a - b; }
SAP_INLINE V v_mul(V a, V b) { return a * b; }
SAP_INLINE V v_fma(V a, V b, V c) { return fma(a, b, c); }
SAP_INLINE V v_fnma(V a, V b, V c) { return fma(-a, b, c); }
SAP_INLINE V v_min(V a, V b) { return a < b ? a : b; }
SAP_INLINE V v_select(VI m, V a, V b) { return m ? a : b; }

/* 1/sqrt(r2) from y, good to some bits: one third-order step, error of order (y's error)^3. */
SAP_INLINE V v_root_from(V r2, V y)
{
    const V e = v_fnma(v_mul(r2, y), y, v_set1(1.0));
    return v_fma(v_mul(y, e), v_fma(e, v_set1(0.375), v_set1(0.5)), y);
}

#if SAP_VECTOR && defined(SAP_KERNEL_DP)
/* From the exponent's half, within 3.5 %: three steps.  No instruction of its own for a seed in OpenCL C. */
SAP_INLINE V v_root(V r2)
{
    const V y = as_V((VI)0x5FE6EB50C7B537A9L - (as_VI(r2) >> 1));
    return v_root_from(r2, v_root_from(r2, v_root_from(r2, y)));
}
#elif SAP_VECTOR
SAP_INLINE V v_root(V r2)
{
    const V y = as_V((VI)0x5F375A86 - (as_VI(r2) >> 1));
    return v_root_from(r2, v_root_from(r2, y));
}
#elif defined(SAP_KERNEL_DP)
SAP_INLINE V v_root(V r2)
{
    /* outside the range of single precision the seed is made in double */
    const int inside = r2 >= 0x1p-126 && r2 < 0x1p126;
    return v_root_from(r2, inside ? (double)rsqrt((float)r2) : 1.0 / sqrt(r2));
}
#else
SAP_INLINE V v_root(V r2) { return rsqrt(r2); }
#endif

#define SAP_ROOT_SCALE 1.0

#include "physics/interaction.h"

/* -------------------------------------------------------------- particles */

/* A predicted j-particle, or LANES of them, in registers. */
struct j_words {
    V x[3], v[3], mass, low[3];
    VI index;
};

/* LANES i-particles in registers. */
struct i_words {
    V x[3], v[3], low[3], reach;
    VI index;
};

#if SAP_VECTOR

typedef W part;
typedef const __global part *tile_pointer;
typedef W *room_pointer;
#if defined(SAP_KERNEL_DS)
enum { PARTS = SAP_GPU_WORDS_DS };
#else
enum { PARTS = SAP_GPU_WORDS_SP };
#endif
#if defined(SAP_KERNEL_DP)
#define word_of_index(i) as_double((long)(i))
#define index_of_word(w) ((int)as_long(w))
#define indices_of(v)    as_long8(v)
#else
#define word_of_index(i) as_float(i)
#define index_of_word(w) as_int(w)
#define indices_of(v)    as_int16(v)
#endif

SAP_INLINE void pack(const double *x, const double *v, double mass, int index, part *p)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        p[k] = (W)x[k];
        p[4 + k] = (W)v[k];
        if (LOW) p[8 + k] = (W)(x[k] - (double)p[k]);
    }
    p[3] = (W)mass;
    p[7] = word_of_index(index);
    if (LOW) p[PARTS - 1] = 0;
}

/* The j-particle at `at`, in all lanes. */
SAP_INLINE void load_j(tile_pointer p, int pitch, int at, struct j_words *j)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        j->x[k] = (V)p[k * pitch + at];
        j->v[k] = (V)p[(4 + k) * pitch + at];
        if (LOW) j->low[k] = (V)p[(8 + k) * pitch + at];
    }
    j->mass = (V)p[3 * pitch + at];
    j->index = (VI)index_of_word(p[7 * pitch + at]);
}

/* Those from `at` on, one a lane. */
SAP_INLINE void load_lanes_j(tile_pointer p, int pitch, int at, struct j_words *j)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        j->x[k] = v_get(&p[k * pitch + at]);
        j->v[k] = v_get(&p[(4 + k) * pitch + at]);
        if (LOW) j->low[k] = v_get(&p[(8 + k) * pitch + at]);
    }
    j->mass = v_get(&p[3 * pitch + at]);
    j->index = indices_of(v_get(&p[7 * pitch + at]));
}

#else

typedef __local W *room_pointer;

#if defined(SAP_KERNEL_DP)

typedef double2 part;
typedef const __local part *tile_pointer;
enum { PARTS = 4 };

SAP_INLINE void pack(const double *x, const double *v, double mass, int index, part *p)
{
    p[0] = (part)(x[0], x[1]), p[1] = (part)(x[2], mass);
    p[2] = (part)(v[0], v[1]), p[3] = (part)(v[2], as_double((long)index));
}

SAP_INLINE void load_j(tile_pointer p, int pitch, int at, struct j_words *j)
{
    const part a = p[at], b = p[pitch + at], c = p[2 * pitch + at], d = p[3 * pitch + at];
    j->x[0] = a.x, j->x[1] = a.y, j->x[2] = b.x, j->mass = b.y;
    j->v[0] = c.x, j->v[1] = c.y, j->v[2] = d.x, j->index = (int)as_long(d.y);
}

#else

typedef float4 part;
typedef const __local part *tile_pointer;
enum { PARTS = 2 + LOW };

SAP_INLINE void pack(const double *x, const double *v, double mass, int index, part *p)
{
    p[0] = (part)((float)x[0], (float)x[1], (float)x[2], (float)mass);
    p[1] = (part)((float)v[0], (float)v[1], (float)v[2], as_float(index));
    if (LOW)
        p[PARTS - 1] = (part)((float)(x[0] - (double)p[0].x), (float)(x[1] - (double)p[0].y),
                              (float)(x[2] - (double)p[0].z), 0.0F);
}

SAP_INLINE void load_j(tile_pointer p, int pitch, int at, struct j_words *j)
{
    const part a = p[at], b = p[pitch + at], c = p[(PARTS - 1) * pitch + at];
    j->x[0] = a.x, j->x[1] = a.y, j->x[2] = a.z, j->mass = a.w;
    j->v[0] = b.x, j->v[1] = b.y, j->v[2] = b.z, j->index = as_int(b.w);
    if (LOW) j->low[0] = c.x, j->low[1] = c.y, j->low[2] = c.z;
}

#endif
#define load_lanes_j load_j
#endif

/* i-particles row, row + step, ...: one a lane.  Rows beyond the last are the last. */
SAP_INLINE void load_i(const __global struct sap_gpu_i *all, const struct sap_gpu_force *f, int row, int step,
                       struct i_words *i)
{
    W x[3][LANES], v[3][LANES], low[3][LANES], reach[LANES];
    int index[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        const struct sap_gpu_i from = i_particle(all, f, min(row + lane * step, f->ni - 1));
#pragma unroll
        for (int k = 0; k < 3; k++) {
            x[k][lane] = (W)from.x[k];
            v[k][lane] = (W)from.v[k];
            low[k][lane] = (W)(from.x[k] - (double)x[k][lane]);
        }
        reach[lane] = from.reach;
        index[lane] = from.index;
    }
#pragma unroll
    for (int k = 0; k < 3; k++) {
        i->x[k] = v_get(x[k]);
        i->v[k] = v_get(v[k]);
        i->low[k] = v_get(low[k]);
    }
    i->reach = v_get(reach);
    i->index = vi_get(index);
}

/* The working form of local address a of superpacket sp; an empty slot where nobody takes part. */
SAP_INLINE void predict_one(const __global double *store, const struct sap_gpu_force *f, int sp, int a, part *p)
{
    double x[3] = {SAP_EMPTY_X, SAP_EMPTY_X, SAP_EMPTY_X}, v[3] = {0, 0, 0}, mass = 0;
    int index = 0;
    if (takes_part(store, f, sp, a)) {
        predict_position(store, f, sp, a, x, v);
        mass = store_at(store, sp, a)[SAP_GPU_MASS * SAP_GPU_SUPERPACKET];
        index = tag_at(store, sp, 0, a);
    }
    pack(x, v, mass, index, p);
}

#endif
