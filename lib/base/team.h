/*
 * team.h - the library's own worker threads, for short parallel regions.
 *
 * A process has one set of worker threads, which are created when they are first needed and kept.  A region
 * (sap_team_run) uses idle workers.  It does not depend on them: the calling thread takes part, and work is handed out
 * in chunks (sap_items_take).  So a worker that comes late finds no work, and the caller waits only for workers that
 * have begun.  If threads cannot be created, or several regions share the workers, fewer threads compute.
 *
 * Workers block all signals.  Workers and caller compute in a clean floating-point environment.  With THREADS=openmp
 * regions run on the compiler's OpenMP run time (team_openmp.c); docs/internals.md ("The team") says why not by
 * default.
 */
#ifndef SAP_TEAM_H
#define SAP_TEAM_H

#include <stdatomic.h>
#include <stddef.h>

/* The largest number of threads in a region. */
enum { SAP_TEAM_MOST = 1023 };

/*
 * A function that takes work until none is left.  `thread` is 0 for the caller of sap_team_run and 1, 2, ... for
 * workers: different for each thread of a region, and below the number of threads.  The function must not wait for
 * other threads of the region, because it may run on the caller alone.
 */
typedef void sap_team_work(void *argument, int thread);

/*
 * Runs work(argument, ...) on the caller and on up to threads - 1 workers, and returns when all threads that began have
 * ended.  The caller then sees everything that they wrote.  Any thread may call it; a worker gets no other workers.
 */
void sap_team_run(int threads, sap_team_work *work, void *argument);

/* 1 in a thread that is inside a region, or that may begin none. */
int sap_team_inside(void);

/* The numbers 0 .. n-1, which threads take in chunks: each thread takes the next chunk when it has finished one. */
struct sap_items {
    _Alignas(64) atomic_ptrdiff_t next; /* alone in its cache line, because all threads write it */
    _Alignas(64) ptrdiff_t n;
    ptrdiff_t chunk;
};

void sap_items_start(struct sap_items *items, ptrdiff_t n, ptrdiff_t chunk);

/* Takes the next chunk, *from .. *to - 1; returns 0 if no number is left. */
static inline int sap_items_take(struct sap_items *items, ptrdiff_t *from, ptrdiff_t *to)
{
    *from = atomic_fetch_add_explicit(&items->next, items->chunk, memory_order_relaxed);
    if (*from >= items->n) return 0;
    *to = items->n - *from < items->chunk ? items->n : *from + items->chunk;
    return 1;
}

/* A chunk size >= `least` for n numbers, so that each thread takes about four chunks. */
ptrdiff_t sap_team_chunk(ptrdiff_t n, int threads, ptrdiff_t least);

/* A function that computes the numbers from .. to - 1 of sap_team_for. */
typedef void sap_team_range(void *argument, ptrdiff_t from, ptrdiff_t to);

/*
 * Calls range(argument, from, to) for all numbers 0 .. n-1, in chunks that start at multiples of `chunk`.  With one
 * thread there is a single chunk.
 */
void sap_team_for(int threads, ptrdiff_t n, ptrdiff_t chunk, sap_team_range *range, void *argument);

/* Whether regions run on the OpenMP run time of the compiler. */
int sap_team_is_openmp(void);

/* ---- for process.c and tests ---- */

/* The number of worker threads that exist. */
int sap_team_workers(void);

/* Resets the team in a child process after fork, where no worker exists; returns the parent's number of workers. */
int sap_team_forget(void);

#endif
