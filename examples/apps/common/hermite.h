/*
 * hermite.h - Hermite schemes of orders 6 and 8 through sapporo.h: Nitadori & Makino 2008, New Astronomy 13, 498.
 *
 * The programs hermite6 and hermite8 call it with their order.  (hermite4 is a client of the GRAPE-6 interface, on
 * purpose.)
 */
#ifndef COMMON_HERMITE_H
#define COMMON_HERMITE_H

#include "run.h"

/* Runs the whole program: options, start or restart, integration.  Returns the exit status. */
int hermite_main(run *job, int order, int argc, char **argv);

#endif
