/*
 * noise.h - notices when time steps follow the rounding noise of the force instead of the orbits.
 *
 * Criteria of the Aarseth kind divide differences of accelerations by powers of the step.  Once a step is so
 * short that the differences are mostly rounding errors, the derivatives come out too large, the next step
 * becomes shorter still, and the steps collapse: the run is not wrong, but takes many times as long.
 *
 * The sign of it: on a smooth orbit the second derivative with which one step ends is the one with which the
 * next begins.  Where noise makes them, the two are independent, and about half of them differ by more than half of
 * the sum of their lengths; at healthy steps hardly any does.  So twice that share of a block is an estimate of the
 * share of it that noise decides.
 */
#ifndef COMMON_NOISE_H
#define COMMON_NOISE_H

#include <stdint.h>

enum { NOISE_WINDOW = 512 }; /* blocks that are judged together */

/* Members of 8 bytes only: it is part of restart files. */
typedef struct noise_watch {
    int64_t blocks; /* in this window */
    double noisy;   /* estimate of those of them that exist for the noise alone */
    double total;   /* the same, since the start */
    int64_t found;  /* 1: it has been noticed */
} noise_watch;

/*
 * The derivative as the last step left it and as this one found it at the same moment.  No verdict (0) on first
 * steps, where `before` is 0, and on coarse ones, which change the acceleration by more than a hundredth
 * (`change` is step * |jerk| / |acceleration|): there the interpolation itself may be that far off.
 */
int noise_disagree(const double before[3], const double after[3], double change);

/* Takes a block into account; 1 if now, for the first time, most of a window was noise. */
int noise_block(noise_watch *watch, int active, int disagreeing);

#endif
