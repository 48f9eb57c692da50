/*
 * g5_forms.h - the GRAPE-5 calls in both their forms, and a small model.
 *
 * A test calls through `g5`, which points to the form under test.  Device 0 has the plain names, other devices the
 * names with MC.  g6_errors and g6_warnings count messages.
 */
#ifndef G5_FORMS_H
#define G5_FORMS_H

#include "compat/sapporo_g5_fortran.h"
#include "g6_forms.h"

struct g5_form {
    const char *name;
    int (*open)(int id);
    int (*close)(int id);
    int (*pipelines)(int id);
    int (*real_pipelines)(int id);
    int (*jmemsize)(int id);
    int (*set_range)(int id, double xmin, double xmax, double mmin);
    int (*get_range)(int id, double *xmin, double *xmax, double *mmin);
    int (*eps_to_all)(double eps);
    int (*eps2_to_all)(double eps2);
    int (*set_eta)(double eta);
    int (*set_n)(int id, int n);
    int (*set_xmj)(int id, int adr, int nj, vec3 *xj, double *mj);
    int (*set_jp)(int id, int adr, int nj, double *mj, vec3 *xj);
    int (*set_xj)(int id, int adr, int nj, vec3 *xj);
    int (*set_mj)(int id, int adr, int nj, double *mj);
    int (*set_xmj0)(int id, int adr, int nj, vec3 *xj, double *mj, double *epsj2);
    int (*set_xi)(int id, int ni, vec3 *xi);
    int (*set_eps)(int id, int ni, double *eps);
    int (*set_eps2)(int id, int ni, double *eps2);
    int (*set_xepsi)(int id, int ni, vec3 *xi, double *eps);
    int (*set_ip)(int id, int ni, vec3 *xi, double *eps, double *h);
    int (*set_xi0)(int id, int ni, vec3 *xi, double *eps2);
    int (*run)(int id);
    int (*run0)(int id);
    int (*get_force)(int id, int ni, vec3 *a, double *p);
    int (*calculate)(int id, vec3 *x, vec3 *a, double *p, int ni);
    int (*calculate0)(int id, vec3 *x, vec3 *a, double *p, int ni, double *eps2);
    int (*set_xmeps2j)(int adr, int nj, vec3 *xj, double *mj, double *epsj2);
    int (*run_symmetrized)(void);
    int (*calculate_xeps)(vec3 *x, double *eps, vec3 *a, double *p, int ni);
};

extern const struct g5_form *g5;

/* Two entries of a table of cmocka: a test in both forms, which begins without softening. */
#define G5_BOTH(test)                                                                                                  \
    {#test " (by value)", test, g5_use_value, NULL, NULL},                                                             \
    {                                                                                                                  \
#test " (by reference)", test, g5_use_reference, NULL, NULL                                                    \
    }
int g5_use_value(void **state);
int g5_use_reference(void **state);

/* Returns a device that no test has used yet. */
int g5_new_device(void);

/* Three particles: masses 1, 2, 4 at the origin, x = 1 and y = 2. */
extern vec3 g5_three_x[3];
extern double g5_three_m[3];
/* Loads the three particles and sets n. */
void g5_load_three(int id);
/* Returns the potential of the three particles at (0, 0, z), softened. */
double g5_pot_of_three(double z, double eps);
/*
 * A force on n <= 8 points (0, 0, k), with outputs filled with 7 before the call; g5_calculate_force_on_x's return
 * value.
 */
struct g5_batch {
    vec3 x[8], a[8];
    double p[8];
};
int g5_force(int id, int n, struct g5_batch *b);
/* Checks that the device computes the force of the three particles. */
void g5_expect_three(int id, double eps);
/* Checks that the first n rows are NaN. */
void g5_expect_nan(const struct g5_batch *b, int n);
/* Checks that all rows hold 7. */
void g5_expect_untouched(const struct g5_batch *b);

#endif
