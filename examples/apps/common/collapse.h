/* collapse.h - the warning that the steps of a run have collapsed: it names the star, its neighbour and the remedy. */
#ifndef COMMON_COLLAPSE_H
#define COMMON_COLLAPSE_H

#include "bodies.h"
#include "run.h"

/*
 * Warns at a time since the start of the run.  `why` says what has happened, `remedy` what helps; `now` has the
 * positions of all stars at that time, and `star` is the one with the shortest step, `step`.
 */
void collapse_warn(run *job, double since, const bodies *now, int star, double step, const char *why,
                   const char *remedy);

/* What has happened, and what helps, when run_step returns 1, and when a star has the shortest possible step. */
#define COLLAPSE_SLOW                                                                                                  \
    "the steps have collapsed: 65,536 or more of them have covered less than 1/64 of the time between outputs"
#define COLLAPSE_DEEP(depth)                                                                                           \
    "the steps have collapsed: a star needs the shortest step, 2^-" depth " of the longest, or one below it"
#define COLLAPSE_REMEDY                                                                                                \
    "A larger --eps avoids close pairs; a larger --eta, or SAPPORO_PRECISION=dp, steps that follow rounding errors; "  \
    "a "                                                                                                               \
    "shorter --dt-max and --interval serve a long unit of time"

#endif
