/*
 * state.h - what a call on a stepper writes, and what a stepper is: to be compared bit by bit.
 */
#ifndef FUZZ_STEPPERS_STATE_H
#define FUZZ_STEPPERS_STATE_H

#include <stddef.h>

#include "plan.h"

/* Everything that a call can write. */
struct outputs {
    double x[PLAN_ROWS][3], v[PLAN_ROWS][3], acc[PLAN_ROWS][3];
    double pot[PLAN_ROWS], mass[PLAN_ROWS], own_time[PLAN_ROWS], h[PLAN_ROWS];
    long long label[PLAN_ROWS];
    int level[PLAN_ROWS];
    sapporo_stepper_totals totals;
};

/* A stepper between calls. */
struct state {
    double time;
    int n, massive, status; /* status: of asking for the particles */
    long long steps, particle_steps;
    int level[SAPPORO_STEP_LEVELS_MOST];
    struct outputs own, now;
};

/* Fills outputs with a finite number, which none of the calls writes. */
void outputs_poison(struct outputs *o);
/* The request for the outputs of a mask (plan.h). */
sapporo_stepper_output outputs_request(struct outputs *o, int n, sapporo_step_when when, double time, unsigned wanted);
/* 1: the n rows that a failed call was asked for are NaN or -1, and the others are as they were. */
int outputs_are_spoilt(const struct outputs *o, int n, unsigned wanted);
/* 1: all totals are NaN. */
int totals_are_spoilt(const sapporo_stepper_totals *t);

void state_take(sapporo_stepper *s, struct state *to);
/* NULL: the states are the same; else the name of what differs. */
const char *state_difference(const struct state *a, const struct state *b);
/* 1: a state without particles, in which every output is NaN. */
int state_is_empty(const struct state *s);

/* Error of the accelerations and potentials of a state against sums in long double, in units of the sum of
 * terms m / R^2 and m / R; for shared steps over direct sums without fields. */
double state_error(const struct state *s, double eps2, double gravity);

#endif
