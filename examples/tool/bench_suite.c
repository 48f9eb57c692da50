/*
 * bench_suite.c - the figures of the project as cases, and cases in processes of their own.
 */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"
#include "util.h"
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/* ---- the suite --------------------------------------------------------------------------- */

#define NN    SAPPORO_WANT_NEAREST
#define LISTS SAPPORO_WANT_LISTS
#define ALL   DERIVATIVES_ALL
#define LESS  DERIVATIVES_NO_SNAP

/* One row: unset means one thread, the widest path.  ni 0: all pairs. */
static const struct figure {
    const char *label;
    int ni, nj;
    sapporo_precision precision;
    unsigned want;
    int threads;
    const char *isa;
    model_derivatives derivatives;
    bench_kind kind;
    int shuffled;
} FIGURES[] = {
    {"all pairs, ds", 0, 1024, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds", 0, 4096, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds", 0, 16384, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds", 0, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, nearest neighbour", 0, 4096, SAPPORO_DS, NN, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, nearest neighbour", 0, 16384, SAPPORO_DS, NN, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, nearest neighbour", 0, 65536, SAPPORO_DS, NN, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, lists of 50", 0, 4096, SAPPORO_DS, LISTS, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, lists of 50", 0, 16384, SAPPORO_DS, LISTS, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, lists of 50", 0, 65536, SAPPORO_DS, LISTS, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, nearest and lists of 50", 0, 16384, SAPPORO_DS, NN | LISTS, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, dp", 0, 4096, SAPPORO_DP, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, dp", 0, 16384, SAPPORO_DP, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, dp", 0, 65536, SAPPORO_DP, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, sp", 0, 16384, SAPPORO_SP, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"ni = 1, all derivatives, time advanced", 1, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"ni = 1, no snap, time advanced", 1, 65536, SAPPORO_DS, 0, 1, NULL, LESS, BENCH_FORCE, 0},
    {"ni = 16, all derivatives, time advanced", 16, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, two cores", 0, 16384, SAPPORO_DS, 0, 2, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, two cores", 0, 65536, SAPPORO_DS, 0, 2, NULL, ALL, BENCH_FORCE, 0},
    {"all pairs, ds, AVX2", 0, 4096, SAPPORO_DS, 0, 1, "avx2", ALL, BENCH_FORCE, 0},
    {"all pairs, ds, AVX2", 0, 16384, SAPPORO_DS, 0, 1, "avx2", ALL, BENCH_FORCE, 0},
    {"all pairs, ds, AVX2", 0, 65536, SAPPORO_DS, 0, 1, "avx2", ALL, BENCH_FORCE, 0},
    {"g6_set_j_particle in order", 1, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_SETJ, 0},
    {"g6_set_j_particle at random", 1, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_SETJ, 1},
    {"g6_open and g6_close", 1, 1024, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_OPEN, 0},
    {"memory a star", 1, 1000000, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_MEMORY, 0},
};
enum { NFIGURES = sizeof FIGURES / sizeof FIGURES[0] };

int bench_suite(bench_case *cases, int room, int most_stars)
{
    int n = 0;
    for (int k = 0; k < NFIGURES && n < room; k++) {
        const struct figure *row = &FIGURES[k];
        if (row->nj > most_stars) continue;
        bench_case *what = &cases[n++];
        memset(what, 0, sizeof *what);
        snprintf(what->label, sizeof what->label, "%s", row->label);
        what->kind = row->kind;
        what->type = &CLIENT_G6;
        what->what = (settings){SAPPORO_BACKEND_CPU, row->precision, row->isa, row->threads};
        what->ni = row->ni > 0 ? row->ni : row->nj;
        what->nj = row->nj;
        what->want = row->want;
        what->list_length = 50;
        what->advance = 1;
        what->derivatives = row->derivatives;
        what->shuffled = row->shuffled;
    }
    return n;
}

/* ---- processes of their own ---------------------------------------------------------------- */

int bench_needs_child(const bench_case *what)
{
    if (what->type != &CLIENT_G6 || what->what.threads == 0) return 0;
    const char *set = getenv("OMP_NUM_THREADS");
    char threads[16];
    snprintf(threads, sizeof threads, "%d", what->what.threads);
    return set == NULL || strcmp(set, threads) != 0;
}

/* The command line that makes `sapporo bench` measure this one case: pairs of option and value. */
typedef struct command {
    int n;
    char *word[48];
} command;

static void add_text(command *line, const char *option, const char *value)
{
    line->word[line->n++] = strdup(option);
    if (value != NULL) line->word[line->n++] = strdup(value);
}

static void add_number(command *line, const char *option, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    add_text(line, option, text);
}

static void make_command(command *line, const bench_case *what, int json)
{
    line->n = 0;
    add_text(line, "sapporo", "bench");
    add_text(line, "--case", BENCH_KINDS[what->kind]);
    add_text(line, "--label", what->label);
    add_text(line, "--api", what->type->name);
    add_text(line, "--backend", backend_name(what->what.backend));
    add_text(line, "--precision", precision_name(what->what.precision));
    if (what->what.isa != NULL) add_text(line, "--isa", what->what.isa);
    add_number(line, "--threads", what->what.threads);
    add_number(line, "--ni", what->ni);
    add_number(line, "--nj", what->nj);
    add_text(line, "--neighbours", bench_want_name(what->want));
    add_number(line, "--list-length", what->list_length);
    add_text(line, what->advance ? "--advance" : "--no-advance", NULL);
    add_text(line, "--derivatives", bench_derivatives_name(what->derivatives));
    add_text(line, "--order", what->shuffled ? "random" : "address");
    add_number(line, "--repeat", what->repeat);
    add_number(line, "--min-time", what->min_time);
    add_text(line, json ? "--json" : "--no-head", NULL);
    line->word[line->n] = NULL;
}

int bench_run_child(const bench_case *what, int json)
{
    command line;
    char threads[16];
    make_command(&line, what, json);
    const char *old = getenv("OMP_NUM_THREADS");
    char *saved = old != NULL ? strdup(old) : NULL;
    snprintf(threads, sizeof threads, "%d", what->what.threads);
    set_environment("OMP_NUM_THREADS", threads);
    fflush(stdout);
    pid_t child;
    int status = 0;
    const int failed = posix_spawn(&child, "/proc/self/exe", NULL, NULL, line.word, environ) != 0 ||
                       waitpid(child, &status, 0) != child;
    set_environment("OMP_NUM_THREADS", saved);
    free(saved);
    for (int k = 0; k < line.n; k++) free(line.word[k]);
    if (failed) fprintf(stderr, "sapporo bench: could not start a process for %d threads\n", what->what.threads);
    return failed || !WIFEXITED(status) ? STATUS_FAILED : WEXITSTATUS(status);
}
