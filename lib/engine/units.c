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

void sap_scale_given(double *x, size_t n, int exponent)
{
    for (size_t k = 0; k < n && exponent; k++) {
        const double given = x[k];
        x[k] = scalbn(given, exponent);
        if (isfinite(given) && !(fabs(x[k]) < 0x1p1000)) x[k] = copysign(0x1p1000, given);
        if (given != 0 && x[k] == 0) x[k] = copysign(0x1p-1074, given);
    }
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

int sap_exponent_of_length(double eps2)
{
    const int e = sap_exponent(eps2);
    return e == SAP_UNITS_NONE ? e : (e - (e < 0)) / 2;
}

/* ---- what particles span ------------------------------------------------------------------- */

enum { BUCKET = 8, LOWEST = -1088, BUCKETS = sizeof((struct sap_exponents *)0)->count / sizeof(int) };

static int larger(int a, int b) { return a > b ? a : b; }

static void clear_span(struct sap_span *s) { s->least = s->most = SAP_UNITS_NONE; }

static void widen(struct sap_span *s, int least, int most)
{
    if (least == SAP_UNITS_NONE) return;
    s->most = larger(s->most, most);
    if (s->least == SAP_UNITS_NONE || least < s->least) s->least = least;
}

static void count(struct sap_exponents *c, int exponent)
{
    if (exponent == SAP_UNITS_NONE) return;
    c->n++;
    c->count[(exponent - LOWEST) / BUCKET]++;
}

/* Returns the highest exponent of the bucket of number `at` of the counted numbers, from the smallest on; NONE: none.
 */
static int number_at(const struct sap_exponents *c, int at)
{
    int k = -1;
    long long below = 0;
    if (c->n == 0) return SAP_UNITS_NONE;
    while (below <= at) below += c->count[++k];
    return LOWEST + BUCKET * k + BUCKET - 1;
}

/* The median, of an even number the higher one. */
static int median(const struct sap_exponents *c) { return number_at(c, c->n / 2); }

void sap_spread_clear(struct sap_spread *s)
{
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++) clear_span(&s->derivative[k]);
    clear_span(&s->mass);
    clear_span(&s->time);
    clear_span(&s->softening);
    s->whole = 0;
    s->common = SAP_UNITS_NONE;
}

/* Adds one derivative of a particle; returns the exponent of its largest coordinate. */
static int add_vector(struct sap_span *s, const double *x, ptrdiff_t stride)
{
    int most = SAP_UNITS_NONE;
    for (int axis = 0; axis < 3; axis++) {
        const int e = sap_exponent(x[axis * stride]);
        widen(s, e, e);
        most = larger(most, e);
    }
    return most;
}

void sap_spread_add(struct sap_spread *s, struct sap_sizes *sizes, const struct sap_numbers *p)
{
    const int mass = sap_exponent(p->mass), time = sap_exponent(p->time), soft = sap_exponent_of_length(p->eps2);
    if (mass == SAP_UNITS_NONE) sizes = NULL; /* a massless particle exerts no force */
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++) {
        if (!p->derivative[k]) continue;
        const int e = add_vector(&s->derivative[k], p->derivative[k], p->stride);
        if (sizes && k < SAPPORO_DERIVATIVES / 2) count(&sizes->derivative[k], e);
        if (sizes && k == 0) sizes->origin += e == SAP_UNITS_NONE;
    }
    widen(&s->mass, mass, mass);
    widen(&s->time, time, time);
    widen(&s->softening, soft, soft);
    if (mass != SAP_UNITS_NONE) s->whole += fabs(p->mass);
    if (!sizes) return;
    count(&sizes->mass, mass);
    count(&sizes->softening, soft);
}

void sap_spread_soften(struct sap_spread *s, double eps2) { s->common = sap_exponent_of_length(eps2); }

/* Returns the place of number `at` of all particles, those at the origin first; NONE: the origin. */
static int place_at(const struct sap_sizes *sizes, int at)
{
    return at < sizes->origin ? SAP_UNITS_NONE : number_at(&sizes->derivative[0], at - sizes->origin);
}

/* The median of the softening of massive particles, of an even number the lower one; NONE: none. */
static int usual_softening(const struct sap_sizes *sizes)
{
    const int all = sizes->mass.n, softened = sizes->softening.n, at = (all - 1) / 2 - (all - softened);
    return at >= 0 ? number_at(&sizes->softening, at) : SAP_UNITS_NONE;
}

/* Returns the exponent of targets where they decide: there is nothing else, or it is much smaller; else NONE. */
static int if_larger(int targets, int size)
{
    if (targets == SAP_UNITS_NONE) return targets;
    return size == SAP_UNITS_NONE || targets > size + SAP_UNITS_MUCH ? targets : SAP_UNITS_NONE;
}

