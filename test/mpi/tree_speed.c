/*
 * tree_speed.c - trees over the ranks of MPI: seconds and processor time of builds, refreshes and forces, and what
 * travels in a force.
 *
 *   mpicc -O2 -Iinclude test/mpi/tree_speed.c -Llib -lsapporo_mpi -lsapporo -Wl,-rpath,$PWD/lib -lm -o tree_speed
 *   OMP_NUM_THREADS=1 mpirun -n 2 --bind-to core ./tree_speed [N [REPEATS [ACCURACY [OWN [SEED [MEMORY]]]]]]
 *
 * Plummer's model of N (default 65536) particles of equal mass within 20 of its lengths, the criterion of acceleration
 * (default accuracy 1/128).  In each of REPEATS (default 8) steps all ranks build, compute the forces on all particles
 * and refresh.  OWN says which rank has which particles: 0 (default), each has particles of all regions; 1, after two
 * builds each has the particles that it walks, by sapporo_mpi_tree_exchange, and keeps these; 2, the ranks exchange in
 * each step, after the build.  SEED (default 1) chooses other particles of the model.  MEMORY 1: particles and forces
 * are in memory of CUDA devices; default 0.
 *
 * A line has the ranks, N, the shortest and the median of each time, of all ranks the largest, and of the last force:
 * the mean interactions per particle, the most of a rank over the mean of the ranks, and the most cells, and particles,
 * that a rank sent, and the mean of the ranks of both.  Then it has the most bytes that a rank sent in the last step as
 * particles, forces, cells or records.  Processor time counts what a rank does; what it waits for a busy machine is in
 * the seconds alone.
 */
#define _POSIX_C_SOURCE 200809L
#include <sapporo_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_memory.h"
#include "timing.h"

enum { MOST = 1000 };

static sapporo_mpi_tree *tree;

/* Bytes that this rank has given to MPI_Ialltoallv, by which the library sends particles, forces, cells and records. */
static double carried;

int MPI_Ialltoallv(const void *from, const int *sent, const int *sent_at, MPI_Datatype what, void *to, const int *got,
                   const int *got_at, MPI_Datatype type, MPI_Comm communicator, MPI_Request *request)
{
    int bytes;
    MPI_Type_size(what, &bytes);
    for (int r = 0; r < ranks; r++) carried += (double)bytes * sent[r];
    return PMPI_Ialltoallv(from, sent, sent_at, what, to, got, got_at, type, communicator, request);
}

/* Particles of this rank, and the forces on them; with `on_device` also in memory of a device. */
static struct {
    int n;
    double (*x)[3], (*acc)[3], *mass, *pot;
    void *there[4]; /* x, mass, acc, pot */
} own;
static int on_device;

/* Copies the particles to the device. */
static void send_particles(void)
{
    if (!on_device) return;
    const size_t n = (size_t)own.n;
    for (int k = 0; k < 4; k++) cuda_free(own.there[k]);
    own.there[0] = cuda_copy(own.x, n * sizeof *own.x);
    own.there[1] = cuda_copy(own.mass, n * sizeof *own.mass);
    own.there[2] = cuda_copy(NULL, n * sizeof *own.acc);
    own.there[3] = cuda_copy(NULL, n * sizeof *own.pot);
}

/* Times of all steps; `work` are processor times.  The last: phases of a force. */
static struct {
    double build[MOST], force[MOST], refresh[MOST], build_work[MOST], force_work[MOST], refresh_work[MOST];
    double exchange[MOST], exchange_work[MOST], select[MOST], walk[MOST];
} times;

/* Bytes that this rank sent in the last step. */
static struct {
    double build, force, refresh, exchange;
} bytes;

/* Makes memory for n particles of this rank. */
static void new_particles(int n)
{
    own.n = n;
    own.x = memory((size_t)n, sizeof *own.x);
    own.acc = memory((size_t)n, sizeof *own.acc);
    own.mass = memory((size_t)n, sizeof *own.mass);
    own.pot = memory((size_t)n, sizeof *own.pot);
}

static void make_particles(long n, unsigned long seed)
{
    new_particles(share(n, rank + 1) - share(n, rank));
    unsigned long state = (unsigned long)rank + seed;
    for (int k = 0; k < own.n; k++) {
        make_point(own.x[k], &state);
        own.mass[k] = 1.0 / (double)n;
    }
    send_particles();
}

/* What travels of a particle when it changes its rank. */
struct record {
    double x[3], mass;
};

static struct record *pack(void)
{
    struct record *const r = memory((size_t)own.n, sizeof *r);
    for (int k = 0; k < own.n; k++) {
        memcpy(r[k].x, own.x[k], sizeof r->x);
        r[k].mass = own.mass[k];
    }
    return r;
}

/* Takes n records as the particles of this rank. */
static void unpack(const struct record *r, int n)
{
    free(own.x);
    free(own.acc);
    free(own.mass);
    free(own.pot);
    new_particles(n);
    for (int k = 0; k < n; k++) {
        memcpy(own.x[k], r[k].x, sizeof r->x);
        own.mass[k] = r[k].mass;
    }
    send_particles();
}

/* The clocks at the start of something. */
struct clocks {
    double seconds, work;
};

static struct clocks start(void)
{
    carried = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return (struct clocks){MPI_Wtime(), processor_time()};
}

/* Fails, or notes the times since `from` in step k, and the bytes. */
static void note(int failed, struct clocks from, double *seconds, double *work, double *sent, int k)
{
    check(failed, sapporo_mpi_tree_last_error(tree));
    *sent = carried;
    if (k < 0) return;
    seconds[k] = MPI_Wtime() - from.seconds;
    work[k] = processor_time() - from.work;
}

