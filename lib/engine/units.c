/* units.c - powers of two for particles that single precision cannot hold as they are (units.h). */
#include "engine/units.h"

#include <math.h>

#include "physics/arithmetic.h"

/* ---- powers of two ------------------------------------------------------------------------- */

double sap_scaled(double x, int exponent) { return exponent ? scalbn(x, exponent) : x; }

void sap_scale(double *x, size_t n, int exponent)
{
    enum { MOST = 1000 };
    if (exponent == 0) return;
    if (exponent < -MOST || exponent > MOST) {
        for (size_t k = 0; k < n; k++) x[k] = scalbn(x[k], exponent);
        return;
    }
    const double factor = scalbn(1.0, exponent);
    for (size_t k = 0; k < n; k++) x[k] *= factor;
}

/* Returns whether all limbs are zero. */
static int is_zero(const struct sap_accum *a)
{
    for (int k = 0; k < SAP_LIMBS; k++)
        if (a->limb[k] != 0) return 0;
    return 1;
}

void sap_accum_scale(struct sap_accum *a, int exponent)
{
    int of_unit = exponent;
    if (exponent == 0 || is_zero(a)) return;
    for (; scalbn(a->unit, of_unit) < SAP_UNIT_MIN; of_unit += SAP_UNITS_STEP) {
        for (int k = SAP_LIMBS - 1; k > 0; k--) a->limb[k] = a->limb[k - 1];
        a->limb[0] = 0;
    }
    if (scalbn(a->unit, of_unit) >= SAP_UNIT_END) {
        a->special += copysign(INFINITY, sap_accum_round(a));
        memset(a->limb, 0, sizeof a->limb);
        return;
    }
    a->unit = scalbn(a->unit, of_unit);
    sap_scale(a->limb, SAP_LIMBS, exponent);
}

int sap_exponent(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int e = (int)(bits >> 52 & 0x7FF);
    if (e == 0x7FF || bits << 1 == 0) return SAP_UNITS_NONE;
    return e ? e - 1023 : ilogb(x);
}

/* ---- what particles span ------------------------------------------------------------------- */

void sap_spread_clear(struct sap_spread *s)
{
    s->size = s->farthest = s->heaviest = s->lightest = s->softening = SAP_UNITS_NONE;
    s->whole = 0;
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++) s->derivative[k] = SAP_UNITS_NONE;
}

static int larger(int a, int b) { return a > b ? a : b; }

static int largest_of(const double *x, ptrdiff_t stride)
{
    return larger(larger(sap_exponent(x[0]), sap_exponent(x[stride])), sap_exponent(x[2 * stride]));
}

void sap_spread_add(struct sap_spread *s, struct sap_sizes *sizes, const double *const *derivative, ptrdiff_t stride,
                    int terms, double mass)
{
    const int place = largest_of(derivative[0], stride), m = sap_exponent(mass);
    s->farthest = larger(s->farthest, place);
    if (sizes && place != SAP_UNITS_NONE) {
        sizes->placed++;
        sizes->count[place < -1023 ? 0 : place + 1023]++;
    }
    for (int k = 1; k <= terms; k++)
        if (derivative[k]) s->derivative[k] = larger(s->derivative[k], largest_of(derivative[k], stride));
    if (m == SAP_UNITS_NONE) return;
    s->whole += fabs(mass);
    s->heaviest = larger(s->heaviest, m);
    if (s->lightest == SAP_UNITS_NONE || m < s->lightest) s->lightest = m;
}

void sap_spread_soften(struct sap_spread *s, double eps2)
{
    const int e = sap_exponent(eps2);
    if (e != SAP_UNITS_NONE) s->softening = larger(s->softening, (e - (e < 0)) / 2);
}

void sap_spread_close(struct sap_spread *s, const struct sap_sizes *sizes)
{
    s->size = s->farthest;
    if (sizes && sizes->placed > 0) {
        long long below = 0;
        int k = -1;
        while (10 * below < 9LL * sizes->placed) below += sizes->count[++k];
        s->size = k - 1023;
    }
    s->size = larger(s->size, s->softening);
    if (s->size == SAP_UNITS_NONE) s->size = 0;
}

static int before(int exponent, int of) { return exponent == SAP_UNITS_NONE ? exponent : exponent - of; }

