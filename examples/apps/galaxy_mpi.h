/*
 * galaxy_mpi.h - galaxy.c and common/stepping.c are compiled once more with these names, for galaxy_mpi: rank 0 calls
 * the functions of galaxy_mpi.c, which move the particles of all ranks.
 */
#ifndef GALAXY_MPI_H
#define GALAXY_MPI_H

#include <sapporo.h>

#ifdef GALAXY_OVER_RANKS
#define sapporo_stepper_create         over_ranks_create
#define sapporo_stepper_destroy        over_ranks_destroy
#define sapporo_stepper_last_error     over_ranks_last_error
#define sapporo_stepper_kind_text      over_ranks_kind_text
#define sapporo_stepper_get_time       over_ranks_get_time
#define sapporo_stepper_set            over_ranks_set
#define sapporo_stepper_advance        over_ranks_advance
#define sapporo_stepper_get            over_ranks_get
#define sapporo_stepper_get_statistics over_ranks_get_statistics
#define sapporo_stepper_save           over_ranks_save
#define sapporo_stepper_restore        over_ranks_restore
#define main                           galaxy_main
#endif

int galaxy_main(int argc, char **argv);

int over_ranks_create(const sapporo_stepper_options *options, int n, sapporo_stepper **stepper);
void over_ranks_destroy(sapporo_stepper *stepper);
const char *over_ranks_last_error(const sapporo_stepper *stepper);
const char *over_ranks_kind_text(const sapporo_stepper *stepper);
double over_ranks_get_time(const sapporo_stepper *stepper);
int over_ranks_set(sapporo_stepper *stepper, const sapporo_stepper_particles *particles);
int over_ranks_advance(sapporo_stepper *stepper, double time, long long steps);
int over_ranks_get(sapporo_stepper *stepper, const sapporo_stepper_output *output);
int over_ranks_get_statistics(sapporo_stepper *stepper, sapporo_stepper_statistics *statistics);
int over_ranks_save(sapporo_stepper *stepper, const char *path);
int over_ranks_restore(sapporo_stepper *stepper, const char *path);

#endif
