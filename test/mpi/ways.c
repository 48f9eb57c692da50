/*
 * ways.c - what travels in a force: the way that the costs choose, particles that change between forces whose
 * j-particles travel, addresses without a particle, particles that are not finite, and options that are not valid.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

enum { NJ = 9000, NI = 60, BLOCK = 2048 };

static struct point *source, *target;

static struct problem problem_of(sapporo_mpi_way way, int part)
{
    return way_problem(way, part, source, NJ, target, NI);
}

/* ------------------------------------------------------------------- costs */

/* The way that costs choose for a force on ni particles. */
static void test_choice(const char *what, sapporo_mpi_costs costs, int ni, enum split targets, sapporo_mpi_way right)
{
    struct problem p = problem_of(SAPPORO_MPI_WAY_AUTO, 0);
    costs.size = sizeof costs;
    p.costs = &costs;
    p.ni = ni;
    sapporo_mpi_costs known = {.size = sizeof known};
    struct answers alone = solve_alone(&p, 0);
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    const int before = (int)sapporo_mpi_get_way(h), wrong = differing(h, &p, targets, &alone);
    if (ranks == 1) right = SAPPORO_MPI_WAY_SOURCES; /* nothing travels */
    report(before == SAPPORO_MPI_WAY_AUTO && wrong == 0 && sapporo_mpi_get_way(h) == right &&
               sapporo_mpi_get_costs(h, &known) == SAPPORO_OK && memcmp(&known, &costs, sizeof known) == 0,
           "%s, force on %d: way %d", what, ni, (int)sapporo_mpi_get_way(h));
    sapporo_mpi_close(h);
    answers_free(&alone);
}

static void test_choices(void)
{
    const sapporo_mpi_costs bytes = {.byte = 1e-9}, pairs = {.pair = 1e-9}, stores = {.store = 1e-6},
                            rows = {.row = 1e-6};
    test_choice("bytes cost", bytes, 3, IN_TURN, SAPPORO_MPI_WAY_TARGETS);
    test_choice("bytes cost", bytes, NJ, IN_TURN, SAPPORO_MPI_WAY_SOURCES);
    test_choice("pairs cost, one rank has all targets", pairs, NI, ALL_ON_LAST, SAPPORO_MPI_WAY_TARGETS);
    test_choice("storing costs", stores, NI, IN_TURN, SAPPORO_MPI_WAY_TARGETS);
    test_choice("rows cost", rows, NI, IN_TURN, SAPPORO_MPI_WAY_SOURCES);
}

/* Costs of a struct that ends before `exchange`. */
static void test_older_costs(void)
{
    const sapporo_mpi_costs older = {.size = offsetof(sapporo_mpi_costs, exchange), .message = 3, .exchange = NAN};
    const sapporo_mpi_options options = {.size = sizeof options, .costs = &older};
    sapporo_mpi_costs known = {.size = sizeof known};
    sapporo_mpi *h;
    const int status = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    report(!status && !sapporo_mpi_get_costs(h, &known) && known.message == 3 && known.exchange == 3,
           "costs without exchange: %d, %g", status, known.exchange);
    sapporo_mpi_close(h);
}

/* Costs that are measured: the same on all ranks, finite, and not measured again. */
static void test_measured(void)
{
    const struct problem p = problem_of(SAPPORO_MPI_WAY_AUTO, 0);
    sapporo_mpi_costs none = {.size = sizeof none}, first = none, second = none;
    struct answers alone = solve_alone(&p, 0);
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    const int early = sapporo_mpi_get_costs(h, &none), one = differing(h, &p, IN_TURN, &alone);
    const int known = sapporo_mpi_get_costs(h, &first), two = differing(h, &p, ALL_ON_FIRST, &alone);
    (void)sapporo_mpi_get_costs(h, &second);
    int sum[2] = {0, 0}, least[2], most[2]; /* a checksum of the bits, for each of two halves of the words */
    for (size_t k = 0; k < sizeof first; k++) sum[k % 2] += (int)(k + 1) * ((const unsigned char *)&first)[k];
    ranks_combine(sum, least, 2, MPI_MIN);
    ranks_combine(sum, most, 2, MPI_MAX);
    const double cost[] = {first.message, first.byte, first.force, first.pair, first.row, first.store, first.exchange};
    int valid = 1;
    for (size_t k = 0; k < sizeof cost / sizeof *cost; k++) valid &= cost[k] >= 0 && isfinite(cost[k]);
    report(early == SAPPORO_ERR_GONE && none.pair == 0 && !one && !two && memcmp(&first, &second, sizeof first) == 0 &&
               memcmp(least, most, sizeof least) == 0 && valid &&
               (ranks == 1 ? known == SAPPORO_ERR_GONE : known == SAPPORO_OK && first.pair > 0),
           "measured costs: statuses %d and %d, %.1e s per pair", early, known, first.pair);
    sapporo_mpi_close(h);
    report(sapporo_mpi_get_costs(h, &none) == SAPPORO_ERR_CLOSED && sapporo_mpi_get_way(h) == SAPPORO_MPI_WAY_AUTO &&
               sapporo_mpi_get_costs(NULL, NULL) == SAPPORO_ERR_ARGUMENT,
           "costs and way of a closed handle");
    answers_free(&alone);
}

