/* bench_steps.h - sapporo bench --api stepper: time of the steps of a stepper, and its error of the energy. */
#ifndef TOOL_BENCH_STEPS_H
#define TOOL_BENCH_STEPS_H

#include "bench_tree.h"

/* Options of the command line for steppers; every combination of the lists is a case, those of trees included. */
typedef struct steps_request {
    const tree_request *tree; /* of its lists for experts only `leaf` and `group`, the first value of each */
    word_list steps, method;  /* "shared", "block"; "tree", "direct" */
    double dt, eta;           /* dt: the shared step, or the longest block step; 0: 1/16 of the model's time */
    double massless;          /* share of the particles that get no mass; the others keep the mass of the model */
    int count, rebuild;       /* steps that are timed; steps from one build to the next, 0: automatic */
    int timed;                /* builds, and the extent of groups, by the clock, whatever `rebuild` says */
    int each;                 /* in JSON an object for each step, before that of the case */
} steps_request;

/* Measures all cases; returns how many have no result. */
int bench_steps(const steps_request *asked);

#endif
