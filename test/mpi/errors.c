/*
 * errors.c - what fails on one rank fails on all, with the rank named, at every phase of every collective call; and the
 * next call works.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { NJ = 4500, NI = 40 };

static struct point *source, *target;

/* 1 if the last error of the handle names rank `guilty`, or two ranks that differ. */
static int names_rank(const sapporo_mpi *h, int guilty)
{
    char word[32];
    (void)snprintf(word, sizeof word, "rank %d", guilty);
    return strstr(sapporo_mpi_last_error(h), word) != NULL;
}

/* The rank on which tests fail: not the first, if there are several. */
static int guilty(void) { return ranks - 1; }

static int is_guilty(void) { return rank == guilty(); }

/* ----------------------------------------------------------------- opening */

/* Opens with options that are wrong on one rank; every rank must get `expected`, with `word` in the error. */
static void test_open(const char *what, int expected, const char *word, sapporo_options context,
                      sapporo_mpi_options options)
{
    const sapporo_options good = one_thread(4, SAPPORO_DS);
    sapporo_mpi *h = (sapporo_mpi *)&options;
    options.size = options.size ? options.size : sizeof options;
    options.context = is_guilty() ? &context : &good;
    options.timeout = is_guilty() && options.timeout != 0 ? options.timeout : 30;
    if (!is_guilty()) options.rows = 0;
    const int status = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    report(status == expected && !h && strstr(sapporo_mpi_last_error(NULL), word) && names_rank(NULL, guilty()),
           "open, %s: %d, %s", what, status, sapporo_mpi_last_error(NULL));
}

/* 1 if scalar is the only instruction path of this machine or build. */
static int is_scalar(void)
{
    const sapporo_options plain = one_thread(4, SAPPORO_DS);
    sapporo *c;
    const int scalar = sapporo_open(&plain, &c) != SAPPORO_OK || strstr(sapporo_kind(c), "scalar") != NULL;
    sapporo_close(c);
    return scalar;
}

static void test_opening(void)
{
    const sapporo_options plain = one_thread(4, SAPPORO_DS);
    sapporo_options other = one_thread(6, SAPPORO_DS);
    if (ranks > 1) {
        test_open("another order", SAPPORO_MPI_ERR_DIFFERENT, "order", other, (sapporo_mpi_options){0});
        test_open("another precision", SAPPORO_MPI_ERR_DIFFERENT, "precision", one_thread(4, SAPPORO_DP),
                  (sapporo_mpi_options){0});
        test_open("another timeout", SAPPORO_MPI_ERR_DIFFERENT, "timeout", plain, (sapporo_mpi_options){.timeout = 20});
        test_open("other rows", SAPPORO_MPI_ERR_DIFFERENT, "rows", plain, (sapporo_mpi_options){.rows = 5});
        other = plain;
        other.cpu_isa = "scalar"; /* the others use the widest path */
        if (!is_scalar())
            test_open("another kind of engine", SAPPORO_MPI_ERR_DIFFERENT, "kind", other, (sapporo_mpi_options){0});
    }
    other = plain;
    other.cpu_isa = "abacus";
    test_open("a path that does not exist", SAPPORO_ERR_ARGUMENT, "abacus", other, (sapporo_mpi_options){0});
    test_open("a timeout below 0", SAPPORO_ERR_ARGUMENT, "timeout", plain, (sapporo_mpi_options){.timeout = -1});
    test_open("rows below 0", SAPPORO_ERR_ARGUMENT, "rows", plain, (sapporo_mpi_options){.rows = -1});
    test_open("options without a size", SAPPORO_ERR_ARGUMENT, "size", (sapporo_options){.order = 4},
              (sapporo_mpi_options){0});
}

/* What only this rank notices. */
static void test_bad_communicators(void)
{
    sapporo_mpi *h;
    const int null = sapporo_mpi_open(MPI_COMM_NULL, NULL, &h),
              no_handle = sapporo_mpi_open(MPI_COMM_WORLD, NULL, NULL);
    report(null == SAPPORO_ERR_ARGUMENT && !h && no_handle == SAPPORO_ERR_ARGUMENT, "no communicator, no handle");
}

/* ------------------------------------------------------------ the calls */

