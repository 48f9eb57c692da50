/*
 * run.h - the parts that all sample integrators share: options, input of particles, outputs, restart files, the end.
 * An integrator adds its own options and its own pieces of the restart file.
 */
#ifndef COMMON_RUN_H
#define COMMON_RUN_H

#include "bodies.h"
#include "cluster.h"
#include "image.h"
#include "message.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "restart.h"
#include "snapshot.h"
#include "unit_words.h"

#include <stdint.h>

/* Exit statuses; a run stopped by a signal ends with 128 + its number, as shells count. */
enum { RUN_OK = 0, RUN_FAILED = 1, RUN_USAGE = 2, RUN_INACCURATE = 3, RUN_SIGNAL = 128 };

/* Relative error of the energy above which a run that has reached its end warns, and ends with RUN_INACCURATE. */
#define RUN_ENERGY_ERROR 1e-2

/*
 * The part of the run that a restart file keeps.  It has members of 8 bytes only, because the file has the same bytes.
 */
typedef struct run_plan {
    double start, end; /* times */
    double interval;   /* between outputs */
    double dt_max;     /* interval / 2^k, so every particle has a step that ends at every output */
    double eps;        /* softening length */
    double G;          /* in the units of the particles; orbits are integrated with masses times G */
    int64_t outputs;   /* intervals from start to end */
    int64_t done;      /* outputs made so far; the output at the start is the first */
    int64_t blocks;    /* block steps so far */
    int64_t steps;     /* steps of single particles so far */
    int64_t form;      /* form of snapshots */
    int64_t files;     /* 1: snapshots and restart files are written at each output */
    report first;      /* at the start */
    report last;       /* at the latest output */
    char engine[64];   /* settings of the environment for the library: a change changes the bits */
    char units[BODIES_REMARK], parts[BODIES_REMARK]; /* remarks of the snapshots */
} run_plan;

/* What --demo shows, unless options say otherwise. */
typedef struct run_demo {
    const char *model; /* for the advice at its end: "an Andromeda galaxy" */
    const char *help;  /* of --demo */
    cluster_kind kind;
    int n;
    double eps, interval, dt_max, end;
} run_demo;

typedef struct run {
    /* data of the integrator */
    const char *program;            /* "hermite4" */
    const char *layout;             /* "hermite4 1": program and version in its restart files */
    const char *about;              /* one line for --help */
    const char *remedy;             /* advice after a large error of the energy: "use a smaller --eta" */
    const run_demo *demo_run;       /* NULL: a Plummer model of 1,024 stars for three time units */
    const char *advice;             /* lines for the end of a demo; each @ stands for the command */
    const char *eps_help, *dt_help; /* NULL: those of most programs */
    double eps_default;             /* 0: 1/256 */
    int one_step;                   /* 1: the integrator chooses one step for all, and prints it */
    option_rule *own;               /* its options */
    int own_n;
    /* from the command line */
    const char *input, *restart, *prefix;
    char command[512], prefix_room[512];
    int help, version, demo, quiet, overwrite, model_given, dt_given, model_kind, masses, form;
    int stop_after; /* block steps, 0: go on to the end */
    double end, interval, dt_max, eps, mass_range[2];
    double G;           /* 0: not given */
    const char *units;  /* NULL: not given */
    unit_system system; /* that `units` names */
    cluster_request model;
    /* of the moment */
    run_plan plan;
    report now;
    progress bar;
    int64_t blocks_before, steps_before; /* when this process began */
    int64_t blocks_told, next_told; /* block steps at the last output, or at the start of this process; see run_step */
    double since_told;              /* the time at which blocks_told were counted */
    int is_slow;                    /* 1: run_step has returned 1 */
    int lines;                      /* printed so far */
    int writes_behind;              /* 1: a thread of its own writes snapshots in HDF5, until run_wait */
    struct snapshot_writer *writer; /* of the latest one; NULL: none */
} run;

/* Reads the command line.  RUN_OK: go on; *status is the exit status if the return value is not 0. */
int run_parse(run *job, int argc, char **argv, int *status);

