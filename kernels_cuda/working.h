/*
 * working.h - the working type of one precision: SAP_KERNEL_SP, _DS or _DP.
 *
 * A predicted j-particle is PARTS parts of 16 bytes; those of a superpacket lie
 * as [part][1024], so that neighbouring threads read neighbouring parts.
 */
#ifndef SAP_WORKING_H
#define SAP_WORKING_H

#include "ops_cuda.h"

#include "arithmetic.h"
#include "physics/gpu_layout.h"

#if defined(SAP_KERNEL_DP)

typedef D V;
typedef double2 part;
enum { PARTS = 4, LOW = 0, ROOT_OF_INFINITY = 0 };
#define NAMED(name)    name##_dp
#define V_HUGE         1.7976931348623157e308
#define V_INFINITY     __longlong_as_double(0x7FF0000000000000)
#define SAP_COINCIDENT 0x1p-1022
#define v_set1         d_set1
#define v_add          d_add
#define v_sub          d_sub
#define v_mul          d_mul
#define v_fma          d_fma
#define v_fnma         d_fnma
#define v_min          d_min
#define v_max          d_max

/* One third-order step from the seed: an error of the order of the seed's error cubed. */
SAP_INLINE V v_root(V r2)
{
    const V y = d_rsqrt_seed(r2);
    const V e = d_fnma(d_mul(r2, y), y, 1.0);
    return d_fma(d_mul(y, e), d_fma(e, 0.375, 0.5), y);
}

#else

typedef F V;
typedef float4 part;
#if defined(SAP_KERNEL_DS)
enum { PARTS = 3, LOW = 1, ROOT_OF_INFINITY = 1 };
#define NAMED(name) name##_ds
#else
enum { PARTS = 2, LOW = 0, ROOT_OF_INFINITY = 1 };
#define NAMED(name) name##_sp
#endif
#define V_HUGE         3.402823466e38F
#define V_INFINITY     __int_as_float(0x7F800000)
#define SAP_COINCIDENT 0x1p-126F
SAP_INLINE F v_set1(double x) { return (F)x; }
#define v_add          f_add
#define v_sub          f_sub
#define v_mul          f_mul
#define v_fma          f_fma
#define v_fnma         f_fnma
#define v_min          f_min
#define v_max          f_max
#define v_root         f_rsqrt

#endif

#define SAP_ROOT_SCALE 1.0

#include "physics/interaction.h"

/* A predicted j-particle in registers. */
struct j_words {
    V x[3], v[3], mass, low[3];
    int index;
};

/* An i-particle in registers. */
struct i_words {
    V x[3], v[3], low[3], reach;
    int index;
};

#if defined(SAP_KERNEL_DP)
SAP_INLINE void unpack(const part *p, j_words *j)
{
    j->x[0] = p[0].x, j->x[1] = p[0].y, j->x[2] = p[1].x, j->mass = p[1].y;
    j->v[0] = p[2].x, j->v[1] = p[2].y, j->v[2] = p[3].x, j->index = __double2loint(p[3].y);
}
SAP_INLINE void pack(const double *x, const double *v, double mass, int index, part *p)
{
    p[0] = make_double2(x[0], x[1]), p[1] = make_double2(x[2], mass);
    p[2] = make_double2(v[0], v[1]), p[3] = make_double2(v[2], __hiloint2double(0, index));
}
#else
SAP_INLINE void unpack(const part *p, j_words *j)
{
    j->x[0] = p[0].x, j->x[1] = p[0].y, j->x[2] = p[0].z, j->mass = p[0].w;
    j->v[0] = p[1].x, j->v[1] = p[1].y, j->v[2] = p[1].z, j->index = __float_as_int(p[1].w);
    if (LOW) j->low[0] = p[PARTS - 1].x, j->low[1] = p[PARTS - 1].y, j->low[2] = p[PARTS - 1].z;
}
SAP_INLINE void pack(const double *x, const double *v, double mass, int index, part *p)
{
    float h[3];
    for (int k = 0; k < 3; k++) h[k] = (float)x[k];
    p[0] = make_float4(h[0], h[1], h[2], (float)mass);
    p[1] = make_float4((float)v[0], (float)v[1], (float)v[2], __int_as_float(index));
    if (LOW) p[PARTS - 1] = make_float4((float)(x[0] - h[0]), (float)(x[1] - h[1]), (float)(x[2] - h[2]), 0.0F);
}
#endif

SAP_INLINE void load_i(const sap_gpu_i &from, i_words *i)
{
    for (int k = 0; k < 3; k++) {
        const double x = from.x[k];
        i->x[k] = (V)x;
        if (LOW) i->low[k] = (V)(x - (double)i->x[k]);
        i->v[k] = (V)from.v[k];
    }
    i->index = from.index;
    i->reach = from.reach;
}

#endif
