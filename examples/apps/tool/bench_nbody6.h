/*
 * bench_nbody6.h - sapporo bench --api nbody6: regular forces with their lists, and irregular forces.
 */
#ifndef TOOL_BENCH_NBODY6_H
#define TOOL_BENCH_NBODY6_H

#include "client.h"
#include "options.h"

/* Options of the command line; every combination of the lists is a case. */
typedef struct nbody6_request {
    count_list nj, ni;
    int list_length, repeat, json;
    double min_time;
    settings what;
} nbody6_request;

/* Measures all cases; returns how many have no result. */
int bench_nbody6(const nbody6_request *asked);

#endif
