/*
 * bench.h - one case of sapporo bench, and what was measured.
 */
#ifndef TOOL_BENCH_H
#define TOOL_BENCH_H

#include "client.h"
#include "options.h"

typedef enum bench_kind {
    BENCH_FORCE = 0,  /* ni forces of nj stars; microseconds a call */
    BENCH_SETJ = 1,   /* sending nj stars one by one; nanoseconds a star */
    BENCH_OPEN = 2,   /* opening and closing; microseconds */
    BENCH_MEMORY = 3, /* growth of the process by nj stars and a force; bytes a star */
    BENCH_STEP = 4,   /* a block step: ni stars sent, a new time, ni forces; microseconds */
    BENCH_LOAD = 5,   /* sending nj stars to a context without memory, and a first force; nanoseconds a star */
    BENCH_BATCH = 6,  /* sapporo_force_batch: nlists lists of nj sources on ni targets each; microseconds a call */
    BENCH_KINDS = 7
} bench_kind;

/* Where lists have their sources: addresses, which are sent in each call or kept, or particles of their own. */
typedef enum bench_sources { BENCH_ADDRESSES, BENCH_OWN, BENCH_KEPT } bench_sources;

typedef struct bench_case {
    char label[48]; /* how a suite calls it; "" otherwise */
    bench_kind kind;
    const client_type *type;
    settings what;
    int ni, nj;
    unsigned want;   /* sapporo_want */
    int list_length; /* about how long neighbour lists are */
    int advance;     /* the time is advanced before each call */
    model_derivatives derivatives;
    int shuffled;    /* BENCH_SETJ: in random order of addresses */
    int nlists;      /* BENCH_BATCH */
    int sources;     /* BENCH_BATCH: a bench_sources */
    int repeat;      /* samples at least, unless they take long */
    double min_time; /* seconds of sampling at least */
} bench_case;

typedef struct bench_result {
    char engine[128];        /* kind of engine; "" if it could not be opened */
    char failure[256];       /* why there is no result; "" if there is one */
    int samples;             /* timed calls or passes */
    double median, min, max; /* in the unit of the kind of case */
    double rate;             /* interactions a second by the median; 0 where that has no meaning */
    double acc_error;        /* largest relative error of the forces that were checked */
    double list_mean;        /* mean length of the batch_case */
} bench_result;

/* Squared softening of all forces. */
extern const double BENCH_EPS2;

/* What BENCH_BATCH works on, with a context of order 2, which stays the caller's.  Statuses are the library's. */
typedef struct batch_case batch_case;
batch_case *batch_new(const bench_case *what, sapporo *context);
void batch_free(batch_case *on);
int batch_load(const batch_case *on);
int batch_compute(const batch_case *on);
double batch_error(const batch_case *on); /* largest relative error of some forces; infinite: not finite */

/* Measures a case.  A result that is wrong is a failure: its speed is not reported. */
void bench_measure(const bench_case *what, bench_result *result);

/* Names for tables and for the command line. */
extern const char *const BENCH_NAMES[BENCH_KINDS], *const BENCH_UNITS[BENCH_KINDS];
const char *bench_want_name(unsigned want);
const char *bench_derivatives_name(model_derivatives derivatives);

/* Output: a head line (text only), then one line a case. */
void bench_print_head(void);
void bench_print(const bench_case *what, const bench_result *result, int json);

/* 1 if a case needs a process of its own, since OpenMP reads its number of threads when a process starts. */
int bench_needs_child(const bench_case *what);
/* Runs it there; the child prints the result.  Returns its exit status. */
int bench_run_child(const bench_case *what, int json);

/* What of a suite is wanted. */
typedef struct suite_choice {
    sapporo_backend backend; /* CUDA: the figures of GPUs; otherwise those of CPUs */
    int most_stars;          /* larger cases are left out */
    const char *only;        /* text that labels contain */
    count_list devices;      /* CUDA: all of them; two or more bring figures of 1, 2, 4, ... of them */
} suite_choice;

/* The figures that the project promises (docs/performance.md), as cases; at most `room`, returns their number. */
int bench_suite(bench_case *cases, int room, const suite_choice *choice);

#endif