/* Gives each rank the particles that it walks.  The time is that of the call. */
static void exchange(int k)
{
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    check(sapporo_mpi_tree_get_statistics(tree, &s), "statistics");
    struct record *const from = pack(), *const to = memory((size_t)s.n, sizeof *to);
    const struct clocks now = start();
    note(sapporo_mpi_tree_exchange(tree, sizeof *to, from, s.n, to, NULL), now, times.exchange, times.exchange_work,
         &bytes.exchange, k);
    unpack(to, s.n);
    free(from);
    free(to);
}

static sapporo_tree_particles columns(void)
{
    if (on_device)
        return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                        .memory = SAPPORO_MEMORY_DEVICE,
                                        .n = own.n,
                                        .x = {own.there[0], 0},
                                        .mass = {own.there[1], 0}};
    return (sapporo_tree_particles){
        .size = sizeof(sapporo_tree_particles), .n = own.n, .x = {own.x, 0}, .mass = {own.mass, 0}};
}

static int force(void)
{
    const sapporo_tree_request r = {.size = sizeof r, .memory = SAPPORO_MEMORY_DEVICE, .ni = own.n};
    return on_device ? sapporo_mpi_tree_force_request(tree, &r, own.there[2], own.there[3])
                     : sapporo_mpi_tree_force(tree, own.acc, own.pot);
}

/* Step k; negative steps touch memory and find the accelerations of the criterion and the interactions. */
static void step(int k, int exchanges)
{
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    sapporo_tree_particles mine = columns();
    struct clocks now = start();
    note(sapporo_mpi_tree_build(tree, &mine), now, times.build, times.build_work, &bytes.build, k);
    if (exchanges) exchange(k);
    now = start();
    note(force(), now, times.force, times.force_work, &bytes.force, k);
    check(sapporo_mpi_tree_get_statistics(tree, &s), "statistics");
    mine = columns();
    now = start();
    note(sapporo_mpi_tree_refresh(tree, &mine), now, times.refresh, times.refresh_work, &bytes.refresh, k);
    if (k < 0) return;
    times.select[k] = s.seconds[SAPPORO_MPI_PHASE_SELECT];
    times.walk[k] = s.seconds[SAPPORO_MPI_PHASE_WALK] + s.seconds[SAPPORO_MPI_PHASE_IMPORTED];
}

/* Prints what the last force took of all ranks. */
static void print_counts(long n)
{
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    check(sapporo_mpi_tree_get_statistics(tree, &s), "statistics");
    const double mine = (double)(s.particle_particle + s.particle_cell);
    double most[8] = {mine,        s.sent_cells, s.sent_particles, s.cells,
                      bytes.build, bytes.force,  bytes.refresh,    bytes.exchange},
           sum[3] = {mine, s.sent_cells, s.sent_particles};
    MPI_Allreduce(MPI_IN_PLACE, most, 8, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf(" interactions %.1f uneven %.3f cells %.0f particles %.0f tree %.0f mean_cells %.0f mean_particles %.0f "
               "build_bytes %.0f force_bytes %.0f refresh_bytes %.0f exchange_bytes %.0f\n",
               sum[0] / (double)n, most[0] * ranks / sum[0], most[1], most[2], most[3], sum[1] / ranks, sum[2] / ranks,
               most[4], most[5], most[6], most[7]);
}

int main(int argc, char **argv)
{
    begin_ranks(&argc, &argv);
    const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 65536, repeats = argc > 2 ? strtol(argv[2], NULL, 10) : 8;
    const double accuracy = argc > 3 ? strtod(argv[3], NULL) : 1.0 / 128;
    const long owns = argc > 4 ? strtol(argv[4], NULL, 10) : 0, seed = argc > 5 ? strtol(argv[5], NULL, 10) : 1;
    check(n < 1 || repeats < 1 || repeats > MOST || !(accuracy > 0) || owns < 0 || owns > 2,
          "usage: tree_speed [N [REPEATS [ACCURACY [OWN [SEED [MEMORY]]]]]]");
    on_device = argc > 6 && strtol(argv[6], NULL, 10) == 1;
    check(on_device && !cuda_open(rank), "no CUDA device");
    make_particles(n, (unsigned long)seed);
    const sapporo_tree_options how = {
        .size = sizeof how, .mac = SAPPORO_MAC_ACCELERATION, .accuracy = accuracy, .eps2 = 1e-6};
    const sapporo_mpi_tree_options options = {.size = sizeof options, .tree = &how};
    check(sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &tree), sapporo_mpi_tree_last_error(NULL));
    for (int k = owns ? -3 : -1; k < repeats; k++) step(k, owns == 2 || (owns == 1 && k == -2));
    if (rank == 0)
        printf("ranks %d n %ld accuracy %g own %ld seed %ld memory %d", ranks, n, accuracy, owns, seed, on_device);
    print_times("build", times.build, (int)repeats);
    print_times("force", times.force, (int)repeats);
    print_times("refresh", times.refresh, (int)repeats);
    print_times("build_work", times.build_work, (int)repeats);
    print_times("force_work", times.force_work, (int)repeats);
    print_times("refresh_work", times.refresh_work, (int)repeats);
    print_times("exchange", times.exchange, (int)repeats);
    print_times("exchange_work", times.exchange_work, (int)repeats);
    print_times("select", times.select, (int)repeats);
    print_times("walk", times.walk, (int)repeats);
    print_counts(n);
    sapporo_mpi_tree_destroy(tree);
    MPI_Finalize();
    return 0;
}
