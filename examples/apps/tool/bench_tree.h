/*
 * bench_tree.h - sapporo bench --api tree: time by phase and errors of trees.
 */
#ifndef TOOL_BENCH_TREE_H
#define TOOL_BENCH_TREE_H

#include "client.h"
#include "options.h"

/* Options of the command line for trees; every combination of the lists is a case. */
typedef struct tree_request {
    count_list n, multipoles, leaf, group, ball, walk, curve;
    word_list model, kind, mac;
    real_list accuracy; /* 0: the criterion's default */
    double eps;         /* softening length */
    int once;           /* 1: one timed call, whatever `repeat` says */
    int refresh;        /* 1: the tree is refreshed instead of built */
    int repeat, json;
    double min_time, active; /* active: fraction of the particles that get forces */
    settings what;
} tree_request;

/* Measures all cases; returns how many have no result. */
int bench_trees(const tree_request *asked);

#endif