/* Sets what most places are like. */
static void close_places(struct sap_spread *s, const struct sap_sizes *sizes, int elsewhere)
{
    const int all = sizes ? sizes->origin + sizes->derivative[0].n : 0;
    const int soft = larger(s->common, sizes ? usual_softening(sizes) : s->softening.most);
    int size = all ? place_at(sizes, all / 2) : s->derivative[0].most;
    int inner = all ? place_at(sizes, (all - 1) / 2) : size;
    s->targets[0] = if_larger(elsewhere, size);
    size = larger(size, s->targets[0]);
    if (size == SAP_UNITS_NONE) size = 0;
    if (inner == SAP_UNITS_NONE) inner = size;
    s->nearest = sizes ? number_at(&sizes->derivative[0], 0) : SAP_UNITS_NONE;
    s->size = larger(size, soft);
    s->inner = larger(inner, soft);
}

void sap_spread_close(struct sap_spread *s, const struct sap_sizes *sizes, const int targets[2])
{
    enum { SPAN = 100 }; /* of masses that single precision can hold, with room for distances */
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++)
        s->pace[k] = !sizes                        ? s->derivative[k].most
                     : k < SAPPORO_DERIVATIVES / 2 ? median(&sizes->derivative[k])
                                                   : SAP_UNITS_NONE;
    s->targets[1] = if_larger(targets[1], s->pace[1]);
    s->pace[1] = larger(s->pace[1], s->targets[1]);
    close_places(s, sizes, targets[0]);
    s->heavy = s->mass.most;
    s->light = s->mass.least;
    if (s->heavy == SAP_UNITS_NONE || s->heavy - s->light <= SPAN || !sizes) return;
    const int middle = median(&sizes->mass);
    if (s->heavy > middle + SPAN / 2) s->heavy = middle + SPAN / 2;
    if (s->light < middle - SPAN / 2) s->light = middle - SPAN / 2;
}

static int before(int exponent, int of) { return exponent == SAP_UNITS_NONE ? exponent : exponent - of; }

static void join_spans(struct sap_span *s, const struct sap_span *other, int of)
{
    widen(s, before(other->least, of), before(other->most, of));
}

static void join_counts(struct sap_exponents *c, const struct sap_exponents *other, int of)
{
    c->n += other->n;
    for (int k = 0; k < BUCKETS; k++) {
        const int to = k - of / BUCKET; /* units are whole numbers of buckets */
        c->count[to < 0 ? 0 : to < BUCKETS ? to : BUCKETS - 1] += other->count[k];
    }
}

void sap_spread_join(struct sap_spread *s, struct sap_sizes *sizes, const struct sap_spread *other,
                     const struct sap_sizes *their, const struct sap_units *u)
{
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++)
        join_spans(&s->derivative[k], &other->derivative[k], sap_units_derivative(u, k));
    join_spans(&s->mass, &other->mass, u->mass);
    join_spans(&s->time, &other->time, u->time);
    join_spans(&s->softening, &other->softening, u->length);
    s->whole += sap_scaled(other->whole, -u->mass);
    sizes->origin += their->origin;
    for (int k = 0; k < SAPPORO_DERIVATIVES / 2; k++)
        join_counts(&sizes->derivative[k], &their->derivative[k], sap_units_derivative(u, k));
    join_counts(&sizes->mass, &their->mass, u->mass);
    join_counts(&sizes->softening, &their->softening, u->length);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Returns a / b, rounded up. */
