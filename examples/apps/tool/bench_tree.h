/*
 * bench_tree.h - sapporo bench --api tree: time by phase and errors of trees.
 */
#ifndef TOOL_BENCH_TREE_H
#define TOOL_BENCH_TREE_H

#include "bodies.h"
#include "client.h"
#include "message.h"
#include "options.h"

/* Criteria that are listed one by one, with accuracy and multipoles. */
typedef struct listed_criteria {
    int n, mac[LIST_ROOM], multipoles[LIST_ROOM];
    double accuracy[LIST_ROOM];
} listed_criteria;

/* Options of the command line for trees; every combination of the lists is a case. */
typedef struct tree_request {
    count_list n, seed, multipoles, leaf, group, ball, walk, curve;
    word_list model, kind, mac;
    word_list masses;       /* one word: equal or salpeter */
    listed_criteria listed; /* if there are any: in place of mac, accuracy and multipoles */
    int compared;           /* active particles that are compared with exact sums; 0: all, -1: all, or some of many */
    word_list softening;    /* one word: plummer, spline or spline-mean; not of steppers */
    real_list accuracy;     /* 0: the criterion's default */
    double eps;             /* softening length, the same of all particles */
    double error;           /* asked of the tree in place of accuracies; 0: none */
    double extent;          /* limit of the extent of groups; 0: none */
    int once;               /* 1: one timed call, whatever `repeat` says */
    int refresh;            /* 1: the tree is refreshed instead of built */
    int repeat, json;
    real_list active; /* fractions of the particles that get forces */
    double min_time;
    settings what;
} tree_request;

/* Measures all cases; returns how many have no result. */
int bench_trees(const tree_request *asked);

/* Reads "opening:0.7:2,acceleration:0.01:1"; -1: it is no such list. */
int bench_read_criteria(const char *text, listed_criteria *list);

/* What the benchmark of steppers shares with that of trees.  -1: the model cannot be made. */
int bench_make_model(const char *name, int n, int seed, const tree_request *asked, bodies *set, message *why);
sapporo_tree_kind bench_tree_kind(const char *name);
int bench_mac_of(const char *name);
const char *bench_mac_name(int mac);
/* Fills options with the engine, the softening, and the first sizes of leaves and groups. */
void bench_tree_options(const tree_request *asked, sapporo_tree_options *options);

#endif
