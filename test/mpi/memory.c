/*
 * memory.c - memory that runs out on one rank: the n-th allocation of libsapporo_mpi fails there, for every n.  Every
 * call has the same status on all ranks, and a force is right on all of them or NaN on all of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "allocations.h"
#include "ranks.h"

enum { NJ = 2500, NI = 10, CALLS = 7, MOST = 60, WAYS = 3 };

/* What the calls of a session returned. */
struct session {
    int status[CALLS];
    struct answers answers;
};

static void run(struct session *s, const struct point *source, const int *address, int way, int fault)
{
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options options = {.size = sizeof options,
                                         .context = &context,
                                         .timeout = 20,
                                         .rows = 5,
                                         .sources = 1,
                                         .way = (sapporo_mpi_way)way};
    const sapporo_particles columns = points_columns(source);
    const sapporo_request request = points_request(source, NI, NJ);
    const sapporo_result result = answers_result(&s->answers, 4, 0);
    sapporo_mpi_job *job = NULL;
    sapporo_mpi *h;
    int *const status = s->status;
    counted = 0, fails_at = fault;
    status[0] = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    status[1] = sapporo_mpi_set_particles(h, rank == 0 ? NJ : 0, address, &columns);
    status[2] = sapporo_mpi_force_begin(h, &request, &job);
    status[3] = sapporo_mpi_force_end(job, NI, &result);
    sapporo_mpi_force_free(job);
    status[4] = sapporo_mpi_clear_particles(h);
    status[5] = sapporo_mpi_set_particles(h, rank == ranks - 1 ? 3 : 0, address, &columns);
    status[6] = h ? SAPPORO_OK : SAPPORO_ERR_CLOSED;
    sapporo_mpi_close(h);
    fails_at = 0;
}

/* 1 if the session has the right forces, or reported an error and has NaN. */
static int is_honest(const struct session *s, const struct answers *right)
{
    if (s->status[1] || s->status[2] || s->status[3]) return answers_failed(&s->answers, NI, 4);
    int same = 1;
    for (int i = 0; i < NI; i++) same &= answers_same(&s->answers, i, right, i, 4, 0);
    return same;
}

/* Lets each allocation fail on each rank, by one way of a force. */
static void test_way(int way, const struct point *source, const int *address)
{
    struct session s = {.answers = answers_new(NI)}, good = {.answers = answers_new(NI)};
    int n = 0, ended = 0, failing = 0;
    run(&good, source, address, way, 0);
    int bad = good.status[0] || good.status[3];
    for (int guilty = 0; guilty < ranks; guilty++, ended = 0) {
        for (n = 1; n < MOST && !ended; n++) {
            run(&s, source, address, way, rank == guilty ? n : 0);
            bad |= !ranks_same(s.status, CALLS) || !is_honest(&s, &good.answers);
            for (int k = 0; k < CALLS; k++) failing += s.status[k] == SAPPORO_ERR_MEMORY;
            const int enough = rank == guilty && counted < n; /* the guilty rank had fewer allocations */
            ranks_combine(&enough, &ended, 1, MPI_MAX);
        }
        bad |= !ended || n < 10;
    }
    run(&s, source, address, way, 0);
    report(!bad && failing >= 8 * ranks && ranks_same(s.status, CALLS) && is_honest(&s, &good.answers),
           "way %d, memory runs out at each of %d allocations: %d calls failed", way, n - 2, failing);
    answers_free(&s.answers);
    answers_free(&good.answers);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    struct point *const source = points_new(NJ);
    int *const address = malloc(NJ * sizeof *address);
    for (int k = 0; k < NJ; k++) address[k] = k;
    for (int way = 0; way < WAYS; way++) test_way(way, source, address);
    free(source);
    free(address);
    return ranks_end();
}
