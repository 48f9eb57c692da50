/*
 * session.h - makes the calls of a plan on two steppers at a time.
 *
 * Of one stepper no allocation fails.  The same call on the other one fails as the plan says, and then succeeds.  A
 * failed call has a status and a text, leaves no number in its outputs, and leaves the stepper as the header says; the
 * call that succeeds has the outputs of the first stepper, and so has every call behind it.
 */
#ifndef FUZZ_STEPPERS_SESSION_H
#define FUZZ_STEPPERS_SESSION_H

#include <stdatomic.h>

#include "plan.h"

enum { SESSION_TEXT = 300 };

/* What a session notes, in memory that other processes may read. */
struct session_notes {
    atomic_int call;         /* under way */
    atomic_long failures;    /* calls of which an allocation failed */
    char text[SESSION_TEXT]; /* "": everything was right */
};

/* Makes the calls; files are in a folder.  Returns 1 if everything was right. */
int session_run(const struct plan *p, const char *folder, struct session_notes *notes);

#endif
