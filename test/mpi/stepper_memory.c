/*
 * stepper_memory.c - steppers over ranks when memory runs out on one rank: the n-th allocation of libsapporo_mpi fails
 * there, for every n, on the ranks in turn.  Every call has the same status on all ranks, and a call that succeeds
 * moves the particles as in a run without faults.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "ranks.h"

enum { N = 200, CALLS = 10, MOST = 400 };

/* What the calls of a session returned. */
struct session {
    int status[CALLS];
    double x[N][3], again[N][3], energy; /* again: after the particles were restored */
};

static void run(struct session *s, const struct point *source, sapporo_step_method method, int fault)
{
    const ptrdiff_t stride = ranks * (ptrdiff_t)sizeof *source;
    const int n = (N - rank + ranks - 1) / ranks;
    const sapporo_tree_options tree = {.size = sizeof tree,
                                       .mac = SAPPORO_MAC_ACCELERATION,
                                       .precision = SAPPORO_DP,
                                       .eps2 = 1e-2,
                                       .backend = SAPPORO_BACKEND_CPU,
                                       .threads = 1};
    const sapporo_stepper_options stepper = {
        .size = sizeof stepper, .method = method, .tree = &tree, .scheme = SAPPORO_STEPS_BLOCK, .dt = 1.0 / 32};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &stepper, .timeout = 20};
    const sapporo_stepper_particles mine = {.size = sizeof mine,
                                            .n = n,
                                            .x = {source[rank].derivative[0], stride},
                                            .v = {source[rank].derivative[1], stride},
                                            .mass = {&source[rank].mass, stride}};
    const sapporo_stepper_output out = {.size = sizeof out, .n = n, .x = s->x};
    const sapporo_stepper_output restored = {.size = sizeof restored, .n = n, .x = s->again};
    const char *const folder = getenv("TMPDIR");
    char path[512];
    sapporo_stepper_totals t = {.size = sizeof t};
    sapporo_mpi_stepper *stepping;
    (void)snprintf(path, sizeof path, "%s/stepper_memory", folder ? folder : "/tmp");
    memset(s->x, 0, sizeof s->x);
    counted = 0, fails_at = fault;
    s->status[0] = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, N, &stepping);
    s->status[1] = sapporo_mpi_stepper_set(stepping, &mine);
    s->status[2] = sapporo_mpi_stepper_advance(stepping, 1, 2);
    s->status[3] = sapporo_mpi_stepper_energy(stepping, &t);
    s->status[4] = sapporo_mpi_stepper_get(stepping, &out);
    s->status[5] = sapporo_mpi_stepper_save(stepping, path);
    s->status[6] = s->status[5] ? s->status[5] : sapporo_mpi_stepper_restore(stepping, path);
    s->status[7] = s->status[6] ? s->status[6] : sapporo_mpi_stepper_get(stepping, &restored);
    s->status[8] = s->status[7] ? s->status[7] : sapporo_mpi_stepper_exchange(stepping);
    s->status[9] = s->status[7] ? s->status[7] : sapporo_mpi_stepper_advance(stepping, 2, 2); /* after errors, too */
    s->energy = t.kinetic + t.potential;
    sapporo_mpi_stepper_destroy(stepping);
    fails_at = 0;
}

/* 1 if the particles and the energy are those of the good run, or an error was reported. */
static int is_honest(const struct session *s, const struct session *good, int n)
{
    int honest = s->status[3] ? isnan(s->energy) : s->status[2] || fabs(s->energy / good->energy - 1) < 1e-3;
    for (int i = 0; i < n && !s->status[7]; i++) honest &= s->again[i][0] == s->x[i][0];
    for (int i = 0; i < n && !s->status[2]; i++) honest &= fabs(s->x[i][0] - good->x[i][0]) < 1e-5;
    return honest;
}

/* Lets each allocation fail once. */
static void test(const struct point *source, sapporo_step_method method, const char *what)
{
    static struct session s, good;
    const int mine = (N - rank + ranks - 1) / ranks;
    int n = 0, ended = 0, failing = 0;
    run(&good, source, method, 0);
    int bad = good.status[0] || good.status[1] || good.status[2] || good.status[3] || good.status[4] ||
              good.status[8] || good.status[9];
    for (n = 1; n < MOST && !ended; n++) {
        const int guilty = n % ranks;
        run(&s, source, method, rank == guilty ? n : 0);
        bad |= !ranks_same(s.status, CALLS) || !is_honest(&s, &good, mine);
        for (int k = 0; k < CALLS; k++) failing += s.status[k] == SAPPORO_ERR_MEMORY;
        const int enough = rank == guilty && counted < n; /* the guilty rank had fewer allocations */
        ranks_combine(&enough, &ended, 1, MPI_MAX);
    }
    run(&s, source, method, 0);
    report(!bad && ended && n > 25 && failing >= n - 15 && ranks_same(s.status, CALLS) && is_honest(&s, &good, mine),
           "steppers, %s: memory runs out at each of %d allocations: %d calls failed", what, n - 2, failing);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    struct point *const source = points_new(N);
    test(source, SAPPORO_STEP_TREE, "tree");
    test(source, SAPPORO_STEP_DIRECT, "direct");
    free(source);
    return ranks_end();
}
