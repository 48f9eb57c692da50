/*
 * plan.h - a sequence of collective calls of libsapporo_mpi: all of it follows from a seed, on every rank.
 *
 * A sequence uses direct sums, a tree and a stepper in turns.  Particles are numbered over all ranks, and each call
 * that gives particles says which rank gives which.
 */
#ifndef FUZZ_RANKS_PLAN_H
#define FUZZ_RANKS_PLAN_H

#include <stdint.h>
#include <stdio.h>

#include "ranks.h"
#include "rng.h"

enum { PLAN_CALLS = 40, PLAN_PARTICLES = 100, PLAN_TARGETS = 20 };

/* Calls of one object follow each other: SUMS_SET is the first of direct sums, and so on. */
enum call_kind {
    SUMS_OPEN,
    SUMS_SET,
    SUMS_CLEAR,
    SUMS_TIME,
    SUMS_FORCE,
    SUMS_DIFFER,
    TREE_OPEN,
    TREE_BUILD,
    TREE_REFRESH,
    TREE_RENEW, /* refresh or build */
    TREE_FORCE,
    TREE_ACTIVE,
    TREE_EXCHANGE,
    TREE_DIFFER,
    STEPPER_OPEN,
    STEPPER_SET,
    STEPPER_ADVANCE,
    STEPPER_ENERGY,
    STEPPER_PAIRS,
    STEPPER_POTENTIALS,
    STEPPER_EXCHANGE,
    STEPPER_SAVE,
    STEPPER_RESTORE,
    STEPPER_DIFFER,
    CALL_KINDS
};

struct call {
    enum call_kind kind;
    int mistake;    /* 0: none; else one of those that the kind has */
    int odd;        /* the rank that makes the mistake, or that makes another call than the others */
    int a, b;       /* of *_DIFFER: the calls of the others and of the odd rank, by numbers of the object */
    int n;          /* particles of all ranks */
    uint64_t model; /* seed of particles, owners and targets */
    int steps;      /* of STEPPER_ADVANCE */
    int reach;      /* of SUMS_FORCE: which addresses take part */
    double time;    /* of SUMS_TIME; of STEPPER_ADVANCE in units of dt from the present time */
};

struct plan {
    uint64_t seed;
    /* direct sums */
    int order, rows, sources;
    sapporo_precision precision;
    sapporo_mpi_way way;
    /* trees and steppers; strict: every cell is opened, so that trees are direct sums */
    sapporo_tree_options tree;
    int strict;
    int lengths; /* 1: particles of trees and of steppers have softening lengths; those of trees also with splines */
    sapporo_stepper_options stepper;
    int n;
    struct call call[PLAN_CALLS];
};

/* What a reduction leaves out of a plan. */
struct part {
    uint64_t calls; /* bit k: call k is made */
    int particles;  /* most particles of a call */
};

void plan_draw(struct plan *p, uint64_t seed);
void plan_cut(struct plan *p, const struct part *part);
void plan_print(FILE *to, const struct plan *p);

/* Random numbers of a call, from which all ranks draw the same; `stream` tells independent ones of a call apart. */
void call_random(rng *r, const struct call *c, uint64_t stream);
int draw(rng *r, int n);
int one_in(rng *r, int n);

/* A position of a cluster, or of a lattice. */
void draw_position(rng *r, int is_lattice, double x[3]);
/* The rank that gives each of n particles: all of them, or some, or one. */
void draw_owners(rng *r, int n, int *owner);

#endif
