/* stepping.h - the parts that programs over sapporo_stepper.h share: life of the stepper, outputs, restart, the loop.
 */
#ifndef COMMON_STEPPING_H
#define COMMON_STEPPING_H

#include "bodies.h"
#include "image.h"
#include "run.h"

#include <sapporo.h>
#include <stdint.h>

/* What the restart file keeps besides the plan.  It has members of 8 bytes only, because the file has the same bytes.
 */
typedef struct stepping_settings {
    int64_t n, method, kind, mac, order, scheme, criterion, rebuild; /* numbers of the library's headers */
    int64_t slot;                                                    /* of the stepper's file: 0 or 1 */
    int64_t levels;                                                  /* of block steps; 0: 24 */
    double accuracy, eta, eta_start;
    double dt; /* the shared step, or the longest block step */
    image_view view;
    double eps_halo; /* softening length of the halo; 0: that of all particles */
    double error;    /* of 99 % of the forces, in place of `accuracy`; 0: not asked for */
} stepping_settings;

typedef struct stepping {
    run *job;
    stepping_settings set;
    int film;                  /* 1: a film of the images at the end */
    const char *part;          /* the component in the images, or NULL: all particles */
    const char *shared_remedy; /* advice after a large error with shared steps, or NULL: that of the run */
    /* Returns the shared step that the particles need; body, pot and `a` are those of the start. */
    double (*needed_step)(const struct stepping *s, const double (*a)[3]);
    /* Returns the accuracy of steps that the particles need, or is NULL: set.eta is what the user wants. */
    double (*needed_eta)(const struct stepping *s, const double (*a)[3]);
    /* of the moment */
    bodies body;
    double *pot;
    sapporo_stepper *stepper;
    double seconds;    /* that steps took in this process */
    int told_of_depth; /* 1: that a particle has the shortest step */
} stepping;

/* Begins the run or goes on with it, to its end or until a signal; returns the exit status. */
int stepping_run(stepping *s);

/* Returns 1, after a message, if the options of images do not fit together. */
int stepping_wrong_images(const stepping *s);

#endif