/* A force that works, to show that the handle still does. */
static int force_works(sapporo_mpi *h)
{
    struct answers a = answers_new(NI);
    const sapporo_request request = points_request(target, NI, NJ);
    const sapporo_result result = answers_result(&a, 4, 0);
    sapporo_mpi_job *job;
    const int begun = sapporo_mpi_force_begin(h, &request, &job), ended = sapporo_mpi_force_end(job, NI, &result);
    const int works = begun == SAPPORO_OK && ended == SAPPORO_OK && isfinite(a.acc[NI - 1][0]) && a.pot[0] < 0;
    sapporo_mpi_force_free(job);
    answers_free(&a);
    return works;
}

static void test_set(sapporo_mpi *h)
{
    struct point mine = source[rank];
    int address = rank;
    sapporo_particles columns = points_columns(&mine);
    if (is_guilty()) address = -5;
    int status = sapporo_mpi_set_particles(h, 1, &address, &columns);
    report(status == SAPPORO_ERR_ARGUMENT && names_rank(h, guilty()) && force_works(h), "set at address -5: %s",
           sapporo_mpi_last_error(h));
    address = rank;
    if (is_guilty()) columns.derivative[0].base = NULL;
    status = sapporo_mpi_set_particles(h, 1, &address, &columns);
    report(status == SAPPORO_ERR_ARGUMENT && names_rank(h, guilty()), "set without positions: %s",
           sapporo_mpi_last_error(h));
    status = sapporo_mpi_set_particles(h, is_guilty() ? -1 : 0, NULL, NULL);
    report(status == SAPPORO_ERR_ARGUMENT && names_rank(h, guilty()), "set -1 particles: %s",
           sapporo_mpi_last_error(h));
    columns = points_columns(&mine);
    if (is_guilty()) mine.mass = NAN; /* the rank that keeps the address finds it */
    status = sapporo_mpi_set_particles(h, 1, &address, &columns);
    report(status == SAPPORO_ERR_NOT_FINITE && strstr(sapporo_mpi_last_error(h), "rank "), "set a mass of NaN: %s",
           sapporo_mpi_last_error(h));
    mine = source[rank];
    report(sapporo_mpi_set_particles(h, 1, &address, &columns) == SAPPORO_OK && force_works(h), "and it is mended");
}

/* Begins a force with a request that is wrong on one rank. */
static void test_begin(sapporo_mpi *h, const char *what, int expected, sapporo_request wrong)
{
    const sapporo_request good = points_request(target, NI, NJ);
    sapporo_mpi_job *job = (sapporo_mpi_job *)&wrong;
    const int status = sapporo_mpi_force_begin(h, is_guilty() ? &wrong : &good, &job);
    report(status == expected && !job && names_rank(h, guilty()) && force_works(h), "begin, %s: %d", what, status);
}

/* A force that forgets nj fails on all ranks, and one of no particles that is meant is 0. */
static void test_no_sources(sapporo_mpi *h)
{
    struct answers a = answers_new(NI);
    const int ni = is_guilty() ? NI : 0; /* one rank alone has targets */
    sapporo_request request = points_request(target, ni, 0);
    const sapporo_result result = answers_result(&a, 4, 0);
    sapporo_mpi_job *job = (sapporo_mpi_job *)&a;
    const int forgotten = sapporo_mpi_force_begin(h, &request, &job);
    report(forgotten == SAPPORO_ERR_ARGUMENT && !job && strstr(sapporo_mpi_last_error(h), "SAPPORO_ALLOW_EMPTY"),
           "begin, nj forgotten: %d", forgotten);
    request.want = SAPPORO_ALLOW_EMPTY;
    a.pot[0] = 77;
    const int begun = sapporo_mpi_force_begin(h, &request, &job), ended = sapporo_mpi_force_end(job, ni, &result);
    report(!begun && !ended && (ni == 0 || (a.pot[0] == 0 && a.acc[NI - 1][2] == 0)),
           "a force of no particles that is meant: %d %d", begun, ended);
    sapporo_mpi_force_free(job);
    answers_free(&a);
}

