/* multiscale.c - makes the systems of multiscale.h. */
#include "multiscale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "worst.h"

enum { DEPTH = 21 }; /* levels of keys */

/* A system under construction. */
struct work {
    const struct multiscale_recipe *r;
    struct multiscale *s;
    rng random;
    int room;
};

static double uniform(struct work *w) { return rng_uniform(&w->random); }
static int draw(struct work *w, int n) { return (int)(rng_next(&w->random) % (uint64_t)n); }

/* Returns a number whose logarithm is uniform. */
static double between(struct work *w, double least, double most)
{
    return least > 0 && most > least ? least * pow(most / least, uniform(w)) : least;
}

static double *add(struct work *w)
{
    struct multiscale *const s = w->s;
    return s->n < w->room ? s->x[s->n++] : s->x[s->n - 1];
}

static void direction(struct work *w, double length, double *to) { rng_direction(&w->random, length, to); }

/* ---- shapes --------------------------------------------------------------------------- */

static void in_cube(struct work *w, double edge, double *x)
{
    for (int c = 0; c < 3; c++) x[c] = edge * uniform(w);
}

static void in_plummer(struct work *w, double *x)
{
    direction(w, 0.3 / sqrt(pow(0.999 * uniform(w), -2.0 / 3) - 1), x);
}

/* Particle k of a shape whose centre is `middle`. */
static void in_shape(struct work *w, int k, double *x)
{
    const int n = w->r->n, side = (int)ceil(cbrt(n));
    const double clump = pow(10, -1 - k % 7);
    switch (w->r->shape) {
    case MULTISCALE_PLUMMER:
        in_plummer(w, x);
        break;
    case MULTISCALE_CUSP:
        direction(w, pow(uniform(w), 4), x);
        break;
    case MULTISCALE_CORES:
        direction(w, cbrt(uniform(w)) * ldexp(1, -5 * (k % 8)), x);
        break;
    case MULTISCALE_CLUMPS:
        direction(w, clump * uniform(w), x);
        for (int c = 0; c < 3; c++) x[c] += 0.1 * ((k % 7 * (3 + 2 * c)) % 7);
        break;
    case MULTISCALE_LATTICE:
        for (int c = 0, at = k; c < 3; c++, at /= side) x[c] = ldexp(at % side, -4);
        break;
    case MULTISCALE_LINE:
        x[0] = x[1] = x[2] = k % 2 ? uniform(w) : pow(uniform(w), 6);
        if (n % 2) x[1] = x[2] = 0.25;
        break;
    case MULTISCALE_PLANE:
        in_cube(w, 1, x);
        x[n % 3] = 0.375;
        break;
    case MULTISCALE_GROUPS:
        direction(w, uniform(w) * pow(10, -1 - n % 6), x);
        if (k % 2) x[0] += 1;
        break;
    case MULTISCALE_KEY:
        in_cube(w, k < 8 ? 1 : 0x1p-22, x);
        for (int c = 0; c < 3 && k >= 8; c++) x[c] += 0.3;
        break;
    case MULTISCALE_WIDE:
        direction(w, pow(10, 120 * uniform(w) - 60), x);
        break;
    default:
        in_cube(w, 1, x);
    }
}

/* ---- near pairs ------------------------------------------------------------------------- */

/* The box of the particles of a kd-tree's node; `side` tells which half of the box before is meant. */
static void box_of(const struct multiscale *s, const double *low, const double *high, double *to_low, double *to_high)
{
    for (int c = 0; c < 3; c++) to_low[c] = INFINITY, to_high[c] = -INFINITY;
    for (int k = 0; k < s->n; k++) {
        int inside = 1;
        for (int c = 0; c < 3; c++) inside &= s->x[k][c] >= low[c] && s->x[k][c] <= high[c];
        for (int c = 0; c < 3 && inside; c++) {
            to_low[c] = fmin(to_low[c], s->x[k][c]);
            to_high[c] = larger_of(to_high[c], s->x[k][c]);
        }
    }
}

/* Moves x into the middle plane of a node of a kd-tree; returns the axis. */
static int to_box(struct work *w, double *x)
{
    double low[3] = {-INFINITY, -INFINITY, -INFINITY}, high[3] = {INFINITY, INFINITY, INFINITY};
    int axis = 0;
    for (int depth = draw(w, 4); depth >= 0; depth--) {
        double a[3], b[3];
        box_of(w->s, low, high, a, b);
        axis = b[1] - a[1] > b[0] - a[0];
        if (b[2] - a[2] > b[axis] - a[axis]) axis = 2;
        const double middle = a[axis] + 0.5 * (b[axis] - a[axis]);
        memcpy(low, a, sizeof low);
        memcpy(high, b, sizeof high);
        if (!(high[axis] > low[axis])) break;
        if (depth == 0)
            x[axis] = middle;
        else if (x[axis] < middle)
            high[axis] = middle;
        else
            low[axis] = middle;
    }
    return axis;
}

