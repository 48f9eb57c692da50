/*
 * parallel.h - work of the programs themselves on several threads: text of snapshots, galaxies, exact sums.  Forces
 * have the library's own threads.
 */
#ifndef COMMON_PARALLEL_H
#define COMMON_PARALLEL_H

enum { PARALLEL_MOST = 64 }; /* threads */

/* Returns the number of threads: OMP_NUM_THREADS, or the cores that the process may use; at most PARALLEL_MOST. */
int parallel_threads(void);

/*
 * Calls work(argument, share) for each share 0 ... shares - 1, each in a thread of OpenMP, and waits for all.  Without
 * OpenMP one thread does all shares.
 */
void parallel_run(int shares, void (*work)(void *argument, int share), void *argument);

#endif
