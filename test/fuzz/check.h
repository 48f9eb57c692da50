/*
 * check.h - comparing what a call wrote with what it must write.
 *
 * The first difference of a sequence is kept: as text, and as a condition in C for the printed program.
 */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include "oracle.h"

struct failure {
    int is_set, op;      /* which operation */
    char text[300];      /* for people */
    char condition[300]; /* in C: true where the output is right */
};

/* Forgets the failure; the following checks belong to operation `op`. */
void check_begin(struct failure *f, int op);
void check_operation(int op);

/* An output called `name` in C must be a number. */
void check_int(const char *name, long long got, long long expected);
void check_double(const char *name, double got, double expected, double bound);
void check_nan(const char *name, double got);
/* It must have been written, whatever it is. */
void check_written(const char *name, double got);
void check_not_finite(const char *name, double got);
/* Fails. */
void check_fail(const char *condition, const char *format, ...) __attribute__((format(printf, 2, 3)));
int check_failed(void);

/* Which outputs a call has. */
enum {
    HAS_ACC = 1,
    HAS_JERK = 2,
    HAS_POT = 4,
    HAS_SNAP = 8,
    HAS_CRACKLE = 16,
    HAS_NEAREST = 32,
    HAS_R2 = 64,
    HAS_POSITIVE_POT = 128, /* the interface has the other sign */
    HAS_COUNT_FROM_1 = 256  /* nearest: numbers from 1 on, 0: none */
};

/* The first ni rows of the outputs are those of an answer; NULL: the call failed, all are NaN. */
void check_rows(const struct answer *a, int ni, unsigned has);
/* From row ni on nothing was written. */
void check_guards(int ni);
/* n entries of out.list from `at` on; those up to `end` hold the poison. */
void check_list(int at, int n, const int *list, int end);

#endif
