/* values.c - see values.h. */
#include "values.h"

#include <limits.h>
#include <math.h>

int draw(rng *r, int n) { return n > 0 ? (int)(rng_next(r) % (uint64_t)n) : 0; }

int one_in(rng *r, int n) { return draw(r, n) == 0; }

double uniform(rng *r, double from, double to) { return from + (to - from) * rng_uniform(r); }

double odd_number(rng *r)
{
    static const double odd[] = {NAN,   INFINITY, -INFINITY, 4.9e-324, 1e-310,  1e-40,  1e38,  -1e38,
                                 1e300, -1e300,   -0.0,      0,        1.7e308, 1e-300, 1e19,  3e38,
                                 1e15,  -1e15,    7e10,      1e-20,    0x1p50,  1e153,  -1e10, NAN};
    return odd[draw(r, (int)(sizeof odd / sizeof *odd))];
}

void scene_draw(struct scene *s, rng *r)
{
    static const double offsets[] = {0, 0, 0, 4096, -4096, 1, 65536};
    static const double rates[] = {0, 0, 0, 0, 0, 1e-3, 1e-3, 0.02};
    const int kind = draw(r, 16);
    s->random = r;
    s->kind = kind < 8 ? SCENE_LATTICE : kind < 13 ? SCENE_CLUSTER : kind < 15 ? SCENE_TIGHT : SCENE_WIDE;
    s->offset = offsets[draw(r, 7)];
    s->spacing = one_in(r, 4) ? 1 : 0.25;
    s->width = one_in(r, 3) ? 4 : 32; /* lattice points per axis */
    s->moves = draw(r, 5);
    s->odd = rates[draw(r, 8)];
}

/* A value, or an extreme instead. */
static double maybe_odd(const struct scene *s, double value)
{
    if (s->odd > 0 && rng_uniform(s->random) < s->odd) return odd_number(s->random);
    return value;
}

static double magnitude(const struct scene *s)
{
    const double size = exp(uniform(s->random, -60, 60));
    return one_in(s->random, 2) ? size : -size;
}

void scene_position(const struct scene *s, double *x)
{
    rng *const r = s->random;
    switch (s->kind) {
    case SCENE_LATTICE:
        for (int c = 0; c < 3; c++) x[c] = s->offset + s->spacing * (draw(r, (int)s->width) - s->width / 2);
        break;
    case SCENE_CLUSTER:
        rng_direction(r, pow(rng_uniform(r), 1.5), x);
        break;
    case SCENE_TIGHT:
        rng_direction(r, one_in(r, 2) ? 1e-9 : 1e-6, x);
        x[draw(r, 3)] += draw(r, 4);
        break;
    default:
        for (int c = 0; c < 3; c++) x[c] = magnitude(s);
    }
    for (int c = 0; c < 3; c++) x[c] = maybe_odd(s, x[c]);
}

void scene_derivative(const struct scene *s, int k, double *x)
{
    rng *const r = s->random;
    const double size = s->kind == SCENE_LATTICE ? 0.5 : 1;
    for (int c = 0; c < 3; c++) {
        if (k > s->moves) {
            x[c] = 0;
        } else if (s->kind == SCENE_LATTICE) {
            x[c] = size * (draw(r, 9) - 4);
        } else {
            x[c] = s->kind == SCENE_WIDE ? magnitude(s) : uniform(r, -size, size);
        }
        x[c] = maybe_odd(s, x[c]);
    }
}

double scene_mass(const struct scene *s)
{
    rng *const r = s->random;
    double m = s->kind == SCENE_LATTICE ? (1 + draw(r, 8)) / 8.0
               : s->kind == SCENE_WIDE  ? magnitude(s)
                                        : rng_uniform(r);
    if (one_in(r, 40)) m = one_in(r, 2) ? 0 : -m;
    return maybe_odd(s, m);
}

/* Powers of larger times overflow, and then the form of a predictor decides whether a term of zero remains. */
static double with_powers(double t)
{
    const double most = 1e40;
    return isfinite(t) && fabs(t) > most ? copysign(most, t) : t;
}

double scene_time(const struct scene *s)
{
    rng *const r = s->random;
    const double t = s->kind == SCENE_LATTICE ? draw(r, 9) / 8.0 : uniform(r, 0, 0.25);
    return with_powers(maybe_odd(s, one_in(r, 4) ? 0.5 : t));
}

double scene_now(const struct scene *s)
{
    rng *const r = s->random;
    if (one_in(r, 60)) return with_powers(odd_number(r));
    return s->kind == SCENE_LATTICE ? draw(r, 9) / 8.0 : uniform(r, 0, 0.5);
}

double scene_eps2(const struct scene *s)
{
    static const double all[] = {0, 0, 1, 1, 1.0 / 65536, 1e-4, 0.25, 1e-30};
    if (one_in(s->random, 60)) return odd_number(s->random);
    return all[draw(s->random, 8)];
}

double scene_h2(const struct scene *s)
{
    rng *const r = s->random;
    if (one_in(r, 200)) return one_in(r, 2) ? -1 : odd_number(r);
    if (one_in(r, 4)) return 0;
    if (s->kind == SCENE_LATTICE) return draw(r, 65) / 2.0 * s->spacing;
    return s->kind == SCENE_TIGHT ? exp(uniform(r, -30, 2)) : uniform(r, 0, 0.5);
}

int draw_index(rng *r, int k)
{
    static const int extremes[] = {-7777, 1 << 24, (1 << 24) + 2, (1 << 24) + 1, INT_MIN, INT_MAX, -1, 0, 3, 3, 7};
    if (one_in(r, 12)) return extremes[draw(r, 11)];
    return one_in(r, 20) ? draw(r, k + 1) : 100 + k;
}

int draw_ni(rng *r)
{
    static const int edges[] = {63, 64, 65, 127, 128, 129, 255, 256, 257, 31, 32, 33, 15, 16, 17, 47, 48, 49};
    static const int large[] = {511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049};
    if (one_in(r, 600)) return large[draw(r, 9)];
    if (one_in(r, 12)) return edges[draw(r, 18)];
    return one_in(r, 3) ? 1 + draw(r, 80) : 1 + draw(r, 12);
}

int draw_nj(rng *r)
{
    static const int edges[] = {31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 15, 16, 17};
    static const int large[] = {1023, 1024, 1025, 2047, 2048, 2049};
    if (one_in(r, 250)) return large[draw(r, 6)];
    if (one_in(r, 8)) return edges[draw(r, 15)];
    return one_in(r, 3) ? draw(r, 300) : draw(r, 40);
}

int limit_ni(int ni, int nj)
{
    enum { PAIRS = 40000 };
    return nj > 0 && ni > PAIRS / nj ? PAIRS / nj : ni;
}
