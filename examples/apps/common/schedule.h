/*
 * schedule.h - decides which particles come next if each has its own power-of-two time step.
 *
 * A particle of level k has the step dt_max / 2^k and takes it only at multiples of the step.  Therefore all particles
 * of a level have the same time, the next block is always one step of the deepest occupied level away, and the
 * particles of a block are whole levels.  The order holds particles by level, deepest first.  So a block is the front
 * of the order, and sorting the block after the step costs time proportional to the length of the block alone.
 *
 * Time is counted in ticks of dt_max / 2^SCHEDULE_DEPTH: whole numbers, without rounding.
 */
#ifndef COMMON_SCHEDULE_H
#define COMMON_SCHEDULE_H

#include <stdint.h>

enum { SCHEDULE_DEPTH = 40 };

typedef struct schedule {
    int n;
    int64_t tick; /* now */
    int *level;   /* level of each particle, 0 .. SCHEDULE_DEPTH; the caller changes it for the particles of a block */
    int *order;   /* the particles, deepest level first */
    int *scratch;
    int count[SCHEDULE_DEPTH + 1]; /* particles of each level */
} schedule;

/* Creates a schedule with all particles at level 0 and tick 0.  -1 if memory is not sufficient. */
int schedule_create(schedule *plan, int n);
void schedule_free(schedule *plan);
/* Sorts all particles; must be called once all levels are set, at the start or from a restart file. */
void schedule_rebuild(schedule *plan);

/* Advances to the next block; returns the number of its particles, which are plan->order[0], [1], ... */
int schedule_advance(schedule *plan);
/* Sorts the `active` particles of the block by their new levels, which must be set. */
void schedule_settle(schedule *plan, int active);

/* Returns the ticks of one step of a level. */
int64_t schedule_ticks(int level);
/*
 * Returns the level for the next step of a particle of the present block.  `step` is in units of dt_max.  The step is
 * halved until it is at most `step`; or doubled once, if `step` allows this and now is a multiple of the doubled step;
 * or it stays.
 */
int schedule_choose(const schedule *plan, int level, double step);
/* Returns the level of a first step. */
int schedule_first(double step);

#endif
