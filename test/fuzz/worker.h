/*
 * worker.h - children that run sequences, and what became of them.
 *
 * The parent never calls the library: a child that crashes, ends or hangs takes nothing with it.  Parent and child
 * share a page in which the child notes the sequence and the operation that it is at.
 */
#ifndef FUZZ_WORKER_H
#define FUZZ_WORKER_H

#include "interface.h"

enum { OPS_NOTED = 4096 };

enum outcome { OUTCOME_GOOD, OUTCOME_DIFFERS, OUTCOME_ENDED, OUTCOME_HANGS };

struct result {
    enum outcome outcome;
    uint64_t seed; /* of the sequence that failed */
    long done;     /* sequences that were right */
    struct failure failure;
    int status;                    /* of waitpid, for children that ended */
    unsigned char made[OPS_NOTED]; /* 1: the call of this operation was made; models leave out what makes no sense */
    char stack[6000];              /* of a child that hung or crashed: one line per frame */
};

/* A child that runs sequences seed, seed + 1, ...; `given` instead, if it is not NULL. */
struct job {
    const struct interface *interface;
    struct setting setting;
    uint64_t seed;
    long count;
    const struct sequence *given;
    double limit; /* seconds per sequence */
    /* The parent's. */
    int pid, pipe;
    struct progress *progress;
};

/* Starts the child; 0: it could not be started. */
int job_start(struct job *job);
/* Asks it to end after its sequence. */
void job_stop(struct job *job);
/* Looks at it; 1: it has ended, and *result says how. */
int job_ended(struct job *job, struct result *result);
/* Runs a job to its end. */
void job_run(struct job *job, struct result *result);

/* Sets the environment of a child that is to use an engine. */
void worker_environment(const struct setting *s);

/* Makes the sequence of a seed. */
void sequence_generate(struct sequence *s, const struct interface *interface, uint64_t seed);

#endif
