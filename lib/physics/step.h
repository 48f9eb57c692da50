/*
 * step.h - the arithmetic of the stepper, written once: prediction, correction, choice of time steps.
 *
 * Time is counted in ticks: the longest step, of level 0, has SAP_STEP_TICKS ticks, and a step of level l is 2^l times
 * shorter.  Steps of level l begin and end at multiples of their length, so the level alone tells where the present
 * step of a particle began.
 *
 * Predictor and corrector: Miki & Umemura 2017, New Astronomy 52, 65, eqs. 15 to 17.  If all particles have one step,
 * the scheme is the leap-frog (kick, drift, kick), operation by operation.
 *
 * The functions are included after the definitions of SAP_INLINE and of a scalar D that is double.  No operation is
 * fused, so results have the same bits on every engine.
 */
#ifndef SAP_PHYSICS_STEP_H
#define SAP_PHYSICS_STEP_H

#include "physics/field.h"

enum {
    SAP_STEP_TICKS = 1 << 30,
    SAP_STEP_LEVELS = 31, /* levels 0 .. 30 */
    SAP_STEP_SUMS = 12,   /* sums of sap_step_add */
    SAP_STEP_RUN = 256    /* particles that are summed one after the other */
};

/* Criteria for time steps; the numbers are those of sapporo_step_criterion. */
enum { SAP_STEP_BY_ACCELERATION = 1, SAP_STEP_BY_CHANGE = 2 };

/* The end of a step for the active particles: those of level `coarsest` and finer. */
struct sap_step {
    double dt;    /* length of a step of level 0 */
    double ahead; /* for predictions to a time after `tick` */
    double rest;  /* > 0: the step ends this time after `tick`, at which some particles are within their steps, and all
                     particles are active; 0: other steps */
    int tick;     /* end of the step, in ticks after the last time at which all particles were active */
    int coarsest;
    int start; /* 1: particles get their first forces and levels; nothing moves */
    int unused;
};

/* How new time steps are chosen.  eta: accuracy; reach: 2 eta eps. */
struct sap_step_rule {
    double eta, reach;
    int criterion, levels;
};

#ifdef SAP_HAVE_OPERATIONS

/* Returns the length of a step of a level. */
SAP_INLINE D sap_step_length(D dt, int level)
{
    return dt * ((D)(SAP_STEP_TICKS >> level) * (1.0 / (D)SAP_STEP_TICKS));
}

/* Returns the ticks since the last own time of a particle: before it steps at `tick`, or, with `done`, afterwards. */
SAP_INLINE int sap_step_behind(int tick, int level, int done)
{
    const int step = SAP_STEP_TICKS >> level;
    return done ? tick & (step - 1) : ((tick - 1) & (step - 1)) + 1;
}

/*
 * Returns the tick at which the step after `tick` ends, where steps of level `finest` are the shortest that particles
 * have: at a multiple of their length, since particles with shorter steps may have been removed.  *coarsest: the level
 * of the longest steps that end then.
 */
SAP_INLINE int sap_step_next(int tick, int finest, int *coarsest)
{
    const int length = SAP_STEP_TICKS >> finest, next = (tick & ~(length - 1)) + length;
    int level = finest;
    while (level > 0 && (next & ((SAP_STEP_TICKS >> (level - 1)) - 1)) == 0) level--;
    *coarsest = level;
    return next;
}

/* Returns the time that a particle is predicted by. */
SAP_INLINE D sap_step_span(const struct sap_step *s, int level, int done)
{
    const int lands = s->rest > 0.0;
    const D span = s->dt * ((D)sap_step_behind(s->tick, level, done || lands) * (1.0 / (D)SAP_STEP_TICKS));
    return lands ? span + s->rest : span;
}

/* Predicts one coordinate by dt; returns the position, *middle: the velocity after half of dt. */
SAP_INLINE D sap_step_predict(D x, D v, D a, D dt, D *middle)
{
    *middle = v + a * (dt * 0.5);
    return x + *middle * dt;
}

/* Returns the velocity after dt from that of the middle and the acceleration at the end. */
SAP_INLINE D sap_step_correct(D middle, D a, D dt) { return middle + a * (dt * 0.5); }

/* Returns the size of a vector. */
SAP_INLINE D sap_step_size(D x, D y, D z) { return d_sqrt(x * x + y * y + z * z); }

/*
 * Returns the size of the acceleration by the particles alone, at x, where the acceleration with that of the fields is
 * a.  Rounding leaves no less than 2^-44 of a.
 */
SAP_INLINE D sap_step_own_size(const struct sap_field_list *fields, const D *x, const D *a)
{
    const D all = sap_step_size(a[0], a[1], a[2]), least = all * 0x1p-44;
    if (fields->n == 0) return all;
    D outer[3] = {0.0, 0.0, 0.0}, pot = 0.0;
    sap_field_add(fields, x, outer, &pot);
    const D own = sap_step_size(a[0] - outer[0], a[1] - outer[1], a[2] - outer[2]);
    return own > least ? own : least;
}

/* Returns whether a step of length dt resolves an acceleration `now`, which has changed by `change` in `last`. */
SAP_INLINE int sap_step_is_short(const struct sap_step_rule *rule, D dt, D now, D change, D last)
{
    if (rule->criterion == SAP_STEP_BY_CHANGE) return dt * change <= rule->eta * now * last;
    return dt * dt * now <= rule->reach;
}

/*
 * Returns the level of the next step.  level: of the last one.  A step may double if the longer one begins at this
 * tick, and becomes as short as the criterion asks for.
 */
SAP_INLINE int sap_step_level(const struct sap_step_rule *rule, const struct sap_step *s, int level, const D *a,
                              const D *before)
{
    const int finest = rule->levels - 1;
    const D now = sap_step_size(a[0], a[1], a[2]);
    if (s->start && rule->criterion == SAP_STEP_BY_CHANGE) return finest; /* the change is not known yet */
    const D change = s->start ? 0.0 : sap_step_size(a[0] - before[0], a[1] - before[1], a[2] - before[2]);
    const D last = s->rest > 0.0 ? sap_step_span(s, level, 0) : sap_step_length(s->dt, level);
    int next = s->start ? 0 : level - 1 > s->coarsest ? level - 1 : s->coarsest;
    while (next < finest && !sap_step_is_short(rule, sap_step_length(s->dt, next), now, change, last)) next++;
    return next;
}

/*
 * Adds a particle to sums: kinetic energy, potential energy of pairs, potential energy in the fields, momentum[3],
 * angular momentum[3], mass times position[3].
 */
SAP_INLINE void sap_step_add(D *sum, D mass, const D *x, const D *v, D pot, D field)
{
    sum[0] += 0.5 * mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    sum[1] += 0.5 * mass * pot;
    sum[2] += mass * field;
    for (int c = 0; c < 3; c++) sum[3 + c] += mass * v[c];
    sum[6] += mass * (x[1] * v[2] - x[2] * v[1]);
    sum[7] += mass * (x[2] * v[0] - x[0] * v[2]);
    sum[8] += mass * (x[0] * v[1] - x[1] * v[0]);
    for (int c = 0; c < 3; c++) sum[9 + c] += mass * x[c];
}

#endif
#endif
