/*
 * working.h - particles in the working type of one precision (SAP_KERNEL_SP, _DS or _DP) and of one order
 * (SAP_KERNEL_ORDER, 4 by default); SAP_KERNEL_SOFT is 1 in orders 4 to 8 where particles have softening lengths.
 *
 * words.h of the dialect defines the type: V is a word, or a vector of LANES words (SAP_VECTORS).  A predicted
 * j-particle is PARTS parts.  The parts of a superpacket lie as [part][1024], so that neighbouring threads read
 * neighbouring parts. A part is 16 bytes, or with vectors a word.
 */
#ifndef SAP_DEVICE_WORKING_H
#define SAP_DEVICE_WORKING_H

#include "device/store.h"
#include "words.h"

#ifndef SAP_KERNEL_ORDER
#define SAP_KERNEL_ORDER 4
#endif
#ifndef SAP_KERNEL_SOFT
#define SAP_KERNEL_SOFT 0
#endif

#if defined(SAP_KERNEL_DP)
enum { LOW = 0 };
#define SAP_COINCIDENT 0x1p-1022
#elif defined(SAP_KERNEL_DS)
enum { LOW = 1 };
#define SAP_COINCIDENT 0x1p-126F
#else
enum { LOW = 0 };
#define SAP_COINCIDENT 0x1p-126F
#endif

/* Names of kernels end with the precision; before it are orders other than 4, and whether particles have lengths. */
#define SAP_JOIN(a, b)      a##b
#define SAP_JOINED(a, b)    SAP_JOIN(a, b)
#define SAP_NAME_OF_ORDER_2 _order2
#define SAP_NAME_OF_ORDER_4
#define SAP_NAME_OF_ORDER_6 _order6
#define SAP_NAME_OF_ORDER_8 _order8
#define SAP_ORDER_NAME      SAP_JOINED(SAP_NAME_OF_ORDER_, SAP_KERNEL_ORDER)
#define SAP_NAME_OF_SOFT_0
#define SAP_NAME_OF_SOFT_1 _soft
#define SAP_SOFT_NAME      SAP_JOINED(SAP_NAME_OF_SOFT_, SAP_KERNEL_SOFT)
#define SAP_KIND_NAME      SAP_JOINED(SAP_ORDER_NAME, SAP_SOFT_NAME)
#if defined(SAP_KERNEL_DP)
#define NAMED(name) SAP_JOINED(SAP_JOINED(name, SAP_KIND_NAME), _dp)
#elif defined(SAP_KERNEL_DS)
#define NAMED(name) SAP_JOINED(SAP_JOINED(name, SAP_KIND_NAME), _ds)
#else
#define NAMED(name) SAP_JOINED(SAP_JOINED(name, SAP_KIND_NAME), _sp)
#endif

/*
 * Positions of the words of a predicted j-particle.  Position and mass come first; in order 2, which has no velocities,
 * words that every pair needs come before words that only some pairs need.  AT_ of a word that does not exist is 0.
 * HIGHER: number of derivatives that pairs need.
 */
#if SAP_KERNEL_ORDER == 2
enum {
    HIGHER = 0,
    AT_MASS = 3,
    AT_LOW = LOW ? 4 : 0,
    AT_V = 0,
    AT_INDEX = 4 + 3 * LOW,
    AT_EPS2 = SAP_GPU_AT_EPS2(LOW), /* its own squared softening */
    WORDS_PLAIN = 4 + 3 * LOW
};
#else
enum {
    HIGHER = SAP_KERNEL_ORDER / 2 - 1,
    AT_MASS = 3,
    AT_V = 4,
    AT_INDEX = 7, /* between the velocity and the further derivatives */
    AT_LOW = LOW ? 5 + 3 * HIGHER : 0,
    WORDS_PLAIN = 5 + 3 * HIGHER + 3 * LOW,
    AT_EPS2 = SAP_KERNEL_SOFT ? WORDS_PLAIN : 0 /* its own squared softening, behind all others */
};
#endif
enum {
    DERIVED = HIGHER > 0 ? 3 * HIGHER : 3,
    MOVES = HIGHER > 0,
    UNITS = SAP_GPU_UNITS(SAP_KERNEL_ORDER, SAP_KERNEL_SOFT)
};
enum {
    IN_PART = sizeof(part) / sizeof(W),
    WORDS = SAP_GPU_WORDS(SAP_KERNEL_ORDER, LOW, sizeof(W), SAP_KERNEL_SOFT),
    PARTS = WORDS / IN_PART,
    PARTS_PLAIN = (WORDS_PLAIN + IN_PART - 1) / IN_PART, /* parts that hold what every pair needs */
    PARTS_INDEX = (AT_INDEX + 1 + IN_PART - 1) / IN_PART /* parts up to the index */
};