/* --------------------------------------------------------------- particles */

/* Forces without a change between them, at other times, after a change, with fewer j-particles, and with all again. */
static void test_changes(int part)
{
    struct problem p = problem_of(SAPPORO_MPI_WAY_SOURCES, part);
    sapporo_mpi *const h = open_with(&p, PIECES, 0.25);
    struct answers alone = solve_alone(&p, 0.25);
    int wrong = differing(h, &p, IN_TURN, &alone) + differing(h, &p, ALL_ON_FIRST, &alone);
    answers_free(&alone);
    report(wrong == 0, "sources in parts of %d: two forces on the same particles", part);
    (void)sapporo_mpi_set_time(h, 0.5);
    alone = solve_alone(&p, 0.5);
    report(differing(h, &p, IN_TURN, &alone) == 0, "at another time");
    answers_free(&alone);
    for (int k = 0; k < NJ; k += 17) source[k].mass *= 2;
    alone = solve_alone(&p, 0.5);
    report(set_all(h, source, NJ, IN_TURN) == SAPPORO_OK && differing(h, &p, PIECES, &alone) == 0, "after a change");
    answers_free(&alone);
    p.nj = BLOCK + 100;
    alone = solve_alone(&p, 0.5);
    report(differing(h, &p, IN_TURN, &alone) == 0, "of the first addresses alone");
    answers_free(&alone);
    p.nj = NJ;
    alone = solve_alone(&p, 0.5);
    report(differing(h, &p, IN_TURN, &alone) == 0, "and of all again");
    answers_free(&alone);
    sapporo_mpi_close(h);
}

/* The same particles at every third address, in a context: what other addresses hold from before must be gone. */
static void solve_sparse(const struct problem *p, struct answers *a)
{
    const sapporo_options options = one_thread(p->order, p->precision);
    const sapporo_request request = request_of(p, p->target, p->ni);
    const sapporo_result result = answers_result(a, p->order, p->nearest);
    sapporo *c;
    sapporo_job *job = NULL;
    int bad = sapporo_open(&options, &c);
    for (int k = 0; k < NJ && !bad; k += 3) {
        const sapporo_particles columns = points_columns(p->source + k);
        bad = sapporo_set_particles(c, k, 1, &columns);
    }
    bad = bad || sapporo_force_begin(c, &request, &job) || sapporo_force_end(job, p->ni, &result);
    report(!bad, "one context with gaps: %s", bad ? sapporo_last_error(c) : "computes");
    sapporo_force_free(job);
    sapporo_close(c);
}

/* Addresses without a particle, where other particles were before; and nj far above all addresses. */
static void test_gaps(int part)
{
    struct problem p = problem_of(SAPPORO_MPI_WAY_SOURCES, part);
    struct answers alone = solve_alone(&p, 0), sparse = answers_new(NI);
    int *const address = malloc(NJ * sizeof *address), n = 0;
    struct point *const some = malloc(NJ * sizeof *some);
    for (int k = 3 * rank; k < NJ; k += 3 * ranks) {
        some[n] = source[k];
        address[n++] = k;
    }
    const sapporo_particles columns = points_columns(some);
    p.nj = INT32_MAX;
    solve_sparse(&p, &sparse);
    p.nj = NJ;
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    const int before = differing(h, &p, IN_TURN, &alone);
    p.nj = INT32_MAX;
    const int bad = sapporo_mpi_clear_particles(h) || sapporo_mpi_set_particles(h, n, address, &columns);
    report(before == 0 && !bad && differing(h, &p, PIECES, &sparse) == 0,
           "sources in parts of %d: addresses without a particle", part);
    sapporo_mpi_close(h);
    answers_free(&alone);
    answers_free(&sparse);
    free(address);
    free(some);
}

/* A j-particle and an i-particle that are not finite. */
static void test_not_finite(int part)
{
    struct problem p = problem_of(SAPPORO_MPI_WAY_SOURCES, part);
    struct point mine[3] = {target[0], target[1], target[2]};
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    struct answers alone = solve_alone(&p, 0), a = answers_new(3);
    const sapporo_request request = request_of(&p, mine, 3);
    const sapporo_result result = answers_result(&a, 4, 1);
    sapporo_mpi_job *job;
    if (rank == ranks - 1) mine[1].derivative[0][2] = NAN;
    int begun = sapporo_mpi_force_begin(h, &request, &job), ended = sapporo_mpi_force_end(job, 3, &result);
    sapporo_mpi_force_free(job);
    int right = answers_same(&a, 0, &alone, 0, 4, 1) && answers_same(&a, 2, &alone, 2, 4, 1);
    right &= rank == ranks - 1 ? isnan(a.acc[1][0]) && a.nearest[1] == -1 && isnan(a.nearest_r2[1])
                               : answers_same(&a, 1, &alone, 1, 4, 1);
    report(begun == SAPPORO_OK && ended == SAPPORO_PARTIAL && right, "an i-particle that is not finite: %d", ended);
    struct point nan = source[5000];
    const int address = 5000;
    const sapporo_particles columns = points_columns(&nan);
    nan.mass = NAN;
    const int set = sapporo_mpi_set_particles(h, rank == 0, &address, &columns);
    mine[1] = target[1];
    begun = sapporo_mpi_force_begin(h, &request, &job), ended = sapporo_mpi_force_end(job, 3, &result);
    sapporo_mpi_force_free(job);
    report(set == SAPPORO_ERR_NOT_FINITE && !begun && !ended && isnan(a.acc[0][0]) && isnan(a.pot[2]),
           "a j-particle that is not finite: %d %d", set, ended);
    sapporo_mpi_close(h);
    answers_free(&alone);
    answers_free(&a);
}