static void test_beginning(sapporo_mpi *h)
{
    const sapporo_request good = points_request(target, NI, NJ);
    sapporo_request wrong = good;
    wrong.ni = -1;
    test_begin(h, "ni below 0", SAPPORO_ERR_ARGUMENT, wrong);
    wrong = good;
    wrong.x.base = NULL;
    test_begin(h, "no positions", SAPPORO_ERR_ARGUMENT, wrong);
    wrong = good;
    wrong.eps2 = NAN;
    test_begin(h, "eps2 NaN", SAPPORO_ERR_ARGUMENT, wrong);
    wrong = good;
    wrong.size = 3;
    test_begin(h, "no size", SAPPORO_ERR_ARGUMENT, wrong);
    wrong = good;
    wrong.want = SAPPORO_WANT_LISTS;
    test_begin(h, "neighbour lists", SAPPORO_ERR_UNSUPPORTED, wrong);
    wrong = good;
    wrong.pairs = SAPPORO_PAIRS_OUTSIDE;
    test_begin(h, "regular force", SAPPORO_ERR_UNSUPPORTED, wrong);
    test_no_sources(h);
    const double negative = -1;
    wrong = good;
    wrong.eps2_i = (sapporo_column){&negative, 0};
    wrong.ni = 1;
    test_begin(h, "softening below 0", SAPPORO_ERR_ARGUMENT, wrong);
    if (ranks == 1) return;
    wrong = good;
    wrong.nj = NJ - 1;
    test_begin(h, "another nj", SAPPORO_MPI_ERR_DIFFERENT, wrong);
    wrong = good;
    wrong.eps2 = 1;
    test_begin(h, "another eps2", SAPPORO_MPI_ERR_DIFFERENT, wrong);
    wrong = good;
    wrong.want = SAPPORO_WANT_NEAREST;
    test_begin(h, "another want", SAPPORO_MPI_ERR_DIFFERENT, wrong);
    wrong = good;
    wrong.index.base = NULL;
    test_begin(h, "no indices", SAPPORO_MPI_ERR_DIFFERENT, wrong);
    (void)sapporo_mpi_set_time(h, is_guilty() ? 2 : 1);
    sapporo_mpi_job *job;
    const int status = sapporo_mpi_force_begin(h, &good, &job);
    (void)sapporo_mpi_set_time(h, 0);
    report(status == SAPPORO_MPI_ERR_DIFFERENT && !job && names_rank(h, guilty()) && force_works(h),
           "begin, another time: %s", sapporo_mpi_last_error(h));
}

/* Ends a force with a result or a number of rows that is wrong on one rank. */
static void test_end(sapporo_mpi *h, const char *what, int expected, int ni, sapporo_result wrong)
{
    struct answers a = answers_new(NI);
    const sapporo_request request = points_request(target, NI, NJ);
    const sapporo_result good = answers_result(&a, 4, 0);
    sapporo_mpi_job *job;
    const int begun = sapporo_mpi_force_begin(h, &request, &job);
    const int status = sapporo_mpi_force_end(job, is_guilty() ? ni : NI, is_guilty() ? &wrong : &good);
    const int failed = is_guilty() || answers_failed(&a, NI, 4), named = names_rank(h, guilty());
    const int again = sapporo_mpi_force_end(job, NI, &good);
    report(begun == SAPPORO_OK && status == expected && failed && named && again == SAPPORO_OK && isfinite(a.pot[0]),
           "end, %s: %d, again %d", what, status, again);
    sapporo_mpi_force_free(job);
    answers_free(&a);
}

static void test_ending(sapporo_mpi *h)
{
    struct answers a = answers_new(NI);
    sapporo_result wrong = answers_result(&a, 4, 0);
    test_end(h, "more rows than the force has", SAPPORO_ERR_ARGUMENT, NI + 1, (sapporo_result){.size = sizeof wrong});
    test_end(h, "rows below 0", SAPPORO_ERR_ARGUMENT, -1, wrong);
    wrong.snap = a.snap;
    test_end(h, "snap of order 4", SAPPORO_ERR_UNSUPPORTED, NI, wrong);
    wrong = answers_result(&a, 4, 1);
    test_end(h, "neighbours that were not wanted", SAPPORO_ERR_GONE, NI, wrong);
    wrong.size = 0;
    test_end(h, "a result without a size", SAPPORO_ERR_ARGUMENT, NI, wrong);
    answers_free(&a);
}