/* An option of the program that has no effect in this run, because of others. */
typedef struct run_useless {
    const char *option; /* long name, without dashes */
    int is_useless;
    const char *why; /* "with --shared, where all steps are dt-max" */
} run_useless;

/* Whether the command line has an option of the program. */
int run_given(const run *job, const char *option);

/* Prints an error for the first of n options that is given and has no effect; returns an exit status. */
int run_refuse_useless(run *job, const run_useless *useless, int n);

/*
 * Integrators count time from the start of the run, so that a run which is shifted in time takes the same steps to the
 * last bit.  `since` is such a time.  Returns the time that users and snapshots know.
 */
double run_time(const run *job, double since);
/* Writes run_time with enough digits to tell outputs apart, at least `digits`; returns the text. */
enum { RUN_TIME_TEXT = 32 };
const char *run_time_text(const run *job, double since, int digits, char text[RUN_TIME_TEXT]);

/* Reads or makes the particles and plans the outputs.  Prints errors and returns an exit status. */
int run_begin(run *job, bodies *set);
/*
 * Opens the restart file and takes the plan from it; the integrator then takes its own pieces and calls run_go_on. Both
 * return an exit status.
 */
int run_reopen(run *job, restart_file *file);
int run_go_on(run *job, double since);
/*
 * Shortens the longest step until it is at most `dt`, after run_begin and before the first step.  Returns RUN_USAGE,
 * with a message, if the run would have too many steps.
 */
int run_shorten_steps(run *job, double dt);

/*
 * Reads --rebuild: a number of steps from one tree to the next, or "auto", which is RUN_AUTOMATIC.  Prints errors and
 * returns an exit status.
 */
enum { RUN_AUTOMATIC = 0 };
int run_read_rebuild(run *job, const char *text, int64_t *rebuild);

/*
 * Tells how far the run is, after a block step: moves the bar; and, if no output came for 65,536 block steps, or two,
 * four, eight times as many, prints a line.  Returns 1, once, if these steps have covered less than 1/64 of the time
 * between outputs: then the integrator warns of the star that causes it.
 */
int run_step(run *job, double since);
/*
 * Makes an output of the present state: prints its line and writes the snapshot, or begins to if the run writes behind.
 * -1: a file could not be written, this one or the one before.
 */
int run_output(run *job, const bodies *set, const double *pot);
/* Waits until the latest snapshot is written.  -1: it could not be. */
int run_wait(run *job);
/*
 * Returns 1 if the latest output was at this time and its snapshot is not there: the run was killed, or the disk was
 * full, while it was written behind.  run_rewrite writes it; -1: it could not.
 */
int run_lacks_snapshot(const run *job, double since);
int run_rewrite(run *job, const bodies *set);
/* Draws the image PREFIX.0000.pgm of the present output, before run_output; pixels 0: none.  -1: it was not written. */
int run_draw(run *job, const bodies *set, const image_view *view);
/* Makes the name of a file of the run, PREFIX and an ending.  -1: it is too long. */
enum { RUN_PATH = 1200 };
int run_path(const run *job, char path[RUN_PATH], const char *ending, message *why);
/* Writes the restart file: the plan and the integrator's pieces.  `always`: also if this run writes no files. */
int run_save(run *job, const restart_piece *pieces, int n, int always);
/* Returns 1 if a signal or --stop-after asks to stop now. */
int run_must_stop(const run *job);
/* Prints that the run has been stopped and how to continue it; returns the exit status. */
int run_stopped(run *job, double since);
/* Prints the last lines of a run that has reached its end; returns RUN_OK, or RUN_INACCURATE after a warning. */
int run_finish(run *job);
/* Ends the program: returns the exit status, which is RUN_FAILED if standard output could not be written. */
int run_end(run *job, int status);

/* Writes a word as a shell reads it: in quotes if it has blanks or other special characters. */
void shell_word(char *text, size_t room, const char *word);

/* Print lines on stderr and stdout without damage to the bar; --quiet applies. */
void run_warn(run *job, const char *format, ...) MESSAGE_FORMAT(2);
void run_say(run *job, const char *format, ...) MESSAGE_FORMAT(2);

#endif
