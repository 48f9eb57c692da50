/*
 * worker.h - children that prove forces of trees, one system after the other.
 *
 * A child tells its parent what it does in memory that both share, so the parent knows the seed at which a child ends
 * or hangs.
 */
#ifndef FUZZ_TREES_WORKER_H
#define FUZZ_TREES_WORKER_H

#include <stdatomic.h>
#include <stdint.h>

#include "multiscale_proof.h"

enum { ISAS_MOST = 6, PRECISIONS = 4, FAILURES_MOST = 32, FAILURE_TEXT = 1600 };

/* What the command line chooses. */
struct choice {
    sapporo_backend backend;
    const char *isa, *precision; /* NULL: the seed chooses */
    const char *programs;        /* folder for programs of reduced systems; NULL: none */
    int reduced_most;            /* failures of a child that are reduced */
};

/* What a child has done, in memory that its parent reads. */
struct progress {
    atomic_ullong seed;
    _Atomic double began;
    atomic_int stop; /* set by the parent: the child ends after this system */
    atomic_long passed[PRECISIONS], failed[PRECISIONS], refused;
    _Atomic double worst; /* of the systems that passed, in units of the bound */
    atomic_int failures;  /* texts that are complete */
    char text[FAILURES_MOST][FAILURE_TEXT];
};

/* The engine for a seed; 0: there is none, since no device or instruction path of the choice can be used. */
int engine_of(const struct choice *choice, uint64_t seed, struct proof_engine *engine);

/* Proves the systems of `count` seeds, and ends the process. */
void worker_run(const struct choice *choice, struct progress *progress, uint64_t first, uint64_t step, long count)
    __attribute__((noreturn));

const char *precision_name(sapporo_precision precision);

#endif
