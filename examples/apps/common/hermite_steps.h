/*
 * hermite_steps.h - the programs hermite4, 6 and 8 over the steppers of the library: the particles stay on the device.
 *
 * By calls, these programs are clients that keep the particles and ask for forces.  Both ways give the same orbits, to
 * the bit (orders 6 and 8: unless rounding decides about a step).
 */
#ifndef COMMON_HERMITE_STEPS_H
#define COMMON_HERMITE_STEPS_H

#include "run.h"

#include <sapporo.h>

typedef struct hermite_steps {
    int order;
    double eta, eta_start;
    sapporo_step_criterion criterion;
    int shared;              /* 1: all steps are dt_max */
    int by_calls, on_device; /* what the user asks for */
} hermite_steps;

/* The options of both ways, for the list of a program. */
#define HERMITE_STEPS_OPTIONS(steps)                                                                                   \
    {OPTION_FLAG, 0, "by-calls", &(steps).by_calls, 0, "integrate on the host, by calls for forces (without a GPU)",   \
     0,           0, 0},                                                                                               \
    {                                                                                                                  \
        OPTION_FLAG, 0, "on-device", &(steps).on_device, 0, "integrate in the library (with a GPU)", 0, 0, 0           \
    }

/*
 * Runs the program over a stepper, if the user wants that, if the restart file is of such a run, or if nothing is said
 * and there is a GPU.  -1: it is to be run by calls; else the exit status.
 */
int hermite_steps_run(run *job, const hermite_steps *steps);

#endif
