/*
 * galaxy_mpi.c - galaxy over the ranks of MPI: the same models, options and snapshots, with particles on all ranks.
 *
 * Rank 0 runs galaxy.c, which is not changed: this file has the calls of sapporo_stepper.h that it makes, over
 * sapporo_mpi.h.  Rank 0 makes the model and writes the snapshots; it tells the other ranks which call comes next, and
 * each rank moves its share of the particles.  With one rank the snapshots have the bytes of galaxy.  A restart may
 * have another number of ranks.
 */
#include "galaxy_mpi.h"

#include <math.h>
#include <sapporo_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CREATE, DESTROY, SET, ADVANCE, GET, STATISTICS, SAVE, RESTORE, END }; /* the next call of rank 0 */

/* What rank 0 tells the others. */
typedef struct order {
    int call, n; /* n: particles of all ranks */
    sapporo_stepper_options options;
    sapporo_tree_options tree;
    double time;
    long long steps;
    sapporo_step_when when;
    int wants[5];    /* x, v, acc, pot, mass */
    int has_lengths; /* particles have softening lengths */
} order;

static sapporo_mpi_stepper *all; /* the stepper of all ranks */
static int rank, ranks;
static int own, total;    /* particles of this rank, and of all */
static int *share, *from; /* numbers and first particles of all ranks, in doubles of a vector */
static double *mine;      /* a column of this rank */
static const char *file;  /* that rank 0 saves or restores */

/* Columns that a rank does not have. */
static const double *const no_input[4];
static double *const no_output[5];

/* ---- what all ranks do ----------------------------------------------------------------------------- */

/* Gives the next call of rank 0 to all ranks. */
static void tell(order *o) { MPI_Bcast(o, sizeof *o, MPI_BYTE, 0, MPI_COMM_WORLD); }

