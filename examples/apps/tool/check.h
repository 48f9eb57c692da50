/*
 * check.h - the parts of sapporo check: scenes with known forces, tests on them, and the report.
 */
#ifndef TOOL_CHECK_H
#define TOOL_CHECK_H

#include "client.h"
#include "reference.h"

/* ---- report (check.c) ------------------------------------------------------------- */

/* Bounds of relative errors: median, 99th percentile, and largest, so that one wrong star among many is seen. */
typedef struct bound {
    double median, high, largest;
} bound;

typedef struct report {
    int json;
    int tests, failed;
    int absent;     /* kinds of engine that could not be opened */
    char kind[128]; /* kind of the engine under test */
} report;

/* Reports one row: n relative errors, which are sorted, against their bound. */
void report_errors(report *to, const char *test, const char *quantity, double *error, int n, bound allowed);
/* Reports one row: how many of n results are wrong; none may be. */
void report_wrong(report *to, const char *test, int wrong, int n);
/* Reports one row: a call of the library failed. */
void report_failure(report *to, const char *test, const char *why);
/* Reports one row: this kind of engine cannot be opened here, so nothing was tested. */
void report_absent(report *to, const char *why);

/* ---- scenes (check_accuracy.c) ---------------------------------------------------- */

enum scene_name {
    SCENE_PLUMMER = 0, /* all stars at one time */
    SCENE_SPREAD = 1,  /* the same, each star at its own time and with all derivatives */
    SCENE_PAIR = 2,    /* two stars 1e-9 apart */
    SCENE_HARD = 3,    /* binary of 1e-6, mass ratio 1e6, bulk velocity of 100 dispersions */
    NSCENES = 4
};

/* A model, the time and softening of the force, i-particles and their true forces. */
typedef struct scene {
    const char *name;
    model cluster;
    double time, eps2;
    int pair; /* address of the first star of the binary, -1: none */
    targets stars;
    truth *exact;
} scene;

/* Makes the scenes with n stars each; at most 4,096 of them, evenly spread, are i-particles. */
void scenes_make(scene scenes[NSCENES], int n);
void scenes_free(scene scenes[NSCENES]);

/*
 * Computes forces on i-particles of a scene by a native client; returns 0, or -1 with the reason in error().  Drops the
 * library's messages for scenes with a close pair: in orders 6 and 8 its snap is beyond the range of `ds`, and no test
 * asks for it.
 */
int scene_force(client *self, const scene *on, const targets *stars, unsigned want, forces *out);

/* Checks the accuracy of acc, jerk and pot on all scenes, and of the predictor. */
void check_accuracy(report *to, const settings *what, const scene scenes[NSCENES]);
/*
 * Checks order 2 on a scene without individual times, within these bounds, and that a batch of small forces has the
 * same bits.
 */
void check_order2(report *to, const settings *what, const scene *on, bound acc, bound pot);
/* Checks nearest neighbours and lists, which must be exact. */
void check_neighbours(report *to, const settings *what, const scene scenes[NSCENES]);
/* Checks that a force has the same bits in all ways of asking for it. */
void check_bits(report *to, const settings *what, const scene *spread);

#endif
