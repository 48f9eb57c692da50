/*
 * predictor.h - the predictor of j-particles, written once.
 *
 * It is included after the named operations of a double type D (d_add, d_mul, ...).  A particle keeps its derivatives
 * as GRAPE-6 clients pass them: x, v, acc/2, jerk/6, snap/18.  With dt = t - t_j,
 *     x(t) = x + v dt + (acc/2) dt^2 + (jerk/6) dt^3 + (3/4) (snap/18) dt^4
 *     v(t) = v + 2 (acc/2) dt + 3 (jerk/6) dt^2 + 3 (snap/18) dt^3
 * which is the Taylor series to the fourth derivative of x (GRAPE-6: Makino, Fukushige, Koga & Namura 2003, PASJ 55,
 * 1163, eqs. 5 and 6).
 *
 * Orders 6 and 8 keep full derivatives: order 6 up to crackle, order 8 up to the seventh of x (Nitadori & Makino 2008,
 * New Astronomy 13, 498, sections 2.2 and 2.3).  They also predict the acceleration, and order 8 the jerk, because
 * their pairs need them.
 *
 * Absent derivatives (terms < 4) give the same bits as derivatives of zero.  No operation is fused, so predicted
 * particles have the same bits on every engine.
 */
#ifndef SAP_PHYSICS_PREDICTOR_H
#define SAP_PHYSICS_PREDICTOR_H

#include "physics/numbers.h"

#ifdef SAP_HAVE_OPERATIONS

/*
 * Predicts one coordinate and its velocity.  c[0..terms] are x, v, acc/2, jerk/6, snap/18; terms (1 to 4) is a constant
 * where the function is inlined.
 */
SAP_INLINE void sap_predict(int terms, const D *c, D dt, D *x, D *v)
{
    D xs, vs; /* the series from the acceleration on, divided by dt^2 and dt */
    if (terms >= 4) {
        xs = d_add(d_mul(c[4], d_mul(dt, d_set1(SAP_THREE_QUARTERS))), c[3]);
        vs = d_add(d_mul(c[4], dt), c[3]);
    } else if (terms == 3) {
        xs = vs = c[3];
    }
    if (terms >= 3) {
        xs = d_add(d_mul(xs, dt), c[2]);
        vs = d_add(d_mul(vs, d_mul(dt, d_set1(SAP_THREE))), d_add(c[2], c[2]));
    } else if (terms == 2) {
        xs = c[2];
        vs = d_add(c[2], c[2]);
    }
    if (terms >= 2) {
        *x = d_add(d_mul(d_add(d_mul(xs, dt), c[1]), dt), c[0]);
        *v = d_add(d_mul(vs, dt), c[1]);
    } else {
        *x = d_add(d_mul(c[1], dt), c[0]);
        *v = c[1];
    }
}

/*
 * Predicts one coordinate and its derivatives, for orders 6 and 8.  c[0..terms] are its full derivatives; out[0..n-1]
 * become x, v, a, ... after the time dt.
 */
SAP_INLINE void sap_predict_full(int terms, int n, const D *c, D dt, D *out)
{
    for (int k = 0; k < n; k++) {
        D sum = c[terms];
        for (int m = terms - 1; m >= k; m--)
            sum = d_add(d_mul(sum, d_mul(dt, d_set1(SAP_RECIPROCAL(m + 1 - k)))), c[m]);
        out[k] = sum;
    }
}

#endif
#endif