static int over(int a, int b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/*
 * Returns the exponent of the rate at which particles move: the least by which no derivative that pairs of the order
 * use, of particles of that size, is above 1.  SAP_UNITS_NONE: they do not move.
 */
static int rate_of(const struct sap_spread *s, int size, int order)
{
    int rate = SAP_UNITS_NONE;
    for (int k = 1; k < order / 2; k++) rate = larger(rate, sap_exponent_of_rate(s->pace[k], size, k));
    return rate;
}

int sap_exponent_of_rate(int exponent, int size, int k)
{
    return exponent == SAP_UNITS_NONE ? exponent : over(exponent - size, k);
}

int sap_spread_fastest(const struct sap_spread *s)
{
    int rate = SAP_UNITS_NONE;
    for (int k = 1; k < SAPPORO_DERIVATIVES; k++)
        rate = larger(rate, sap_exponent_of_rate(s->derivative[k].most, s->size, k));
    return rate;
}

/* The rate up to which particles stay as they are: terms have products of as many derivatives as the order has. */
static int highest_rate(int order) { return order == 4 ? 45 : 30; }

static int is_within(int exponent, int least, int most)
{
    return exponent == SAP_UNITS_NONE || (exponent >= least && exponent <= most);
}

/* Whether a length of this exponent, and masses at such distances, fit as they are. */
static int is_plain_at(const struct sap_spread *s, int size)
{
    if (!is_within(size, -24, 40)) return 0;
    if (s->heavy == SAP_UNITS_NONE) return 1;
    return is_within(s->heavy, -60, 90) && s->light >= -100 && is_within(s->heavy - 3 * size, -96, 90);
}

int sap_spread_is_plain(const struct sap_spread *s, int order)
{
    /* of two very different halves, the one that fits stays as it is, and the other one is told of */
    const int fast = highest_rate(order), slow = order == 4 ? -90 : -fast; /* a jerk has velocities, a snap squares */
    return (is_plain_at(s, s->size) || is_plain_at(s, s->inner)) && is_within(rate_of(s, 0, order), slow, fast);
}

/* Rounds to a whole multiple of 32. */
static int on_grid(int exponent)
{
    return SAP_UNITS_STEP * ((exponent + 32768 * SAP_UNITS_STEP + 16) / SAP_UNITS_STEP - 32768);
}

/*
 * Returns the exponent for masses beside lengths of exponent `size`: the heaviest near 2^-24 beside lengths of 1, so
 * that there is as much room for close pairs as for light and far ones; larger if the lightest need it.
 */
static int mass_unit(const struct sap_spread *s, int size)
{
    const int best = 3 * size / 2 - 24, most = 3 * size + 40;
    const int light = -100 + 3 * larger(size, 0) + (s->heavy - s->light);
    const int wanted = larger(best, light < most ? light : most);
    return on_grid(wanted - s->heavy);
}

/*
 * Returns the exponent for times, where most particles move at this rate: near it, or above if the fastest need it, as
 * long as most keep their digits.
 */
static int time_unit(const struct sap_spread *s, int rate, int order)
{
    const int room = order == 4 ? 90 : order == 6 ? 60 : 40; /* a snap has squares of velocities, a crackle cubes */
    const int most = on_grid(rate + room), near = on_grid(rate), fastest = sap_spread_fastest(s);
    if (fastest == SAP_UNITS_NONE) return near; /* sources at rest: the rate is that of targets */
    const int wanted = larger(near, SAP_UNITS_STEP * over(fastest - highest_rate(order), SAP_UNITS_STEP));
    return wanted < most ? wanted : most;
}

static int holds(const struct sap_span *s, int exponent, int limit)
{
    return s->least == SAP_UNITS_NONE || (s->least + exponent >= -limit && s->most + exponent <= limit);
}

int sap_spread_fits_double(const struct sap_spread *s, const struct sap_units *u)
{
    enum { LIMIT = 1000, OF_LENGTHS = 430 }; /* squares of differences of lengths keep all digits, too */
    for (int k = 1; k < SAPPORO_DERIVATIVES; k++)
        if (!holds(&s->derivative[k], sap_units_derivative(u, k), LIMIT)) return 0;
    return holds(&s->derivative[0], u->length, OF_LENGTHS) && holds(&s->softening, u->length, OF_LENGTHS) &&
           holds(&s->mass, u->mass, LIMIT) && holds(&s->time, u->time, LIMIT);
}

struct sap_units sap_spread_units(const struct sap_spread *s, int order)
{
    struct sap_units u = {0, 0, 0};
    if (sap_spread_is_plain(s, order)) return u;
    const int size = s->size, rate = rate_of(s, size, order);
    u.length = on_grid(-size);
    if (s->heavy != SAP_UNITS_NONE) u.mass = mass_unit(s, size + u.length);
    if (order > 2 && is_within(rate, -400, 400) && rate != SAP_UNITS_NONE) u.time = time_unit(s, rate, order);
    return sap_spread_fits_double(s, &u) ? u : (struct sap_units){0, 0, 0};
}

int sap_spread_loses_masses(const struct sap_spread *s, const struct sap_units *u)
{
    return s->mass.least != SAP_UNITS_NONE && s->mass.least + u->mass < -126;
}

int sap_spread_loses_pairs(const struct sap_spread *s, const struct sap_units *u)
{
    return s->nearest != SAP_UNITS_NONE && larger(s->nearest, s->common) + u->length < -58;
}

double sap_faint_potential(double heaviest, double whole) { return whole * cbrt(0x1p-126 / heaviest); }

int sap_spread_loses_places(const struct sap_spread *s, const struct sap_units *u, int softening)
{
    const int most = s->derivative[0].most;
    if (softening == SAP_UNITS_NONE || most == SAP_UNITS_NONE) return 0;
    return softening + u->length > 58 || (softening > most && most + u->length < -100);
}
