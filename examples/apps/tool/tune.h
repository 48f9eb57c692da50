/*
 * tune.h - the parts of sapporo tune.
 *
 * Nothing here knows what the numbers mean: an engine tells at SAPPORO_VERBOSE=2 which it has and what they are, and
 * takes others from the file that SAPPORO_TUNE names.  So a trial is a small file and a context opened with it.
 */
#ifndef TOOL_TUNE_H
#define TOOL_TUNE_H

#include "client.h"

enum { TUNE_NUMBERS = 16, TUNE_KEY = 32, TUNE_PATH = 1024, TUNE_POINTS = 128 };

/* The numbers of one precision and order on a kind of device. */
typedef struct tuning {
    char device[200]; /* its section in the file: "cuda NVIDIA H200 sm_90" */
    int n;
    char key[TUNE_NUMBERS][TUNE_KEY];
    double value[TUNE_NUMBERS];
} tuning;

/* Sizes of forces, and how long they took. */
typedef struct grid {
    int n;
    int ni[TUNE_POINTS], nj[TUNE_POINTS];
    double seconds[TUNE_POINTS];
} grid;

/* What is measured on, and for how long. */
typedef struct tuner {
    settings what; /* backend, precision, order and device */
    char kind[8];  /* of the last two: "ds"; "ds6", if the order is not 4 */
    model cluster; /* as many stars as the largest force needs */
    targets stars;
    forces out;
    int quick;
    double seconds;        /* that one precision may take */
    char trial[TUNE_PATH]; /* file of the numbers on trial */
    char error[256];       /* of what failed last */
} tuner;

/* What came out for one precision and order. */
typedef struct tune_result {
    tuning before, now;
    double gain, best, worst; /* time saved, as a fraction: mean, and of single sizes */
    int sizes, trials;
    char cpu[128]; /* kind of the CPU engine that was compared */
} tune_result;

/* ---- tune_file.c; 0, or -1 with a message in `error` ---- */

/* Where the library looks for the file; "" if nowhere. */
void tune_default_place(char *path, size_t room);

/* 0 if the file can be rewritten: it is not there, or is a tuning file. */
int tune_file_check(const char *path, char *error, size_t room);

/* Puts numbers of a kind into the section of their device; all else in the file stays.  The file is replaced whole. */
int tune_file_write(const char *path, const char *kind, const tuning *numbers, char *error, size_t room);

/* Makes a folder and those above it. */
int tune_make_folder(const char *path, char *error, size_t room);

/* ---- tune_measure.c ---- */

/* The numbers with which a context is opened now; -1: it cannot be opened. */
int tune_ask(tuner *self, tuning *numbers);

/* The place of a key, or -1. */
int tune_find(const tuning *numbers, const char *key);

/* Opens with these numbers, with all stars loaded; NULL: failed. */
client *tune_open(tuner *self, const tuning *numbers);

/* The CPU engine with all stars; NULL: failed. */
client *tune_open_cpu(tuner *self);

/* Seconds of a force; with `step` the stars of the block are sent anew before it.  Negative: failed. */
double tune_time(tuner *self, client *on, int ni, int nj, int step);

/* Times all sizes with these numbers; keeps the shorter time where `again`. */
int tune_time_grid(tuner *self, const tuning *numbers, grid *sizes, int again);

/* The sizes on which shapes are tuned. */
void tune_sizes(const tuner *self, grid *sizes);

/* ---- tune_neighbour.c ---- */

/* Measures from how many members of lists on the device is faster; 0, or -1 with a message in `error`. */
int tune_neighbour(tuner *self, tuning *numbers);

/* ---- tune_search.c ---- */

/* Searches the numbers of shapes, then the sizes below which the CPU is faster. */
int tune_search(tuner *self, tune_result *result);

/* ---- tune_maps.c ---- */

/* Adds the data of one kind to the files of a folder; the first one makes them. */
int tune_maps(tuner *self, const tuning *numbers, const char *folder, int first);

/* Draws them where python3 and matplotlib are there. */
void tune_draw_maps(const char *folder);

#endif
