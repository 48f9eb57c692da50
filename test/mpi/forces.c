/*
 * forces.c - forces over any number of ranks have the bits of one context with all particles, however the particles are
 * split over the ranks; and they are those of an independent sum.
 *
 * Any number of ranks will do.  Cases are fewer with more than three ranks, and with SAPPORO_TEST_CHECKED=1
 * (sanitizers).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/worst.h"
#include "problem.h"

enum { NJ = 7000, NI = 90 }; /* four blocks of addresses, the last one not full */

/* ------------------------------------------------------------------- tests */

/* What may travel: by the library's choice, each of both ways, and j-particles in parts of one and of two blocks. */
static const struct {
    const char *name;
    sapporo_mpi_way way;
    int sources;
} ways[] = {{"chosen way", SAPPORO_MPI_WAY_AUTO, 0},
            {"targets travel", SAPPORO_MPI_WAY_TARGETS, 0},
            {"sources travel", SAPPORO_MPI_WAY_SOURCES, 0},
            {"sources travel in parts", SAPPORO_MPI_WAY_SOURCES, 2 * 2048},
            {"sources travel in short parts", SAPPORO_MPI_WAY_SOURCES, 1}};
enum { WAYS = sizeof ways / sizeof *ways };

/* Same bits by one way, for a split of the sources and each split of the targets. */
static void test_way(const struct problem *p, int way, enum split sources, double time, const struct answers *alone)
{
    static const char *const precision_names[] = {"default", "sp", "ds", "dp"};
    struct problem by = *p;
    by.way = ways[way].way, by.sources = ways[way].sources;
    sapporo_mpi *const h = open_with(&by, sources, time);
    report(h != NULL, "open order %d: %s", p->order, h ? "" : sapporo_mpi_last_error(NULL));
    for (int how = 0; how < SPLITS && h; how++) {
        if (ranks > 3 && how != PIECES && !(p->order == 4 && p->precision == SAPPORO_DS)) continue;
        const int wrong = differing(h, &by, (enum split)how, alone), took = (int)sapporo_mpi_get_way(h);
        report(wrong == 0 && took && (!by.way || took == (int)by.way),
               "order %d %s, sources %s, targets %s, %s: %d rows differ%s", p->order, precision_names[p->precision],
               split_names[sources], split_names[how], ways[way].name, wrong,
               wrong < 0 ? sapporo_mpi_last_error(h) : "");
    }
    sapporo_mpi_close(h);
}

/* Same bits by all ways; of most kinds by few ways. */
static void test_splits(const struct problem *p, enum split sources, double time)
{
    const int all = p->order == 4 && p->precision == SAPPORO_DS && p->nj == NJ;
    struct answers alone = solve_alone(p, time);
    for (int way = 0; way < WAYS; way++)
        if (all || way == 1 || way == WAYS - 1 || (way == 2 && ranks <= 3)) test_way(p, way, sources, time, &alone);
    answers_free(&alone);
}

/* The independent sum, in long double, of order 4 at time 0 for particles of time 0. */
static double worst_error(const struct problem *p, const struct answers *a)
{
    double worst = 0;
    for (int i = 0; i < p->ni; i++) {
        long double acc[3] = {0}, size = 0, error = 0;
        for (int j = 0; j < p->nj; j++) {
            long double r2 = p->eps2, r[3];
            if (p->source[j].index == p->target[i].index) continue;
            for (int k = 0; k < 3; k++) {
                r[k] = (long double)p->source[j].derivative[0][k] - p->target[i].derivative[0][k];
                r2 += r[k] * r[k];
            }
            for (int k = 0; k < 3; k++) acc[k] += p->source[j].mass * r[k] / (r2 * sqrtl(r2));
        }
        for (int k = 0; k < 3; k++) {
            size += acc[k] * acc[k];
            error += (acc[k] - a->acc[i][k]) * (acc[k] - a->acc[i][k]);
        }
        worst = worst_of(worst, (double)sqrtl(error / size));
    }
    return worst;
}

