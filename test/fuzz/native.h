/* native.h - what the model of the native interface keeps: contexts (native.c), and forces (native_forces.c). */
#ifndef FUZZ_NATIVE_H
#define FUZZ_NATIVE_H

#include "calls.h"
#include "interface.h"

struct model_context {
    int is_open, is_closed; /* is_closed: the handle is kept */
    int order, is_soft;     /* is_soft: a particle has had softening of its own */
    sapporo_precision precision;
    double time;
    struct store store, lost; /* lost: addresses whose load failed; forces that need them fail */
    long changes;             /* forces begun, particles stored */
};

struct model_job {
    struct answer *answer; /* NULL: there is no job */
    int context, outside, has_lists;
    long changes;                /* of the context when it was begun */
    int is_delivered, is_closed; /* is_closed: its context was */
};

extern struct model_context native_contexts[CALL_HANDLES];
extern struct model_job native_jobs[CALL_JOBS];

/* Frees a job and forgets it. */
void native_forget(struct model_job *j);
/* Makes a call that computes, or that reads or frees what was computed, and compares. */
void native_run_force(const struct op *op);

#endif
