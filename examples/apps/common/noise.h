/*
 * noise.h - detects time steps that follow the rounding noise of the force instead of the orbits.
 *
 * Criteria of the Aarseth kind divide differences of accelerations by powers of the step.  Once a step is so short that
 * the differences are mostly rounding errors, the derivatives come out too large, the next step becomes shorter still,
 * and the steps collapse: the run is not wrong, but takes many times as long.
 *
 * The sign of noise: on a smooth orbit the second derivative at the end of one step equals the one at the beginning of
 * the next.  If noise makes them, the two are independent, and about half of them differ by more than half of the sum
 * of their lengths; at healthy steps hardly any pair does.  So twice the fraction of such particles in a block
 * estimates the fraction whose steps noise decides.
 */
#ifndef COMMON_NOISE_H
#define COMMON_NOISE_H

#include <stdint.h>

enum { NOISE_WINDOW = 512 }; /* blocks that are judged together */

/* Members of 8 bytes only: it is part of restart files. */
typedef struct noise_watch {
    int64_t blocks; /* in this window */
    double noisy;   /* estimated number of these blocks that exist only because of noise */
    double total;   /* the same estimate, since the start */
    int64_t found;  /* 1: noise has been detected */
} noise_watch;

/*
 * Compares the derivative at the end of the last step with the one at the beginning of this step, the same moment;
 * returns 1 if they disagree.  Returns 0 on first steps, where `before` is 0, and on coarse steps, which change the
 * acceleration by more than a hundredth (`change` is step * |jerk| / |acceleration|), because there the interpolation
 * itself may have such an error.
 */
int noise_disagree(const double before[3], const double after[3], double change);

/* Counts a block; returns 1 if now, for the first time, most of a window is noise. */
int noise_block(noise_watch *watch, int active, int disagreeing);

#endif
