/* bench_suite.c - the figures that the project promises as cases, and cases in processes of their own. */
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

/* One figure; with threads 0 and isa NULL the library chooses them.  ni 0: all pairs. */
struct figure {
    const char *label;
    int ni, nj;
    sapporo_precision precision;
    unsigned want;
    int threads;
    const char *isa;
    model_derivatives derivatives;
    bench_kind kind;
    int shuffled;
    int order; /* 2: through the GRAPE-5 calls, 4: GRAPE-6, 6 and 8: sapporo.h */
    int own;   /* BENCH_BATCH: a bench_sources */
};

static const struct figure CPU_FIGURES[] = {
    {"all pairs, ds", 0, 1024, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds", 0, 4096, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds", 0, 16384, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds", 0, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, nearest neighbour", 0, 4096, SAPPORO_DS, NN, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, nearest neighbour", 0, 16384, SAPPORO_DS, NN, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, nearest neighbour", 0, 65536, SAPPORO_DS, NN, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, lists of 50", 0, 4096, SAPPORO_DS, LISTS, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, lists of 50", 0, 16384, SAPPORO_DS, LISTS, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, lists of 50", 0, 65536, SAPPORO_DS, LISTS, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, nearest and lists of 50", 0, 16384, SAPPORO_DS, NN | LISTS, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, dp", 0, 4096, SAPPORO_DP, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, dp", 0, 16384, SAPPORO_DP, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, dp", 0, 65536, SAPPORO_DP, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, sp", 0, 16384, SAPPORO_SP, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"GRAPE-5, all pairs, sp", 0, 16384, SAPPORO_SP, 0, 1, NULL, ALL, BENCH_FORCE, 0, 2, 0},
    {"ni = 1, all derivatives, time advanced", 1, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"ni = 1, no snap, time advanced", 1, 65536, SAPPORO_DS, 0, 1, NULL, LESS, BENCH_FORCE, 0, 4, 0},
    {"ni = 16, all derivatives, time advanced", 16, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, two cores", 0, 16384, SAPPORO_DS, 0, 2, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, two cores", 0, 65536, SAPPORO_DS, 0, 2, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, AVX2", 0, 4096, SAPPORO_DS, 0, 1, "avx2", ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, AVX2", 0, 16384, SAPPORO_DS, 0, 1, "avx2", ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, AVX2", 0, 65536, SAPPORO_DS, 0, 1, "avx2", ALL, BENCH_FORCE, 0, 4, 0},
    {"g6_set_j_particle in order", 1, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_SETJ, 0, 4, 0},
    {"g6_set_j_particle at random", 1, 65536, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_SETJ, 1, 4, 0},
    {"g6_open and g6_close", 1, 1024, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_OPEN, 0, 4, 0},
    {"memory a star", 1, 1000000, SAPPORO_DS, 0, 1, NULL, ALL, BENCH_MEMORY, 0, 4, 0},
};

static const struct figure GPU_FIGURES[] = {
    {"all pairs, ds", 0, 1024, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds", 0, 4096, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds", 0, 16384, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds", 0, 65536, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds", 0, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds", 0, 262144, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, nearest neighbour", 0, 262144, SAPPORO_DS, NN, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, lists of 60", 0, 262144, SAPPORO_DS, LISTS, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, nearest and lists of 60", 0, 262144, SAPPORO_DS, NN | LISTS, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, dp", 0, 262144, SAPPORO_DP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, sp", 0, 262144, SAPPORO_SP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"force on few, time advanced", 1, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"force on few, time advanced", 16, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"force on few, time advanced", 64, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"force on few, time advanced", 256, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"force on few, time advanced", 1024, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"block step with its j-particles", 1, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_STEP, 0, 4, 0},
    {"block step with its j-particles", 16, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_STEP, 0, 4, 0},
    {"block step with its j-particles", 64, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_STEP, 0, 4, 0},
    {"block step with its j-particles", 256, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_STEP, 0, 4, 0},
    {"block step with its j-particles", 1024, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_STEP, 0, 4, 0},
    {"force on one among many, time advanced", 1, 1048576, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"first load and first force", 1, 131072, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_LOAD, 0, 4, 0},
    {"g6_open and g6_close", 1, 1024, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_OPEN, 0, 4, 0},
    {"GRAPE-5, all pairs, sp", 0, 16384, SAPPORO_SP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 2, 0},
    {"GRAPE-5, all pairs, sp", 0, 262144, SAPPORO_SP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 2, 0},
    {"GRAPE-5, all pairs, ds", 0, 262144, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 2, 0},
    {"GRAPE-5, all pairs, dp", 0, 262144, SAPPORO_DP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 2, 0},
    {"order 6, all pairs, ds", 0, 262144, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 6, 0},
    {"order 6, all pairs, dp", 0, 262144, SAPPORO_DP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 6, 0},
    {"order 6, all pairs, dp, nearest", 0, 262144, SAPPORO_DP, NN, 0, NULL, ALL, BENCH_FORCE, 0, 6, 0},
    {"order 6, few, dp, time advanced", 1, 131072, SAPPORO_DP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 6, 0},
    {"order 6, few, dp, time advanced", 64, 131072, SAPPORO_DP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 6, 0},
    {"order 6, few, dp, time advanced", 1024, 131072, SAPPORO_DP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 6, 0},
    {"order 8, all pairs, ds", 0, 262144, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 8, 0},
    {"order 8, all pairs, dp", 0, 262144, SAPPORO_DP, 0, 0, NULL, ALL, BENCH_FORCE, 0, 8, 0},
    {"10,000 lists, by address, sp", 64, 1000, SAPPORO_SP, 0, 0, NULL, ALL, BENCH_BATCH, 0, 2, 0},
    {"10,000 lists, own sources, sp", 64, 1000, SAPPORO_SP, 0, 0, NULL, ALL, BENCH_BATCH, 0, 2, BENCH_OWN},
    {"10,000 lists, addresses kept, sp", 64, 1000, SAPPORO_SP, 0, 0, NULL, ALL, BENCH_BATCH, 0, 2, BENCH_KEPT},
};

/* Figures of 1, 2, 4, ... devices, if the user names several. */
static const struct figure DEVICES_FIGURES[] = {
    {"all pairs, ds, several devices", 0, 262144, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
    {"all pairs, ds, several devices", 0, 1048576, SAPPORO_DS, 0, 0, NULL, ALL, BENCH_FORCE, 0, 4, 0},
};

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* A suite under construction. */
typedef struct suite {
    const suite_choice *choice;
    bench_case *cases;
    int n, room;
} suite;

/* Returns 1 for the figures of GPUs. */
static int is_gpu(const suite_choice *choice)
{
    return choice->backend == SAPPORO_BACKEND_CUDA || choice->backend == SAPPORO_BACKEND_HIP ||
           choice->backend == SAPPORO_BACKEND_OPENCL;
}

static void add_figure(suite *to, const struct figure *row, int ndevices)
{
    const suite_choice *choice = to->choice;
    if (row->nj > choice->most_stars || strstr(row->label, choice->only) == NULL || to->n == to->room) return;
    const int on_gpu = is_gpu(choice);
    bench_case *what = &to->cases[to->n++];
    memset(what, 0, sizeof *what);
    snprintf(what->label, sizeof what->label, "%s", row->label);
    what->kind = row->kind;
    what->type = row->order == 2 ? &CLIENT_G5 : row->order > 4 ? &CLIENT_NATIVE : &CLIENT_G6;
    if (row->order > 4) what->what.order = row->order;
    what->what.backend = on_gpu ? choice->backend : SAPPORO_BACKEND_CPU;
    what->what.precision = row->precision;
    what->what.isa = row->isa;
    what->what.threads = row->threads;
    what->what.ndevices = ndevices;
    memcpy(what->what.device, choice->devices.value, sizeof what->what.device);
    what->ni = row->ni > 0 ? row->ni : row->nj;
    what->nj = row->nj;
    what->want = row->want;
    what->list_length = on_gpu ? 60 : 50;
    what->advance = 1;
    what->derivatives = row->derivatives;
    what->shuffled = row->shuffled;
    what->nlists = 10000;
    what->sources = row->own;
}

int bench_suite(bench_case *cases, int room, const suite_choice *choice)
{
    suite made = {choice, cases, 0, room};
    if (!is_gpu(choice)) {
        for (int k = 0; k < LENGTH(CPU_FIGURES); k++) add_figure(&made, &CPU_FIGURES[k], 0);
        return made.n;
    }
    /* one device: the first one named */
    for (int k = 0; k < LENGTH(GPU_FIGURES); k++) add_figure(&made, &GPU_FIGURES[k], choice->devices.n > 0);
    for (int n = 1; n <= choice->devices.n && choice->devices.n > 1; n *= 2)
        for (int k = 0; k < LENGTH(DEVICES_FIGURES); k++) add_figure(&made, &DEVICES_FIGURES[k], n);
    return made.n;
}

/* ---- processes of their own ---------------------------------------------------------------- */

int bench_needs_child(const bench_case *what)
{
    if (what->type == &CLIENT_NATIVE || what->what.threads == 0) return 0;
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
    char devices[8 * DEVICES_ROOM];
    line->n = 0;
    add_text(line, "sapporo", "bench");
    add_text(line, "--case", BENCH_NAMES[what->kind]);
    add_text(line, "--label", what->label);
    add_text(line, "--api", what->type->name);
    add_text(line, "--backend", backend_name(what->what.backend));
    add_text(line, "--precision", precision_name(what->what.precision));
    if (what->what.isa != NULL) add_text(line, "--isa", what->what.isa);
    settings_devices(&what->what, devices, sizeof devices);
    if (devices[0] != '\0') add_text(line, "--devices", devices);
    add_number(line, "--threads", what->what.threads);
    add_number(line, "--ni", what->ni);
    add_number(line, "--nj", what->nj);
    add_text(line, "--neighbours", bench_want_name(what->want));
    add_number(line, "--list-length", what->list_length);
    add_text(line, what->advance ? "--advance" : "--no-advance", NULL);
    add_text(line, "--derivatives", bench_derivatives_name(what->derivatives));
    if (what->kind == BENCH_SETJ) add_text(line, "--order", what->shuffled ? "random" : "address");
    if (what->what.order > 4) add_number(line, "--hermite", what->what.order);
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
