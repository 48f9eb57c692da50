/* cases.c - see cases.h. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * In sp a coordinate is one float.  In ds it is two floats with 48 bits.  In dp it has the predictor's few roundings of
 * a double.  Velocities are one float in sp and ds.
 */
const struct words words_of[SAPPORO_DP + 1] = {[SAPPORO_SP] = {0x1p-24, 0x1p-24, 0x1p-24},
                                               [SAPPORO_DS] = {0x1p-48, 0x1p-24, 0x1p-24},
                                               [SAPPORO_DP] = {0x1p-51, 0x1p-51, 0x1p-53}};

double case_bound(const struct test_case *test, sapporo_precision precision, const struct exact *e, int quantity)
{
    const struct words w = words_of[precision];
    /* terms of single precision end at 2^128, and intermediate results have a factor of 8 */
    if (precision != SAPPORO_DP && e->size[quantity] > 0x1p125) return INFINITY;
    if (test->roundings[precision] <= 0 || w.x * e->worst > 0.125) return INFINITY;
    const double x = w.x * e->by_x[quantity], v = w.v * e->by_v[quantity];
    return test->roundings[precision] * w.unit * e->size[quantity] + 1.5 * x + v; /* 1.5: beyond first order */
}

double nearest_bound(const struct exact *e)
{
    const double dx = words_of[SAPPORO_DP].x * e->nearest_x;
    if (e->address < 0) return 0;
    return 8 * words_of[SAPPORO_DP].unit * e->nearest_r2 + 2 * sqrt(e->nearest_r2) * dx + dx * dx;
}

/* ------------------------------------------------------- changes to bodies */

/* Uses every third address, some never, stored in no order, some of them twice. */
static void holes(struct problem *p)
{
    for (int k = 0; k < p->nbodies; k++) p->body[k].address = 3 * k + k % 5 % 3;
    model_shuffle(p->body, p->nbodies, sizeof *p->body, 7);
    for (int k = 0; k < p->nbodies / 10; k++) p->body[k].address = p->body[p->nbodies - 1 - k].address;
    p->nj = 3 * p->nbodies;
}

static void any_order(struct problem *p) { model_shuffle(p->body, p->nbodies, sizeof *p->body, 8); }

static void same_indices(struct problem *p)
{
    for (int k = 0; k < p->nbodies; k++) p->body[k].index = k / 3 * 5 - 40;
}

/* Gives some j the index -1, which has no meaning. */
static void minus_one(struct problem *p)
{
    for (int k = 0; k < p->nbodies; k++) p->body[k].index = k % 7 == 0 ? -1 : k;
}

static void odd_masses(struct problem *p)
{
    for (int k = 0; k < p->nbodies; k++) p->body[k].mass *= k % 5 == 0 ? 0 : k % 3 == 0 ? -1 : 1;
}

/* Puts every fourth particle at the position of another. */
static void coincident(struct problem *p)
{
    for (int k = 3; k < p->nbodies; k += 4)
        memcpy(p->body[k].derivative, p->body[(k * 5) % (k - 1)].derivative, sizeof p->body[k].derivative);
}

/* Makes a cubic lattice with a side of 1/4: many equal distances, all exact in every precision. */
static void lattice(struct problem *p)
{
    for (int k = 0; k < p->nbodies; k++)
        for (int c = 0; c < 3; c++) {
            p->body[k].derivative[0][c] = (k >> 3 * c & 7) / 4.0;
            p->body[k].derivative[1][c] = (k * (c + 3) % 11) / 8.0;
        }
    for (int k = 0; k < p->nbodies; k++) p->body[k].address = (k * 77 + 5) % p->nbodies;
}

/* Makes pairs at distance 1 from the origin, 1e-9 apart. */
static void tight_pairs(struct problem *p)
{
    rng random;
    rng_seed(&random, 9, 9);
    for (int k = 0; k + 1 < p->nbodies; k += 2) {
        double apart[3];
        rng_direction(&random, 1, p->body[k].derivative[0]);
        rng_direction(&random, 1e-9, apart);
        if (k == 0) apart[0] = 1e-9, apart[1] = apart[2] = 0, memcpy(p->body[0].derivative[0], (double[]){1, 0, 0}, 24);
        for (int c = 0; c < 3; c++) p->body[k + 1].derivative[0][c] = p->body[k].derivative[0][c] + apart[c];
    }
}

