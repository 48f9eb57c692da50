/*
 * plan.h - a sequence of calls on a stepper, with allocations that fail: all of it follows from a seed.
 */
#ifndef FUZZ_STEPPERS_PLAN_H
#define FUZZ_STEPPERS_PLAN_H

#include <stdint.h>
#include <stdio.h>

#include "sapporo.h"

enum { PLAN_CALLS = 30, PLAN_ROWS = 64, PLAN_FIELDS = 2, PLAN_TRIES = 3 };

enum call_kind {
    CALL_CREATE,
    CALL_SET,
    CALL_ADVANCE,
    CALL_GET,
    CALL_ENERGY,
    CALL_SAVE,
    CALL_RESTORE,
    CALL_ADD,
    CALL_REMOVE,
    CALL_KINDS
};

/* Outputs of CALL_GET. */
enum { WANT_X = 1, WANT_V = 2, WANT_ACC = 4, WANT_POT = 8, WANT_MASS = 16, WANT_TIME = 32, WANT_LEVEL = 64 };
enum { WANT_LABEL = 128, WANT_H = 256, WANT_ALL = 511 };

/* An allocation that fails in a call: at 1 + (int)(where * n) of n allocations. */
struct fault {
    double where;
    int stays; /* 1: all allocations behind it fail, too */
};

struct call {
    enum call_kind kind;
    int mistake;    /* 0: none; else a wrong argument, of those that the kind has */
    int n;          /* of CALL_SET: particles; CALL_ADD and CALL_REMOVE take as many as can come or go */
    uint64_t model; /* of CALL_SET and CALL_ADD: seed of the particles; of CALL_REMOVE: the first that goes */
    double time;    /* of CALL_SET; in units of dt from the present time: of CALL_ADVANCE, and of AT_TIME */
    int steps;      /* of CALL_ADVANCE */
    sapporo_step_when when;
    unsigned wanted;
    int tries; /* calls in which an allocation fails; after them comes one with all memory */
    struct fault fault[PLAN_TRIES];
};

struct plan {
    uint64_t seed;
    sapporo_tree_options tree;
    sapporo_stepper_options options; /* without `tree` and `fields`, which are those above and below */
    sapporo_field field[PLAN_FIELDS];
    int room; /* particles of the stepper, 1 to PLAN_ROWS */
    int n;
    struct call call[PLAN_CALLS];
};

/* What a reduction leaves out of a plan. */
struct part {
    uint64_t calls; /* bit k: call k is made */
    int rows;       /* most particles */
    int tries;      /* most failing calls per call */
};
extern const struct part whole_plan;

/* Makes the plan of a seed. */
void plan_draw(struct plan *p, uint64_t seed, sapporo_backend backend);
/* Leaves out what is not in a part. */
void plan_cut(struct plan *p, const struct part *part);
/* Writes the plan as lines of text. */
void plan_print(FILE *to, const struct plan *p);

/* Particles of a model. */
struct model {
    double x[PLAN_ROWS][3], v[PLAN_ROWS][3], mass[PLAN_ROWS], h[PLAN_ROWS];
    int has_lengths; /* h is given */
    long long label[PLAN_ROWS];
};
void plan_model(const struct call *c, struct model *m);

#endif
