/*
 * values.h - random numbers as clients send them, and as no client should.
 *
 * A scene says what the numbers of a sequence are like: a lattice on which equal distances are frequent, a cluster, or
 * sizes of all magnitudes; and how often a number is replaced by NaN, an infinity, a denormal or another extreme.
 */
#ifndef FUZZ_VALUES_H
#define FUZZ_VALUES_H

#include "rng.h"

enum scene_kind { SCENE_LATTICE, SCENE_CLUSTER, SCENE_TIGHT, SCENE_WIDE };

struct scene {
    enum scene_kind kind;
    double offset, spacing, width; /* of a lattice; scale of the others */
    int moves;                     /* derivatives that are not zero: 1 velocities, ... */
    double odd;                    /* probability that a value is an extreme */
    rng *random;
};

/* From 0 to n - 1. */
int draw(rng *r, int n);
/* True once in n. */
int one_in(rng *r, int n);
double uniform(rng *r, double from, double to);

void scene_draw(struct scene *s, rng *r);
/* A position, and derivative k of it (1: velocity). */
void scene_position(const struct scene *s, double *x);
void scene_derivative(const struct scene *s, int k, double *x);
double scene_mass(const struct scene *s);
double scene_time(const struct scene *s);
double scene_eps2(const struct scene *s);
double scene_h2(const struct scene *s);
/* The time of a force. */
double scene_now(const struct scene *s);

/* NaN, infinities, denormals, huge numbers, -0. */
double odd_number(rng *r);
/* A label of a particle: its number, repeated ones, extreme ones. */
int draw_index(rng *r, int k);
/* Numbers of targets and of sources: small ones mostly, now and then about a boundary of the kernels. */
int draw_ni(rng *r);
int draw_nj(rng *r);
/* Changes ni so that a force has not too many pairs. */
int limit_ni(int ni, int nj);

#endif