static void test_against_sum(struct point *source, struct point *target)
{
    struct problem p = {
        .order = 4, .precision = SAPPORO_DP, .nj = NJ, .ni = 20, .source = source, .target = target, .eps2 = 0x1p-12};
    struct mine m = pick(target, p.ni, ALL_ON_FIRST);
    struct answers a = answers_new(p.ni);
    for (int k = 0; k < NJ; k++) source[k].time = 0;
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    const int bad = compute(h, &p, &m, &a);
    /* dp: terms are good to a few 2^-53, and nothing cancels to less than 1e-3 of the largest term in this model */
    const double error = rank == 0 ? worst_error(&p, &a) : 0;
    report(!bad && error < 1e-12, "forces are those of an independent sum, to %.1e", error);
    sapporo_mpi_close(h);
    answers_free(&a);
    drop(&m);
}

/* Block steps: some particles are stored again, at a later time, and the forces are those of a context with them. */
static void test_updates(struct point *source, const struct point *target)
{
    const struct problem p = {.order = 4,
                              .precision = SAPPORO_DS,
                              .nj = NJ,
                              .ni = NI,
                              .source = source,
                              .target = target,
                              .eps2 = 0,
                              .nearest = 1,
                              .rows = 7};
    sapporo_mpi *const h = open_with(&p, PIECES, 0.25);
    struct point *some = malloc(NJ * sizeof *some);
    int *address = malloc(NJ * sizeof *address), n = 0;
    for (int k = 0; k < NJ; k += 13) {
        source[k].derivative[0][0] += 0.125;
        source[k].time = 0.125;
        if (!is_mine(IN_TURN, k, NJ)) continue;
        some[n] = source[k];
        address[n++] = k;
    }
    const sapporo_particles columns = points_columns(some);
    const int status = sapporo_mpi_set_particles(h, n, address, &columns);
    struct answers alone = solve_alone(&p, 0.25);
    report(status == SAPPORO_OK && differing(h, &p, IN_TURN, &alone) == 0, "some particles stored again");
    report(sapporo_mpi_clear_particles(h) == SAPPORO_OK && set_all(h, source, NJ, ALL_ON_LAST) == SAPPORO_OK &&
               differing(h, &p, PIECES, &alone) == 0,
           "all particles emptied and stored again");
    sapporo_mpi_close(h);
    answers_free(&alone);
    free(some);
    free(address);
}

/* Softening of each particle, of sources in one block alone; engines of accelerators do not have it in order 4. */
static void test_softening(struct point *source, struct point *target)
{
    const struct problem p = {.order = 4,
                              .precision = SAPPORO_DS,
                              .nj = NJ,
                              .ni = NI,
                              .source = source,
                              .target = target,
                              .nearest = 1,
                              .soft = 1};
    for (int k = 2100; k < 2200; k++) source[k].eps2 = 0.5;
    target[3].eps2 = 0.25;
    test_splits(&p, IN_TURN, 0);
    for (int kind = SAPPORO_SOFTENING_SPLINE_LARGER; kind <= SAPPORO_SOFTENING_SPLINE_MEAN; kind++) {
        struct problem spline = p;
        spline.order = 2;
        spline.softening = kind;
        test_splits(&spline, IN_TURN, 0);
    }
    for (int k = 2100; k < 2200; k++) source[k].eps2 = 0;
    target[3].eps2 = 0;
}

/* Fewer particles than ranks, none at all, and no targets. */
static void test_few(const struct point *source, const struct point *target)
{
    for (int n = 0; n < 4; n++) {
        const struct problem p = {.order = 4,
                                  .precision = SAPPORO_DS,
                                  .nj = n,
                                  .ni = n,
                                  .source = source,
                                  .target = target,
                                  .eps2 = 0x1p-12,
                                  .nearest = 1};
        test_splits(&p, ALL_ON_FIRST, 0);
    }
}