/* Moves x into a plane between cells of the cube along each of `axes` (bits), if it is within the model. */
static void to_plane(struct work *w, int axes, double *x)
{
    const double all = INFINITY;
    const double least[3] = {-all, -all, -all}, most[3] = {all, all, all};
    double low[3], high[3], extent = 0;
    int exponent;
    box_of(w->s, least, most, low, high);
    for (int c = 0; c < 3; c++) extent = larger_of(extent, high[c] - low[c]);
    (void)frexp(extent, &exponent);
    for (int c = 0; c < 3; c++) {
        const double cell = ldexp(1, exponent - 1 - draw(w, DEPTH)),
                     plane = low[c] + cell * rint((x[c] - low[c]) / cell);
        if (axes >> c & 1 && plane > low[c] && plane < high[c]) x[c] = plane;
    }
}

/* Gives a particle a companion; both are at opposite sides of a plane, if that is wanted. */
static double *add_companion(struct work *w, double *host, double separation)
{
    double d[3];
    double *const x = add(w);
    direction(w, separation, d);
    if (w->r->across != MULTISCALE_ANYWHERE && x != host) {
        int axes = 1 + draw(w, 7);
        if (w->r->across == MULTISCALE_CUBES)
            to_plane(w, axes, host);
        else
            axes = 1 << to_box(w, host);
        for (int c = 0; c < 3; c++) host[c] -= axes >> c & 1 ? 0.5 * d[c] : 0;
    }
    for (int c = 0; c < 3; c++) x[c] = host[c] + d[c];
    return x;
}

static void add_near_pairs(struct work *w)
{
    const struct multiscale_recipe *const r = w->r;
    const int n = w->s->n;
    for (int k = 0; k < r->binaries; k++)
        (void)add_companion(w, w->s->x[draw(w, n)], between(w, r->near_least, r->near_most));
    for (int k = 0; k < r->triples; k++) {
        const double wide = between(w, r->near_least, r->near_most);
        double *const second = add_companion(w, w->s->x[draw(w, n)], wide), *const third = add(w);
        double d[3];
        direction(w, between(w, fmin(r->near_least, wide), wide), d);
        for (int c = 0; c < 3; c++) third[c] = second[c] + d[c];
    }
    for (int k = 0; k < r->twins; k++) {
        const double *const host = w->s->x[draw(w, n)];
        double *const x = add(w);
        memmove(x, host, sizeof w->s->x[0]);
    }
    if (r->escaper > 0) direction(w, r->escaper, add(w));
}

/* ---- masses, lengths, motion --------------------------------------------------------------- */

static void shuffle(struct work *w)
{
    struct multiscale *const s = w->s;
    for (int k = s->n - 1; k > 0; k--) {
        const int other = draw(w, k + 1);
        double x[3];
        memcpy(x, s->x[k], sizeof x);
        memmove(s->x[k], s->x[other], sizeof x);
        memcpy(s->x[other], x, sizeof x);
    }
}

static void make_masses(struct work *w)
{
    const enum multiscale_masses kind = w->r->masses;
    for (int k = 0; k < w->s->n; k++) {
        double m = kind == MULTISCALE_EQUAL ? 1 : pow(10, -6 * uniform(w));
        if (kind == MULTISCALE_NONE || (kind == MULTISCALE_SOME && draw(w, 2))) m = 0;
        if (kind == MULTISCALE_SIGNS && draw(w, 2)) m = -m;
        w->s->mass[k] = m / w->s->n;
    }
}

static int make_lengths(struct work *w)
{
    const struct multiscale_recipe *const r = w->r;
    struct multiscale *const s = w->s;
    if (!r->options.softening) return 1;
    s->h = calloc((size_t)s->n + 1, sizeof *s->h);
    for (int k = 0; k < s->n && s->h; k++) s->h[k] = draw(w, 8) ? r->scale * between(w, r->h_least, r->h_most) : 0;
    return s->h != NULL;
}

static int make_accelerations(struct work *w)
{
    struct multiscale *const s = w->s;
    if (w->r->options.mac != SAPPORO_MAC_ACCELERATION || draw(w, 4) == 0) return 1;
    s->a = calloc((size_t)s->n + 1, sizeof *s->a);
    const double unit = 1 / (w->r->scale * w->r->scale);
    for (int k = 0; k < s->n && s->a; k++) s->a[k] = unit * pow(10, 2 * uniform(w) - 1);
    return s->a != NULL;
}

/* Particles move in a shear flow, so binaries stay together; a few of them move by themselves. */
static int make_motion(struct work *w)
{
    const struct multiscale_recipe *const r = w->r;
    struct multiscale *const s = w->s;
    double drift[3], shear[3], d[3];
    if (!(r->moved > 0)) return 1;
    s->moved = calloc((size_t)s->n + 1, sizeof *s->moved);
    direction(w, r->moved * r->scale, drift);
    direction(w, r->moved, shear);
    for (int k = 0; k < s->n && s->moved; k++) {
        const int alone = draw(w, 20) == 0;
        direction(w, r->moved * r->scale, d);
        for (int c = 0; c < 3; c++)
            s->moved[k][c] = s->x[k][c] + drift[c] + shear[c] * s->x[k][(c + 1) % 3] + (alone ? d[c] : 0);
    }
    if (s->moved && r->far > 0) direction(w, r->far * r->scale, s->moved[draw(w, s->n)]);
    return s->moved != NULL;
}