void sap_spread_join(struct sap_spread *s, struct sap_sizes *sizes, const struct sap_spread *other,
                     const struct sap_sizes *their, const struct sap_units *u)
{
    const int lightest = before(other->lightest, u->mass);
    for (int k = 0; k < 2048; k++) {
        const int to = k - u->length;
        sizes->count[to < 0 ? 0 : to > 2047 ? 2047 : to] += their->count[k];
    }
    sizes->placed += their->placed;
    s->farthest = larger(s->farthest, before(other->farthest, u->length));
    s->softening = larger(s->softening, before(other->softening, u->length));
    s->whole += sap_scaled(other->whole, -u->mass);
    s->heaviest = larger(s->heaviest, before(other->heaviest, u->mass));
    if (s->lightest == SAP_UNITS_NONE || (lightest != SAP_UNITS_NONE && lightest < s->lightest)) s->lightest = lightest;
    for (int k = 1; k < SAPPORO_DERIVATIVES; k++)
        s->derivative[k] = larger(s->derivative[k], before(other->derivative[k], sap_units_derivative(u, k)));
}

/* Returns a / b, rounded up. */
static int over(int a, int b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/*
 * Returns the exponent of the rate at which particles move: the least by which no derivative that pairs of the order
 * use, of particles of that size, is above 1.  SAP_UNITS_NONE: they do not move.
 */
static int rate_of(const struct sap_spread *s, int size, int order)
{
    int rate = SAP_UNITS_NONE;
    for (int k = 1; k < order / 2; k++)
        if (s->derivative[k] != SAP_UNITS_NONE) rate = larger(rate, over(s->derivative[k] - size, k));
    return rate;
}

static int is_within(int exponent, int least, int most)
{
    return exponent == SAP_UNITS_NONE || (exponent >= least && exponent <= most);
}

int sap_spread_is_plain(const struct sap_spread *s, int order)
{
    const int size = s->size;
    if (!is_within(size, -24, 24) || !is_within(rate_of(s, 0, order), -30, 30)) return 0;
    if (s->heaviest == SAP_UNITS_NONE) return 1;
    return is_within(s->heaviest, -60, 60) && s->lightest >= -100 && is_within(s->heaviest - 3 * size, -60, 60);
}

/* Rounds to a whole multiple of 32. */
static int on_grid(int exponent)
{
    return SAP_UNITS_STEP * ((exponent + 32768 * SAP_UNITS_STEP + 16) / SAP_UNITS_STEP - 32768);
}

/*
 * Returns the exponent for masses beside lengths of exponent `size`: m / R^3 of the heaviest near 2^-24, so that there
 * is as much room for close pairs as for light ones; larger if the lightest need it.
 */
static int mass_unit(const struct sap_spread *s, int size)
{
    const int best = 3 * size - 24, most = 3 * size + 40;
    const int light = -100 + 3 * larger(size, 0) + (s->heaviest - s->lightest);
    const int wanted = larger(best, light < most ? light : most);
    const int unit = on_grid(wanted - s->heaviest);
    return unit < -960 ? -960 : unit > 960 ? 960 : unit; /* what it multiplies fits into double */
}

struct sap_units sap_spread_units(const struct sap_spread *s, int order)
{
    struct sap_units u = {0, 0, 0};
    if (sap_spread_is_plain(s, order)) return u;
    const int size = s->size, rate = rate_of(s, size, order);
    u.length = on_grid(-size);
    if (s->heaviest != SAP_UNITS_NONE) u.mass = mass_unit(s, size + u.length);
    if (order > 2) u.time = on_grid(rate != SAP_UNITS_NONE ? rate : (3 * u.length - u.mass) / 2);
    return u;
}

int sap_spread_loses_masses(const struct sap_spread *s, const struct sap_units *u)
{
    return s->lightest != SAP_UNITS_NONE && s->lightest + u->mass < -126;
}

double sap_faint_potential(double heaviest, double whole) { return whole * cbrt(0x1p-126 / heaviest); }

int sap_spread_loses_places(const struct sap_spread *s, const struct sap_units *u)
{
    return s->farthest != SAP_UNITS_NONE && s->softening != SAP_UNITS_NONE && s->farthest + u->length < -100;
}