/* Without a named precision the particles of all ranks decide it, also where those of some ranks are few or none. */
static void test_default_precision(const struct point *source, const struct point *target)
{
    static const int sizes[] = {900, 1023, 1024, 3000};
    for (int k = 0; k < 4; k++) {
        const struct problem p = {
            .order = 4, .nj = sizes[k], .ni = 30, .source = source, .target = target, .eps2 = 0x1p-12, .nearest = 1};
        test_splits(&p, IN_TURN, 0);
    }
}

/* Two particles at the same distance, in blocks of different ranks: the lower address is the nearest. */
static void test_ties(struct point *source, struct point *target)
{
    const struct problem p = {.order = 4,
                              .precision = SAPPORO_DS,
                              .nj = NJ,
                              .ni = 2,
                              .source = source,
                              .target = target,
                              .eps2 = 0x1p-12,
                              .nearest = 1};
    for (int k = 0; k < NJ; k++) source[k].time = 0;
    for (int axis = 0; axis < 3; axis++) {
        target[0].derivative[0][axis] = 8;
        source[5000].derivative[0][axis] = 8 + 0x1p-20;
        source[2900].derivative[0][axis] = 8 - 0x1p-20;
        source[6500].derivative[0][axis] = 8 + 0x1p-20;
    }
    struct answers alone = solve_alone(&p, 0);
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    report(alone.nearest[0] == source[2900].index && differing(h, &p, IN_TURN, &alone) == 0,
           "of neighbours at one distance the lowest address is the nearest");
    sapporo_mpi_close(h);
    answers_free(&alone);
}

/* An i-particle of one rank that is not finite: SAPPORO_PARTIAL everywhere, and only its row is NaN. */
static void test_not_finite(const struct point *source, const struct point *target)
{
    struct point mine[3] = {target[0], target[1], target[2]};
    const struct problem p = {.order = 4,
                              .precision = SAPPORO_DS,
                              .nj = 3000,
                              .ni = 3,
                              .source = source,
                              .target = target,
                              .eps2 = 0x1p-12,
                              .nearest = 1};
    struct answers alone = solve_alone(&p, 0), a = answers_new(3);
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    const int bad = rank == ranks - 1;
    if (bad) mine[1].derivative[0][2] = NAN;
    const sapporo_request request = request_of(&p, mine, 3);
    const sapporo_result result = answers_result(&a, 4, 1);
    sapporo_mpi_job *job;
    const int begun = sapporo_mpi_force_begin(h, &request, &job), ended = sapporo_mpi_force_end(job, 3, &result);
    int right = answers_same(&a, 0, &alone, 0, 4, 1) && answers_same(&a, 2, &alone, 2, 4, 1);
    right &= bad ? isnan(a.acc[1][0]) && isnan(a.pot[1]) && a.nearest[1] == -1 && isnan(a.nearest_r2[1])
                 : answers_same(&a, 1, &alone, 1, 4, 1);
    report(begun == SAPPORO_OK && ended == SAPPORO_PARTIAL && right, "an i-particle that is not finite: statuses %d %d",
           begun, ended);
    sapporo_mpi_force_free(job);
    sapporo_mpi_close(h);
    answers_free(&alone);
    answers_free(&a);
}

/* Multiplies n particles by powers of two; masses of every other block of addresses by another one, too. */
static void scale_points(struct point *p, int n, int length, int mass, int time, int light)
{
    for (int k = 0; k < n; k++) {
        for (int d = 0; d < SAPPORO_DERIVATIVES; d++)
            for (int axis = 0; axis < 3; axis++)
                p[k].derivative[d][axis] = ldexp(p[k].derivative[d][axis], length - d * time);
        p[k].mass = ldexp(p[k].mass, mass + (k / 2048 % 2 ? light : 0));
        p[k].time = ldexp(p[k].time, time);
    }
}

