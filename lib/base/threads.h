/*
 * threads.h - how many threads may compute.
 *
 * One thread computes inside a parallel region of the caller's OpenMP, inside a region of the library's own team, and
 * in a child after fork of a process that had such a team.
 */
#ifndef SAP_THREADS_H
#define SAP_THREADS_H

/*
 * Threads of a context that names no number: OMP_NUM_THREADS, or else all cores granted (cores.h).  In a program with
 * OpenMP omp_set_num_threads counts: instead of OMP_NUM_THREADS, or up to the cores granted.  At most OMP_THREAD_LIMIT.
 */
int sap_threads_default(void);

/* Threads to use now, at most `most`. */
int sap_threads_now(int most);

/* The same, and at most sap_threads_default. */
int sap_threads_up_to(int most);

/* Threads for copying that is worth waking so many; at most 16, since memory is the bound then. */
int sap_threads_few(int worth);

/* Threads that copy so many rows of a force. */
int sap_threads_for_rows(int rows);

#endif
