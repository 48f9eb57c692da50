/*
 * g6_forms.h - the GRAPE-6 calls in both their forms, a small model, and the messages they cause.
 *
 * A test calls through `g6`, which points to the form under test.
 */
#ifndef G6_FORMS_H
#define G6_FORMS_H

#include "compat/sapporo_g6_fortran.h"
#include "sapporo_g6.h"

typedef double vec3[3];

struct g6_form {
    const char *name;
    int (*open)(int id);
    int (*close)(int id);
    int (*reinitialize)(int id);
    int (*reset)(int id);
    int (*reset_fofpga)(int id);
    int (*npipes)(void);
    int (*pipelines)(void);
    int (*set_tunit)(int unit);
    int (*set_xunit)(int unit);
    int (*set_ti)(int id, double ti);
    int (*set_j)(int id, int address, int index, double tj, double dtj, double mass, double *k18, double *j6,
                 double *a2, double *v, double *x);
    int (*set_mx)(int id, int address, int index, double mass, double *x);
    void (*first)(int id, int nj, int ni, int *index, vec3 *x, vec3 *v, vec3 *fold, vec3 *jold, double *phiold,
                  double eps2, double *h2);
    int (*last)(int id, int nj, int ni, int *index, vec3 *x, vec3 *v, double eps2, double *h2, vec3 *acc, vec3 *jerk,
                double *pot);
    int (*last2)(int id, int nj, int ni, int *index, vec3 *x, vec3 *v, double eps2, double *h2, vec3 *acc, vec3 *jerk,
                 double *pot, int *nn);
    int (*last2p)(int id, int nj, int ni, int *index, vec3 *x, vec3 *v, double eps2, double *h2, vec3 *acc, vec3 *jerk,
                  double *pot, int *nn, float *rnnb);
    int (*read_lists)(int id);
    int (*get_list)(int id, int pipe, int room, int *n, int *list);
    void (*set_sort_mode)(int mode);
    int (*get_sort_mode)(void);
    int (*overflow_mode)(int a, int j, int p);
    int (*initialize_buffer)(int id, int size);
    int (*flush_buffer)(int id);
    void (*setup_njdata)(int id, int nj);
};

extern const struct g6_form g6_by_value, g6_by_reference;
extern const struct g6_form *g6;

/* Two entries of a table of cmocka: a test in both forms.  Messages are counted; clusters are closed after the test. */
#define G6_BOTH(test)                                                                                                  \
    {#test " (by value)", test, g6_use_value, g6_close_all, NULL},                                                     \
    {                                                                                                                  \
#test " (by reference)", test, g6_use_reference, g6_close_all, NULL                                            \
    }
int g6_use_value(void **state);
int g6_use_reference(void **state);
int g6_close_all(void **state);

/* Some i-particles and buffers for their results. */
enum { G6_BATCH = 8 };
struct g6_batch {
    int n, index[G6_BATCH], nn[G6_BATCH];
    vec3 x[G6_BATCH], v[G6_BATCH], acc[G6_BATCH], jerk[G6_BATCH];
    double h2[G6_BATCH], pot[G6_BATCH];
};

/* Makes one i-particle at (0, 0, z). */
void g6_batch_one(struct g6_batch *b, int index, double z);
void g6_first(int id, int nj, struct g6_batch *b, double eps2);
/* Calls g6calc_lasthalf2 with outputs filled with 7 before. */
int g6_last(int id, int nj, struct g6_batch *b, double eps2);
int g6_force(int id, int nj, struct g6_batch *b, double eps2);

/* Three particles: masses 1, 2, 4 at the origin, x = 1 and y = 2; indices 10, 11, 12; the last moves along x. */
void g6_set_one_of_three(int id, int address);
void g6_set_three(int id);
/* Opens the cluster and stores the three particles. */
void g6_open_three(int id);
/* Returns the potential of the three particles at (0, 0, z) for an index that none of them has. */
double g6_pot_of_three(double z);
/* Checks that two numbers are equal to 1e-6. */
void g6_near(double got, double expected);
/* Checks that row i is the force of the three particles on index 10 at the origin, without softening. */
void g6_expect_three(const struct g6_batch *b, int i);
/* Checks that the cluster still computes this force. */
void g6_expect_healthy(int id);
/* Checks that all results of the first n rows are NaN, and the neighbours -1. */
void g6_expect_nan(const struct g6_batch *b, int n);

/* Return the number of errors and of warnings since the last call. */
int g6_errors(void);
int g6_warnings(void);

#endif
