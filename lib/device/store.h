/*
 * store.h - the j-store of a device (device/gpu_layout.h), and canonical prediction and distance.
 *
 * The kernel sources of lib/device are written once, in what CUDA's C++ and OpenCL C have in common; dialect.h
 * (kernels_cuda, kernels_ocl) supplies the rest.
 */
#ifndef SAP_DEVICE_STORE_H
#define SAP_DEVICE_STORE_H

#include "dialect.h"

#include "device/gpu_layout.h"
#include "physics/arithmetic.h"
#include "physics/predictor.h"

/* Returns the address of the first column of local address a of superpacket sp, in a store of so many columns. */
SAP_INLINE const GLOBAL D *store_at(const GLOBAL D *store, int columns, int sp, int a)
{
    return store + (size_t)sp * (columns * SAP_GPU_SUPERPACKET) + a;
}

/* Returns a tag of a slot: the index (which 0), or address + 1, 0 if the slot is empty (which 1). */
SAP_INLINE int tag_at(const GLOBAL D *store, int columns, int sp, int which, int a)
{
    const GLOBAL int *tags = (const GLOBAL int *)(store_at(store, columns, sp, 0) + SAP_GPU_TAGS * SAP_GPU_SUPERPACKET);
    return tags[which * SAP_GPU_SUPERPACKET + a];
}

/* Returns 1 if the slot holds a particle that takes part in the force. */
SAP_INLINE int takes_part(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a)
{
    const int place = tag_at(store, f->columns, sp, 1, a);
    return place > 0 && place <= f->nj;
}

/*
 * Returns a unit of the i-particle of a row, which has `units` units.  inline_i is read at constant positions, so that
 * it stays in the arguments of the launch.
 */
SAP_INLINE struct sap_gpu_i i_unit(const GLOBAL struct sap_gpu_i *all, const struct sap_gpu_force *f, int units,
                                   int row, int unit)
{
    const int at = row * units + unit;
    if (!f->inlined) return all[f->first_i * units + at];
    if (at == 0) return f->inline_i[0];
    if (at == 1) return f->inline_i[1];
    return at == 2 ? f->inline_i[2] : f->inline_i[3];
}

SAP_INLINE struct sap_gpu_i i_particle(const GLOBAL struct sap_gpu_i *all, const struct sap_gpu_force *f, int row)
{
    return i_unit(all, f, f->units, row, 0);
}

SAP_INLINE void predict_terms(int terms, const GLOBAL D *at, D dt, D *x, D *v)
{
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        D c[5];
#pragma unroll
        for (int k = 0; k <= terms; k++) c[k] = at[(k * 3 + axis) * SAP_GPU_SUPERPACKET];
        sap_predict(terms, c, dt, &x[axis], &v[axis]);
    }
}

/* Predicts x, and n - 1 derivatives one after the other in v, for orders 6 and 8. */
SAP_INLINE void predict_derivatives(int terms, int n, const GLOBAL D *at, D dt, D *x, D *v)
{
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        D c[8], to[4];
#pragma unroll
        for (int k = 0; k <= terms; k++) c[k] = at[SAP_GPU_COLUMN(k, axis) * SAP_GPU_SUPERPACKET];
        sap_predict_full(terms, n, c, dt, to);
        x[axis] = to[0];
#pragma unroll
        for (int k = 1; k < n; k++) v[3 * (k - 1) + axis] = to[k];
    }
}

/* Returns the stored position of a particle. */
SAP_INLINE void stored_position(const GLOBAL D *at, D *x)
{
#pragma unroll
    for (int axis = 0; axis < 3; axis++) x[axis] = at[axis * SAP_GPU_SUPERPACKET];
}

/*
 * Predicts position and velocity of a stored particle at the time of the force, up to order 4.  The prediction is
 * canonical: it has the same bits on every engine.  In order 2 (no terms) particles do not move, and v is not set.
 */
SAP_INLINE void predict_position(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, D *x, D *v)
{
    const GLOBAL D *at = store_at(store, f->columns, sp, a);
    const D dt = d_sub(f->time, at[SAP_GPU_TIME * SAP_GPU_SUPERPACKET]);
    switch (f->terms) {
    case 0:
        stored_position(at, x);
        return;
    case 1:
        predict_terms(1, at, dt, x, v);
        return;
    case 2:
        predict_terms(2, at, dt, x, v);
        return;
    case 3:
        predict_terms(3, at, dt, x, v);
        return;
    default:
        predict_terms(4, at, dt, x, v);
    }
}

/* Predicts the position of a stored particle, in any order. */
SAP_INLINE void canonical_position(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, D *x)
{
    D v[3];
    const GLOBAL D *at = store_at(store, f->columns, sp, a);
    const D dt = d_sub(f->time, at[SAP_GPU_TIME * SAP_GPU_SUPERPACKET]);
    if (f->terms == 5)
        predict_derivatives(5, 1, at, dt, x, v);
    else if (f->terms == 7)
        predict_derivatives(7, 1, at, dt, x, v);
    else
        predict_position(store, f, sp, a, x, v);
}

/* Returns the squared distance of a stored particle from a position: canonical (lib/engine/canonical.h). */
SAP_INLINE D canonical_r2(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, const D *from)
{
    D x[3], r2 = d_set1(SAP_ZERO);
    canonical_position(store, f, sp, a, x);
#pragma unroll
    for (int k = 0; k < 3; k++) r2 = d_add(r2, d_mul(d_sub(x[k], from[k]), d_sub(x[k], from[k])));
    return r2;
}

/* Returns the smaller of the squared distances now and dt later, on straight lines: canonical too. */
SAP_INLINE D canonical_r2_ahead(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, const D *from,
                                const D *from_v, D dt)
{
    D x[3], v[3], now = d_set1(SAP_ZERO), later = now;
    predict_position(store, f, sp, a, x, v);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const D r = d_sub(x[k], from[k]), moved = d_add(r, d_mul(dt, d_sub(v[k], from_v[k])));
        now = d_add(now, d_mul(r, r));
        later = d_add(later, d_mul(moved, moved));
    }
    return d_select(d_gt(now, later), later, now);
}

/* Returns 1 if a slot holds a particle that can be a neighbour of the i-particle of index `own`. */
SAP_INLINE int eligible(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, int own)
{
    return takes_part(store, f, sp, a) && (!f->skip_own || tag_at(store, f->columns, sp, 0, a) != own);
}

#endif
