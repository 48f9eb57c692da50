/*
 * hermite.h - the arithmetic of the Hermite schemes of orders 4, 6 and 8, written once: times, prediction of targets,
 * correction, choice of time steps.
 *
 * Order 4: Makino & Aarseth 1992, PASJ 44, 141; its criterion is Aarseth's (1985, in Multiple Time Scales, eq. 9).
 * Orders 6 and 8: Nitadori & Makino 2008, New Astronomy 13, 498, with their generalised criterion.  A force has `given`
 * = order / 2 derivatives, the acceleration f_0 and those after it; a particle keeps x, v, f_0 and more.  Sources are
 * predicted by the force (physics/predictor.h).  All numbers have the bits of the programs that do the same by calls
 * (examples/apps): operations are those of their formulas, in their order.
 *
 * The criteria multiply derivatives by powers of two: f_k by u^k s, where u is near the last step and s near 1/f_0.
 * No number then leaves the range of double, and no bit of a choice changes.
 *
 * The functions are included after the definitions of SAP_INLINE and of a scalar D that is double.  No operation is
 * fused, and roots are square roots alone, so results have the same bits on every engine.
 */
#ifndef SAP_PHYSICS_HERMITE_H
#define SAP_PHYSICS_HERMITE_H

#include "physics/field_series.h"
#include "physics/step.h"

enum {
    SAP_HERMITE_GIVEN = 4,                       /* most derivatives of a force */
    SAP_HERMITE_KEPT = 2 + 2 * SAP_HERMITE_GIVEN /* most derivatives of x that a particle keeps, x among them */
};

/* Derivatives of x, x among them, that a particle of an order keeps, and that its force predicts sources with. */
#define SAP_HERMITE_KEPT_OF(order) ((order) == 4 ? 5 : 2 + (order))
#define SAP_HERMITE_SENT_OF(order) ((order) == 4 ? 5 : (order) == 6 ? 6 : 8)

/* How time steps are chosen. */
struct sap_hermite_rule {
    double eta, eta_start; /* accuracy of steps, and of first steps */
    double unit;           /* the largest power of two that is not above a step of level 0 */
    double rounding;       /* upper estimate of the relative rounding errors of forces: orders 6 and 8 */
    int averaged;          /* 1: the mean of all time scales; 0: the generalised criterion; orders 6 and 8 */
    int levels;
};

#ifdef SAP_HAVE_OPERATIONS

/* ---- times ---- */

/* Returns the time of a tick: the clock of predictions. */
SAP_INLINE D sap_hermite_time(const struct sap_step *s, int tick)
{
    return s->dt * ((D)tick * (1.0 / (D)SAP_STEP_TICKS));
}

/* Returns the time at the end of a step, and beyond it by `ahead`. */
SAP_INLINE D sap_hermite_end(const struct sap_step *s) { return sap_hermite_time(s, s->tick) + (s->rest + s->ahead); }

/* Returns the own time of a particle: before the step, or, with `done`, after it. */
SAP_INLINE D sap_hermite_own(const struct sap_step *s, int level, int done)
{
    return sap_hermite_time(s, s->tick - sap_step_behind(s->tick, level, done || s->rest > 0.0));
}

/* Returns the time that the particles of a step have after it: clocks begin anew when all particles are active. */
SAP_INLINE D sap_hermite_after(const struct sap_step *s)
{
    return s->start || s->tick == SAP_STEP_TICKS || s->rest > 0.0 ? 0.0 : sap_hermite_time(s, s->tick);
}

/* ---- prediction of one coordinate of a target ---- */

/* Order 4.  d: x, v, a, jerk, snap; out: x and v. */
SAP_INLINE void sap_hermite_predict4(const D *d, D dt, D *out)
{
    out[0] = d[0] + dt * (d[1] + dt / 2.0 * (d[2] + dt / 3.0 * (d[3] + dt / 4.0 * d[4])));
    out[1] = d[1] + dt * (d[2] + dt / 2.0 * (d[3] + dt / 3.0 * d[4]));
}

