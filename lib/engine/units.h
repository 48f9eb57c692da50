/*
 * units.h - powers of two by which particles are multiplied where single precision could not hold them as they are.
 *
 * A length x becomes x 2^length, a mass m 2^mass, a span of time t 2^time.  All exponents are whole multiples of 32,
 * the grid of the accumulators (physics/accumulate.h): so a force in other units has the same bits, scaled, wherever no
 * number leaves the range of its type.  Ordinary particles are not multiplied: all exponents are 0.
 */
#ifndef SAP_UNITS_H
#define SAP_UNITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/accum.h"
#include "sapporo.h"

struct sap_units {
    int length, mass, time;
};

/* MUCH: by how much the exponent of targets is above that of sources where it decides. */
enum { SAP_UNITS_STEP = 32, SAP_UNITS_MUCH = 20, SAP_UNITS_NONE = INT32_MIN };

static inline int sap_units_are_plain(const struct sap_units *u) { return !(u->length | u->mass | u->time); }

static inline int sap_units_same(const struct sap_units *a, const struct sap_units *b)
{
    return a->length == b->length && a->mass == b->mass && a->time == b->time;
}

/* Exponents of derivative k of a position, of squares of lengths, and of results: the potential, derivative k of the
 * acceleration. */
static inline int sap_units_derivative(const struct sap_units *u, int k) { return u->length - k * u->time; }
static inline int sap_units_square(const struct sap_units *u) { return 2 * u->length; }
static inline int sap_units_potential(const struct sap_units *u) { return u->mass - u->length; }
static inline int sap_units_field(const struct sap_units *u, int k) { return u->mass - 2 * u->length - k * u->time; }

/* The exponent of sum q of a force: pot, acc[3], jerk[3], ... */
static inline int sap_units_sum(const struct sap_units *u, int q)
{
    return q == 0 ? sap_units_potential(u) : sap_units_field(u, (q - 1) / 3);
}

/* Returns x 2^exponent. */
double sap_scaled(double x, int exponent);

/* Multiplies n numbers by 2^exponent. */
void sap_scale(double *x, size_t n, int exponent);

/* The same for numbers that are given to a force: what is finite stays finite, and what is not zero does not vanish. */
void sap_scale_given(double *x, size_t n, int exponent);

/* Writes the gravitational constant of options, where 0 stands for 1; returns whether it is in the range. */
#define SAP_GRAVITY_RANGE "it may be 1e-100 to 1e100, or 0, which stands for 1"
static inline int sap_gravity(double given, double *gravity)
{
    *gravity = given == 0 ? 1 : given;
    return *gravity >= 1e-100 && *gravity <= 1e100;
}

/* Multiplies n sums of masses, results of a force, by 2^exponent, then by the gravitational constant. */
static inline void sap_scale_sums(double *x, size_t n, int exponent, double gravity)
{
    sap_scale(x, n, exponent);
    for (size_t k = 0; k < n && gravity != 1; k++) x[k] *= gravity;
}

/* Multiplies the total of an accumulator by 2^exponent, a multiple of 32: as if each deposit had been multiplied. */
void sap_accum_scale(struct sap_accum *a, int exponent);

/* The exponent of a number: 2^e <= |x| < 2^(e+1); SAP_UNITS_NONE for zero and for what is not finite. */
int sap_exponent(double x);

/* Whether n numbers, multiplied by 2^exponent, keep all their digits; those that are not finite do. */
static inline int sap_scales(const double *x, int n, int exponent)
{
    for (int k = 0; k < n; k++) {
        const int e = sap_exponent(x[k]);
        if (e != SAP_UNITS_NONE && (e + exponent < -1000 || e + exponent > 1000)) return 0;
    }
    return 1;
}

/* Exponents of the smallest and the largest of some numbers that are not zero; SAP_UNITS_NONE: there are none. */
struct sap_span {
    int least, most;
};

