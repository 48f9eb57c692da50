/*
 * field_series.h - accelerations by the fields of field.h with their derivatives along an orbit, for Hermite schemes.
 *
 * Numbers are Taylor series in time around the moment, of `n` terms (up to 4): the series of a product, a quotient and
 * a root follow from their recurrences (Moore 1966, Interval Analysis, section 11.4).  The first terms are the numbers
 * of field.h, by the same operations.
 */
#ifndef SAP_PHYSICS_FIELD_SERIES_H
#define SAP_PHYSICS_FIELD_SERIES_H

#include "physics/field.h"

#ifdef SAP_HAVE_OPERATIONS

enum { SAP_SERIES = 4 };

struct sap_series {
    D c[SAP_SERIES];
};

/* Returns a constant. */
SAP_INLINE struct sap_series sap_series_of(D x)
{
    struct sap_series s = {{x, 0.0, 0.0, 0.0}};
    return s;
}

SAP_INLINE struct sap_series sap_series_add(struct sap_series a, struct sap_series b)
{
    for (int k = 0; k < SAP_SERIES; k++) a.c[k] += b.c[k];
    return a;
}

SAP_INLINE struct sap_series sap_series_times(struct sap_series a, D x)
{
    for (int k = 0; k < SAP_SERIES; k++) a.c[k] *= x;
    return a;
}

SAP_INLINE struct sap_series sap_series_product(int n, struct sap_series a, struct sap_series b)
{
    struct sap_series p = sap_series_of(0.0);
    for (int k = 0; k < n; k++)
        for (int m = 0; m <= k; m++) p.c[k] += a.c[m] * b.c[k - m];
    return p;
}

SAP_INLINE struct sap_series sap_series_quotient(int n, struct sap_series a, struct sap_series b)
{
    struct sap_series q = sap_series_of(0.0);
    for (int k = 0; k < n; k++) {
        D rest = a.c[k];
        for (int m = 1; m <= k; m++) rest -= b.c[m] * q.c[k - m];
        q.c[k] = rest / b.c[0];
    }
    return q;
}

/* Returns the root of a series whose first term is > 0. */
SAP_INLINE struct sap_series sap_series_root(int n, struct sap_series a)
{
    struct sap_series r = sap_series_of(d_sqrt(a.c[0]));
    for (int k = 1; k < n; k++) {
        D rest = a.c[k];
        for (int m = 1; m < k; m++) rest -= r.c[m] * r.c[k - m];
        r.c[k] = rest / (2.0 * r.c[0]);
    }
    return r;
}

/* Returns the mass of an NFW sphere within s: its derivative is s / (1 + s)^2. */
SAP_INLINE struct sap_series sap_series_nfw_mass(int n, struct sap_series s)
{
    const struct sap_series outer = sap_series_add(sap_series_of(1.0), s);
    const struct sap_series rate = sap_series_quotient(n, s, sap_series_product(n, outer, outer));
    struct sap_series m = sap_series_of(sap_field_nfw_mass(s.c[0]));
    for (int k = 1; k < n; k++) {
        D sum = 0.0;
        for (int j = 1; j <= k; j++) sum += (D)j * s.c[j] * rate.c[k - j];
        m.c[k] = sum / (D)k;
    }
    return m;
}

/* Returns the pull towards the centre per length of a spherical field at squared distance r2; 0 in a singular centre.
 */
SAP_INLINE struct sap_series sap_series_sphere(int n, const struct sap_field *f, struct sap_series r2)
{
    const D core = f->kind == SAP_FIELD_PLUMMER ? f->a * f->a : 0.0;
    const struct sap_series soft = sap_series_add(r2, sap_series_of(core));
    if (!(soft.c[0] > 0.0)) return sap_series_of(0.0);
    const struct sap_series r = sap_series_root(n, soft);
    struct sap_series above = sap_series_of(f->strength), below;
    if (f->kind == SAP_FIELD_HERNQUIST) {
        const struct sap_series outer = sap_series_add(r, sap_series_of(f->a));
        below = sap_series_product(n, sap_series_product(n, r, outer), outer);
    } else {
        below = sap_series_product(n, soft, r);
    }
    if (f->kind == SAP_FIELD_NFW)
        above = sap_series_times(sap_series_nfw_mass(n, sap_series_quotient(n, r, sap_series_of(f->a))), f->strength);
    return sap_series_quotient(n, above, below);
}