/* Orders 6 and 8, with the derivatives that predict sources.  out: x, v, a, and in order 8 the jerk. */
SAP_INLINE void sap_hermite_predict_full(int given, const D *d, D dt, D *out)
{
    const int sent = 2 * given > 6 ? 8 : 6;
    for (int k = 0; k < given; k++) {
        D sum = d[sent - 1];
        for (int m = sent - 2; m >= k; m--) sum = d[m] + sum * (dt / (D)(m + 1 - k));
        out[k] = sum;
    }
}

SAP_INLINE void sap_hermite_predict(int given, const D *d, D dt, D *out)
{
    if (given == 2)
        sap_hermite_predict4(d, dt, out);
    else
        sap_hermite_predict_full(given, d, dt, out);
}

/* ---- correction of one coordinate ---- */

/* Order 4.  d: before; f: acceleration and jerk at the end; to: x, v, a, jerk, snap, and the crackle of the step. */
SAP_INLINE void sap_hermite_correct4(const D *d, const D *f, D dt, D *to)
{
    const D da = d[2] - f[0];
    const D snap = (-6.0 * da - dt * (4.0 * d[3] + 2.0 * f[1])) / (dt * dt);
    const D crackle = (12.0 * da + 6.0 * dt * (d[3] + f[1])) / (dt * dt * dt);
    to[0] = d[0] + dt * (d[1] + dt / 2.0 * (d[2] + dt / 3.0 * (d[3] + dt / 4.0 * (snap + dt / 5.0 * crackle))));
    to[1] = d[1] + dt * (d[2] + dt / 2.0 * (d[3] + dt / 3.0 * (snap + dt / 4.0 * crackle)));
    to[2] = f[0];
    to[3] = f[1];
    to[4] = snap + dt * crackle;
    to[5] = crackle;
}

/* Returns n (n - 1) ..., a product of k factors. */
SAP_INLINE D sap_hermite_falling(int n, int k)
{
    D product = 1.0;
    for (int m = 0; m < k; m++) product *= (D)(n - m);
    return product;
}

/* Returns a dt^n, whose power alone may not fit into a double. */
SAP_INLINE D sap_hermite_grow(D a, D dt, int n)
{
    for (int k = 0; k < n; k++) a *= dt;
    return a;
}

/* Solves a x = r for n unknowns; the matrices here are far from singular. */
SAP_INLINE void sap_hermite_solve(int n, D (*a)[SAP_HERMITE_GIVEN], D *r)
{
    for (int k = 0; k < n; k++)
        for (int row = 0; row < n; row++) {
            if (row == k) continue;
            const D factor = a[row][k] / a[k][k];
            for (int m = k; m < n; m++) a[row][m] -= factor * a[k][m];
            r[row] -= factor * r[k];
        }
    for (int k = 0; k < n; k++) r[k] /= a[k][k];
}

/*
 * Computes derivatives given ... 2 given - 1 of a force at its end `here` from those below, at the end and dt earlier.
 * With u = (t_here - t) / dt the force is the sum of g_k u^k.  The first terms are known at u = 0; the difference that
 * remains at u = 1 determines the others.
 */
SAP_INLINE void sap_hermite_higher(int given, const D *here, const D *there, D dt, D *higher)
{
    D a[SAP_HERMITE_GIVEN][SAP_HERMITE_GIVEN], left[SAP_HERMITE_GIVEN];
    for (int k = 0; k < given; k++) {
        left[k] = 0.0;
        for (int m = given - 1; m >= k; m--) { /* small terms first */
            D term = sap_hermite_grow(here[m], -dt, m);
            for (int f = 2; f <= m - k; f++) term /= (D)f;
            left[k] -= term;
        }
        left[k] += sap_hermite_grow(there[k], -dt, k);
        for (int m = 0; m < given; m++) a[k][m] = sap_hermite_falling(given + m, k);
    }
    sap_hermite_solve(given, a, left);
    for (int m = 0; m < given; m++) {
        higher[m] = left[m] * sap_hermite_falling(given + m, given + m);
        for (int k = 0; k < given + m; k++) higher[m] /= -dt;
    }
}

