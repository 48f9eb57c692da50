/* canonical.c - compiles the kernel source of the predictor for single particles. */
#include "engine/canonical.h"

#include <string.h>

#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static inline
typedef double D;
SAP_INLINE D d_set1(double x) { return x; }
SAP_INLINE D d_add(D a, D b) { return a + b; }
SAP_INLINE D d_mul(D a, D b) { return a * b; }

#include "physics/predictor.h"

void sap_canonical_predict_full(const struct sap_jstore *store, int address, double time, int n, double (*to)[3])
{
    const struct sap_segment *s = sap_jstore_segment(store, address);
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    const size_t at = sap_jstore_offset(in);
    const double dt = time - s->time[in];
    for (int axis = 0; axis < 3; axis++) {
        double series[SAP_DERIVATIVES_MOST], out[SAP_DERIVATIVES_MOST];
        for (int k = 0; k < store->full; k++) series[k] = s->derivative[k][at + (size_t)axis * SAP_CPU_LANES];
        sap_predict_full(store->full - 1, n, series, dt, out);
        for (int k = 0; k < n; k++) to[k][axis] = out[k];
    }
}

void sap_canonical_predict(const struct sap_jstore *store, int address, double time, double *x, double *v)
{
    if (store->full) {
        double to[2][3];
        sap_canonical_predict_full(store, address, time, v ? 2 : 1, to);
        memcpy(x, to[0], sizeof to[0]);
        if (v) memcpy(v, to[1], sizeof to[1]);
        return;
    }
    const struct sap_segment *s = sap_jstore_segment(store, address);
    const int in = address % SAP_SEGMENT;
    const ptrdiff_t at = (ptrdiff_t)(in / SAP_CPU_LANES) * 3 * SAP_CPU_LANES + in % SAP_CPU_LANES;
    const double dt = time - s->time[in];
    for (int axis = 0; axis < 3; axis++) {
        double series[SAP_DERIVATIVES] = {0}, unused;
        for (int k = 0; k <= s->terms; k++) series[k] = s->derivative[k][at + (ptrdiff_t)axis * SAP_CPU_LANES];
        sap_predict(s->terms, series, dt, &x[axis], v ? &v[axis] : &unused);
    }
}

double sap_canonical_r2(const struct sap_jstore *store, int address, double time, const double *x)
{
    double at[3], r2 = 0;
    sap_canonical_predict(store, address, time, at, NULL);
    for (int axis = 0; axis < 3; axis++) r2 += (at[axis] - x[axis]) * (at[axis] - x[axis]);
    return r2;
}

double sap_canonical_r2_ahead(const struct sap_jstore *store, int address, double time, const double *x,
                              const double *v, double dtr)
{
    double at[3], v_j[3], now = 0, later = 0;
    sap_canonical_predict(store, address, time, at, v_j);
    for (int axis = 0; axis < 3; axis++) {
        const double r = at[axis] - x[axis], moved = r + dtr * (v_j[axis] - v[axis]);
        now += r * r;
        later += moved * moved;
    }
    return later < now ? later : now;
}
