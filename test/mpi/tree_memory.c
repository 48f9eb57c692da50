/*
 * tree_memory.c - trees over ranks when memory runs out on one rank: the n-th allocation of libsapporo_mpi fails there,
 * for every n, on the ranks in turn.  Every call has the same status on all ranks, and forces are right on all of them
 * or NaN on all of them.  Calls that take no more memory than those before them allocate none.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "ranks.h"

enum { N = 400, CALLS = 8, MOST = 300 };

/* What the calls of a session returned. */
struct session {
    int status[CALLS];
    double acc[N][3], pot[N], to[N][3];
};

static sapporo_softening softening; /* of the trees that are tested */

/*
 * Particles with softening lengths, which take the most memory: as large as their masses.  Plummer's are those of the
 * first rank: others make theirs when they hear of these.
 */
static sapporo_tree_particles columns(const struct point *source)
{
    const ptrdiff_t stride = ranks * (ptrdiff_t)sizeof *source;
    return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                    .n = (N - rank + ranks - 1) / ranks,
                                    .x = {source[rank].derivative[0], stride},
                                    .mass = {&source[rank].mass, stride},
                                    .h = {softening || rank == 0 ? &source[rank].mass : NULL, stride}};
}

static void run(struct session *s, const struct point *source, int fault)
{
    const sapporo_tree_options tree = {.size = sizeof tree,
                                       .mac = SAPPORO_MAC_ACCELERATION,
                                       .softening = softening,
                                       .backend = SAPPORO_BACKEND_CPU,
                                       .threads = 1};
    const sapporo_mpi_tree_options options = {.size = sizeof options, .tree = &tree, .timeout = 20};
    const sapporo_tree_particles mine = columns(source);
    sapporo_mpi_tree *t;
    memset(s->acc, 0, sizeof s->acc);
    counted = 0, fails_at = fault;
    s->status[0] = sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &t);
    s->status[1] = sapporo_mpi_tree_build(t, &mine);
    s->status[2] = sapporo_mpi_tree_force(t, s->acc, s->pot);
    s->status[3] = sapporo_mpi_tree_build(t, &mine);
    s->status[4] = sapporo_mpi_tree_force(t, s->acc, s->pot);
    s->status[5] = sapporo_mpi_tree_refresh(t, &mine);
    s->status[6] = sapporo_mpi_tree_force_active(t, mine.n, NULL, s->acc, s->pot);
    s->status[7] = sapporo_mpi_tree_exchange(t, sizeof *s->acc, s->acc, N, s->to, NULL);
    sapporo_mpi_tree_destroy(t);
    fails_at = 0;
}

/* 1 if builds, refreshes and forces allocate nothing after they ran once with the same particles. */
static int keeps_memory(const struct point *source)
{
    static struct session s;
    const sapporo_tree_options tree = {
        .size = sizeof tree, .mac = SAPPORO_MAC_ACCELERATION, .softening = softening, .threads = 1};
    const sapporo_mpi_tree_options options = {.size = sizeof options, .tree = &tree, .timeout = 20};
    const sapporo_tree_particles mine = columns(source);
    sapporo_mpi_tree *t;
    int bad = sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &t), once = 0;
    for (int round = 0; round < 3 && !bad; round++) {
        if (round == 2) once = counted; /* the second build knows the interactions, and divides anew */
        bad = sapporo_mpi_tree_build(t, &mine) || sapporo_mpi_tree_force(t, s.acc, s.pot);
        bad = bad || sapporo_mpi_tree_refresh(t, &mine);
        bad = bad || sapporo_mpi_tree_force_active(t, mine.n / 2, NULL, s.acc, s.pot);
    }
    sapporo_mpi_tree_destroy(t);
    return !bad && counted == once;
}

/* 1 if the last force is close to the right one, or reported an error and is NaN. */
static int is_honest(const struct session *s, const struct session *good, int n)
{
    int honest = 1;
    for (int i = 0; i < n && s->status[0] == SAPPORO_OK; i++) {
        const int right = fabs(s->pot[i] - good->pot[i]) <= 0.01 * fabs(good->pot[i]);
        honest &= s->status[6] ? isnan(s->pot[i]) && isnan(s->acc[i][0]) : right;
    }
    return honest;
}

/* Fails at each allocation of trees with this softening. */
static void test_allocations(const struct point *source, sapporo_softening law)
{
    static struct session s, good;
    softening = law;
    const int mine = columns(source).n;
    int n = 0, ended = 0, failing = 0;
    run(&good, source, 0);
    int bad = good.status[0] || good.status[4] || good.status[6];
    for (n = 1; n < MOST && !ended; n++) {
        const int guilty = n % ranks;
        run(&s, source, rank == guilty ? n : 0);
        bad |= !ranks_same(s.status, CALLS) || !is_honest(&s, &good, mine);
        for (int k = 0; k < CALLS; k++) failing += s.status[k] == SAPPORO_ERR_MEMORY;
        const int enough = rank == guilty && counted < n; /* the guilty rank had fewer allocations */
        ranks_combine(&enough, &ended, 1, MPI_MAX);
    }
    bad |= !ended || n < 30;
    run(&s, source, 0);
    report(!bad && failing >= 30 && ranks_same(s.status, CALLS) && is_honest(&s, &good, mine),
           "trees, softening %d, memory runs out at each of %d allocations: %d calls failed", (int)law, n - 2, failing);
    report(keeps_memory(source), "trees, softening %d, a round of calls as the one before allocates nothing", (int)law);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    struct point *const source = points_new(N);
    test_allocations(source, SAPPORO_SOFTENING_PLUMMER);
    test_allocations(source, SAPPORO_SOFTENING_SPLINE_LARGER);
    free(source);
    return ranks_end();
}
