/*
 * galaxy_mpi.c - galaxy over the ranks of MPI: the same models, options and snapshots, with particles on all ranks.
 *
 * Rank 0 runs galaxy.c, which is not changed: this file has the calls of sapporo_stepper.h that it makes, over
 * sapporo_mpi.h.  Rank 0 makes the model and writes the snapshots; it tells the other ranks which call comes next, and
 * each rank moves the particles that it walks: it gets them when a run begins, after each file of a restart, and when
 * it goes on from one.  With one rank the snapshots have the bytes of galaxy.  A restart may have another number of
 * ranks.
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
static long long *label;  /* of its particles: their place among those of galaxy */
static double *gathered;  /* of rank 0: a column as the ranks have it */
static long long *places; /* the same of labels */
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

/* Tells rank 0 how many particles the ranks have, in doubles of a vector. */
static void count(int width)
{
    const int number = own * width;
    MPI_Gather(&number, 1, MPI_INT, share, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0, first = 0; r < ranks && rank == 0; r++) {
        from[r] = first;
        first += share[r];
    }
}

/* Collects the labels of all ranks on rank 0. */
static void gather_labels(void)
{
    count(1);
    MPI_Gatherv(label, own, MPI_LONG_LONG, places, share, from, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
}

/* Collects a column there, by labels. */
static void gather(double *column, int width)
{
    count(width);
    MPI_Gatherv(mine, own * width, MPI_DOUBLE, gathered, share, from, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int k = 0; k < total && rank == 0; k++)
        memcpy(column + (size_t)places[k] * (size_t)width, gathered + (size_t)k * (size_t)width,
               (size_t)width * sizeof *column);
}

/* Gives each rank the particles that it walks; a rank without room for them keeps what it has. */
static int give_regions(void)
{
    sapporo_stepper_statistics now = {.size = sizeof now};
    if (ranks == 1) return 0;
    int status = sapporo_mpi_stepper_exchange(all);
    if (status == SAPPORO_ERR_ARGUMENT) status = 0;
    if (!status) status = sapporo_mpi_stepper_get_statistics(all, &now);
    own = now.n;
    return status;
}

static void free_arrays(void)
{
    free(mine);
    free(label);
    free(gathered);
    free(places);
}

static int create(order *o)
{
    o->options.tree = &o->tree;
    o->options.fields = NULL;
    divide(o->n, 1);
    const int room = ranks == 1 ? own : 3 * (own + 1); /* as many as exchanges may bring */
    free_arrays();
    mine = allocate(3 * (size_t)room * sizeof *mine);
    label = allocate((size_t)room * sizeof *label);
    gathered = allocate(rank == 0 ? 3 * (size_t)total * sizeof *gathered : 0);
    places = allocate(rank == 0 ? (size_t)total * sizeof *places : 0);
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &o->options};
    return sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, room, &all);
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
    divide(total, 1);
    for (int k = 0; k < own; k++) label[k] = from[rank] + k;
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = own,
                                         .x = {at[0], 0},
                                         .v = {at[1], 0},
                                         .mass = {at[2], 0},
                                         .time = o->time,
                                         .label = {label, 0},
                                         .h = {at[3], 0}};
    const int status = sapporo_mpi_stepper_set(all, &p);
    for (int k = 0; k < 4; k++) free(at[k]);
    return status ? status : give_regions();
}

/* Collects the columns that rank 0 wants. */
static int get(const order *o, double *const column[5])
{
    const sapporo_stepper_output labels = {.size = sizeof labels, .n = own, .label = label};
    int status = sapporo_mpi_stepper_get(all, &labels);
    gather_labels();
    for (int k = 0; k < 5; k++) {
        sapporo_stepper_output now = {.size = sizeof now, .n = own, .when = o->when, .time = o->time};
        double(*const vector)[3] = (double(*)[3])(void *)mine;
        if (!o->wants[k]) continue;
        now.x = k == 0 ? vector : NULL;
        now.v = k == 1 ? vector : NULL;
        now.acc = k == 2 ? vector : NULL;
        now.pot = k == 3 ? mine : NULL;
        now.mass = k == 4 ? mine : NULL;
        if (!status) status = sapporo_mpi_stepper_get(all, &now);
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

/* A run that goes on from a file has the particles of the run that wrote it: both give regions anew. */
static int save(void)
{
    const int status = sapporo_mpi_stepper_save(all, file);
    return status ? status : give_regions();
}

static int restore(void)
{
    const int status = sapporo_mpi_stepper_restore(all, file);
    return status ? status : give_regions();
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
        return save();
    case RESTORE:
        return restore();
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
    free_arrays();
    free(share);
    free(from);
    MPI_Finalize();
    return status;
}
