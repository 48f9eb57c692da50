/* partial_loop.c - loops of libsapporo_mpi on the threads of this library (partial.h). */
#include "base/threads.h"
#include "context/partial.h"

/* The threads for n numbers. */
static int threads_for(int threads, int n)
{
    enum { A_THREAD = 2048 }; /* numbers that are worth a thread */
    const int most = 1 + n / A_THREAD, wanted = threads > 0 ? threads : sap_threads_default();
    return sap_threads_now(most < wanted ? most : wanted);
}

void sap_partial_loop(int threads, int n, sap_team_range *range, void *argument)
{
    enum { AT_ONCE = 256 }; /* numbers that a thread takes at a time at least */
    const int used = threads_for(threads, n);
    sap_team_for(used, n, sap_team_chunk(n, used, AT_ONCE), range, argument);
}

/* A loop over parts. */
struct part_loop {
    int n, parts;
    sap_partial_part *work;
    void *argument;
};

static void do_parts(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct part_loop *const l = argument;
    for (ptrdiff_t k = from; k < to; k++)
        l->work(l->argument, (int)k, (int)(l->n * (long long)k / l->parts),
                (int)(l->n * (long long)(k + 1) / l->parts));
}

void sap_partial_parts(int threads, int n, int parts, sap_partial_part *work, void *argument)
{
    struct part_loop l = {n, parts, work, argument};
    sap_team_for(threads_for(threads, n), parts, 1, do_parts, &l);
}