#define SAP_ROOT_SCALE 1.0

#include "physics/interaction.h"

/* A predicted j-particle, or LANES of them, in registers; v: the velocity and further derivatives. */
struct j_words {
    V x[3], v[DERIVED], mass, low[3], eps2;
    VI index;
};

/* LANES i-particles in registers. */
struct i_words {
    V x[3], v[DERIVED], low[3], reach, eps2;
    VI index;
};

/*
 * The sphere of candidates of LANES i-particles, in regular forces (device/gpu_layout.h).  reach is negative; twice and
 * halved: twice and half the time ahead; shrink: factor on the squared distance.
 */
struct sphere {
    V reach, weight, twice, halved, shrink;
};

/* Returns the position of component k of the velocity and the further derivatives. */
SAP_INLINE int at_derived(int k) { return k < 3 ? AT_V + k : AT_INDEX + 1 + k - 3; }

/* ------------------------------------------------------------ j-particles */

#if SAP_VECTORS
SAP_INLINE part part_of(const W *w) { return w[0]; }
#elif defined(SAP_KERNEL_DP)
SAP_INLINE part part_of(const W *w) { return make_double2(w[0], w[1]); }
SAP_INLINE void words_of(part p, W *w) { w[0] = p.x, w[1] = p.y; }
#else
SAP_INLINE part part_of(const W *w) { return make_float4(w[0], w[1], w[2], w[3]); }
SAP_INLINE void words_of(part p, W *w) { w[0] = p.x, w[1] = p.y, w[2] = p.z, w[3] = p.w; }
#endif

/* Converts a particle to its working form; eps2: its own squared softening, where kernels have it. */
SAP_INLINE void pack(const D *x, const D *v, D mass, int index, D eps2, part *p)
{
    W w[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; k++) w[k] = 0;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        w[k] = w_of_d(x[k]);
        if (LOW) w[AT_LOW + k] = w_of_d(d_sub(x[k], d_of_w(w[k])));
    }
#pragma unroll
    for (int k = 0; k < 3 * HIGHER; k++) w[at_derived(k)] = w_of_d(v[k]);
    w[AT_MASS] = w_of_d(mass);
    w[AT_INDEX] = word_of_index(index);
    if (AT_EPS2 > 0) w[AT_EPS2] = w_of_d(eps2);
#pragma unroll
    for (int k = 0; k < PARTS; k++) p[k] = part_of(w + k * IN_PART);
}

/* Takes all members but the index from the words of so many parts. */
SAP_INLINE void take_words(int parts, const V *w, struct j_words *j)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        j->x[k] = w[k];
        if (LOW) j->low[k] = w[AT_LOW + k];
    }
#pragma unroll
    for (int k = 0; k < 3 * HIGHER; k++) j->v[k] = w[at_derived(k)];
    j->mass = w[AT_MASS];
    if (AT_EPS2 > 0 && parts * IN_PART > AT_EPS2) j->eps2 = w[AT_EPS2];
}

/*
 * load_j reads the first `parts` parts of the j-particle at `at` into all lanes; load_lanes_j reads the j-particles
 * from `at` on, one per lane.  `parts` is a constant: the index is read if the parts hold it.
 */
#if SAP_VECTORS

typedef const GLOBAL part *tile_pointer, *few_pointer;

SAP_INLINE void load_j(int parts, tile_pointer p, int pitch, int at, struct j_words *j)
{
    V w[WORDS];
#pragma unroll
    for (int k = 0; k < parts; k++) w[k] = v_word(p[k * pitch + at]);
    take_words(parts, w, j);
    if (parts > AT_INDEX) j->index = vi_set1(index_of_word(p[AT_INDEX * pitch + at]));
}