/*
 * Makes masses over a ratio of 1e6, a binary 1e-6 apart on its orbit, and a bulk velocity of 100 times the dispersion.
 */
static void make_hard(struct problem *p)
{
    struct body *const one = &p->body[0], *const two = &p->body[p->nbodies / 2];
    rng random;
    rng_seed(&random, 10, 10);
    for (int k = 0; k < p->nbodies; k++) p->body[k].mass *= pow(10, 6.0 * k / (p->nbodies - 1) - 4);
    one->mass = two->mass = 1.0 / p->nbodies;
    one->time = two->time = p->time; /* all other bodies are predicted */
    for (int c = 0; c < 3; c++) {
        const double tangent = c == 1 ? sqrt(2 * one->mass / 1e-6) / 2 : 0;
        two->derivative[0][c] = one->derivative[0][c] + (c == 0 ? 1e-6 : 0);
        two->derivative[1][c] = one->derivative[1][c] + tangent;
        one->derivative[1][c] -= tangent;
    }
    for (int k = 0; k < p->nbodies; k++) /* dispersion in one direction: 0.41 */
        for (int c = 0; c < 3; c++) p->body[k].derivative[1][c] += 41 / sqrt(3.0);
}

static void offset(struct problem *p)
{
    for (int k = 0; k < p->nbodies; k++)
        for (int c = 0; c < 3; c++) p->body[k].derivative[0][c] += 1e6;
}

static void scale_lengths(struct problem *p, double scale)
{
    for (int k = 0; k < p->nbodies; k++)
        for (int d = 0; d < TERMS; d++)
            for (int c = 0; c < 3; c++) p->body[k].derivative[d][c] *= scale;
}

static void tiny(struct problem *p) { scale_lengths(p, 1e-7); }
static void wide(struct problem *p) { scale_lengths(p, 1e9); }
static void huge(struct problem *p) { scale_lengths(p, 1e17); }

/* Puts bodies far outside the range of single precision, with gaps between addresses. */
static void beyond(struct problem *p)
{
    scale_lengths(p, 1e22);
    holes(p);
}

/* Puts all bodies at about the same distance, beyond the position of empty slots, with gaps between addresses. */
static void far_shell(struct problem *p)
{
    rng random;
    rng_seed(&random, 12, 12);
    for (int k = 0; k < p->nbodies; k++)
        rng_direction(&random, 1e19 * (1 + rng_uniform(&random)), p->body[k].derivative[0]);
    holes(p);
}

/* Starts all bodies at the origin with velocities that carry them far out. */
static void thrown(struct problem *p)
{
    for (int k = 0; k < p->nbodies; k++)
        for (int c = 0; c < 3; c++) {
            p->body[k].derivative[1][c] = p->body[k].derivative[0][c] * 1e20;
            p->body[k].derivative[0][c] = 0;
        }
    for (int k = 0; k < p->nbodies; k++) p->body[k].time = p->time - 1;
}

/* Puts all times before, or after, the time of the force. */
static void all_before(struct problem *p) { model_times(p->body, p->nbodies, p->time - 0.0625, 0.0625, 3); }
static void all_after(struct problem *p) { model_times(p->body, p->nbodies, p->time + 0.0625, 0.0625, 4); }

static void fewer_than_loaded(struct problem *p) { p->nj = p->nbodies * 2 / 3 + 1; }
static void more_than_loaded(struct problem *p) { p->nj = 1000000000; }
static void none_loaded(struct problem *p) { p->nbodies = 0; }

/* Gives each particle its own softening, 0 for some, and large for a few. */
static void soften(struct problem *p, int soft)
{
    p->soft = soft;
    for (int k = 0; k < p->nbodies; k++) p->body[k].eps2 = k % 4 == 0 ? 0 : k % 50 == 1 ? 4 : 1e-4 * (k % 9);
    for (int k = 0; k < p->ntargets; k++) p->target[k].eps2 = k % 5 == 0 ? 0 : k % 40 == 1 ? 9 : 1e-4 * (k % 11);
}

