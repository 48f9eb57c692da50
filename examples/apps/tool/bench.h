/* bench.h - one case of sapporo bench, and its result. */
#ifndef TOOL_BENCH_H
#define TOOL_BENCH_H

#include "client.h"
#include "options.h"

typedef enum bench_kind {
    BENCH_FORCE = 0,  /* ni forces of nj stars; microseconds per call */
    BENCH_SETJ = 1,   /* storing nj stars one by one; nanoseconds per star */
    BENCH_OPEN = 2,   /* opening and closing; microseconds */
    BENCH_MEMORY = 3, /* growth of the process by nj stars and a force; bytes per star */
    BENCH_STEP = 4,   /* a block step: ni stars stored, a new time, ni forces; microseconds */
    BENCH_LOAD = 5,   /* storing nj stars in a new context, and a first force; nanoseconds per star */
    BENCH_BATCH = 6,  /* sapporo_force_batch: nlists lists of nj sources on ni targets each; microseconds per call */
    BENCH_KINDS = 7
} bench_kind;

/* Sources of lists: addresses passed in each call, addresses that the library keeps, or particles of their own. */
typedef enum bench_sources { BENCH_ADDRESSES, BENCH_OWN, BENCH_KEPT } bench_sources;

typedef struct bench_case {
    char label[48]; /* name of the case in a suite; "" otherwise */
    bench_kind kind;
    const client_type *type;
    settings what;
    int ni, nj;
    unsigned want;   /* sapporo_want */
    int list_length; /* approximate length of neighbour lists */
    int advance;     /* the time is advanced before each call */
    model_derivatives derivatives;
    int shuffled;    /* BENCH_SETJ: in random order of addresses */
    int nlists;      /* BENCH_BATCH */
    int sources;     /* BENCH_BATCH: a bench_sources */
    int repeat;      /* least number of samples, unless they take long */
    double min_time; /* least time of sampling in seconds */
} bench_case;

typedef struct bench_result {
    char engine[128];        /* kind of engine; "" if it could not be opened */
    char failure[256];       /* why there is no result; "" if there is one */
    int samples;             /* timed calls or passes */
    double median, min, max; /* in the unit of the kind of case */
    double rate;             /* interactions per second by the median; 0 where that has no meaning */
    double acc_error;        /* largest relative error of the forces that were checked */
    double list_mean;        /* mean length of the batch_case */
} bench_result;

/* Squared softening of all forces. */
extern const double BENCH_EPS2;

/* The data of BENCH_BATCH, with a context of order 2, which stays the caller's.  Statuses are the library's. */
typedef struct batch_case batch_case;
batch_case *batch_new(const bench_case *what, sapporo *context);
void batch_free(batch_case *on);
int batch_load(const batch_case *on);
int batch_compute(const batch_case *on);
double batch_error(const batch_case *on); /* largest relative error of some forces; infinite: not finite */

/* Measures a case.  A wrong result is a failure, so its speed is not reported. */
void bench_measure(const bench_case *what, bench_result *result);

/* Names for tables and for the command line. */
extern const char *const BENCH_NAMES[BENCH_KINDS], *const BENCH_UNITS[BENCH_KINDS];
const char *bench_want_name(unsigned want);
const char *bench_derivatives_name(model_derivatives derivatives);

/* Print results: a head line (text only), then one line per case. */
void bench_print_head(void);
void bench_print(const bench_case *what, const bench_result *result, int json);

/* Returns 1 if a case needs a process of its own, since OpenMP reads its number of threads when a process starts. */
int bench_needs_child(const bench_case *what);
/* Runs a case in a process of its own, which prints the result.  Returns the exit status of that process. */
int bench_run_child(const bench_case *what, int json);

/* The parts of a suite to be measured. */
typedef struct suite_choice {
    sapporo_backend backend; /* CUDA: the figures of GPUs; otherwise the figures of CPUs */
    int most_stars;          /* larger cases are left out */
    const char *only;        /* text that labels contain */
    count_list devices;      /* CUDA: the devices; two or more add figures of 1, 2, 4, ... of them */
} suite_choice;

/* Writes the cases of direct sums of docs/measurements.md, at most `room`; returns their number. */
int bench_suite(bench_case *cases, int room, const suite_choice *choice);

#endif
