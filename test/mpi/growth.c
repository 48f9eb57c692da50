/*
 * growth.c - memory of a rank: how many bytes each particle of a rank takes at the peak of sums, trees and steppers.
 *
 *   mpicc -O2 -Iinclude test/mpi/growth.c -Llib -lsapporo_mpi -lsapporo -Wl,-rpath,$PWD/lib -o mpi_growth
 *   OMP_NUM_THREADS=1 mpirun -n 2 ./mpi_growth [N [WHAT]]
 *
 * N (default 200000) particles of a cube with a dense core are shared equally by the ranks.  WHAT: 0 forces by sums of
 * order 4 on 1,000 of them (default), 1 a build, a force and a refresh of a tree over ranks, 2 a stepper over a tree:
 * four steps, saved and restored.  Printed is the largest growth over all ranks of the resident memory, in MB, and in
 * bytes per particle of a rank.  The difference of runs with two N leaves out what does not grow.  Linux only: the peak
 * is VmHWM of /proc/self/status.
 */
#define _POSIX_C_SOURCE 200809L
#include <sapporo_mpi.h>
#include <sapporo_stepper.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

/* Particles of this rank. */
static struct {
    int n, first;
    double (*x)[3], (*v)[3], (*acc)[3], *mass, *pot;
    int *address;
} own;

static void check(int failed, const char *why)
{
    if (!failed) return;
    fprintf(stderr, "rank %d: %s\n", rank, why);
    (void)MPI_Abort(MPI_COMM_WORLD, 1);
}

static double uniform(void)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(state >> 11) * 0x1p-53;
}

static void make_particles(int n)
{
    own.first = (int)((long long)n * rank / ranks);
    own.n = (int)((long long)n * (rank + 1) / ranks) - own.first;
    const size_t room = (size_t)own.n + 1;
    own.x = calloc(room, sizeof *own.x), own.v = calloc(room, sizeof *own.v), own.acc = calloc(room, sizeof *own.acc);
    own.mass = calloc(room, sizeof *own.mass), own.pot = calloc(room, sizeof *own.pot);
    own.address = calloc(room, sizeof *own.address);
    check(!own.x || !own.v || !own.acc || !own.mass || !own.pot || !own.address, "no memory");
    for (int i = 0; i < own.n; i++) {
        const double core = (own.first + i) % 4 == 0 ? 0.1 : 1;
        for (int c = 0; c < 3; c++) own.x[i][c] = core * (uniform() - 0.5), own.v[i][c] = 0.1 * (uniform() - 0.5);
        own.mass[i] = 1.0 / n;
        own.address[i] = own.first + i;
    }
    memset(own.acc, 1, (size_t)own.n * sizeof *own.acc); /* its pages count before the peak */
    memset(own.pot, 1, (size_t)own.n * sizeof *own.pot);
}

static void free_particles(void)
{
    void *const all[] = {own.x, own.v, own.acc, own.mass, own.pot, own.address};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

/* A number of kB of /proc/self/status, in bytes. */
static double status_of(const char *name)
{
    char line[256];
    double kb = 0;
    FILE *const f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0) kb = strtod(line + strlen(name), NULL);
    if (f) (void)fclose(f);
    return 1024 * kb;
}

/* Begins a new peak; returns the present memory. */
static double begin_peak(void)
{
    FILE *const f = fopen("/proc/self/clear_refs", "w");
    if (f) (void)fputs("5", f);
    if (f) (void)fclose(f);
    return status_of("VmRSS:");
}

/* ------------------------------------------------------------------- what runs */

static void run_sums(void)
{
    enum { NI = 1000 };
    const sapporo_options context = {.size = sizeof context, .precision = SAPPORO_DS};
    const sapporo_mpi_options o = {.size = sizeof o, .context = &context};
    const sapporo_particles p = {.size = sizeof p, .derivative = {{own.x, 0}, {own.v, 0}}, .mass = {own.mass, 0}};
    const int ni = own.n < NI / ranks ? own.n : NI / ranks;
    sapporo_request r = {.size = sizeof r, .ni = ni, .x = {own.x, 0}, .v = {own.v, 0}, .index = {own.address, 0}};
    const sapporo_result to = {.size = sizeof to, .acc = own.acc, .pot = own.pot};
    sapporo_mpi *h;
    sapporo_mpi_job *job;
    r.nj = 1 << 30, r.eps2 = 1e-4;
    check(sapporo_mpi_open(MPI_COMM_WORLD, &o, &h) || sapporo_mpi_set_particles(h, own.n, own.address, &p) ||
              sapporo_mpi_force_begin(h, &r, &job) || sapporo_mpi_force_end(job, ni, &to),
          sapporo_mpi_last_error(NULL));
    sapporo_mpi_close(h);
}

static const sapporo_tree_options tree_options = {
    .size = sizeof tree_options, .mac = SAPPORO_MAC_OPENING, .accuracy = 0.9, .eps2 = 1e-4};

static void run_tree(void)
{
    const sapporo_mpi_tree_options o = {.size = sizeof o, .tree = &tree_options};
    const sapporo_tree_particles p = {.size = sizeof p, .n = own.n, .x = {own.x, 0}, .mass = {own.mass, 0}};
    sapporo_mpi_tree *t;
    check(sapporo_mpi_tree_create(MPI_COMM_WORLD, &o, &t) || sapporo_mpi_tree_build(t, &p) ||
              sapporo_mpi_tree_force(t, own.acc, own.pot) || sapporo_mpi_tree_refresh(t, &p) ||
              sapporo_mpi_tree_force(t, own.acc, own.pot),
          "a tree failed");
    sapporo_mpi_tree_destroy(t);
}

static void run_stepper(void)
{
    static const char path[] = "growth.steps";
    const sapporo_stepper_options how = {
        .size = sizeof how, .tree = &tree_options, .scheme = SAPPORO_STEPS_BLOCK, .dt = 1.0 / 64, .levels = 3};
    const sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = &how};
    const sapporo_stepper_particles p = {
        .size = sizeof p, .n = own.n, .x = {own.x, 0}, .v = {own.v, 0}, .mass = {own.mass, 0}};
    sapporo_mpi_stepper *s;
    check(sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, own.n, &s) || sapporo_mpi_stepper_set(s, &p) ||
              sapporo_mpi_stepper_advance(s, 1, 4) || sapporo_mpi_stepper_save(s, path) ||
              sapporo_mpi_stepper_restore(s, path),
          "a stepper failed");
    sapporo_mpi_stepper_destroy(s);
    if (rank == 0) (void)remove(path);
}

/* The largest growth over all ranks while `run` runs on n particles, in bytes. */
static double growth_of(void (*run)(void), int n)
{
    make_particles(n);
    const double before = begin_peak();
    run();
    const double mine = status_of("VmHWM:") - before;
    double most = 0;
    free_particles();
    check(MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS, "no growth");
    return most;
}

int main(int argc, char **argv)
{
    static void (*const run[])(void) = {run_sums, run_tree, run_stepper};
    static const char *const name[] = {"sums", "tree", "stepper"};
    const long given = argc > 1 ? strtol(argv[1], NULL, 10) : 200000, what = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(given < 1000 || given > 1L << 30 || what < 0 || what > 2, "N may be 1000 to 2^30, WHAT 0 to 2");
    const double most = growth_of(run[what], (int)given), share = (double)given / ranks;
    if (rank == 0)
        printf("%-8s %d ranks, N %ld: %.1f MB, %.0f bytes per particle\n", name[what], ranks, given, most / 1e6,
               most / share);
    (void)MPI_Finalize();
    return 0;
}
