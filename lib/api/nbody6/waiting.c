/*
 * waiting.c - particles of the irregular force that wait to be stored in its context.
 *
 * Clients set particles by many threads at once, and a context stores one at a time: threads that wait for its lock
 * take longer together than one thread alone.  So particles wait on shelves, each with a lock of its own, until the
 * next force.  The address decides on the shelf, so a particle that is set twice is stored in the order of these calls,
 * and threads rarely meet.
 */
#include <stdlib.h>
#include <string.h>

#include "api/nbody6/nbody6.h"
#include "base/lock.h"

enum {
    SHELVES = 64,
    RUN = 16,  /* addresses that follow each other on one shelf, which is the fastest order for the context */
    ROOM = 256 /* particles of a shelf; its memory is taken when its first particle comes */
};

struct waiting {
    int address;
    double derivative[4][3], mass, time;
};

static struct shelf {
    _Alignas(64) struct sap_lock lock; /* alone in its cache line, with the number and the pointer */
    int n;
    struct waiting *at; /* [ROOM]; NULL: no memory yet */
} shelf[SHELVES];

/* Stores a particle; after a failure, forces with the particle fail. */
static void store(sapporo *context, const struct waiting *w)
{
    sapporo_particle p = {.mass = w->mass, .time = w->time, .index = w->address};
    memcpy(p.derivative, w->derivative, sizeof w->derivative);
    (void)sapporo_set_particle(context, w->address, &p);
}

/* Stores the particles of a shelf whose lock the caller holds. */
static void clear(struct shelf *s, sapporo *context)
{
    for (int k = 0; k < s->n; k++) store(context, &s->at[k]);
    s->n = 0;
}

void sap_waiting_put(sapporo *context, int address, const double (*derivative)[3], double mass, double time)
{
    struct shelf *const s = &shelf[(unsigned)address / RUN % SHELVES];
    struct waiting w = {.address = address, .mass = mass, .time = time};
    memcpy(w.derivative, derivative, sizeof w.derivative);
    sap_lock(&s->lock);
    if (s->n == ROOM) clear(s, context);
    if (!s->at) s->at = malloc(ROOM * sizeof *s->at);
    if (s->at)
        s->at[s->n++] = w;
    else
        store(context, &w);
    sap_unlock(&s->lock);
}

void sap_waiting_store(sapporo *context)
{
    for (int k = 0; k < SHELVES; k++) {
        struct shelf *const s = &shelf[k];
        sap_lock(&s->lock);
        clear(s, context);
        sap_unlock(&s->lock);
    }
}

void sap_waiting_forget(void)
{
    for (int k = 0; k < SHELVES; k++) {
        struct shelf *const s = &shelf[k];
        sap_lock(&s->lock);
        free(s->at);
        s->at = NULL;
        s->n = 0;
        sap_unlock(&s->lock);
    }
}
