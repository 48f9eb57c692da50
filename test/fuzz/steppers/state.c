/* state.c - see state.h. */
#include "state.h"

#include <math.h>
#include <string.h>

#include "worst.h"

void outputs_poison(struct outputs *o)
{
    memset(o, 0x41, sizeof *o); /* doubles of 2.26e6 */
    o->totals.size = sizeof o->totals;
}

sapporo_stepper_output outputs_request(struct outputs *o, int n, sapporo_step_when when, double time, unsigned wanted)
{
    return (sapporo_stepper_output){.size = sizeof(sapporo_stepper_output),
                                    .n = n,
                                    .when = when,
                                    .time = time,
                                    .x = wanted & WANT_X ? o->x : NULL,
                                    .v = wanted & WANT_V ? o->v : NULL,
                                    .acc = wanted & WANT_ACC ? o->acc : NULL,
                                    .pot = wanted & WANT_POT ? o->pot : NULL,
                                    .mass = wanted & WANT_MASS ? o->mass : NULL,
                                    .own_time = wanted & WANT_TIME ? o->own_time : NULL,
                                    .level = wanted & WANT_LEVEL ? o->level : NULL,
                                    .label = wanted & WANT_LABEL ? o->label : NULL,
                                    .h = wanted & WANT_H ? o->h : NULL};
}

/* Sets the n rows of the outputs of a mask to what a failed call must leave there. */
static void spoil(struct outputs *o, int n, unsigned wanted)
{
    for (int i = 0; i < n && i < PLAN_ROWS; i++) {
        for (int c = 0; c < 3; c++) {
            if (wanted & WANT_X) o->x[i][c] = NAN;
            if (wanted & WANT_V) o->v[i][c] = NAN;
            if (wanted & WANT_ACC) o->acc[i][c] = NAN;
        }
        if (wanted & WANT_POT) o->pot[i] = NAN;
        if (wanted & WANT_MASS) o->mass[i] = NAN;
        if (wanted & WANT_TIME) o->own_time[i] = NAN;
        if (wanted & WANT_H) o->h[i] = NAN;
        if (wanted & WANT_LEVEL) o->level[i] = -1;
        if (wanted & WANT_LABEL) o->label[i] = -1;
    }
}

/* 1: both have the same numbers; NaN of any bits are the same. */
static int are_same(const double *a, const double *b, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!(isnan(a[k]) && isnan(b[k])) && memcmp(&a[k], &b[k], sizeof *a) != 0) return 0;
    return 1;
}

int outputs_are_spoilt(const struct outputs *o, int n, unsigned wanted)
{
    struct outputs right;
    outputs_poison(&right);
    spoil(&right, n, wanted);
    return are_same(o->x[0], right.x[0], sizeof o->x / sizeof(double)) &&
           are_same(o->v[0], right.v[0], sizeof o->v / sizeof(double)) &&
           are_same(o->acc[0], right.acc[0], sizeof o->acc / sizeof(double)) &&
           are_same(o->pot, right.pot, PLAN_ROWS) && are_same(o->mass, right.mass, PLAN_ROWS) &&
           are_same(o->own_time, right.own_time, PLAN_ROWS) && are_same(o->h, right.h, PLAN_ROWS) &&
           memcmp(o->level, right.level, sizeof o->level) == 0 && memcmp(o->label, right.label, sizeof o->label) == 0;
}

int totals_are_spoilt(const sapporo_stepper_totals *t)
{
    int good = isnan(t->time) && isnan(t->kinetic) && isnan(t->potential) && isnan(t->field);
    for (int c = 0; c < 3; c++) good &= isnan(t->momentum[c]) && isnan(t->angular_momentum[c]) && isnan(t->moment[c]);
    return good;
}

