/*
 * waiting.c - particles of the irregular force that wait to be stored in its context.
 *
 * Clients set particles by many threads at once, and a context stores one at a time: threads that wait for its lock
 * take longer together than one thread alone.  So particles wait in buffers, each with a lock of its own, until the
 * next force.  The address decides on the buffer, so a particle that is set twice is stored in the order of these
 * calls, and threads rarely meet.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/nbody6/nbody6.h"
#include "base/lock.h"

enum {
    BUFFERS = 64, /* as many as `filled` has bits */
    RUN = 16,     /* addresses that follow each other in one buffer, so they come to the context in order */
    ROOM = 256    /* particles of a buffer; its memory is taken when its first particle comes */
};

struct waiting {
    int address;
    double derivative[4][3], mass, time;
};

static struct buffer {
    _Alignas(64) struct sap_lock lock; /* alone in its cache line, with the number and the pointer */
    int n;
    struct waiting *at; /* [ROOM]; NULL: no memory yet */
} buffer[BUFFERS];

/* Bit k: buffer k may hold particles, so a force after few of them looks at few buffers. */
static _Atomic uint64_t filled;

/*
 * Stores a particle; after a failure, forces with the particle fail.  zeros: a particle whose members that wait nowhere
 * are 0; to set them takes as long as to store the others.
 */
static void store(sapporo *context, const struct waiting *w, sapporo_particle *zeros)
{
    memcpy(zeros->derivative, w->derivative, sizeof w->derivative);
    zeros->mass = w->mass;
    zeros->time = w->time;
    zeros->index = w->address;
    (void)sapporo_set_particle(context, w->address, zeros);
}

/* Stores the particles of a buffer whose lock the caller holds. */
static void empty(struct buffer *b, sapporo *context, sapporo_particle *zeros)
{
    for (int k = 0; k < b->n; k++) store(context, &b->at[k], zeros);
    b->n = 0;
}

/* The same, of a buffer that is full. */
static __attribute__((noinline)) void empty_full(struct buffer *b, sapporo *context)
{
    sapporo_particle zeros = {0};
    empty(b, context, &zeros);
}

/* Stores one particle for which there is no memory to wait. */
static __attribute__((noinline)) void store_one(sapporo *context, int address, const double (*derivative)[3],
                                                double mass, double time)
{
    struct waiting w = {.address = address, .mass = mass, .time = time};
    sapporo_particle zeros = {0};
    memcpy(w.derivative, derivative, sizeof w.derivative);
    store(context, &w, &zeros);
}

void sap_waiting_put(sapporo *context, int address, const double (*derivative)[3], double mass, double time)
{
    const unsigned which = (unsigned)address / RUN % BUFFERS;
    struct buffer *const b = &buffer[which];
    sap_lock(&b->lock);
    if (b->n == ROOM) empty_full(b, context);
    if (!b->at) b->at = malloc(ROOM * sizeof *b->at);
    if (b->at) {
        struct waiting *const w = &b->at[b->n];
        memcpy(w->derivative, derivative, sizeof w->derivative);
        w->address = address;
        w->mass = mass;
        w->time = time;
        if (b->n++ == 0) atomic_fetch_or(&filled, UINT64_C(1) << which);
    } else {
        store_one(context, address, derivative, mass, time);
    }
    sap_unlock(&b->lock);
}

void sap_waiting_store(sapporo *context)
{
    sapporo_particle zeros = {0};
    for (uint64_t left = atomic_exchange(&filled, 0); left; left &= left - 1) {
        struct buffer *const b = &buffer[__builtin_ctzll(left)];
        sap_lock(&b->lock);
        empty(b, context, &zeros);
        sap_unlock(&b->lock);
    }
}

void sap_waiting_forget(void)
{
    atomic_store(&filled, 0);
    for (int k = 0; k < BUFFERS; k++) {
        struct buffer *const b = &buffer[k];
        sap_lock(&b->lock);
        free(b->at);
        b->at = NULL;
        b->n = 0;
        sap_unlock(&b->lock);
    }
}