/* The same of a flattened field, across and along the axis z. */
SAP_INLINE struct sap_series sap_series_disc(int n, const struct sap_field *f, struct sap_series across2,
                                             struct sap_series z, struct sap_series *pull_z)
{
    const struct sap_series z2 = sap_series_product(n, z, z), strength = sap_series_of(f->strength);
    struct sap_series pull = sap_series_of(0.0);
    *pull_z = pull;
    if (f->kind != SAP_FIELD_MIYAMOTO_NAGAI) {
        const D q2 = f->b * f->b;
        const struct sap_series soft = sap_series_add(sap_series_add(sap_series_of(f->a * f->a), across2),
                                                      sap_series_quotient(n, z2, sap_series_of(q2)));
        if (!(soft.c[0] > 0.0)) return pull;
        pull = sap_series_quotient(n, strength, soft);
        *pull_z = sap_series_quotient(n, pull, sap_series_of(q2));
        return pull;
    }
    const struct sap_series height2 = sap_series_add(z2, sap_series_of(f->b * f->b));
    const int flat = !(height2.c[0] > 0.0); /* in the plane of a disc without thickness */
    const struct sap_series height = flat ? sap_series_of(0.0) : sap_series_root(n, height2);
    const struct sap_series depth = sap_series_add(sap_series_of(f->a), height);
    const struct sap_series soft = sap_series_add(across2, sap_series_product(n, depth, depth));
    if (!(soft.c[0] > 0.0)) return pull;
    pull = sap_series_quotient(n, strength, sap_series_product(n, soft, sap_series_root(n, soft)));
    if (!flat) *pull_z = sap_series_quotient(n, sap_series_product(n, pull, depth), height);
    return pull;
}

/* Adds the acceleration by a field, along axis c, with its derivatives; x: the way from the centre. */
SAP_INLINE void sap_series_pull(int n, struct sap_series pull, struct sap_series x, D *acc)
{
    const struct sap_series p = sap_series_product(n, pull, x);
    D factorial = 1.0;
    for (int k = 0; k < n; k++) {
        if (k > 1) factorial *= (D)k;
        acc[k] -= p.c[k] * factorial;
    }
}

/*
 * Adds the accelerations of all fields with their first n - 1 derivatives.  x[c][k]: derivative k of coordinate c of a
 * position; acc likewise.
 */
SAP_INLINE void sap_field_add_series(const struct sap_field_list *fields, int n, D (*x)[SAP_SERIES],
                                     D (*acc)[SAP_SERIES])
{
    for (int k = 0; k < fields->n; k++) {
        const struct sap_field f = fields->field[k];
        struct sap_series way[3], pull, pull_z;
        for (int c = 0; c < 3; c++) {
            D factorial = 1.0;
            way[c] = sap_series_of(x[c][0] - f.centre[c]);
            for (int m = 1; m < n; m++) {
                factorial *= (D)m;
                way[c].c[m] = x[c][m] / factorial;
            }
        }
        const struct sap_series across2 =
            sap_series_add(sap_series_product(n, way[0], way[0]), sap_series_product(n, way[1], way[1]));
        if (f.kind == SAP_FIELD_MIYAMOTO_NAGAI || f.kind == SAP_FIELD_LOGARITHMIC) {
            pull = sap_series_disc(n, &f, across2, way[2], &pull_z);
        } else {
            pull = sap_series_sphere(n, &f, sap_series_add(across2, sap_series_product(n, way[2], way[2])));
            pull_z = pull;
        }
        sap_series_pull(n, pull, way[0], acc[0]);
        sap_series_pull(n, pull, way[1], acc[1]);
        sap_series_pull(n, pull_z, way[2], acc[2]);
    }
}

#endif
#endif