void state_take(sapporo_stepper *s, struct state *to)
{
    sapporo_stepper_statistics t = {.size = sizeof t};
    memset(to, 0, sizeof *to);
    outputs_poison(&to->own);
    outputs_poison(&to->now);
    (void)sapporo_stepper_get_statistics(s, &t);
    const int rows = t.n > 0 ? t.n : 1;
    const sapporo_stepper_output own = outputs_request(&to->own, rows, SAPPORO_STEP_OWN, 0, WANT_ALL),
                                 now = outputs_request(&to->now, rows, SAPPORO_STEP_NOW, 0, WANT_ALL);
    to->status = sapporo_stepper_get(s, &own);
    if (!to->status) to->status = sapporo_stepper_get(s, &now);
    to->time = sapporo_stepper_get_time(s);
    to->n = t.n;
    to->massive = t.massive;
    to->steps = t.steps;
    to->particle_steps = t.particle_steps;
    memcpy(to->level, t.level, sizeof to->level);
}

/* Names the first part of two outputs that differs. */
static const char *outputs_difference(const struct outputs *a, const struct outputs *b)
{
    if (memcmp(a->label, b->label, sizeof a->label) != 0) return "labels";
    if (memcmp(a->mass, b->mass, sizeof a->mass) != 0) return "masses";
    if (memcmp(a->h, b->h, sizeof a->h) != 0) return "softening lengths";
    if (memcmp(a->level, b->level, sizeof a->level) != 0) return "levels";
    if (memcmp(a->own_time, b->own_time, sizeof a->own_time) != 0) return "times of particles";
    if (memcmp(a->x, b->x, sizeof a->x) != 0) return "positions";
    if (memcmp(a->v, b->v, sizeof a->v) != 0) return "velocities";
    if (memcmp(a->acc, b->acc, sizeof a->acc) != 0) return "accelerations";
    return memcmp(a->pot, b->pot, sizeof a->pot) != 0 ? "potentials" : NULL;
}

const char *state_difference(const struct state *a, const struct state *b)
{
    if (a->status != b->status) return "status of sapporo_stepper_get";
    if (!are_same(&a->time, &b->time, 1)) return "time";
    if (a->n != b->n || a->massive != b->massive) return "numbers of particles";
    if (a->steps != b->steps || a->particle_steps != b->particle_steps) return "steps";
    if (memcmp(a->level, b->level, sizeof a->level) != 0) return "particles per level";
    const char *const own = a->status ? NULL : outputs_difference(&a->own, &b->own);
    return own || a->status ? own : outputs_difference(&a->now, &b->now);
}

int state_is_empty(const struct state *s)
{
    return s->status == SAPPORO_ERR_ARGUMENT && isnan(s->time) && s->n == 0 && s->steps == 0 &&
           outputs_are_spoilt(&s->own, 1, WANT_ALL);
}

/* Error of the force on one particle. */
static double row_error(const struct state *s, int i, double eps2, double gravity)
{
    long double sum[4] = {0}, size[4] = {0};
    double worst = 0;
    for (int j = 0; j < s->n; j++) {
        const long double hi = s->own.h[i], hj = s->own.h[j];
        long double d[3], r2 = eps2 + hi * hi + hj * hj;
        if (j == i || s->own.mass[j] == 0) continue;
        for (int c = 0; c < 3; c++) d[c] = (long double)s->own.x[j][c] - s->own.x[i][c];
        for (int c = 0; c < 3; c++) r2 += d[c] * d[c];
        const long double pull = (long double)gravity * s->own.mass[j] / (r2 * sqrtl(r2));
        for (int c = 0; c < 3; c++) sum[c] += pull * d[c], size[c] += pull * sqrtl(r2);
        sum[3] -= pull * r2, size[3] += pull * r2;
    }
    for (int c = 0; c < 4; c++) {
        const double got = c < 3 ? s->own.acc[i][c] : s->own.pot[i];
        const double error = (double)fabsl(got - sum[c]);
        worst = worst_of(worst, size[c] > 0 ? error / (double)size[c] : error > 0 ? INFINITY : error);
    }
    return worst;
}

double state_error(const struct state *s, double eps2, double gravity)
{
    double worst = 0;
    for (int i = 0; i < s->n; i++) worst = worst_of(worst, row_error(s, i, eps2, gravity));
    return worst;
}