static void *allocate(size_t bytes)
{
    void *const memory = calloc(bytes + 1, 1);
    if (memory) return memory;
    fprintf(stderr, "galaxy_mpi: rank %d is out of memory\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Divides the particles: each rank has about as many, rank 0 the first ones. */
static void divide(int n, int width)
{
    total = n;
    for (int r = 0; r < ranks; r++) {
        const long long first = (long long)n * r / ranks, next = (long long)n * (r + 1) / ranks;
        share[r] = (int)(next - first) * width;
        from[r] = (int)first * width;
    }
    own = share[rank] / width;
}

/* Sends a column of rank 0 to all ranks, or collects one there. */
static void scatter(const double *column, int width)
{
    divide(total, width);
    MPI_Scatterv(column, share, from, MPI_DOUBLE, mine, share[rank], MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void gather(double *column, int width)
{
    divide(total, width);
    MPI_Gatherv(mine, share[rank], MPI_DOUBLE, column, share, from, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static int create(order *o)
{
    o->options.tree = &o->tree;
    o->options.fields = NULL;
    divide(o->n, 1);
    free(mine);
    mine = allocate(3 * (size_t)own * sizeof *mine);
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &o->options};
    return sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, own, &all);
}

/* Distributes the columns of rank 0, which are NULL on the other ranks, and sets them. */
static int set(const order *o, const double *const column[4])
{
    double *at[4] = {NULL, NULL, NULL, NULL};
    for (int k = 0; k < 3 + o->has_lengths; k++) {
        const int width = k < 2 ? 3 : 1;
        const size_t bytes = (size_t)own * (size_t)width * sizeof *mine;
        scatter(column[k], width);
        at[k] = allocate(bytes);
        memcpy(at[k], mine, bytes);
    }
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = own,
                                         .x = {at[0], 0},
                                         .v = {at[1], 0},
                                         .mass = {at[2], 0},
                                         .time = o->time,
                                         .h = {at[3], 0}};
    const int status = sapporo_mpi_stepper_set(all, &p);
    for (int k = 0; k < 4; k++) free(at[k]);
    return status;
}

/* Collects the columns that rank 0 wants. */
static int get(const order *o, double *const column[5])
{
    int status = 0;
    for (int k = 0; k < 5; k++) {
        sapporo_stepper_output now = {.size = sizeof now, .n = own, .when = o->when, .time = o->time};
        double(*const vector)[3] = (double(*)[3])(void *)mine;
        if (!o->wants[k]) continue;
        now.x = k == 0 ? vector : NULL;
        now.v = k == 1 ? vector : NULL;
        now.acc = k == 2 ? vector : NULL;
        now.pot = k == 3 ? mine : NULL;
        now.mass = k == 4 ? mine : NULL;
        status |= sapporo_mpi_stepper_get(all, &now);
        gather(column[k], k < 3 ? 3 : 1);
    }
    int worst;
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return worst;
}

/* Adds what the ranks did: steps of particles; steps of all are the same on each. */
static int get_statistics(sapporo_stepper_statistics *s)
{
    const int status = sapporo_mpi_stepper_get_statistics(all, s);
    long long mine_did = s->particle_steps;
    MPI_Allreduce(&mine_did, &s->particle_steps, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return status;
}

/* Makes the call that rank 0 tells; columns: of rank 0. */
static int make(order *o, const double *const in[4], double *const out[5])
{
    sapporo_stepper_statistics did = {.size = sizeof did};
    switch (o->call) {
    case CREATE:
        return create(o);
    case DESTROY:
        sapporo_mpi_stepper_destroy(all);
        all = NULL;
        return 0;
    case SET:
        return set(o, in);
    case ADVANCE:
        return sapporo_mpi_stepper_advance(all, o->time, o->steps);
    case GET:
        return get(o, out);
    case SAVE:
        return sapporo_mpi_stepper_save(all, file);
    case RESTORE:
        return sapporo_mpi_stepper_restore(all, file);
    default:
        return get_statistics(&did);
    }
}

/* Ranks other than 0: make the calls that rank 0 makes.  A failed call fails on rank 0, too, which ends the run. */
static void follow(void)
{
    order o;
    for (tell(&o); o.call != END; tell(&o)) (void)make(&o, no_input, no_output);
}

/* ---- the calls of galaxy, on rank 0 ------------------------------------------------------------------ */

int over_ranks_create(const sapporo_stepper_options *options, int n, sapporo_stepper **stepper)
{
    order o = {.call = CREATE, .n = n, .options = *options, .tree = *options->tree};
    tell(&o);
    const int status = make(&o, no_input, no_output);
    *stepper = (sapporo_stepper *)(void *)all;
    return status;
}

void over_ranks_destroy(sapporo_stepper *stepper)
{
    order o = {.call = DESTROY};
    if (!stepper) return;
    tell(&o);
    (void)make(&o, no_input, no_output);
}

const char *over_ranks_last_error(const sapporo_stepper *stepper)
{
    (void)stepper;
    return sapporo_mpi_stepper_last_error(all);
}

const char *over_ranks_kind_text(const sapporo_stepper *stepper)
{
    (void)stepper;
    return sapporo_mpi_stepper_kind_text(all);
}

double over_ranks_get_time(const sapporo_stepper *stepper)
{
    (void)stepper;
    return sapporo_mpi_stepper_get_time(all);
}

int over_ranks_set(sapporo_stepper *stepper, const sapporo_stepper_particles *p)
{
    const double *const in[4] = {p->x.base, p->v.base, p->mass.base, p->h.base}; /* columns of galaxy have no gaps */
    order o = {.call = SET, .time = p->time, .has_lengths = p->h.base != NULL};
    (void)stepper;
    tell(&o);
    return make(&o, in, no_output);
}

int over_ranks_advance(sapporo_stepper *stepper, double time, long long steps)
{
    order o = {.call = ADVANCE, .time = time, .steps = steps};
    (void)stepper;
    tell(&o);
    return make(&o, no_input, no_output);
}

int over_ranks_get(sapporo_stepper *stepper, const sapporo_stepper_output *output)
{
    double *const out[5] = {output->x ? output->x[0] : NULL, output->v ? output->v[0] : NULL,
                            output->acc ? output->acc[0] : NULL, output->pot, output->mass};
    order o = {.call = GET, .time = output->time, .when = output->when};
    (void)stepper;
    for (int k = 0; k < 5; k++) o.wants[k] = out[k] != NULL;
    tell(&o);
    return make(&o, no_input, out);
}

int over_ranks_get_statistics(sapporo_stepper *stepper, sapporo_stepper_statistics *statistics)
{
    order o = {.call = STATISTICS};
    (void)stepper;
    tell(&o);
    return get_statistics(statistics);
}

/* Rank 0 alone opens files. */
static int make_with_file(int call, const char *path)
{
    order o = {.call = call};
    tell(&o);
    file = path;
    return make(&o, no_input, no_output);
}

int over_ranks_save(sapporo_stepper *stepper, const char *path)
{
    (void)stepper;
    return make_with_file(SAVE, path);
}

int over_ranks_restore(sapporo_stepper *stepper, const char *path)
{
    (void)stepper;
    return make_with_file(RESTORE, path);
}

int main(int argc, char **argv)
{
    int status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    share = allocate((size_t)ranks * sizeof *share);
    from = allocate((size_t)ranks * sizeof *from);
    if (rank == 0) {
        order end = {.call = END};
        status = galaxy_main(argc, argv);
        tell(&end);
    } else {
        follow();
    }
    free(mine);
    free(share);
    free(from);
    MPI_Finalize();
    return status;
}
