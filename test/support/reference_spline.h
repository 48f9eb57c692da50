/* reference_spline.h - pairs with spline softening in extended precision, directly from the formulas. */
#ifndef TEST_REFERENCE_SPLINE_H
#define TEST_REFERENCE_SPLINE_H

typedef long double real;

/*
 * Computes potential and acceleration over distance of a mass 1 with the spline of Springel, Yoshida & White 2001, New
 * Astronomy 6, 79, appendix A.
 */
static inline void reference_spline(real r, real h, real *pot, real *acc)
{
    const real u = h > 0 ? r / h : 2;
    if (u >= 1) {
        *pot = r > 0 ? -1 / r : 0;
        *acc = r > 0 ? 1 / (r * r * r) : 0;
    } else if (u < 0.5L) {
        *pot = (-14 / 5.0L + u * u * (16 / 3.0L + u * u * (32 * u / 5 - 48 / 5.0L))) / h;
        *acc = (32 / 3.0L + u * u * (32 * u - 192 / 5.0L)) / (h * h * h);
    } else {
        *pot = (-16 / 5.0L + 1 / (15 * u) + u * u * (32 / 3.0L + u * (-16 + u * (48 / 5.0L - 32 * u / 15)))) / h;
        *acc = (64 / 3.0L + u * (-48 + u * (192 / 5.0L - 32 * u / 3)) - 1 / (15 * u * u * u)) / (h * h * h);
    }
}

/* The same of a pair with two lengths: the mean of both, or those of the larger length. */
static inline void reference_spline_pair(int is_mean, real r, real hi, real hj, real *pot, real *acc)
{
    real other_pot, other_acc;
    reference_spline(r, !is_mean && hj > hi ? hj : hi, pot, acc);
    if (!is_mean) return;
    reference_spline(r, hj, &other_pot, &other_acc);
    *pot = (*pot + other_pot) / 2, *acc = (*acc + other_acc) / 2;
}

/* The derivative of the acceleration over distance by the distance, over the distance; arguments as above. */
static inline real reference_spline_slope(real r, real h)
{
    const real u = h > 0 ? r / h : 2, h5 = h * h * h * h * h;
    if (u >= 1) return r > 0 ? -3 / (r * r * r * r * r) : 0;
    if (u < 0.5L) return (96 * u - 384 / 5.0L) / h5;
    return (-48 / u + 384 / 5.0L - 32 * u + 1 / (5 * u * u * u * u * u)) / h5;
}

static inline real reference_spline_pair_slope(int is_mean, real r, real hi, real hj)
{
    const real slope = reference_spline_slope(r, !is_mean && hj > hi ? hj : hi);
    return is_mean ? (slope + reference_spline_slope(r, hj)) / 2 : slope;
}

#endif
