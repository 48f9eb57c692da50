/*
 * outputs.h - arrays for everything that a call can write, filled with a pattern that no answer has, and checks after a
 * call that failed: NaN, nearest -1, list length 0, and the pattern wherever the call must not write.
 */
#ifndef TEST_OUTPUTS_H
#define TEST_OUTPUTS_H

#include "sapporo.h"

enum { OUTPUT_ROWS = 8 };

/* Arrays of a result, one bit per array. */
enum outputs_array {
    OUTPUT_ACC = 1,
    OUTPUT_JERK = 2,
    OUTPUT_POT = 4,
    OUTPUT_NEAREST = 8,
    OUTPUT_R2 = 16,
    OUTPUT_SNAP = 32,
    OUTPUT_CRACKLE = 64,
    OUTPUT_ALL = 127
};

struct outputs {
    double acc[OUTPUT_ROWS][3], jerk[OUTPUT_ROWS][3], snap[OUTPUT_ROWS][3], crackle[OUTPUT_ROWS][3];
    double pot[OUTPUT_ROWS], nearest_r2[OUTPUT_ROWS];
    int nearest[OUTPUT_ROWS];
};

/* Fills any memory with the pattern. */
void poison(void *memory, size_t bytes);

/* Returns 1 if memory holds nothing but the pattern. */
int is_poison(const void *memory, size_t bytes);

/* Returns the value of a poisoned int. */
int poisoned_int(void);

/* Returns a result with some arrays, poisoned. */
sapporo_result outputs_poisoned(struct outputs *out, unsigned arrays);

/*
 * Fails the test unless the first `rows` rows of these arrays hold the values of a failed call, and all else is
 * pattern. `what` names the call.
 */
void outputs_failed(const char *what, const struct outputs *out, unsigned arrays, int rows);

/* Fails the test unless n ints are `value` and the rest of `room` is pattern. */
void outputs_ints(const char *what, const int *list, int n, int value, int room);

/*
 * Fails the test unless a particle that could not be read has the values of a failed call; seventh: 1 if the member
 * `seventh` must be NaN, 0 if it must be pattern.
 */
void outputs_no_particle(const char *what, const sapporo_particle *p, int seventh);

#endif
