/*
 * faults.h - allocations of the library that fail on demand.
 *
 * The program is linked with the static library and with -Wl,--wrap=malloc and so on, so that allocations of the
 * library come through faults.c, and those of the C library and of drivers do not.
 */
#ifndef FUZZ_STEPPERS_FAULTS_H
#define FUZZ_STEPPERS_FAULTS_H

/* From here the `at`-th allocation fails (0: none), and with `stays` all behind it. */
void faults_begin(int at, int stays);

/* From here none fails; the numbers of allocations since faults_begin, and of those that failed (NULL: not wanted). */
void faults_end(int *counted, int *failed);

#endif
