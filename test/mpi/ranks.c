/* ranks.c - what the programs of test_mpi.sh share (ranks.h). */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/backends.h"

int rank, ranks;
static int failures;

void ranks_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static void finish(MPI_Request *request)
{
    int done = 0;
    for (MPI_Test(request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(request, &done, MPI_STATUS_IGNORE))
        (void)sched_yield();
}

static void combine(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op operation)
{
    MPI_Request request;
    MPI_Iallreduce(mine, all, n, type, operation, MPI_COMM_WORLD, &request);
    finish(&request);
}

void ranks_share(void *data, size_t bytes)
{
    MPI_Request request;
    MPI_Ibcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    finish(&request);
}

void ranks_combine(const int *mine, int *all, int n, MPI_Op operation) { combine(mine, all, n, MPI_INT, operation); }

void ranks_combine_doubles(const double *mine, double *all, int n, MPI_Op operation)
{
    combine(mine, all, n, MPI_DOUBLE, operation);
}

int ranks_same(const int *status, int n)
{
    int same = 1;
    for (int k = 0; k < n; k++) {
        int least, most;
        ranks_combine(&status[k], &least, 1, MPI_MIN);
        ranks_combine(&status[k], &most, 1, MPI_MAX);
        same &= least == most;
    }
    return same;
}

void report(int ok, const char *format, ...)
{
    char text[256];
    int all = 0, mine = ok != 0;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ranks_combine(&mine, &all, 1, MPI_LAND);
    if (!mine) fprintf(stderr, "# rank %d of %d: %s\n", rank, ranks, text);
    if (rank == 0) printf("%s - %s (%d ranks)\n", all ? "ok" : "not ok", text, ranks);
    if (rank == 0) fflush(stdout);
    failures += !all;
}

int ranks_end(void)
{
    MPI_Finalize();
    return failures > 0;
}

/* ------------------------------------------------------------------- model */

/* A number in (-1, 1), Knuth's linear congruential generator. */
static double draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)*state * 0x1p-63;
}

struct point *points_new(int n)
{
    uint64_t state = 20;
    struct point *const p = calloc((size_t)n, sizeof *p);
    if (!p) exit(3);
    for (int k = 0; k < n; k++) {
        const double size = 0.05 + pow(fabs(draw(&state)), 4) * 20;
        for (int d = 0; d < SAPPORO_DERIVATIVES; d++)
            for (int axis = 0; axis < 3; axis++)
                p[k].derivative[d][axis] = draw(&state) * (d == 0 ? size : pow(0.5, d));
        p[k].mass = (1 + draw(&state)) / n;
        p[k].time = draw(&state) * 0x1p-10;
        p[k].index = 3 * k + 7;
    }
    return p;
}

sapporo_particles points_columns(const struct point *from)
{
    const ptrdiff_t stride = sizeof *from;
    sapporo_particles c = {.size = sizeof c,
                           .mass = {&from->mass, stride},
                           .time = {&from->time, stride},
                           .eps2 = {&from->eps2, stride},
                           .index = {&from->index, stride}};
    for (int d = 0; d < SAPPORO_DERIVATIVES; d++) c.derivative[d] = (sapporo_column){from->derivative[d], stride};
    return c;
}

sapporo_request points_request(const struct point *target, int ni, int nj)
{
    const ptrdiff_t stride = sizeof *target;
    return (sapporo_request){.size = sizeof(sapporo_request),
                             .nj = nj,
                             .ni = ni,
                             .x = {target->derivative[0], stride},
                             .v = {target->derivative[1], stride},
                             .a = {target->derivative[2], stride},
                             .jerk = {target->derivative[3], stride},
                             .index = {&target->index, stride},
                             .eps2 = 0x1p-12};
}

/* ----------------------------------------------------------------- answers */

struct answers answers_new(int n)
{
    const size_t room = (size_t)n + 1;
    struct answers a = {.acc = calloc(room, sizeof *a.acc),
                        .jerk = calloc(room, sizeof *a.jerk),
                        .snap = calloc(room, sizeof *a.snap),
                        .crackle = calloc(room, sizeof *a.crackle),
                        .pot = calloc(room, sizeof *a.pot),
                        .nearest_r2 = calloc(room, sizeof *a.nearest_r2),
                        .nearest = calloc(room, sizeof *a.nearest)};
    if (!a.acc || !a.jerk || !a.snap || !a.crackle || !a.pot || !a.nearest_r2 || !a.nearest) exit(3);
    return a;
}

void answers_free(struct answers *a)
{
    free(a->acc);
    free(a->jerk);
    free(a->snap);
    free(a->crackle);
    free(a->pot);
    free(a->nearest_r2);
    free(a->nearest);
}

void answers_share(struct answers *a, int n)
{
    const size_t rows = (size_t)n;
    ranks_share(a->acc, rows * sizeof *a->acc);
    ranks_share(a->jerk, rows * sizeof *a->jerk);
    ranks_share(a->snap, rows * sizeof *a->snap);
    ranks_share(a->crackle, rows * sizeof *a->crackle);
    ranks_share(a->pot, rows * sizeof *a->pot);
    ranks_share(a->nearest_r2, rows * sizeof *a->nearest_r2);
    ranks_share(a->nearest, rows * sizeof *a->nearest);
}

sapporo_result answers_result(const struct answers *a, int order, int nearest)
{
    return (sapporo_result){.size = sizeof(sapporo_result),
                            .acc = a->acc,
                            .jerk = order > 2 ? a->jerk : NULL,
                            .snap = order > 4 ? a->snap : NULL,
                            .crackle = order > 6 ? a->crackle : NULL,
                            .pot = a->pot,
                            .nearest = nearest ? a->nearest : NULL,
                            .nearest_r2 = nearest ? a->nearest_r2 : NULL};
}

int answers_same(const struct answers *a, int i, const struct answers *b, int k, int order, int nearest)
{
    const size_t three = 3 * sizeof(double);
    int same = memcmp(a->acc[i], b->acc[k], three) == 0 && memcmp(&a->pot[i], &b->pot[k], sizeof(double)) == 0;
    if (order > 2) same &= memcmp(a->jerk[i], b->jerk[k], three) == 0;
    if (order > 4) same &= memcmp(a->snap[i], b->snap[k], three) == 0;
    if (order > 6) same &= memcmp(a->crackle[i], b->crackle[k], three) == 0;
    if (nearest)
        same &= a->nearest[i] == b->nearest[k] && memcmp(&a->nearest_r2[i], &b->nearest_r2[k], sizeof(double)) == 0;
    return same;
}

int answers_failed(const struct answers *a, int n, int order)
{
    int failed = 1;
    for (int i = 0; i < n; i++) {
        failed &= isnan(a->pot[i]);
        for (int axis = 0; axis < 3; axis++) failed &= isnan(a->acc[i][axis]) && (order < 4 || isnan(a->jerk[i][axis]));
    }
    return failed;
}

sapporo_backend tested_backend(void)
{
    const char *const name = getenv("SAPPORO_TEST_ENGINES");
    const sapporo_backend named = name ? backend_of(name) : SAPPORO_BACKEND_AUTO;
    return named == SAPPORO_BACKEND_AUTO ? SAPPORO_BACKEND_CPU : named;
}

sapporo_options one_thread(int order, sapporo_precision precision)
{
    return (sapporo_options){.size = sizeof(sapporo_options),
                             .order = order,
                             .precision = precision,
                             .backend = tested_backend(),
                             .threads = 1};
}
