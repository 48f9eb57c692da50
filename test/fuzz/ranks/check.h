/*
 * check.h - what is wrong with a call on this rank, and what all ranks say of it.
 *
 * Checks never end a call: all ranks go through the same collective calls, whatever one of them has found.
 */
#ifndef FUZZ_RANKS_CHECK_H
#define FUZZ_RANKS_CHECK_H

#include "plan.h"

enum { CHECK_TEXT = 400 };

/* Forgets what is wrong. */
void check_begin(void);
/* Notes what is wrong, if nothing is wrong yet on this rank. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The text on this rank; "": nothing is wrong. */
const char *check_text(void);

/* Collective.  The number is the same on all ranks. */
int is_common(int number);
/* Collective.  The double has the same bits on all ranks. */
int is_common_double(double number);
/* Collective.  The largest number. */
int most_of(int number);
/* Collective.  The status of a call is `expected` on all ranks, and so is the text of its error, which names `words`
 * (NULL: any). */
void check_status(const char *call, int status, int expected, const char *text, const char *words);
/* Collective.  Ranks have made different calls: all of them have that status, and a text that names both.  text NULL:
 * this rank has closed the object. */
void check_different(int status, const char *text, const char *a, const char *b);
/* Both are the same bits, or both are NaN. */
int is_same(double a, double b);
int are_same(const double *a, const double *b, int n);
/* Fills doubles with a number that no call writes. */
void poison(double *to, int n);
int is_poison(double x);
/* No number but that of poison is finite: what outputs of a failed call may hold. */
int are_spoilt(const double *x, int n);

/* ---- the three kinds of objects: each makes its calls, checks them, and closes what is open -------- */

/* Collective. */
void sums_call(const struct plan *p, const struct call *c);
void sums_close(void);
void tree_call(const struct plan *p, const struct call *c);
void tree_close(void);
void stepper_call(const struct plan *p, const struct call *c);
void stepper_close(void);

#endif