/* ---- targets -------------------------------------------------------------------------------- */

/* A position near a particle, at one, between two, or far away. */
static void near_particle(struct work *w, double *to)
{
    const struct multiscale *const s = w->s;
    const double(*const x)[3] = multiscale_positions(s);
    const double *const host = x[draw(w, s->n)], *const other = x[draw(w, s->n)];
    const int what = draw(w, 16);
    double d[3];
    direction(w, w->r->scale * between(w, w->r->position_least, w->r->position_most), d);
    for (int c = 0; c < 3; c++) {
        to[c] = host[c] + (what == 0 ? 0 : d[c]);
        if (what == 1) to[c] = 0.5 * (host[c] + other[c]);
    }
    if (w->r->far > 0 && what == 2) direction(w, w->r->scale * w->r->far, to);
}

static int make_given_positions(struct work *w)
{
    struct multiscale *const s = w->s;
    const int lengths = s->h && draw(w, 2);
    s->position = calloc((size_t)s->ni + 1, sizeof *s->position);
    if (lengths) s->position_h = calloc((size_t)s->ni + 1, sizeof *s->position_h);
    for (int i = 0; i < s->ni && s->position; i++) near_particle(w, s->position[i]);
    for (int i = 0; i < s->ni && s->position_h; i++)
        s->position_h[i] = w->r->scale * between(w, w->r->h_least, w->r->h_most);
    return s->position && (!lengths || s->position_h);
}

static int make_active(struct work *w)
{
    struct multiscale *const s = w->s;
    s->active = calloc((size_t)s->ni + 1, sizeof *s->active);
    const int first = draw(w, s->n);
    for (int i = 0; i < s->ni && s->active; i++)
        s->active[i] = s->form == MULTISCALE_MANY ? (first + i) % s->n : draw(w, s->n);
    return s->active != NULL;
}

static int make_targets(struct work *w)
{
    struct multiscale *const s = w->s;
    s->form = w->r->form;
    s->ni = w->r->ni;
    if (s->form == MULTISCALE_ALL || s->form == MULTISCALE_STEPPED) s->ni = s->n;
    if (s->form == MULTISCALE_MANY) s->ni = s->n - s->n / 20;
    if (s->form == MULTISCALE_POSITIONS || s->form == MULTISCALE_MASSLESS) return make_given_positions(w);
    return (s->form != MULTISCALE_FEW && s->form != MULTISCALE_MANY) || make_active(w);
}

/* ---- the system ------------------------------------------------------------------------------- */

const double (*multiscale_positions(const struct multiscale *s))[3]
{
    return (const double(*)[3])(s->moved ? s->moved : s->x);
}

static void describe(const struct multiscale_recipe *r, struct multiscale *s)
{
    static const char *const shapes[] = {"uniform", "Plummer", "cusp",   "cores",   "clumps", "lattice",
                                         "line",    "plane",   "groups", "one key", "wide"},
                             *const acrosses[] = {"", " across cubes", " across boxes"},
                             *const forms[] = {"all", "few", "many", "positions", "massless", "stepped"};
    (void)snprintf(s->words, sizeof s->words,
                   "%s of %d, %d binaries and %d triples%s, %d twins, escaper %.1e, masses %d, eps %.1e, scale %.1e, "
                   "offset %.1e, moved %.1e, far %.1e, %s (%d)",
                   shapes[r->shape], s->n, r->binaries, r->triples, acrosses[r->across], r->twins, r->escaper,
                   (int)r->masses, r->eps, r->scale, r->offset, r->moved, r->far, forms[s->form], s->ni);
}

int multiscale_make(const struct multiscale_recipe *r, uint64_t seed, struct multiscale *s)
{
    struct work w = {.r = r, .s = s, .room = r->n + r->binaries + 2 * r->triples + r->twins + 1};
    memset(s, 0, sizeof *s);
    rng_seed(&w.random, seed, 31);
    s->x = calloc((size_t)w.room + 1, sizeof *s->x);
    s->mass = calloc((size_t)w.room + 1, sizeof *s->mass);
    if (!s->x || !s->mass) return 0;
    for (int k = 0; k < r->n; k++) in_shape(&w, k, add(&w));
    add_near_pairs(&w);
    shuffle(&w);
    for (int k = 0; k < s->n; k++)
        for (int c = 0; c < 3; c++) s->x[k][c] = r->scale * (s->x[k][c] + r->offset);
    make_masses(&w);
    s->options = r->options;
    s->options.size = sizeof s->options;
    s->options.eps2 = r->eps * r->eps * r->scale * r->scale;
    s->options.group_extent *= r->scale;
    if (!make_lengths(&w) || !make_accelerations(&w) || !make_motion(&w) || !make_targets(&w)) return 0;
    describe(r, s);
    return 1;
}

void multiscale_free(struct multiscale *s)
{
    free(s->x);
    free(s->mass);
    free(s->moved);
    free(s->h);
    free(s->a);
    free(s->active);
    free(s->position);
    free(s->position_h);
    memset(s, 0, sizeof *s);
}