/* A force that is freed before it ends, and one that failed, leave a handle that computes. */
static void test_left(int part)
{
    struct problem p = problem_of(SAPPORO_MPI_WAY_SOURCES, part);
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    struct answers alone = solve_alone(&p, 0), a = answers_new(NI);
    const sapporo_request request = request_of(&p, target, NI);
    sapporo_result result = answers_result(&a, 4, 1);
    sapporo_mpi_job *job;
    int begun = sapporo_mpi_force_begin(h, &request, &job);
    sapporo_mpi_force_free(job);
    report(begun == SAPPORO_OK && differing(h, &p, IN_TURN, &alone) == 0, "a force that was freed before its end");
    begun = sapporo_mpi_force_begin(h, &request, &job);
    result.snap = rank == ranks - 1 ? a.snap : NULL;
    const int failed = sapporo_mpi_force_end(job, NI, &result);
    sapporo_mpi_force_free(job);
    report(begun == SAPPORO_OK && failed == SAPPORO_ERR_UNSUPPORTED && answers_failed(&a, NI, 4) &&
               differing(h, &p, IN_TURN, &alone) == 0,
           "a force that failed");
    sapporo_mpi_close(h);
    answers_free(&alone);
    answers_free(&a);
}

/* ----------------------------------------------------------------- options */

static void test_bad(const char *what, int expected, const char *word, sapporo_mpi_options bad)
{
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    sapporo_mpi_options good = {.size = sizeof good, .context = &context, .timeout = 30};
    sapporo_mpi *h = (sapporo_mpi *)&bad;
    bad.size = sizeof bad, bad.context = &context, bad.timeout = 30;
    const int status = sapporo_mpi_open(MPI_COMM_WORLD, rank == ranks - 1 ? &bad : &good, &h);
    report(status == expected && !h && strstr(sapporo_mpi_last_error(NULL), word), "%s: %d, %s", what, status,
           sapporo_mpi_last_error(NULL));
}

static void test_options(void)
{
    const sapporo_mpi_costs costs = {.size = sizeof costs, .pair = 1}, bad = {.size = sizeof bad, .row = NAN},
                            none = {0};
    const int argument = SAPPORO_ERR_ARGUMENT, different = SAPPORO_MPI_ERR_DIFFERENT;
    test_bad("a way that does not exist", argument, "way", (sapporo_mpi_options){.way = (sapporo_mpi_way)3});
    test_bad("sources below 0", argument, "sources", (sapporo_mpi_options){.sources = -1});
    test_bad("a cost of NaN", argument, "cost", (sapporo_mpi_options){.costs = &bad});
    test_bad("costs without a size", argument, "size", (sapporo_mpi_options){.costs = &none});
    if (ranks == 1) return;
    test_bad("another way", different, "way", (sapporo_mpi_options){.way = SAPPORO_MPI_WAY_SOURCES});
    test_bad("other parts", different, "sources", (sapporo_mpi_options){.sources = 5 * BLOCK});
    test_bad("costs on one rank", different, "costs", (sapporo_mpi_options){.costs = &costs});
}

/* Rows that several threads copy, merge and write have the same bits; one rank has all of them. */
static void test_threads(sapporo_mpi_way way)
{
    struct problem p = way_problem(way, BLOCK, source, NJ, target, NJ);
    p.threads = 3;
    struct answers alone = solve_alone(&p, 0);
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    const int wrong = differing(h, &p, ALL_ON_LAST, &alone);
    report(wrong == 0, "three threads, way %d: %d rows differ", (int)way, wrong);
    sapporo_mpi_close(h);
    answers_free(&alone);
}

int main(int argc, char **argv)
{
    static const int parts[] = {0, BLOCK, 3 * BLOCK};
    ranks_begin(&argc, &argv);
    if (sapporo_device_count(tested_backend()) == 0) {
        report(1, "there is no such device");
        return ranks_end();
    }
    source = points_new(NJ), target = points_new(NJ);
    test_choices();
    test_older_costs();
    test_measured();
    for (int k = 0; k < 3; k++) {
        test_changes(parts[k]);
        test_gaps(parts[k]);
        test_not_finite(parts[k]);
        test_left(parts[k]);
    }
    test_threads(SAPPORO_MPI_WAY_TARGETS);
    test_threads(SAPPORO_MPI_WAY_SOURCES);
    test_options();
    free(source);
    free(target);
    return ranks_end();
}
