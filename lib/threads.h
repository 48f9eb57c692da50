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

/*
 * Threads for copying that is worth so many: one, or some, as many each time.  OpenMP's runtimes end the threads that a
 * smaller team leaves over and start them again for the next larger one, which takes longer than any copy.
 */
int sap_threads_few(int worth);

/* Threads that copy so many rows of a force. */
int sap_threads_for_rows(int rows);

#endif
