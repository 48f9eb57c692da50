/*
 * columns.c - particles, targets and results of forces over ranks in device memory of the caller: on all ranks or on
 * some, they have the bits of one context.  Linked with hosted.c.
 */
#include <stdlib.h>
#include <string.h>

#include "hosted.h"
#include "problem.h"

enum { NJ = 5000, NI = 90 };

static struct point *source, *target;

/* What a rank has in device memory: columns of its particles and targets, and arrays for results. */
static struct there {
    double x[NJ][3], v[NJ][3], mass[NJ], to_x[NI][3], to_v[NI][3];
    double acc[NI][3], jerk[NI][3], pot[NI], r2[NI];
    int address[NJ], index[NJ], to_index[NI], nearest[NI];
} there;

static void copy_points(const struct mine *m, double (*x)[3], double (*v)[3], int *index)
{
    for (int k = 0; k < m->n; k++) {
        memcpy(x[k], m->point[k].derivative[0], sizeof x[k]);
        memcpy(v[k], m->point[k].derivative[1], sizeof v[k]);
        index[k] = m->point[k].index;
    }
}

static sapporo_particles columns_of(const struct mine *m)
{
    copy_points(m, there.x, there.v, there.index);
    for (int k = 0; k < m->n; k++) {
        there.mass[k] = m->point[k].mass;
        there.address[k] = m->number[k];
    }
    return (sapporo_particles){.size = sizeof(sapporo_particles),
                               .derivative = {{there.x, 0}, {there.v, 0}},
                               .mass = {there.mass, 0},
                               .index = {there.index, 0}};
}

/* Collective.  Computes the force on this rank's targets, into its arrays. */
static int compute_there(sapporo_mpi *h, const struct mine *m, sapporo_memory memory)
{
    copy_points(m, there.to_x, there.to_v, there.to_index);
    const sapporo_request r = {.size = sizeof r,
                               .nj = NJ,
                               .ni = m->n,
                               .x = {there.to_x, 0},
                               .v = {there.to_v, 0},
                               .index = {there.to_index, 0},
                               .eps2 = 1e-4,
                               .want = SAPPORO_WANT_NEAREST,
                               .memory = memory};
    const sapporo_result to = {.size = sizeof to,
                               .acc = there.acc,
                               .jerk = there.jerk,
                               .pot = there.pot,
                               .nearest = there.nearest,
                               .nearest_r2 = there.r2,
                               .memory = memory};
    sapporo_mpi_job *job = NULL;
    int status = sapporo_mpi_force_begin(h, &r, &job);
    if (!status) status = sapporo_mpi_force_end(job, m->n, &to);
    sapporo_mpi_force_free(job);
    return status;
}

/* The same force of one context with all particles, which have positions and velocities alone. */
static struct answers solve(void)
{
    struct point *const plain = points_new(NJ);
    const struct problem p = {.order = 4,
                              .precision = SAPPORO_DS,
                              .nj = NJ,
                              .ni = NI,
                              .nearest = 1,
                              .eps2 = 1e-4,
                              .source = plain,
                              .target = target};
    for (int k = 0; k < NJ; k++) {
        memset(plain[k].derivative[2], 0, (SAPPORO_DERIVATIVES - 2) * sizeof plain[k].derivative[2]);
        plain[k].time = plain[k].eps2 = 0;
    }
    const struct answers a = solve_alone(&p, 0);
    free(plain);
    return a;
}

static int differing_rows(const struct mine *m, const struct answers *right)
{
    int wrong = 0;
    for (int i = 0; i < m->n; i++) {
        const int k = m->number[i];
        wrong += memcmp(there.acc[i], right->acc[k], sizeof there.acc[i]) != 0 || there.pot[i] != right->pot[k] ||
                 memcmp(there.jerk[i], right->jerk[k], sizeof there.jerk[i]) != 0 ||
                 there.nearest[i] != right->nearest[k] || there.r2[i] != right->nearest_r2[k];
    }
    return wrong;
}

static sapporo_mpi *open_way(sapporo_mpi_way way)
{
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context, .timeout = 30, .way = way};
    sapporo_mpi *h = NULL;
    if (sapporo_mpi_open(MPI_COMM_WORLD, &options, &h)) return NULL;
    return h;
}

/* some: only the last rank has its arrays in device memory. */
static void test_way(sapporo_mpi_way way, int some, const struct answers *right)
{
    const sapporo_memory memory = some && rank < ranks - 1 ? SAPPORO_MEMORY_HOST : SAPPORO_MEMORY_DEVICE;
    struct mine sources = pick(source, NJ, IN_TURN), targets = pick(target, NI, PIECES);
    sapporo_mpi *const h = open_way(way);
    sapporo_particles p = columns_of(&sources);
    p.memory = memory;
    const int set = sapporo_mpi_set_particles(h, sources.n, there.address, &p);
    memset(there.acc, 0, sizeof there.acc);
    const int status = compute_there(h, &targets, memory), wrong = differing_rows(&targets, right);
    report(set == SAPPORO_OK && status == SAPPORO_OK && wrong == 0, "way %d%s: set %d, force %d, %d rows differ",
           (int)way, some ? ", one rank on the device" : "", set, status, wrong);
    sapporo_mpi_close(h);
    drop(&sources);
    drop(&targets);
}

/* An address that is not of the device fails on all ranks, and the next call works. */
static void test_foreign(const struct answers *right)
{
    static double elsewhere[NJ];
    struct mine sources = pick(source, NJ, IN_TURN), targets = pick(target, NI, PIECES);
    sapporo_mpi *const h = open_way(SAPPORO_MPI_WAY_TARGETS);
    sapporo_particles p = columns_of(&sources);
    p.memory = SAPPORO_MEMORY_DEVICE;
    if (rank == ranks - 1) p.mass.base = elsewhere;
    const int bad = sapporo_mpi_set_particles(h, sources.n, there.address, &p);
    p.mass.base = there.mass;
    if (rank == ranks - 1) p.memory = (sapporo_memory)5;
    const int unknown = sapporo_mpi_set_particles(h, sources.n, there.address, &p);
    p.memory = SAPPORO_MEMORY_DEVICE;
    const int set = sapporo_mpi_set_particles(h, sources.n, there.address, &p);
    const int status = compute_there(h, &targets, SAPPORO_MEMORY_DEVICE);
    report(bad == SAPPORO_ERR_ARGUMENT && unknown == SAPPORO_ERR_ARGUMENT && set == SAPPORO_OK &&
               status == SAPPORO_OK && differing_rows(&targets, right) == 0,
           "an address of the host: %d, %d, then %d, %d", bad, unknown, set, status);
    sapporo_mpi_close(h);
    drop(&sources);
    drop(&targets);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    hosted_lend(&there, sizeof there);
    source = points_new(NJ);
    target = points_new(NI);
    const struct answers right = solve();
    for (int some = 0; some < 2; some++) {
        test_way(SAPPORO_MPI_WAY_TARGETS, some, &right);
        test_way(SAPPORO_MPI_WAY_SOURCES, some, &right);
    }
    test_foreign(&right);
    free(source);
    free(target);
    return ranks_end();
}