/* ------------------------------------------------------ changes to targets */

static void no_index(struct problem *p) { p->no_index = 1; }

/* Puts targets beside the bodies, so that without softening no target is at the position of a body. */
static void no_index_beside(struct problem *p)
{
    p->no_index = 1;
    for (int k = 0; k < p->ntargets; k++) p->target[k].x[k % 3] += 0x1p-10;
}

static void targets_minus_one(struct problem *p)
{
    for (int k = 0; k < p->ntargets; k += 2) {
        p->target[k].index = -1;
        p->target[k].x[0] += 0x1p-12;
    }
}

/*
 * Makes radii that end exactly on lattice points; every second target is in the middle of a cell, or on one of its
 * edges.
 */
static void lattice_targets(struct problem *p)
{
    for (int k = 0; k < p->ntargets; k++) {
        p->target[k].h2 = (k % 6) / 16.0;
        for (int c = 0; c < 3; c++)
            if (k % 5 > c) p->target[k].x[c] += 0.125;
    }
}

/* Puts targets near the origin, where no body is. */
static void stay_behind(struct problem *p)
{
    for (int k = 0; k < p->ntargets; k++)
        for (int c = 0; c < 3; c++) p->target[k].x[c] *= 1e-20;
}

static void all_in_reach(struct problem *p)
{
    for (int k = 0; k < p->ntargets; k++) p->target[k].h2 = k % 2 ? INFINITY : 1e30;
}

/* ------------------------------------------------------------------ the list */

#define KIND_PLUMMER(N, NI)                                                                                            \
    .name = "plummer " #N, .n = N, .ni = NI, .eps2 = 1.0 / 65536, .compare = WITH_ALL, .roundings = {0, 16, 16, 16},   \
    .why = "a pair has some 12 roundings; those of 127 additions in a packet average out to a few more"
#define SAME_BOUND                                                                                                     \
    .compare = WITH_ALL, .roundings = {0, 16, 16, 16}, .why = "as for the plain sphere: the sizes of terms tell all"