/* Particles that single precision cannot hold as they are, and ranks whose particles need other units than others. */
static void test_units(const struct point *source, const struct point *target)
{
    static const int units[][4] = {{72, 144, 40, 0}, {-66, -198, 0, -60}, {0, 0, 0, -60}};
    struct point *const there = malloc(NJ * sizeof *there), *const at = malloc(NI * sizeof *at);
    for (int k = 0; k < 3; k++) {
        const int *const u = units[k];
        const struct problem p = {.order = k == 2 ? 2 : 4,
                                  .precision = SAPPORO_DS,
                                  .nj = NJ,
                                  .ni = NI,
                                  .source = there,
                                  .target = at,
                                  .eps2 = ldexp(0x1p-12, 2 * u[0]),
                                  .nearest = 1};
        memcpy(there, source, NJ * sizeof *there);
        memcpy(at, target, NI * sizeof *at);
        scale_points(there, NJ, u[0], u[1], u[2], u[3]);
        scale_points(at, NI, u[0], u[1], u[2], 0);
        test_splits(&p, IN_TURN, 0);
    }
    free(there);
    free(at);
}

/* A time that is not finite is refused by the call and by the next force, not by those after another time. */
static void test_bad_time(const struct point *source, const struct point *target)
{
    const struct problem p = {
        .order = 4, .precision = SAPPORO_DS, .nj = 3000, .ni = 3, .source = source, .target = target, .nearest = 1};
    struct answers alone = solve_alone(&p, 0);
    sapporo_mpi *const h = open_with(&p, IN_TURN, 0);
    const int status = sapporo_mpi_set_time(h, NAN), wrong = differing(h, &p, IN_TURN, &alone);
    report(status == SAPPORO_ERR_NOT_FINITE && wrong == -1, "a time that is not finite: status %d, %d", status, wrong);
    report(sapporo_mpi_set_time(h, 0) == SAPPORO_OK && differing(h, &p, IN_TURN, &alone) == 0, "another time");
    sapporo_mpi_close(h);
    answers_free(&alone);
}

int main(int argc, char **argv)
{
    static const struct {
        int order;
        sapporo_precision precision;
    } all[] = {{4, SAPPORO_DS}, {8, SAPPORO_DP}, {2, SAPPORO_SP}, {6, SAPPORO_DS}, {4, SAPPORO_SP},
               {4, SAPPORO_DP}, {2, SAPPORO_DS}, {2, SAPPORO_DP}, {6, SAPPORO_DP}, {8, SAPPORO_DS}};
    ranks_begin(&argc, &argv);
    if (sapporo_device_count(tested_backend()) == 0) {
        report(1, "there is no such device");
        return ranks_end();
    }
    const int kinds = getenv("SAPPORO_TEST_CHECKED") ? 3 : (int)(sizeof all / sizeof *all);
    struct point *const source = points_new(NJ), *const target = points_new(NI);
    for (int k = 0; k < kinds; k++) {
        const struct problem p = {.order = all[k].order,
                                  .precision = all[k].precision,
                                  .nj = NJ,
                                  .ni = NI,
                                  .source = source,
                                  .target = target,
                                  .eps2 = k % 2 ? 0 : 0x1p-12,
                                  .gravity = k == 1 ? 0.0043009172706903 : 0,
                                  .nearest = k != 4,
                                  .rows = k % 3 ? 32 : 0,
                                  .no_index = k == 5};
        test_splits(&p, (enum split)(k % SPLITS), 0x1p-8);
    }
    test_updates(source, target);
    test_softening(source, target);
    test_units(source, target);
    test_bad_time(source, target);
    test_few(source, target);
    test_default_precision(source, target);
    test_not_finite(source, target);
    test_against_sum(source, target);
    test_ties(source, target);
    free(source);
    free(target);
    return ranks_end();
}
