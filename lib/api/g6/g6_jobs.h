/*
 * g6_jobs.h - forces that were begun and not yet collected, of one GRAPE-6 cluster.
 *
 * The GRAPE-6 calls know no handles: g6calc_lasthalf is matched with a
 * g6calc_firsthalf by what both are told (spec 3.7 and 3.8).
 */
#ifndef SAP_G6_JOBS_H
#define SAP_G6_JOBS_H

#include "sapporo.h"

/* More than this many are not kept: the oldest go. */
enum { SAP_G6_QUEUE = 64 };

/* The arguments of a force.  Inputs are neither const nor written to, as in the prototypes of the clients. */
struct sap_g6_force {
    int nj, ni;
    const int *index;
    double (*x)[3], (*v)[3];
    double eps2;
    const double *h2;
};

/* A force that was begun. */
struct sap_g6_begun {
    sapporo_job *job; /* NULL: it could not be begun */
    int ni;           /* its key: ni, index and x */
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
    SAP_G6_MATCH,    /* at least as many i-particles as asked for */
    SAP_G6_TOO_LARGE /* the arrays match, but more is asked for than was begun */
};

/* Adds a force; 1: the oldest had to be dropped. */
int sap_g6_queue_put(struct sap_g6_queue *queue, const struct sap_g6_begun *begun);

/* Takes out the force that a call means.  Its job, if there is one, then belongs to the caller. */
enum sap_g6_match sap_g6_queue_take(struct sap_g6_queue *queue, const struct sap_g6_force *force,
                                    struct sap_g6_begun *begun);

/* Drops all. */
void sap_g6_queue_clear(struct sap_g6_queue *queue);

#endif