/* Returns the integral of a step from a function and its derivatives at both ends (orders 6 and 8). */
SAP_INLINE D sap_hermite_integral(int given, const D *f0, const D *f1, D dt)
{
    const D w1 = given == 3 ? 1.0 / 10.0 : 3.0 / 28.0, w2 = given == 3 ? 1.0 / 120.0 : 1.0 / 84.0;
    D sum = 0.0;
    if (given > 3) sum = (sum + 1.0 / 1680.0 * (f0[3] - f1[3])) * dt;
    sum = (sum + w2 * (f0[2] + f1[2])) * dt;
    sum = (sum + w1 * (f0[1] - f1[1])) * dt;
    return (sum + 1.0 / 2.0 * (f0[0] + f1[0])) * dt;
}

/* Orders 6 and 8.  d: before; f: derivatives of the force at the end; to: all that a particle keeps. */
SAP_INLINE void sap_hermite_correct_full(int given, const D *d, const D *f, D dt, D *to)
{
    D f0[SAP_HERMITE_GIVEN + 1] = {0.0}, f1[SAP_HERMITE_GIVEN + 1] = {0.0};
    for (int k = 0; k < given; k++) {
        f0[k + 1] = d[2 + k];
        f1[k + 1] = f[k];
    }
    sap_hermite_higher(given, f1 + 1, f0 + 1, dt, to + 2 + given);
    f0[0] = d[1];
    f1[0] = d[1] + sap_hermite_integral(given, f0 + 1, f1 + 1, dt);
    to[0] = d[0] + sap_hermite_integral(given, f0, f1, dt);
    to[1] = f1[0];
    for (int k = 0; k < given; k++) to[2 + k] = f[k];
}

/* Corrects one coordinate; `to` has one number more than a particle of order 4 keeps. */
SAP_INLINE void sap_hermite_correct(int given, const D *d, const D *f, D dt, D *to)
{
    if (given == 2)
        sap_hermite_correct4(d, f, dt, to);
    else
        sap_hermite_correct_full(given, d, f, dt, to);
}

/* ---- sizes of derivatives ---- */

/* Squares of the sizes of derivatives at the end of a step, added up axis by axis. */
struct sap_hermite_sizes {
    D f[2 * SAP_HERMITE_GIVEN];                                                   /* of the force */
    D old[SAP_HERMITE_GIVEN], begin[SAP_HERMITE_GIVEN], apart[SAP_HERMITE_GIVEN]; /* of the higher ones at the
                                        beginning: by the last step, by this one, and of the difference */
    D x;                                                                          /* of the position */
    D unit;  /* u, the power of two of the time unit */
    D scale; /* s */
    D dt;    /* of the step, over u */
};

SAP_INLINE D sap_hermite_larger(D a, D b)
{
    const D size = b < 0.0 ? -b : b;
    return a > size ? a : size;
}

/* Returns 1 over a power of two near the largest number of a vector; 1 for zero. */
SAP_INLINE D sap_hermite_scale(D x, D y, D z)
{
    const D grid = d_grid(sap_hermite_larger(sap_hermite_larger(sap_hermite_larger(0.0, x), y), z));
    return grid > 0.0 ? 1.0 / grid : 1.0;
}

/* Returns the size of a vector of any numbers. */
SAP_INLINE D sap_hermite_size(D x, D y, D z)
{
    const D s = sap_hermite_scale(x, y, z);
    return sap_step_size(x * s, y * s, z * s) / s;
}

/* Begins to add: a: the acceleration at the end of a step of length dt. */
SAP_INLINE void sap_hermite_open(const struct sap_hermite_rule *rule, int level, D dt, const D *a,
                                 struct sap_hermite_sizes *z)
{
    for (int k = 0; k < 2 * SAP_HERMITE_GIVEN; k++) z->f[k] = 0.0;
    for (int k = 0; k < SAP_HERMITE_GIVEN; k++) z->old[k] = z->begin[k] = z->apart[k] = 0.0;
    z->x = 0.0;
    z->unit = sap_step_length(rule->unit, level);
    z->scale = sap_hermite_scale(a[0], a[1], a[2]);
    z->dt = dt / z->unit;
}

