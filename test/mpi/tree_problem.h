/* tree_problem.h - models, exact forces and errors, for the programs of test_mpi.sh that test trees. */
#ifndef TEST_TREE_PROBLEM_H
#define TEST_TREE_PROBLEM_H

#include "ranks.h"

/*
 * Errors over ranks may be larger than those of one tree by these factors, since other cells have other errors.  The
 * particles of a group have nearly the same error, so the error that 99 % stay below is that of one or two groups.
 */
#define MORE      1.5
#define MORE_MANY 1.4

/* Particles that all ranks know. */
struct model {
    int n;
    double (*x)[3], *mass;
    double *h;     /* softening lengths; NULL: particles have none */
    int softening; /* sapporo_softening */
};

struct model model_new(int n);
struct model clusters(int n);
void model_free(struct model *m);

/* Gives the particles of a model softening lengths: the n of an array in turn. */
void model_soften(struct model *m, int softening, int n, const double *lengths);

/* Accelerations and potentials. */
struct rows {
    double (*acc)[3], *pot;
};

struct rows rows_new(int n);
void rows_free(struct rows *r);
/* Collective.  Gives all ranks the n rows and the status of the first rank; returns that status. */
int rows_share(int status, struct rows *r, int n);
int same_rows(const struct rows *a, const struct rows *b, int n);

/* Collective.  The exact forces on all particles, or on the first n, in long double; each rank computes a part. */
struct rows exact_rows(const struct model *m, double eps2);
struct rows exact_first(const struct model *m, double eps2, int n);

/* The relative error that a part of all accelerations stays below; infinity if one is not finite. */
double error_below(double part, const struct rows *r, const struct rows *exact, int n);

/* The same in units of the largest acceleration, which the multipole error limits: one tolerance for all particles. */
double absolute_error_below(double part, const struct rows *r, const struct rows *exact, int n);

/* The error that 99 % stay below. */
double error_of(const struct rows *r, const struct rows *exact, int n);

/* The largest error in units of the largest acceleration: what the multipole error limits, and what can be asked for
 * where masses of both signs cancel. */
double absolute_error_of(const struct rows *r, const struct rows *exact, int n);

/* Which rank gives which particles. */
enum split { IN_TURN, ALL_ON_FIRST, ALL_ON_LAST, PIECES, SPLITS };

/* The particles of this rank. */
struct particles_of_rank {
    int n, *number;
    struct model model;
};

struct particles_of_rank model_pick(const struct model *all, enum split how);
void model_drop(struct particles_of_rank *m);
sapporo_tree_particles columns_of(const struct model *m, int n);

/* Collective.  Gives all ranks the rows that each has, by particle. */
void gather(const struct particles_of_rank *m, const struct rows *from, int n, struct rows *to);

/* Options of a tree on the engine under test, with one thread. */
sapporo_tree_options options_of(sapporo_tree_kind kind, sapporo_tree_mac mac, sapporo_precision precision);

/* Collective.  A tree over all ranks. */
sapporo_mpi_tree *open_tree(const sapporo_tree_options *options);

/* Whether the engine under test has a device for trees; says so if not. */
int has_device(void);

/* Collective.  The largest of the ranks' numbers; their sum. */
double largest(double mine);
double total(double mine);

#endif
