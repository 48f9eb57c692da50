/*
 * schedule.h - which particles come next when each has its own power-of-two time step.
 *
 * A particle of level k has the step dt_max / 2^k and only takes it at multiples of it.  Therefore all particles
 * of a level are at the same time, the next block is always one step of the deepest level that anyone has away,
 * and the particles of a block are whole levels.  They are kept in order of level, deepest first, so that a block
 * is simply the front of that order, and sorting it anew after the step costs no more than its own length.
 *
 * Time is counted in ticks of dt_max / 2^SCHEDULE_DEPTH: whole numbers, in which nothing is ever rounded.
 */
#ifndef COMMON_SCHEDULE_H
#define COMMON_SCHEDULE_H

#include <stdint.h>

enum { SCHEDULE_DEPTH = 40 };

typedef struct schedule {
    int n;
    int64_t tick; /* now */
    int *level;   /* of each particle, 0 .. SCHEDULE_DEPTH; changed by the caller for the particles of a block */
    int *order;   /* the particles, deepest level first */
    int *scratch;
    int count[SCHEDULE_DEPTH + 1]; /* particles of each level */
} schedule;

/* All particles at level 0 and tick 0.  -1 if there is no memory. */
int schedule_create(schedule *plan, int n);
void schedule_free(schedule *plan);
/* Sorts everything; to be called once all levels are set, at the start or from a restart file. */
void schedule_rebuild(schedule *plan);

/* Goes to the next block; returns the number of its particles, which are plan->order[0], [1], ... */
int schedule_advance(schedule *plan);
/* To be called when the `active` particles of the block have their new levels. */
void schedule_settle(schedule *plan, int active);

/* Ticks of one step of a level. */
int64_t schedule_ticks(int level);
/*
 * The level for the next step of a particle of the present block: as many times halved as `step` (in units of
 * dt_max) asks for, or doubled once if it allows that and now is a multiple of the doubled step, or as before.
 */
int schedule_choose(const schedule *plan, int level, double step);
/* The level of a first step. */
int schedule_first(double step);

#endif
