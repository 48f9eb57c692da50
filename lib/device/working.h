/*
 * working.h - particles in the working type of one precision: SAP_KERNEL_SP, _DS or _DP.
 *
 * words.h of the dialect has the type: V is a word, or a vector of LANES words
 * (SAP_VECTORS).  A predicted j-particle is PARTS parts; those of a superpacket
 * lie as [part][1024], so that neighbouring threads read neighbouring parts.
 * A part is 16 bytes, or with vectors a word.
 */
#ifndef SAP_DEVICE_WORKING_H
#define SAP_DEVICE_WORKING_H

#include "device/store.h"
#include "words.h"

#if defined(SAP_KERNEL_DP)
enum { LOW = 0, WORDS = 8 };
#define NAMED(name)    name##_dp
#define SAP_COINCIDENT 0x1p-1022
#elif defined(SAP_KERNEL_DS)
enum { LOW = 1, WORDS = SAP_GPU_WORDS_DS };
#define NAMED(name)    name##_ds
#define SAP_COINCIDENT 0x1p-126F
#else
enum { LOW = 0, WORDS = SAP_GPU_WORDS_SP };
#define NAMED(name)    name##_sp
#define SAP_COINCIDENT 0x1p-126F
#endif
enum { PARTS = WORDS * sizeof(W) / sizeof(part) };

#define SAP_ROOT_SCALE 1.0

#include "physics/interaction.h"

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

/* ------------------------------------------------------------ j-particles */

#if SAP_VECTORS

typedef const GLOBAL part *tile_pointer, *few_pointer;

SAP_INLINE void pack(const D *x, const D *v, D mass, int index, part *p)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        p[k] = w_of_d(x[k]);
        p[4 + k] = w_of_d(v[k]);
        if (LOW) p[8 + k] = w_of_d(d_sub(x[k], d_of_w(p[k])));
    }
    p[3] = w_of_d(mass);
    p[7] = word_of_index(index);
    if (LOW) p[PARTS - 1] = 0;
}

/* The j-particle at `at`, in all lanes. */
SAP_INLINE void load_j(tile_pointer p, int pitch, int at, struct j_words *j)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        j->x[k] = v_word(p[k * pitch + at]);
        j->v[k] = v_word(p[(4 + k) * pitch + at]);
        if (LOW) j->low[k] = v_word(p[(8 + k) * pitch + at]);
    }
    j->mass = v_word(p[3 * pitch + at]);
    j->index = vi_set1(index_of_word(p[7 * pitch + at]));
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

typedef const LOCAL part *tile_pointer;

#if defined(SAP_KERNEL_DP)

SAP_INLINE void pack(const D *x, const D *v, D mass, int index, part *p)
{
    p[0] = make_double2(x[0], x[1]);
    p[1] = make_double2(x[2], mass);
    p[2] = make_double2(v[0], v[1]);
    p[3] = make_double2(v[2], word_of_index(index));
}

#define SAP_LOAD_J(name, pointer)                                                                                      \
    SAP_INLINE void name(pointer p, int pitch, int at, struct j_words *j)                                              \
    {                                                                                                                  \
        const part a = p[at], b = p[pitch + at], c = p[2 * pitch + at], d = p[3 * pitch + at];                         \
        j->x[0] = a.x, j->x[1] = a.y, j->x[2] = b.x, j->mass = b.y;                                                    \
        j->v[0] = c.x, j->v[1] = c.y, j->v[2] = d.x, j->index = index_of_word(d.y);                                    \
    }

#else

SAP_INLINE void pack(const D *x, const D *v, D mass, int index, part *p)
{
    W h[3];
    for (int k = 0; k < 3; k++) h[k] = w_of_d(x[k]);
    p[0] = make_float4(h[0], h[1], h[2], w_of_d(mass));
    p[1] = make_float4(w_of_d(v[0]), w_of_d(v[1]), w_of_d(v[2]), word_of_index(index));
    if (LOW)
        p[PARTS - 1] = make_float4(w_of_d(d_sub(x[0], d_of_w(h[0]))), w_of_d(d_sub(x[1], d_of_w(h[1]))),
                                   w_of_d(d_sub(x[2], d_of_w(h[2]))), 0.0F);
}

#define SAP_LOAD_J(name, pointer)                                                                                      \
    SAP_INLINE void name(pointer p, int pitch, int at, struct j_words *j)                                              \
    {                                                                                                                  \
        const part a = p[at], b = p[pitch + at], c = p[(PARTS - 1) * pitch + at];                                      \
        j->x[0] = a.x, j->x[1] = a.y, j->x[2] = a.z, j->mass = a.w;                                                    \
        j->v[0] = b.x, j->v[1] = b.y, j->v[2] = b.z, j->index = index_of_word(b.w);                                    \
        if (LOW) j->low[0] = c.x, j->low[1] = c.y, j->low[2] = c.z;                                                    \
    }

#endif
SAP_LOAD_J(load_j, tile_pointer)
#if SAP_FEW_STAGED
typedef tile_pointer few_pointer;
#define load_lanes_j load_j
#else
typedef const GLOBAL part *few_pointer;
SAP_LOAD_J(load_lanes_j, few_pointer)
#endif
#endif

/* The working form of local address a of superpacket sp; an empty slot where nobody takes part. */
SAP_INLINE void predict_one(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, part *p)
{
    D x[3], v[3], mass = d_set1(SAP_ZERO);
    int index = 0;
#pragma unroll
    for (int k = 0; k < 3; k++) x[k] = d_set1(SAP_EMPTY_X), v[k] = d_set1(SAP_ZERO);
    if (takes_part(store, f, sp, a)) {
        predict_position(store, f, sp, a, x, v);
        mass = store_at(store, sp, a)[SAP_GPU_MASS * SAP_GPU_SUPERPACKET];
        index = tag_at(store, sp, 0, a);
    }
    pack(x, v, mass, index, p);
}

/* ------------------------------------------------------------ i-particles */

/*
 * i-particles row, row + step, ...: one a lane.  Rows beyond the last are the last.  inlined, a constant: whether they
 * may have travelled with the launch.
 */
SAP_INLINE void load_i(int inlined, const GLOBAL struct sap_gpu_i *all, const struct sap_gpu_force *f, int row,
                       int step, struct i_words *i)
{
    W x[3][LANES], v[3][LANES], low[3][LANES], reach[LANES];
    int index[LANES];
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) {
        const int at = min(row + lane * step, f->ni - 1);
        const struct sap_gpu_i from = inlined ? i_particle(all, f, at) : all[f->first_i + at];
#pragma unroll
        for (int k = 0; k < 3; k++) {
            x[k][lane] = w_of_d(from.x[k]);
            v[k][lane] = w_of_d(from.v[k]);
            low[k][lane] = LOW ? w_of_d(d_sub(from.x[k], d_of_w(x[k][lane]))) : 0;
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

#endif
