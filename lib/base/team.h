/*
 * team.h - threads of the library's own, for one short piece of work at a time.
 *
 * A process has one set of worker threads, made when they are first needed and kept.  A region (sap_team_run) borrows
 * those that are idle.  A region needs none of them: the calling thread takes part, and work is handed out in chunks
 * (sap_items_take), so a worker that comes late finds nothing left, and the caller waits only for workers that have
 * begun.  Where threads cannot be made, or several regions share the workers, fewer threads compute.
 *
 * Workers block all signals, and work in a clean floating-point environment, as the caller does meanwhile.
 * docs/design.md ("Locks and threads") says why the library does not use OpenMP.
 */
#ifndef SAP_TEAM_H
#define SAP_TEAM_H

#include <stdatomic.h>
#include <stddef.h>

/* The largest number of threads in a region. */
enum { SAP_TEAM_MOST = 1023 };

/*
 * Takes work until none is left.  `thread` is 0 for the caller of sap_team_run and 1, 2, ... for workers: different for
 * each thread of a region, and below its number of threads.  May run on the caller alone, so it waits for no other.
 */
typedef void sap_team_work(void *argument, int thread);

/*
 * Runs work(argument, ...) on the caller and on up to threads - 1 workers, and returns when all that began have ended.
 * What they wrote is then visible to the caller.  Any thread may call it, a worker too: that one gets no others.
 */
void sap_team_run(int threads, sap_team_work *work, void *argument);

/* 1 in a thread that is inside a region. */
int sap_team_inside(void);

/* Numbers 0 .. n-1, of which each thread takes the next `chunk` when it has done what it took before. */
struct sap_items {
    _Alignas(64) atomic_ptrdiff_t next; /* alone in its cache line: all threads write it */
    _Alignas(64) ptrdiff_t n;
    ptrdiff_t chunk;
};

void sap_items_start(struct sap_items *items, ptrdiff_t n, ptrdiff_t chunk);

/* The next numbers, *from .. *to - 1; 0: there are no more. */
static inline int sap_items_take(struct sap_items *items, ptrdiff_t *from, ptrdiff_t *to)
{
    *from = atomic_fetch_add_explicit(&items->next, items->chunk, memory_order_relaxed);
    if (*from >= items->n) return 0;
    *to = items->n - *from < items->chunk ? items->n : *from + items->chunk;
    return 1;
}

/* A chunk of at least `least` of n numbers, with which each thread takes about four. */
ptrdiff_t sap_team_chunk(ptrdiff_t n, int threads, ptrdiff_t least);

/* Some of the numbers of sap_team_for. */
typedef void sap_team_range(void *argument, ptrdiff_t from, ptrdiff_t to);

/*
 * Calls range(argument, from, to) for all of 0 .. n-1, in chunks that start at multiples of `chunk`; one thread takes
 * all at once.
 */
void sap_team_for(int threads, ptrdiff_t n, ptrdiff_t chunk, sap_team_range *range, void *argument);

/* ---- for process.c and tests ---- */

/* Worker threads that exist. */
int sap_team_workers(void);

/* In the child after fork, where workers no longer exist; returns how many there were. */
int sap_team_forget(void);

#endif
