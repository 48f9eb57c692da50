/*
 * stepper_places.h - where tests of steppers run: every engine, with trees of both kinds and direct sums; and calls
 * that these tests share.
 */
#ifndef TEST_STEPPER_PLACES_H
#define TEST_STEPPER_PLACES_H

#include "sapporo.h"

/* Where forces come from. */
struct place {
    const char *name;
    sapporo_backend backend;
    sapporo_step_method method;
    sapporo_tree_kind kind;
};

enum { STEPPER_PLACES = 12 };
extern const struct place stepper_places[STEPPER_PLACES];

/* A field of each kind. */
enum { STEPPER_FIELDS = 6 };
extern const sapporo_field stepper_fields[STEPPER_FIELDS];

/* Whether the engine of a place has a device, and the run does not exclude it. */
int stepper_place_usable(const struct place *p);

/*
 * Runs a test at every place; `octrees`: at octrees alone, for tests that take long and in which all that differs are
 * forces.  Skips the test if no place can be used.
 */
void stepper_everywhere(void (*test)(const struct place *p), int octrees);

/* Runs a test with each Hermite scheme wherever there are direct sums.  Skips the test if no such place can be used. */
void stepper_hermite_everywhere(void (*test)(const struct place *p, int order, sapporo_step_scheme scheme));

/* Options of a Hermite scheme whose longest step is 1/16. */
sapporo_stepper_options stepper_hermite_options(const sapporo_tree_options *tree, sapporo_step_scheme scheme);

/* A tree by MAC_ACCELERATION, with a softening length, at a place. */
sapporo_tree_options stepper_tree_at(const struct place *p, double eps);

enum { STEPPER_MOST = 1200 };

/* All that a stepper returns of its particles, of which there are at most STEPPER_MOST. */
struct stepper_state {
    double x[STEPPER_MOST][3], v[STEPPER_MOST][3], acc[STEPPER_MOST][3], pot[STEPPER_MOST], mass[STEPPER_MOST];
    double own_time[STEPPER_MOST];
    long long label[STEPPER_MOST];
    int level[STEPPER_MOST];
};

/* Calls that must succeed, or else end the test with the error.  get: rows beyond n become 0. */
sapporo_stepper *stepper_make(const sapporo_stepper_options *o, int n);
void stepper_put(sapporo_stepper *s, int n, double (*x)[3], double (*v)[3], double *mass, double time);
void stepper_get(sapporo_stepper *s, sapporo_step_when when, int n, struct stepper_state *to);
sapporo_stepper_statistics stepper_figures(sapporo_stepper *s);
void stepper_advance(sapporo_stepper *s, double time, long long steps);
sapporo_stepper_totals stepper_totals(sapporo_stepper *s);

#endif
