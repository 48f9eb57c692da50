/*
 * bench_tree.h - sapporo bench --api tree: time by phase and errors of trees.
 */
#ifndef TOOL_BENCH_TREE_H
#define TOOL_BENCH_TREE_H

#include "bodies.h"
#include "client.h"
#include "message.h"
#include "options.h"

/* Options of the command line for trees; every combination of the lists is a case. */
typedef struct tree_request {
    count_list n, multipoles, leaf, group, ball, walk, curve;
    word_list model, kind, mac;
    word_list softening; /* one word: plummer, spline or spline-mean; not of steppers */
    real_list accuracy;  /* 0: the criterion's default */
    double eps;          /* softening length, the same of all particles */
    double extent;       /* limit of the extent of groups; 0: none */
    int once;            /* 1: one timed call, whatever `repeat` says */
    int refresh;         /* 1: the tree is refreshed instead of built */
    int repeat, json;
    real_list active; /* fractions of the particles that get forces */
    double min_time;
    settings what;
} tree_request;

/* Measures all cases; returns how many have no result. */
int bench_trees(const tree_request *asked);

/* What the benchmark of steppers shares with that of trees.  -1: the model cannot be made. */
int bench_make_model(const char *name, int n, bodies *set, message *why);
sapporo_tree_kind bench_tree_kind(const char *name);
int bench_mac_of(const char *name);
const char *bench_mac_name(int mac);
/* Fills options with the engine, the softening, and the first sizes of leaves and groups. */
void bench_tree_options(const tree_request *asked, sapporo_tree_options *options);

#endif
