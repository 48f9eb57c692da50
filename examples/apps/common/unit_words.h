/* unit_words.h - systems of units by their words, such as msun,pc,km/s, and their gravitational constant. */
#ifndef COMMON_UNIT_WORDS_H
#define COMMON_UNIT_WORDS_H

#include "bodies.h"
#include "message.h"

typedef struct unit_system {
    double G;
    char remark[BODIES_REMARK]; /* for snapshots: "1 Msun, 1 pc, 1 km/s, 0.977792 Myr" */
} unit_system;

/* The words, for messages and helps. */
extern const char UNIT_WORDS[];

/*
 * Reads units of mass, length, and velocity or time, separated by commas or blanks, without regard to case.  A number
 * before a word multiplies it; au/yr names a length and a time.  With velocity and time both must agree.  What is in
 * brackets is skipped.  "cgs", "si" and "nbody" (G = 1) are systems, and so is a text that says G = 1, whose remark is
 * the text.  -1 with a message.
 */
int unit_words_read(const char *text, unit_system *system, message *why);

/* Whether a word names a unit, or a length / a time. */
int unit_words_know(const char *word);

/* Whether two gravitational constants mean the same units: they may be rounded to 3 digits. */
int unit_words_agree(double a, double b);

#endif
