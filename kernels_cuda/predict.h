/* predict.h - prediction of j-particles on the device: the text of physics/predictor.h.  Included after working.h. */
#ifndef SAP_PREDICT_H
#define SAP_PREDICT_H

#include "store.h"

/* The working form of local address a of superpacket sp; an empty slot where nobody takes part. */
SAP_INLINE void predict_one(const double *store, const sap_gpu_force &f, int sp, int a, part *p)
{
    double x[3] = {SAP_EMPTY_X, SAP_EMPTY_X, SAP_EMPTY_X}, v[3] = {0, 0, 0}, mass = 0;
    int index = 0;
    if (takes_part(store, f, sp, a)) {
        predict_position(store, f, sp, a, x, v);
        const double *at = store_at(store, sp, a);
        mass = at[SAP_GPU_MASS * SAP_GPU_SUPERPACKET];
        index = tag_at(store, sp, 0, a);
    }
    pack(x, v, mass, index, p);
}

#endif
