/*
 * packing.c - sapporo_mpi_set_particles with one thread and with several: the bytes that MPI is given are the same,
 * also of addresses that are given twice, and of several bad addresses the first is named.  Columns that are absent or
 * zero on all ranks are not sent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { N = 24000, TWICE = 100 };

/* The bytes of the last MPI_Ialltoallv of this rank, and those of a record. */
static char *sent_bytes;
static size_t sent_length, each;

int MPI_Ialltoallv(const void *from, const int *sent, const int *sent_at, MPI_Datatype what, void *to, const int *got,
                   const int *got_at, MPI_Datatype type, MPI_Comm communicator, MPI_Request *request)
{
    int bytes;
    size_t n = 0;
    MPI_Type_size(what, &bytes);
    each = (size_t)bytes;
    for (int r = 0; r < ranks; r++) n += (size_t)sent[r];
    free(sent_bytes);
    sent_bytes = malloc(n * (size_t)bytes + 1);
    sent_length = 0;
    for (int r = 0; r < ranks; r++) {
        const size_t length = (size_t)sent[r] * (size_t)bytes;
        memcpy(sent_bytes + sent_length, (const char *)from + (size_t)sent_at[r] * (size_t)bytes, length);
        sent_length += length;
    }
    return PMPI_Ialltoallv(from, sent, sent_at, what, to, got, got_at, type, communicator, request);
}

/* Addresses of the n particles of this rank, in a strange order; the first ones are those of the last ones, too. */
static void choose_addresses(int n, int *address)
{
    for (int k = 0; k < n; k++) address[k] = (int)((long long)k * 7919 % n) * ranks + rank;
    for (int k = 0; k < TWICE; k++) address[k] = address[n - 1 - k];
}

/* Stores the particles with so many threads; *force gets the force on the first ones.  Returns a status. */
static int store(const struct point *all, int order, int threads, const int *address, struct answers *force)
{
    const int n = N - rank;
    sapporo_options context = one_thread(order, SAPPORO_DS);
    context.threads = threads;
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context, .timeout = 60};
    const sapporo_particles columns = points_columns(all);
    const sapporo_request request = points_request(all, TWICE, N * ranks);
    const sapporo_result result = answers_result(force, order, 0);
    sapporo_mpi *h;
    sapporo_mpi_job *job = NULL;
    int bad = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    if (!bad) bad = sapporo_mpi_set_particles(h, n, address, &columns);
    char *const bytes = sent_bytes; /* those of the force come next */
    const size_t length = sent_length;
    sent_bytes = NULL;
    if (!bad) bad = sapporo_mpi_force_begin(h, &request, &job) || sapporo_mpi_force_end(job, TWICE, &result);
    sapporo_mpi_force_free(job);
    sapporo_mpi_close(h);
    free(sent_bytes);
    sent_bytes = bytes, sent_length = length;
    return bad;
}

static void test_order(const struct point *all, int order)
{
    struct answers one = answers_new(TWICE), several = answers_new(TWICE);
    int *const address = calloc(N, sizeof *address);
    choose_addresses(N - rank, address);
    int bad = store(all, order, 1, address, &one), same = 1;
    char *const bytes = sent_bytes;
    const size_t length = sent_length;
    sent_bytes = NULL;
    bad |= store(all, order, 5, address, &several);
    const int packed =
        !bad && (length > 0 || ranks == 1) && length == sent_length && memcmp(bytes, sent_bytes, length) == 0;
    for (int i = 0; i < TWICE; i++) same &= answers_same(&one, i, &several, i, order, 0);
    report(packed, "order %d: 5 threads give MPI the bytes of one thread, %zu", order, length);
    report(!bad && same, "order %d: forces have the same bits", order);
    free(bytes);
    free(address);
    answers_free(&one);
    answers_free(&several);
}

/* Bad addresses in several parts: the first one is named, with any number of threads. */
static void test_bad(const struct point *all, int threads)
{
    const int n = N - rank;
    sapporo_options context = one_thread(4, SAPPORO_DS);
    context.threads = threads;
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context, .timeout = 60};
    const sapporo_particles columns = points_columns(all);
    int *const address = calloc(N, sizeof *address);
    sapporo_mpi *h;
    choose_addresses(n, address);
    if (rank == ranks - 1)
        for (int k = 0; k < 10; k++) address[n / 4 + k * (n / 20)] = -5 - k;
    char word[80];
    (void)snprintf(word, sizeof word, "address -5 of particle %d", (N - ranks + 1) / 4);
    const int opened = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    const int status = sapporo_mpi_set_particles(h, n, address, &columns);
    report(!opened && status == SAPPORO_ERR_ARGUMENT && strstr(sapporo_mpi_last_error(h), word), "%d threads: %s",
           threads, sapporo_mpi_last_error(h));
    sapporo_mpi_close(h);
    free(address);
}

/* Stores particles with some columns; the bytes per particle that MPI is given, or 0 after an error. */
static size_t bytes_with(const sapporo_particles *columns, int order, const int *address)
{
    const sapporo_options context = one_thread(order, SAPPORO_DS);
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context, .timeout = 60};
    sapporo_mpi *h;
    each = 0;
    int bad = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    if (!bad) bad = sapporo_mpi_set_particles(h, N - rank, address, columns);
    sapporo_mpi_close(h);
    return bad ? 0 : each;
}

/* A column is sent if some rank has a number in it that is not zero. */
static void test_columns(const struct point *all)
{
    enum { X = 24, TAIL = 16 };
    static double zeros[N][3], times[N];
    int *const address = calloc(N, sizeof *address);
    choose_addresses(N - rank, address);
    for (int order = 2; order <= 8; order += 2) {
        sapporo_particles few = points_columns(all);
        for (int d = 1; d < SAPPORO_DERIVATIVES; d++) few.derivative[d] = (sapporo_column){d == 1 ? zeros : NULL, 0};
        few.time = (sapporo_column){times, 0};
        few.eps2 = (sapporo_column){NULL, 0};
        memset(times, 0, sizeof times);
        report(bytes_with(&few, order, address) == X + TAIL, "order %d: positions alone are sent", order);
        times[N - ranks] = rank == ranks - 1;
        if (rank == 0) few.derivative[1] = (sapporo_column){all[0].derivative[0], sizeof *all};
        const size_t more = order == 2 ? 0 : X + sizeof *times;
        report(bytes_with(&few, order, address) == X + TAIL + more, "order %d: what one rank has is sent by all",
               order);
    }
    free(address);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    struct point *const all = points_new(N);
    test_order(all, 2);
    test_order(all, 4);
    test_order(all, 8);
    test_bad(all, 1);
    test_bad(all, 4);
    test_columns(all);
    free(all);
    free(sent_bytes);
    return ranks_end();
}
