/*
 * store.h - the j-store of a device (physics/gpu_layout.h), and canonical prediction and distance.
 *
 * The texts of lib/device are written once, in what CUDA's C++ and OpenCL C
 * have in common; dialect.h (kernels_cuda, kernels_ocl) supplies the rest.
 */
#ifndef SAP_DEVICE_STORE_H
#define SAP_DEVICE_STORE_H

#include "dialect.h"

#include "arithmetic.h"
#include "physics/gpu_layout.h"
#include "physics/predictor.h"

SAP_INLINE const GLOBAL D *store_at(const GLOBAL D *store, int sp, int a)
{
    return store + (size_t)sp * (SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET) + a;
}

/* which: 0 index, 1 address + 1 or 0 where nobody is */
SAP_INLINE int tag_at(const GLOBAL D *store, int sp, int which, int a)
{
    const GLOBAL int *tags = (const GLOBAL int *)(store_at(store, sp, 0) + SAP_GPU_TAGS * SAP_GPU_SUPERPACKET);
    return tags[which * SAP_GPU_SUPERPACKET + a];
}

/* Whether a particle is there that takes part. */
SAP_INLINE int takes_part(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a)
{
    const int place = tag_at(store, sp, 1, a);
    return place > 0 && place <= f->nj;
}

/* i-particle of a row; constant places, so that those of the argument stay there. */
SAP_INLINE struct sap_gpu_i i_particle(const GLOBAL struct sap_gpu_i *all, const struct sap_gpu_force *f, int row)
{
    if (!f->inlined) return all[f->first_i + row];
    if (row == 0) return f->inline_i[0];
    if (row == 1) return f->inline_i[1];
    return row == 2 ? f->inline_i[2] : f->inline_i[3];
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

/* Where a particle was put. */
SAP_INLINE void stored_position(const GLOBAL D *at, D *x)
{
#pragma unroll
    for (int axis = 0; axis < 3; axis++) x[axis] = at[axis * SAP_GPU_SUPERPACKET];
}

/*
 * Position and velocity of a stored particle at the time of the force: canonical, the same bits on every engine.  In
 * order 2 (no terms) particles stay where they are, and v is not set.
 */
SAP_INLINE void predict_position(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, D *x, D *v)
{
    const GLOBAL D *at = store_at(store, sp, a);
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

/* Squared distance of a stored particle from a place: canonical (lib/canonical.h). */
SAP_INLINE D canonical_r2(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, const D *from)
{
    D x[3], v[3], r2 = d_set1(SAP_ZERO);
    predict_position(store, f, sp, a, x, v);
#pragma unroll
    for (int k = 0; k < 3; k++) r2 = d_add(r2, d_mul(d_sub(x[k], from[k]), d_sub(x[k], from[k])));
    return r2;
}

/* Whether a particle can be a neighbour of i. */
SAP_INLINE int eligible(const GLOBAL D *store, const struct sap_gpu_force *f, int sp, int a, int own)
{
    return takes_part(store, f, sp, a) && (!f->skip_own || tag_at(store, sp, 0, a) != own);
}

#endif