SAP_INLINE void load_lanes_j(int parts, tile_pointer p, int pitch, int at, struct j_words *j)
{
    V w[WORDS];
#pragma unroll
    for (int k = 0; k < parts; k++) w[k] = v_get(&p[k * pitch + at]);
    take_words(parts, w, j);
    if (parts > AT_INDEX) j->index = indices_of(w[AT_INDEX]);
}

#else

typedef const LOCAL part *tile_pointer;

#define SAP_LOAD_J(name, pointer)                                                                                      \
    SAP_INLINE void name(int parts, pointer p, int pitch, int at, struct j_words *j)                                   \
    {                                                                                                                  \
        W w[WORDS];                                                                                                    \
        for (int k = 0; k < parts; k++) words_of(p[k * pitch + at], w + k * IN_PART); /* unrolled, it is so short */   \
        take_words(parts, w, j);                                                                                       \
        if (parts >= PARTS_INDEX) j->index = index_of_word(w[AT_INDEX]);                                               \
    }

SAP_LOAD_J(load_j, tile_pointer)
#if SAP_FEW_STAGED
typedef tile_pointer few_pointer;
#define load_lanes_j load_j
#else
typedef const GLOBAL part *few_pointer;
SAP_LOAD_J(load_lanes_j, few_pointer)
#endif
#endif

/* Sets the numbers of an empty slot. */
SAP_INLINE void empty_slot(D *x, D *v, D *mass)
{
#pragma unroll
    for (int k = 0; k < 3; k++) x[k] = d_set1(SAP_EMPTY_X);
#pragma unroll
    for (int k = 0; k < DERIVED; k++) v[k] = d_set1(SAP_ZERO);
    *mass = d_set1(SAP_ZERO);
}

/*
 * Returns the mass of a j-particle, or NaN if its position is not finite: 1/sqrt of an infinite distance is +0, so the
 * potential would hide such a position.
 */
SAP_INLINE D telling_mass(D mass, const D *x)
{
#pragma unroll
    for (int k = 0; k < 3; k++) mass = d_add(mass, d_sub(x[k], x[k]));
    return mass;
}

/* Predicts the particle at local address a of superpacket sp. */
SAP_INLINE void predict_there(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, D *x, D *v, D *mass,
                              D *eps2, int *index)
{
    const GLOBAL D *at = store_at(store, f->columns, sp, a);
#if SAP_KERNEL_ORDER == 2
    stored_position(at, x);
#elif SAP_KERNEL_ORDER == 4
    predict_position(store, f, sp, a, x, v);
#else
    predict_derivatives(SAP_KERNEL_ORDER - 1, HIGHER + 1, at, d_sub(f->time, at[SAP_GPU_TIME * SAP_GPU_SUPERPACKET]), x,
                        v);
#endif
    *mass = telling_mass(at[SAP_GPU_MASS * SAP_GPU_SUPERPACKET], x);
    if (AT_EPS2 > 0) *eps2 = at[SAP_GPU_EPS2_OF(SAP_KERNEL_ORDER) * SAP_GPU_SUPERPACKET];
    *index = tag_at(store, f->columns, sp, 0, a);
}

/* The same, in its working form; an empty slot where no particle takes part. */
SAP_INLINE void predict_one(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, part *p)
{
    D x[3], v[DERIVED], mass, eps2 = d_set1(SAP_ZERO);
    int index = 0;
    empty_slot(x, v, &mass);
    if (takes_part(store, f, sp, a)) predict_there(store, f, sp, a, x, v, &mass, &eps2, &index);
    pack(x, v, mass, index, eps2, p);
}

/* ------------------------------------------------------------ i-particles */

/*
 * v_of_i returns a word of the velocity, or of what order 2 stores in its place; low_of_i what the first word leaves of
 * a coordinate.
 */
#ifdef SAP_BITS
SAP_INLINE W v_of_i(const struct sap_gpu_i *i, int k) { return i->split.v[k]; }
SAP_INLINE W low_of_i(const struct sap_gpu_i *i, int k, W high) { return i->split.low[k]; }
#else
SAP_INLINE W v_of_i(const struct sap_gpu_i *i, int k) { return w_of_d(i->v[k]); }
SAP_INLINE W low_of_i(const struct sap_gpu_i *i, int k, W high) { return w_of_d(d_sub(i->x[k], d_of_w(high))); }
#endif