/* Adds one coordinate: d before, to after the step. */
SAP_INLINE void sap_hermite_add(int given, const D *d, const D *to, struct sap_hermite_sizes *z)
{
    const int top = 2 * given - 1;
    D f[2 * SAP_HERMITE_GIVEN] = {0.0}, old[SAP_HERMITE_GIVEN] = {0.0}, power = z->scale;
    for (int k = 0; k <= top; k++) {
        f[k] = to[2 + k] * power;
        z->f[k] += f[k] * f[k];
        if (given > 2 && k >= given) old[k - given] = d[2 + k] * power;
        power *= z->unit;
    }
    if (given == 2) return;
    z->x += to[0] * to[0];
    for (int k = given; k <= top; k++) {
        D begin = f[top];
        for (int m = top - 1; m >= k; m--) begin = f[m] - begin * (z->dt / (D)(m + 1 - k));
        const D apart = begin - old[k - given];
        z->old[k - given] += old[k - given] * old[k - given];
        z->begin[k - given] += begin * begin;
        z->apart[k - given] += apart * apart;
    }
}

/* Adds what was added up of other coordinates, to none or to those before them. */
SAP_INLINE void sap_hermite_join(struct sap_hermite_sizes *z, const struct sap_hermite_sizes *other)
{
    for (int k = 0; k < 2 * SAP_HERMITE_GIVEN; k++) z->f[k] += other->f[k];
    for (int k = 0; k < SAP_HERMITE_GIVEN; k++) {
        z->old[k] += other->old[k];
        z->begin[k] += other->begin[k];
        z->apart[k] += other->apart[k];
    }
    z->x += other->x;
}

/* ---- choice of steps ---- */

/*
 * Which steps are short enough, as multiples of u: up to `step`, or, with a power n > 0, those whose n-th power over
 * that of eta is at most `step`; with `also`, too, those of which 8 times the power `also_n` is at most this.
 */
struct sap_hermite_choice {
    D step, also;
    int n, also_n;
};

/* Returns A_k^2 of the criterion. */
SAP_INLINE D sap_hermite_change(const D *f, int k) { return d_sqrt(f[k - 1] * f[k + 1]) + f[k]; }

/* Returns the quotient whose root of order *n is the step by the generalised criterion; < 0: any step is short. */
SAP_INLINE D sap_hermite_quotient(const D *f, int highest, int *n)
{
    const int last = highest > 2 ? highest - 1 : 2;
    D below = f[2];
    for (int k = 2; k < 2 * SAP_HERMITE_GIVEN - 1; k++) /* constant places stay in registers */
        if (highest > 2 && k == last) below = sap_hermite_change(f, k);
    const D above = sap_hermite_change(f, 1);
    *n = 2 * (last - 1);
    return above > 0.0 && below > 0.0 ? above / below : -1.0;
}

/* Returns the step by the mean of the time scales below `last`; < 0: any step is short. */
SAP_INLINE D sap_hermite_mean(const D *f, int last, D eta)
{
    D sum = 0.0, above = sap_hermite_change(f, 1);
    for (int k = 1; k < last; k++) {
        const D below = sap_hermite_change(f, k + 1);
        if (!(above > 0.0 && below > 0.0)) return -1.0;
        sum += d_sqrt(above / below);
        above = below;
    }
    return eta * sum / (D)(last - 1);
}

/* Returns the step by Aarseth's criterion; < 0: any step is short. */
SAP_INLINE D sap_hermite_aarseth(const D *f, D eta)
{
    const D a = d_sqrt(f[0]), j = d_sqrt(f[1]), s = d_sqrt(f[2]), c = d_sqrt(f[3]);
    const D above = a * s + j * j, below = j * c + s * s;
    return above > 0.0 && below > 0.0 ? d_sqrt(eta * above / below) : -1.0;
}

/* Returns how much a rounding error of the force is amplified in derivative k, times the power k of the step. */
SAP_INLINE D sap_hermite_amplification(int given, int k)
{
    /* k! times the coefficients of the polynomial that is 1 at u = 1, where its derivatives vanish */
    if (given == 3) return k == 3 ? 60.0 : k == 4 ? 360.0 : 720.0;
    return k == 4 ? 840.0 : k == 5 ? 10080.0 : k == 6 ? 50400.0 : 100800.0;
}