const struct test_case cases[] = {
    {KIND_PLUMMER(1, 1)},
    {KIND_PLUMMER(2, 2)},
    {KIND_PLUMMER(15, 15)},
    {KIND_PLUMMER(16, 16)},
    {KIND_PLUMMER(17, 17)},
    {KIND_PLUMMER(127, 127)},
    {KIND_PLUMMER(128, 128)},
    {KIND_PLUMMER(129, 129)},
    {KIND_PLUMMER(2047, 100)},
    {KIND_PLUMMER(2048, 49)},
    {KIND_PLUMMER(2049, 47)},
    {KIND_PLUMMER(5000, 200)},
    {.name = "no softening", .n = 1000, .ni = 200, SAME_BOUND},
    {.name = "spread times, all derivatives", .n = 2500, .ni = 150, .highest = 4, .eps2 = 1e-4, SAME_BOUND},
    {.name = "spread times, no snap", .n = 1000, .ni = 150, .highest = 3, SAME_BOUND},
    {.name = "spread times, acceleration", .n = 500, .ni = 100, .highest = 2, .eps2 = 1e-4, SAME_BOUND},
    {.name = "spread times, no derivatives", .n = 1000, .ni = 100, .highest = 1, SAME_BOUND},
    {.name = "all before", .n = 500, .ni = 100, .highest = 4, .bodies = all_before, .eps2 = 1e-4, SAME_BOUND},
    {.name = "all after", .n = 500, .ni = 100, .highest = 4, .bodies = all_after, .eps2 = 1e-4, SAME_BOUND},
    {.name = "tight pairs",
     .n = 64,
     .ni = 64,
     .bodies = tight_pairs,
     .compare = WITH_ALL,
     .roundings = {0, 16, 16, 16},
     .acc_relative = {0, 0, 1e-5, 1e-6},
     .why = "ds: coordinates are off by 2^-48 each, 3.6e-15 of 1e-9; acc changes by up to twice that"},
    {.name = "hard model", .n = 2000, .ni = 500, .bodies = make_hard, SAME_BOUND},
    {.name = "hard model predicted", .n = 1000, .ni = 250, .highest = 1, .bodies = make_hard, SAME_BOUND},
    {.name = "far offset", .n = 1000, .ni = 100, .bodies = offset, SAME_BOUND},
    {.name = "far offset predicted", .n = 1000, .ni = 30, .highest = 4, .bodies = offset, .eps2 = 1e-4, SAME_BOUND},
    {.name = "holes, any order", .n = 3000, .ni = 100, .bodies = holes, .eps2 = 1e-4, SAME_BOUND},
    {.name = "holes, predicted", .n = 900, .ni = 40, .highest = 4, .bodies = holes, SAME_BOUND},
    {.name = "any order", .n = 700, .ni = 60, .bodies = any_order, .eps2 = 1e-4, SAME_BOUND},
    {.name = "indices shared by three", .n = 600, .ni = 100, .bodies = same_indices, SAME_BOUND},
    {.name = "index -1", .n = 600, .ni = 100, .bodies = minus_one, .targets = targets_minus_one, SAME_BOUND},
    {.name = "no index", .n = 600, .ni = 100, .targets = no_index, .eps2 = 1e-4, SAME_BOUND},
    {.name = "no index, unsoftened", .n = 600, .ni = 100, .targets = no_index_beside, SAME_BOUND},
    {.name = "masses of 0 and below", .n = 2100, .ni = 100, .bodies = odd_masses, .eps2 = 1e-4, SAME_BOUND},
    {.name = "coincident", .n = 600, .ni = 200, .bodies = coincident, SAME_BOUND},
    {.name = "coincident, softened", .n = 600, .ni = 200, .bodies = coincident, .eps2 = 1e-4, SAME_BOUND},
    {.name = "lattice", .n = 512, .ni = 500, .bodies = lattice, .targets = lattice_targets, SAME_BOUND},
    {.name = "lattice, few", .n = 512, .ni = 23, .bodies = lattice, .targets = lattice_targets, SAME_BOUND},
    {.name = "one target", .n = 5000, .ni = 1, .highest = 4, .eps2 = 1e-4, SAME_BOUND},
    {.name = "17000 targets", .n = 60, .ni = 17000, .eps2 = 1e-4, .every = 40, SAME_BOUND},
    {.name = "everybody in the list", .n = 2500, .ni = 60, .targets = all_in_reach, SAME_BOUND},
    {.name = "nj below what is loaded", .n = 3000, .ni = 100, .bodies = fewer_than_loaded, SAME_BOUND},
    {.name = "nj beyond what is loaded", .n = 2500, .ni = 100, .bodies = more_than_loaded, SAME_BOUND},
    {.name = "nobody loaded", .n = 10, .ni = 50, .bodies = none_loaded, SAME_BOUND},
    {.name = "lengths of 1e-7", .n = 500, .ni = 100, .bodies = tiny, SAME_BOUND},
    {.name = "lengths of 1e9", .n = 500, .ni = 100, .bodies = wide, SAME_BOUND},
    {.name = "lengths of 1e17",
     .n = 500,
     .ni = 100,
     .bodies = huge,
     .compare = WITH_ALL,
     .roundings = {0, 0, 0, 16},
     .why = "m/R^3 is below the range of single precision: only dp makes a claim"},
    {.name = "lengths of 1e22, holes",
     .n = 3000,
     .ni = 60,
     .bodies = beyond,
     .compare = WITH_ALL,
     .roundings = {0, 0, 0, 16},
     .why = "squares are beyond single precision: only dp makes a claim"},
    {.name = "thrown far out",
     .n = 500,
     .ni = 60,
     .highest = 1,
     .bodies = thrown,
     .compare = WITH_ALL,
     .roundings = {0, 0, 0, 16},
     .why = "squares are beyond single precision: only dp makes a claim"},
    {.name = "thrown far out, seen from the origin",
     .n = 500,
     .ni = 60,
     .highest = 1,
     .bodies = thrown,
     .targets = stay_behind,
     .compare = WITH_ALL,
     .roundings = {0, 0, 0, 16},
     .why = "squares are beyond single precision: only dp makes a claim"},
    {.name = "shell of 1e19, holes, seen from the origin",
     .n = 900,
     .ni = 60,
     .bodies = far_shell,
     .targets = stay_behind,
     .compare = WITH_ALL,
     .roundings = {0, 0, 0, 16},
     .why = "squares are at the end of single precision: only dp makes a claim"},
    {.name = "no index, nobody but oneself at one's place", .n = 2100, .ni = 100, .targets = no_index, SAME_BOUND},
    {.name = "softening of targets", .n = 2500, .ni = 200, .soft = SOFT_TARGETS, SAME_BOUND},
    {.name = "softening of bodies", .n = 2500, .ni = 200, .soft = SOFT_BODIES, .eps2 = 1e-6, SAME_BOUND},
    {.name = "symmetric softening", .n = 2500, .ni = 200, .soft = SOFT_TARGETS | SOFT_BODIES, SAME_BOUND},
    {.name = "symmetric softening, no index",
     .n = 700,
     .ni = 150,
     .soft = SOFT_TARGETS | SOFT_BODIES,
     .targets = no_index,
     SAME_BOUND},
    {.name = "symmetric softening, few",
     .n = 5000,
     .ni = 15,
     .soft = SOFT_TARGETS | SOFT_BODIES,
     .targets = no_index,
     SAME_BOUND},
    {.name = "symmetric softening, holes",
     .n = 900,
     .ni = 100,
     .highest = 1,
     .soft = SOFT_TARGETS | SOFT_BODIES,
     .bodies = holes,
     SAME_BOUND},
    {.name = "symmetric softening, coincident",
     .n = 600,
     .ni = 200,
     .soft = SOFT_TARGETS | SOFT_BODIES,
     .bodies = coincident,
     SAME_BOUND},
    {.name = NULL}};

