/*
 * threads.h - decides how many threads compute.
 *
 * Only one thread computes in three cases: inside a parallel region of the caller's OpenMP, inside a region of the
 * library's own team, and in a child process after fork if the parent had a team.
 */
#ifndef SAP_THREADS_H
#define SAP_THREADS_H

/*
 * Number of threads of a context that names no number: OMP_NUM_THREADS, or else all available cores (cores.h).  In a
 * program with OpenMP, omp_set_num_threads replaces OMP_NUM_THREADS; without OMP_NUM_THREADS it limits the number of
 * cores.  The result is at most OMP_THREAD_LIMIT.
 */
int sap_threads_default(void);

/* Number of threads to use now, at most `most`. */
int sap_threads_now(int most);

/* Number of threads to use now, at most `most` and at most sap_threads_default(). */
int sap_threads_up_to(int most);

/* Number of threads for a copy that keeps `worth` threads busy; at most 16, because more do not copy faster. */
int sap_threads_few(int worth);

/* Number of threads to copy this many rows of a force. */
int sap_threads_for_rows(int rows);

#endif
