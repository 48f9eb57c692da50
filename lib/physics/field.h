/*
 * field.h - analytic external fields, written once: acceleration and potential, with G = 1.
 *
 * Formulas: Binney & Tremaine 2008, Galactic Dynamics, eqs. 2.44 (Plummer 1911), 2.67 (Hernquist 1990, ApJ 356, 359;
 * Navarro, Frenk & White 1996, ApJ 462, 563), 2.69 (Miyamoto & Nagai 1975, PASJ 27, 533), 2.71 (logarithmic).
 *
 * The functions are included after the definitions of SAP_INLINE and of a scalar D that is double.  They use sums,
 * products, quotients and square roots alone, so they have the same bits on every engine.
 */
#ifndef SAP_PHYSICS_FIELD_H
#define SAP_PHYSICS_FIELD_H

enum { SAP_FIELDS = 8 };

/* Kinds of fields; the numbers are those of sapporo_field_kind. */
enum {
    SAP_FIELD_POINT = 1,
    SAP_FIELD_PLUMMER = 2,
    SAP_FIELD_HERNQUIST = 3,
    SAP_FIELD_NFW = 4,
    SAP_FIELD_MIYAMOTO_NAGAI = 5,
    SAP_FIELD_LOGARITHMIC = 6
};

/* A field.  strength: mass, 4 pi rho a^3 (NFW), squared velocity (logarithmic); a, b: lengths, or b a flattening. */
struct sap_field {
    double strength, a, b, centre[3];
    int kind, unused;
};

struct sap_field_list {
    int n, unused;
    struct sap_field field[SAP_FIELDS];
};

#ifdef SAP_HAVE_OPERATIONS

/* Returns 2 (z^3/3 + z^5/5 + ...) = 2 artanh(z) - 2 z, for 0 <= z <= 0.1716. */
SAP_INLINE D sap_field_artanh_rest(D z)
{
    const D z2 = z * z;
    D sum = 0.0;
    for (int k = 25; k >= 3; k -= 2) sum = (sum + 1.0 / (D)k) * z2;
    return 2.0 * z * sum;
}

/* Returns the natural logarithm of x > 0, by halving and the series of artanh. */
SAP_INLINE D sap_field_log(D x)
{
    D twos = 0.0;
    while (x >= 4294967296.0) x *= 1.0 / 4294967296.0, twos += 32.0;
    while (x <= 1.0 / 4294967296.0) x *= 4294967296.0, twos -= 32.0;
    while (x > 1.4142135623730951) x *= 0.5, twos += 1.0;
    while (x < 0.70710678118654757) x *= 2.0, twos -= 1.0;
    const D z = (x - 1.0) / (x + 1.0), size = z < 0.0 ? -z : z, rest = sap_field_artanh_rest(size);
    return twos * 0.69314718055994531 + (2.0 * z + (z < 0.0 ? -rest : rest));
}

/* Returns ln(1 + s) - s/(1 + s), the mass of an NFW sphere within s; near 0 without cancellation. */
SAP_INLINE D sap_field_nfw_mass(D s)
{
    const D z = s / (2.0 + s);
    if (z <= 0.1716) return sap_field_artanh_rest(z) + 2.0 * z * z / (1.0 + z);
    return sap_field_log(1.0 + s) - s / (1.0 + s);
}

/* Returns ln(1 + s) / s; 1 for s = 0. */
SAP_INLINE D sap_field_nfw_log(D s)
{
    const D z = s / (2.0 + s);
    if (!(s > 0.0)) return 1.0;
    return z <= 0.1716 ? (2.0 * z + sap_field_artanh_rest(z)) / s : sap_field_log(1.0 + s) / s;
}

/* Sets the pull towards the centre per length, and the potential, of a spherical field at squared distance r2. */
SAP_INLINE void sap_field_sphere(const struct sap_field *f, D r2, D *pull, D *pot)
{
    const D soft = f->kind == SAP_FIELD_PLUMMER ? r2 + f->a * f->a : r2, r = d_sqrt(soft);
    if (f->kind == SAP_FIELD_HERNQUIST) {
        const D outer = r + f->a;
        *pull = r > 0.0 ? f->strength / (r * outer * outer) : 0.0;
        *pot = -f->strength / outer;
    } else if (f->kind == SAP_FIELD_NFW) {
        *pull = r > 0.0 ? f->strength * sap_field_nfw_mass(r / f->a) / (soft * r) : 0.0;
        *pot = -f->strength * sap_field_nfw_log(r / f->a) / f->a;
    } else {
        *pull = soft > 0.0 ? f->strength / (soft * r) : 0.0;
        *pot = soft > 0.0 ? -f->strength / r : 0.0;
    }
}

/* Sets the pulls per length across and along the axis z, and the potential, of a flattened field. */
SAP_INLINE void sap_field_disc(const struct sap_field *f, D across2, D z, D *pull, D *pull_z, D *pot)
{
    if (f->kind == SAP_FIELD_MIYAMOTO_NAGAI) {
        const D height = d_sqrt(z * z + f->b * f->b), depth = f->a + height, soft = across2 + depth * depth,
                r = d_sqrt(soft);
        *pull = soft > 0.0 ? f->strength / (soft * r) : 0.0;
        *pull_z = height > 0.0 ? *pull * depth / height : 0.0;
        *pot = soft > 0.0 ? -f->strength / r : 0.0;
    } else {
        const D q2 = f->b * f->b, soft = f->a * f->a + across2 + z * z / q2;
        *pull = soft > 0.0 ? f->strength / soft : 0.0;
        *pull_z = *pull / q2;
        *pot = soft > 0.0 ? 0.5 * f->strength * sap_field_log(soft) : 0.0;
    }
}

/* Adds the acceleration and the potential of all fields at x. */
SAP_INLINE void sap_field_add(const struct sap_field_list *fields, const D *x, D *acc, D *pot)
{
    for (int k = 0; k < fields->n; k++) {
        const struct sap_field f = fields->field[k];
        const D dx = x[0] - f.centre[0], dy = x[1] - f.centre[1], dz = x[2] - f.centre[2];
        D pull, pull_z, phi;
        if (f.kind == SAP_FIELD_MIYAMOTO_NAGAI || f.kind == SAP_FIELD_LOGARITHMIC) {
            sap_field_disc(&f, dx * dx + dy * dy, dz, &pull, &pull_z, &phi);
        } else {
            sap_field_sphere(&f, dx * dx + dy * dy + dz * dz, &pull, &phi);
            pull_z = pull;
        }
        acc[0] -= pull * dx;
        acc[1] -= pull * dy;
        acc[2] -= pull_z * dz;
        *pot += phi;
    }
}

#endif
#endif
