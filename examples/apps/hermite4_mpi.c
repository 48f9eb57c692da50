/*
 * hermite4_mpi.c - hermite4 over the ranks of MPI, with the same bytes as hermite4 alone.
 *
 * Rank 0 runs hermite4.c, which is not changed: this file has the GRAPE-6 calls that it makes, over sapporo_mpi.h. Rank
 * 0 tells the other ranks which collective call comes next, and they make it without particles of their own.  So any
 * GRAPE-6 code that runs in one process gets the cores or GPUs of all ranks.  A code whose particles are distributed
 * calls sapporo_mpi.h itself.
 */
#include "hermite4_mpi.h"

#include <math.h>
#include <sapporo_g6.h>
#include <sapporo_mpi.h>
#include <stdio.h>
#include <string.h>

enum { STORE, FORCE, END }; /* the next collective call of rank 0 */
enum { ROOM = 4096 };       /* particles that wait until they are stored together */
enum { PIPES = 16384 };     /* i-particles per call */

/* What rank 0 tells the others. */
typedef struct order {
    double time, eps2;
    int call, nj;
} order;

static sapporo_mpi *all;     /* the particles of all ranks */
static sapporo_mpi_job *job; /* the force under way */
static int failed;           /* a call without a status failed */
static double now;

static sapporo_particle waiting[ROOM];
static int address[ROOM], nwaiting;

/* ---- what all ranks do ------------------------------------------------------------------------------- */

static int store(void)
{
    const ptrdiff_t stride = sizeof waiting[0];
    sapporo_particles columns = {.size = sizeof columns,
                                 .mass = {&waiting->mass, stride},
                                 .time = {&waiting->time, stride},
                                 .index = {&waiting->index, stride}};
    for (int k = 0; k < 5; k++) columns.derivative[k] = (sapporo_column){waiting->derivative[k], stride};
    const int status = sapporo_mpi_set_particles(all, nwaiting, address, &columns);
    nwaiting = 0;
    return status;
}

static int begin_force(const order *o, int ni, int *index, double (*x)[3], double (*v)[3])
{
    const sapporo_request request = {
        .size = sizeof request, .nj = o->nj, .ni = ni, .x = {x, 0}, .v = {v, 0}, .index = {index, 0}, .eps2 = o->eps2};
    const int status = sapporo_mpi_set_time(all, o->time);
    return status ? status : sapporo_mpi_force_begin(all, &request, &job);
}

static int end_force(int ni, double (*acc)[3], double (*jerk)[3], double *pot)
{
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot};
    const int status = sapporo_mpi_force_end(job, ni, &result);
    sapporo_mpi_force_free(job);
    job = NULL;
    return status;
}

/* Gives the next call of rank 0 to all ranks. */
static void tell(order *o) { MPI_Bcast(o, sizeof *o, MPI_BYTE, 0, MPI_COMM_WORLD); }

/* Ranks other than 0: make the calls that rank 0 makes.  A failed call fails on rank 0, too, which ends the run. */
static void follow(void)
{
    order o;
    for (tell(&o); o.call != END; tell(&o)) {
        if (o.call == STORE) (void)store();
        if (o.call == FORCE && !begin_force(&o, 0, NULL, NULL, NULL)) (void)end_force(0, NULL, NULL, NULL);
    }
}

/* ---- the calls of GRAPE-6, on rank 0 ------------------------------------------------------------------ */

int g6_open(int clusterid)
{
    (void)clusterid;
    return all ? 0 : -1;
}

int g6_close(int clusterid)
{
    (void)clusterid;
    return 0;
}

int g6_npipes(void) { return PIPES; }

/* The derivative that, divided by a factor, gives `part` to the last bit: the library divides, as the client did. */
static double whole(double part, double factor)
{
    double d = part * factor;
    if (d / factor != part) d = nextafter(part * factor, INFINITY);
    if (d / factor != part) d = nextafter(part * factor, -INFINITY);
    return d;
}

int g6_set_j_particle(int clusterid, int place, int index, double tj, double dtj, double mass, double k18[3],
                      double j6[3], double a2[3], double v[3], double x[3])
{
    (void)clusterid;
    (void)dtj;
    order o = {.call = STORE};
    sapporo_particle *const p = &waiting[nwaiting];
    for (int c = 0; c < 3; c++) {
        p->derivative[0][c] = x[c];
        p->derivative[1][c] = v[c];
        p->derivative[2][c] = 2 * a2[c];
        p->derivative[3][c] = whole(j6[c], 6);
        p->derivative[4][c] = whole(k18[c], 18);
    }
    p->mass = mass;
    p->time = tj;
    p->index = index;
    address[nwaiting++] = place;
    if (nwaiting < ROOM) return failed;
    tell(&o);
    failed |= store() < 0;
    return failed;
}

int g6_set_ti(int clusterid, double ti)
{
    (void)clusterid;
    now = ti;
    return 0;
}

void g6calc_firsthalf(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3], double fold[][3],
                      double jold[][3], double phiold[], double eps2, double h2[])
{
    (void)clusterid;
    (void)fold;
    (void)jold;
    (void)phiold;
    (void)h2;
    order o = {.time = now, .eps2 = eps2, .nj = nj, .call = STORE};
    tell(&o);
    failed |= store() < 0;
    o.call = FORCE;
    tell(&o);
    failed |= begin_force(&o, ni, index, xi, vi) < 0;
}

int g6calc_lasthalf(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2,
                    double h2[], double acc[][3], double jerk[][3], double pot[])
{
    (void)clusterid;
    (void)nj;
    (void)index;
    (void)xi;
    (void)vi;
    (void)eps2;
    (void)h2;
    return end_force(ni, acc, jerk, pot) < 0 || failed ? -1 : 0;
}

int main(int argc, char **argv)
{
    int rank, status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (sapporo_mpi_open(MPI_COMM_WORLD, NULL, &all) && rank == 0)
        fprintf(stderr, "hermite4_mpi: %s\n", sapporo_mpi_last_error(NULL));
    if (rank == 0) {
        order end = {.call = END};
        status = hermite4_main(argc, argv);
        tell(&end);
    } else {
        follow();
    }
    sapporo_mpi_close(all);
    MPI_Finalize();
    return status;
}