/* Orders of calls that are not allowed. */
static void test_orders_of_calls(sapporo_mpi *h)
{
    struct answers a = answers_new(NI);
    const sapporo_request request = points_request(target, NI, NJ);
    const sapporo_result result = answers_result(&a, 4, 0);
    sapporo_mpi_job *job, *second;
    const sapporo_particles columns = points_columns(&source[rank]);
    int bad = sapporo_mpi_force_begin(h, &request, &job);
    const int two = sapporo_mpi_force_begin(h, &request, &second);
    report(!bad && two == SAPPORO_ERR_ARGUMENT && !second, "a second force at a time: %d", two);
    bad = sapporo_mpi_set_particles(h, 1, &rank, &columns);
    const int gone = sapporo_mpi_force_end(job, NI, &result);
    report(!bad && gone == SAPPORO_ERR_GONE && answers_failed(&a, NI, 4), "particles stored during a force: %d", gone);
    sapporo_mpi_force_free(job);
    const int freed = sapporo_mpi_force_end(job, NI, &result);
    bad = sapporo_mpi_force_begin(h, &request, &job);
    const int first = sapporo_mpi_force_end(job, NI, &result), again = sapporo_mpi_force_end(job, NI, &result);
    report(!bad && freed == SAPPORO_ERR_CLOSED && first == SAPPORO_OK && again == SAPPORO_ERR_GONE &&
               answers_failed(&a, NI, 4),
           "a freed job, a delivered force: %d %d %d", freed, first, again);
    sapporo_mpi_force_free(job);
    sapporo_mpi_force_free(job);
    answers_free(&a);
}

static void test_closed(sapporo_mpi *h)
{
    struct answers a = answers_new(NI);
    const sapporo_request request = points_request(target, NI, NJ);
    const sapporo_result result = answers_result(&a, 4, 0);
    sapporo_mpi_job *job, *none = (sapporo_mpi_job *)&a;
    int bad = sapporo_mpi_force_begin(h, &request, &job);
    sapporo_mpi_close(h);
    sapporo_mpi_close(h);
    sapporo_mpi_close(NULL);
    const int closed = SAPPORO_ERR_CLOSED;
    bad |= sapporo_mpi_force_end(job, NI, &result) != closed || !answers_failed(&a, NI, 4);
    bad |= sapporo_mpi_force_begin(h, &request, &none) != closed || none;
    bad |= sapporo_mpi_set_particles(h, 0, NULL, NULL) != closed || sapporo_mpi_clear_particles(h) != closed;
    bad |= sapporo_mpi_set_time(h, 1) != closed || sapporo_mpi_context(h) || sapporo_mpi_kind(h)[0];
    bad |= !strstr(sapporo_mpi_last_error(h), "not open");
    bad |= sapporo_mpi_force_end(NULL, NI, &result) != SAPPORO_ERR_ARGUMENT;
    sapporo_mpi_force_free(job);
    report(!bad, "a closed handle stays closed, and so does its job: %s", sapporo_mpi_last_error(h));
    answers_free(&a);
}

/* One rank does not come: the others give up, and so does the late rank. */
static void test_timeout(void)
{
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context, .timeout = 0.3};
    const sapporo_request request = points_request(target, NI, NJ);
    const sapporo_particles columns = points_columns(source);
    sapporo_mpi_job *job = NULL;
    sapporo_mpi *h;
    int status = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h), later = SAPPORO_MPI_ERR_TIMEOUT;
    if (!is_guilty()) {
        status |= sapporo_mpi_force_begin(h, &request, &job) != SAPPORO_MPI_ERR_TIMEOUT || job;
        later = sapporo_mpi_set_particles(h, 1, &rank, &columns);
    }
    report(status == SAPPORO_OK && later == SAPPORO_MPI_ERR_TIMEOUT, "a rank that does not come: %s",
           sapporo_mpi_last_error(h));
    if (is_guilty()) status = sapporo_mpi_force_begin(h, &request, &job);
    report(!is_guilty() || (status == SAPPORO_MPI_ERR_TIMEOUT && !job), "the late rank gives up, too: %d", status);
    sapporo_mpi_close(h);
}

int main(int argc, char **argv)
{
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context, .timeout = 60};
    sapporo_mpi *h;
    ranks_begin(&argc, &argv);
    source = points_new(NJ), target = points_new(NI);
    test_opening();
    test_bad_communicators();
    const int opened = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    const sapporo_particles columns = points_columns(source);
    int *address = malloc(NJ * sizeof *address);
    for (int k = 0; k < NJ; k++) address[k] = k;
    const int set = sapporo_mpi_set_particles(h, rank == 0 ? NJ : 0, address, &columns);
    report(!opened && !set && strstr(sapporo_mpi_kind(h), "cpu") && sapporo_get_threads(sapporo_mpi_context(h)) == 1,
           "open and set: %s", sapporo_mpi_kind(h));
    test_set(h);
    test_beginning(h);
    test_ending(h);
    test_orders_of_calls(h);
    test_closed(h);
    if (ranks > 1) test_timeout();
    free(address);
    free(source);
    free(target);
    return ranks_end();
}