SAP_INLINE struct sap_gpu_i i_of_row(int inlined, const GLOBAL struct sap_gpu_i *all, const struct sap_gpu_force *f,
                                     int units, int row, int unit)
{
    return inlined ? i_unit(all, f, units, row, unit) : all[(f->first_i + row) * units + unit];
}

/*
 * Loads the i-particles row, row + step, ..., one per lane; rows beyond the last repeat the last.  inlined, a constant:
 * whether they may lie in the arguments of the launch; units, a constant: units per i-particle.
 */
SAP_INLINE void load_i(int inlined, int units, const GLOBAL struct sap_gpu_i *all, const struct sap_gpu_force *f,
                       int row, int step, struct i_words *i)
{
    W x[3][LANES], v[DERIVED][LANES], low[3][LANES], reach[LANES], eps2[LANES];
    int index[LANES];
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) {
        const int at = min(row + lane * step, f->ni - 1);
        const struct sap_gpu_i from = i_of_row(inlined, all, f, units, at, 0);
#pragma unroll
        for (int k = 0; k < 3; k++) {
            x[k][lane] = w_of_d(from.x[k]);
            v[k][lane] = MOVES ? v_of_i(&from, k) : 0;
            low[k][lane] = LOW ? low_of_i(&from, k, x[k][lane]) : 0;
        }
        reach[lane] = from.reach;
        eps2[lane] = MOVES ? 0 : v_of_i(&from, SAP_GPU_I_EPS2);
        index[lane] = from.index;
#if SAP_KERNEL_ORDER > 4 || SAP_KERNEL_SOFT
        const struct sap_gpu_i more = i_of_row(inlined, all, f, units, at, 1);
#pragma unroll
        for (int k = 0; k < 3; k++) {
            if (HIGHER > 1) v[(3 + k) % DERIVED][lane] = w_of_d(more.x[k]);
            if (HIGHER > 2) v[(6 + k) % DERIVED][lane] = v_of_i(&more, k);
        }
        eps2[lane] = w_of_d(more.h2);
#endif
    }
#pragma unroll
    for (int k = 0; k < 3; k++) {
        i->x[k] = v_get(x[k]);
        i->low[k] = v_get(low[k]);
    }
#pragma unroll
    for (int k = 0; k < DERIVED; k++) i->v[k] = v_get(v[k]);
    i->reach = v_get(reach);
    i->eps2 = v_get(eps2);
    i->index = vi_get(index);
}

#if SAP_KERNEL_ORDER == 4
/*
 * Loads the spheres of the same rows.  Two errors grow with the distance now and matter for particles that come from
 * far away: the error of the separation, and the error of the squared distance at the time ahead, whose terms nearly
 * cancel (some 32 roundings of the square).  A fraction of the squared distance covers these errors; the margin of
 * lib/gpu/gpu_input.c covers all others.
 */
SAP_INLINE void load_sphere(const GLOBAL struct sap_gpu_i *all, const struct sap_gpu_force *f, int row, int step,
                            struct sphere *s)
{
    W reach[LANES], weight[LANES], ahead[LANES];
    const W error = w_of_d(f->r2_error) + w_of_d(f->x_error);
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) {
        const struct sap_gpu_i more = i_of_row(0, all, f, SAP_GPU_UNITS_OUTSIDE, min(row + lane * step, f->ni - 1), 1);
        reach[lane] = v_of_i(&more, SAP_GPU_I_REACH);
        weight[lane] = v_of_i(&more, SAP_GPU_I_WEIGHT);
        ahead[lane] = v_of_i(&more, SAP_GPU_I_AHEAD);
    }
    s->reach = v_sub(v_set1(0.0), v_get(reach));
    s->weight = v_get(weight);
    s->twice = v_add(v_get(ahead), v_get(ahead));
    s->halved = v_mul(v_get(ahead), v_set1(0.5));
    s->shrink = v_set1(1 - 4 * w_of_d(f->r2_error) - (W)0x1p17F * error * error);
}
#endif

#endif
