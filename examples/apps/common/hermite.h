/*
 * hermite.h - Hermite schemes of orders 6 and 8 through sapporo.h: Nitadori & Makino 2008, New Astronomy 13, 498.
 *
 * hermite6 and hermite8 are this, with an order.  (hermite4 is a client of the GRAPE-6 interface, on purpose.)
 */
#ifndef COMMON_HERMITE_H
#define COMMON_HERMITE_H

#include "run.h"

/* The whole program: options, start or restart, run.  Returns the exit status. */
int hermite_main(run *job, int order, int argc, char **argv);

#endif