const struct test_case smooth_model = {KIND_PLUMMER(16384, 1024)};
const struct test_case hard_model = {
    .name = "hard model", .n = 4096, .ni = 1024, .highest = 1, .bodies = make_hard, SAME_BOUND};

/* -------------------------------------------------------------------- making */

/* Puts a target at a body's predicted position; radii vary from none to all. */
static void put_target(struct target *t, const struct body *b, double time, int k, int n)
{
    real x[3], v[3], a[3], jerk[3];
    const double radius = 1.5 * pow(8.0 / n, 1.0 / 3) * (1 + k % 4) / 4;
    reference_predict(b, time, x, v, NULL, NULL);
    reference_predict_one(b, time, 2, a, NULL);
    reference_predict_one(b, time, 3, jerk, NULL);
    for (int c = 0; c < 3; c++) {
        t->x[c] = (double)x[c], t->v[c] = (double)v[c];
        t->a[c] = (double)a[c], t->jerk[c] = (double)jerk[c];
    }
    t->index = b->index;
    t->h2 = k % 8 == 0 ? 0 : k % 32 == 9 ? 1e4 : radius * radius;
}

static void put_targets(struct problem *p)
{
    rng random;
    rng_seed(&random, 11, 11);
    for (int k = 0; k < p->ntargets; k++) {
        struct target *t = &p->target[k];
        const int at = (int)(p->ntargets < p->nbodies ? (int64_t)k * p->nbodies / p->ntargets : k % p->nbodies);
        put_target(t, &p->body[at], p->time, k, p->nbodies);
        if (k < p->nbodies) continue;
        for (int c = 0; c < 3; c++) t->x[c] += 0.1 * (rng_uniform(&random) - 0.5); /* not at the position of a body */
        t->index = -2 - k;
    }
}

void case_make(const struct test_case *test, int order, struct problem *p)
{
    problem_new(p, test->n, test->ni);
    p->order = order;
    p->nj = test->n;
    p->eps2 = test->eps2;
    p->time = 0.625;
    model_plummer(p->body, test->n, (uint64_t)test->n);
    model_derivatives(p->body, test->n, order > 4 && test->highest == 4 ? highest_of(order) : test->highest);
    model_times(p->body, test->n, p->time, test->highest ? 0.0625 : 0, 1);
    if (test->soft) soften(p, test->soft);
    if (test->bodies) test->bodies(p);
    if (p->nbodies) put_targets(p);
    if (test->targets) test->targets(p);
}