/* What the particles of a force span, and what most of them are like. */
struct sap_spread {
    struct sap_span derivative[SAPPORO_DERIVATIVES], mass, time, softening; /* derivative 0: positions */
    double whole;                                                           /* sum of the sizes of masses */
    int common;                                                             /* softening length of all pairs */
    /* set by sap_spread_close */
    int size;                      /* of most coordinates, or the softening length if that is larger */
    int inner;                     /* the same for the smaller half of the particles */
    int nearest;                   /* the smallest of a particle */
    int targets[2];                /* of targets, if they have decided size or pace; else SAP_UNITS_NONE */
    int heavy, light;              /* masses, without those that no single precision could hold beside most others */
    int pace[SAPPORO_DERIVATIVES]; /* of most derivatives k */
};

/* How many numbers have exponents in steps of 8, from -1088 on. */
struct sap_exponents {
    int n, count[264];
};

/* Of particles with mass: of places that are not the origin, and of derivatives, masses, softening that are not zero.
 */
struct sap_sizes {
    int origin; /* particles at the origin */
    struct sap_exponents derivative[SAPPORO_DERIVATIVES / 2], mass, softening;
};

/* Numbers of a particle: derivative k has the axes derivative[k][0], derivative[k][stride], ...; NULL: zero. */
struct sap_numbers {
    const double *derivative[SAPPORO_DERIVATIVES];
    ptrdiff_t stride;
    double mass, time, eps2;
};

void sap_spread_clear(struct sap_spread *s);

/* Adds a particle.  sizes: NULL, or where its numbers are counted. */
void sap_spread_add(struct sap_spread *s, struct sap_sizes *sizes, const struct sap_numbers *p);

/* Sets the common squared softening. */
void sap_spread_soften(struct sap_spread *s, double eps2);

/* Adds particles that were multiplied by units, with the numbers that they had before. */
void sap_spread_join(struct sap_spread *s, struct sap_sizes *sizes, const struct sap_spread *other,
                     const struct sap_sizes *their, const struct sap_units *units);

/*
 * Ends the adding.  What most particles are like is the median, so that a few extreme ones do not decide it; sizes
 * NULL: the largest.  targets: exponents of coordinates and velocities of targets, which decide if sources are at the
 * origin or much nearer to it, or at rest or much slower.
 */
void sap_spread_close(struct sap_spread *s, const struct sap_sizes *sizes, const int targets[2]);

/* Whether particles fit into single precision as they are, with a wide margin; order: of the force. */
int sap_spread_is_plain(const struct sap_spread *s, int order);

/*
 * Returns the units in which they fit best: none for plain particles, and none if double could not hold all numbers in
 * others.  A function of the spread alone.
 */
struct sap_units sap_spread_units(const struct sap_spread *s, int order);

/* The exponent of the rate that derivative k of this exponent gives to a particle at that size of places. */
int sap_exponent_of_rate(int exponent, int size, int k);

/* The same of the fastest particle, by all derivatives that it is predicted with; SAP_UNITS_NONE: all are at rest. */
int sap_spread_fastest(const struct sap_spread *s);

/* Whether double holds all numbers in these units, with all their digits. */
int sap_spread_fits_double(const struct sap_spread *s, const struct sap_units *u);

/* Whether masses in these units leave the range of single precision, so that the lightest lose digits or vanish. */
int sap_spread_loses_masses(const struct sap_spread *s, const struct sap_units *u);

/*
 * Returns the potential below which m / R^3 of the heaviest particle, at the distance at which all of them have this
 * potential, is below the range of single precision.  Both numbers in the units of the force.
 */
double sap_faint_potential(double heaviest, double whole);

/* Whether single precision in these units takes different places for one. */
int sap_spread_loses_pairs(const struct sap_spread *s, const struct sap_units *u);

/* Whether positions in these units vanish beside a softening length of this exponent, or it leaves the range. */
int sap_spread_loses_places(const struct sap_spread *s, const struct sap_units *u, int softening);

/* The exponent of the length whose square is eps2. */
int sap_exponent_of_length(double eps2);

#endif
