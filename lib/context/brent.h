/*
 * brent.h - the least value of a function of one variable, by Brent's method: R. P. Brent 1973, Algorithms for
 * Minimization without Derivatives, chapter 5 (localmin).
 *
 * Each step is the minimum of the parabola through the three best points, or, if that step would not shrink fast enough
 * or leave the interval, a golden section of the larger part of the interval.  The caller computes the values: it asks
 * where the next one is wanted (`at`), and tells it.  So values may come from measurements over a long time.
 */
#ifndef SAP_BRENT_H
#define SAP_BRENT_H

struct sap_brent {
    double low, high;            /* the interval that holds the minimum */
    double tolerance;            /* of the position of the minimum */
    double at;                   /* where the next value is wanted */
    double x, value;             /* the best point */
    double second, second_value; /* the second best point */
    double third, third_value;   /* the second best point before that */
    double step, last_step;      /* of the last search step, and of the step before it */
    int values;                  /* that have been told */
};

/* Begins a search in an interval, low < high, for a minimum to within tolerance > 0. */
void sap_brent_start(struct sap_brent *b, double low, double high, double tolerance);

/*
 * Takes the value at b->at, and chooses the next b->at, which always lies between low and high.  A value that is not
 * finite counts as larger than all others.  Returns 1 if the search has ended: the minimum is at b->x, with b->value.
 */
int sap_brent_tell(struct sap_brent *b, double value);

#endif
