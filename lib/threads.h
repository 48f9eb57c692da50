/*
 * threads.h - how many threads may compute; OpenMP where the compiler has it.
 *
 * Inside a parallel region of the caller, and in a child after fork (where
 * OpenMP's threads no longer exist), one thread computes.
 */
#ifndef SAP_THREADS_H
#define SAP_THREADS_H

/* Threads that OMP_NUM_THREADS or the machine offers; 1 without OpenMP. */
int sap_threads_default(void);

/* Threads to use now, at most `most`. */
int sap_threads_now(int most);

/* Threads that copy so many rows of a force: a few where there are many. */
int sap_threads_for_rows(int rows);

#endif
