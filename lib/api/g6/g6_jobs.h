/*
 * g6_jobs.h - the queue of forces of one GRAPE-6 cluster that are begun and not yet collected.
 *
 * The GRAPE-6 calls have no handles: a g6calc_lasthalf is matched with its
 * g6calc_firsthalf by the arguments of both (spec 3.7 and 3.8).
 */
#ifndef SAP_G6_JOBS_H
#define SAP_G6_JOBS_H

#include "sapporo.h"

/* Length of the queue: if it is full, the oldest force is dropped. */
enum { SAP_G6_QUEUE = 64 };

/* The arguments of a force.  Inputs are not const, as in the prototypes of the clients, but are never written. */
struct sap_g6_force {
    int nj, ni;
    const int *index;
    double (*x)[3], (*v)[3];
    double eps2;
    const double *h2;
};

/* A force that was begun. */
struct sap_g6_begun {
    sapporo_job *job; /* NULL: beginning the force failed */
    int ni;           /* ni, index and x identify the force */
    const int *index;
    const void *x;
    double eps2;
};

struct sap_g6_queue {
    int n;
    struct sap_g6_begun at[SAP_G6_QUEUE]; /* oldest first */
};

enum sap_g6_match {
    SAP_G6_NO_MATCH,
    SAP_G6_MATCH,    /* the force has at least as many i-particles as the call asks for */
    SAP_G6_TOO_LARGE /* the arrays match, but the call asks for more i-particles than the force has */
};

/* Adds a force; returns 1 if the queue was full and the oldest force was dropped. */
int sap_g6_queue_put(struct sap_g6_queue *queue, const struct sap_g6_begun *begun);

/* Takes the force that matches a call out of the queue.  The caller then owns its job. */
enum sap_g6_match sap_g6_queue_take(struct sap_g6_queue *queue, const struct sap_g6_force *force,
                                    struct sap_g6_begun *begun);

/* Drops all forces of the queue. */
void sap_g6_queue_clear(struct sap_g6_queue *queue);

#endif