/*
 * Returns the highest derivative that counts in the criterion, and sets *uncertain.  The highest derivatives are
 * differences of forces over powers of dt.  If rounding errors make them, each shorter step makes them larger, and the
 * next step shorter still, without a bound (docs/hermite.md).  So only derivatives below the first that is noise count,
 * and where noise may be taken for a derivative, the step is at least an eighth of the one by those of the force.
 */
SAP_INLINE int sap_hermite_highest(int given, const struct sap_hermite_rule *rule, const struct sap_hermite_sizes *z,
                                   D pot, int *uncertain)
{
    const D depth = pot < 0.0 ? -pot : 0.0, time = depth > 0.0 ? d_sqrt(z->x) / d_sqrt(depth) : 0.0;
    const D force = d_sqrt(z->f[0]) + (depth > 0.0 ? time * (d_sqrt(z->f[1]) / z->unit) : 0.0);
    int highest = 2 * given - 1;
    *uncertain = 0;
    for (int k = 2 * given - 1; k >= given; k--) {
        const D change = sap_hermite_grow(d_sqrt(z->f[k]), z->dt, k), old = d_sqrt(z->old[k - given]);
        if (!(change <= sap_hermite_amplification(given, k) * (rule->rounding * force))) continue;
        *uncertain = 1;
        if (old > 0.0 && d_sqrt(z->apart[k - given]) > 0.5 * (old + d_sqrt(z->begin[k - given]))) highest = k - 1;
    }
    return highest;
}

/* Chooses steps at the end of a step. */
SAP_INLINE struct sap_hermite_choice sap_hermite_choose(int given, const struct sap_hermite_rule *rule,
                                                        const struct sap_hermite_sizes *z, D pot)
{
    struct sap_hermite_choice c = {0.0, 0.0, 0, 0};
    int uncertain;
    if (given == 2) {
        c.step = sap_hermite_aarseth(z->f, rule->eta);
        return c;
    }
    const int highest = sap_hermite_highest(given, rule, z, pot, &uncertain);
    c.step =
        rule->averaged ? sap_hermite_mean(z->f, 2 * given - 2, rule->eta) : sap_hermite_quotient(z->f, highest, &c.n);
    if (uncertain) c.also = sap_hermite_quotient(z->f, given - 1, &c.also_n);
    return c;
}

/* Returns whether a step, as a multiple of u, is short enough. */
SAP_INLINE int sap_hermite_is_short(const struct sap_hermite_choice *c, D eta, D step)
{
    if (c->step < 0.0 || c->also < 0.0) return 1;
    if (c->n == 0 ? step <= c->step : sap_hermite_grow(1.0, step / eta, c->n) <= c->step) return 1;
    return c->also_n > 0 && sap_hermite_grow(1.0, 8.0 * step / eta, c->also_n) <= c->also;
}

/* Returns the level of the next step (sap_step_level); level: of the last one. */
SAP_INLINE int sap_hermite_level(const struct sap_hermite_rule *rule, const struct sap_step *s, int level,
                                 const struct sap_hermite_choice *c, D unit)
{
    int next = level - 1 > s->coarsest ? level - 1 : s->coarsest;
    while (next < rule->levels - 1 && !sap_hermite_is_short(c, rule->eta, sap_step_length(s->dt, next) / unit)) next++;
    return next;
}

/*
 * Returns the level of a first step: eta_start a/j, or, for a particle whose acceleration or jerk vanishes by chance,
 * what the speed of its potential says.  a, jerk: sizes.
 */
SAP_INLINE int sap_hermite_first(const struct sap_hermite_rule *rule, const struct sap_step *s, D a, D jerk, D pot)
{
    const D speed = d_sqrt(pot < 0.0 ? -pot : pot), eta = rule->eta_start;
    D step;
    int level = 0;
    if (jerk > 0.0) {
        const D least = eta * (d_sqrt(speed / jerk) * 0.0009765625);
        step = eta * a / jerk;
        step = step > least ? step : least;
    } else if (a > 0.0) {
        const D still = speed > 0.0 ? speed / a : s->dt;
        step = eta * (still < s->dt ? still : s->dt);
    } else {
        return 0;
    }
    while (level < rule->levels - 1 && !(sap_step_length(s->dt, level) <= step)) level++;
    return level;
}

#endif
#endif
