/*
 * tune.h - the parts of sapporo tune.
 *
 * This program does not know the meaning of the launch parameters.  At SAPPORO_VERBOSE=2 an engine prints their names
 * and values, and it reads others from the file that SAPPORO_TUNE names.  So a trial is a small file and a context
 * opened with it.
 */
#ifndef TOOL_TUNE_H
#define TOOL_TUNE_H

#include "client.h"

enum { TUNE_NUMBERS = 16, TUNE_KEY = 32, TUNE_PATH = 1024, TUNE_POINTS = 128 };

/* The launch parameters of one precision and order on a kind of device. */
typedef struct tuning {
    char device[200]; /* its section in the file: "cuda NVIDIA H200 sm_90" */
    int n;
    char key[TUNE_NUMBERS][TUNE_KEY];
    double value[TUNE_NUMBERS];
} tuning;

/* Sizes of forces, and their times. */
typedef struct grid {
    int n;
    int ni[TUNE_POINTS], nj[TUNE_POINTS];
    double seconds[TUNE_POINTS];
} grid;

/* The settings of the measurement, and its time limit. */
typedef struct tuner {
    settings what; /* backend, precision, order and device */
    char kind[8];  /* name of precision and order: "ds"; "ds6", if the order is not 4 */
    model cluster; /* as many stars as the largest force needs */
    targets stars;
    forces out;
    int quick;
    double seconds;        /* seconds that one precision may take */
    char trial[TUNE_PATH]; /* file of the launch parameters on trial */
    char error[256];       /* message of the last failure */
} tuner;

/* The result for one precision and order. */
typedef struct tune_result {
    tuning before, now;
    double gain, best, worst; /* fraction of time saved: mean, and of single sizes */
    int sizes, trials;
    char cpu[128]; /* kind of the CPU engine that was compared */
} tune_result;

/* ---- tune_file.c; 0, or -1 with a message in `error` ---- */

/* Writes the path where the library looks for the file; "" if there is none. */
void tune_default_place(char *path, size_t room);

/* Returns 0 if the file can be rewritten: it does not exist, or is a tuning file. */
int tune_file_check(const char *path, char *error, size_t room);

/*
 * Writes launch parameters of a kind into the section of their device; all else in the file stays.  The file is
 * replaced as a whole.
 */
int tune_file_write(const char *path, const char *kind, const tuning *numbers, char *error, size_t room);

/* The same, and the file and its folder can be written; makes the folder. */
int tune_file_writable(const char *path, char *error, size_t room);

/* Makes a folder, if it is not there, and finds out whether files can be written to it. */
int tune_folder_writable(const char *folder, char *error, size_t room);

/* Makes a folder and its parents. */
int tune_make_folder(const char *path, char *error, size_t room);

/* ---- tune_measure.c ---- */

/* Reads the launch parameters with which a context is opened now; -1: it cannot be opened. */
int tune_ask(tuner *self, tuning *numbers);

/* Returns the position of a key, or -1. */
int tune_find(const tuning *numbers, const char *key);

/* Opens a context with these launch parameters, with all stars loaded; NULL: failed. */
client *tune_open(tuner *self, const tuning *numbers);

/* Opens the CPU engine with all stars; NULL: failed. */
client *tune_open_cpu(tuner *self);

/* Returns the seconds of a force; with `step` it includes a new upload of the stars of the block.  Negative: failed. */
double tune_time(tuner *self, client *on, int ni, int nj, int step);

/* Times all sizes with these launch parameters; with `again` it keeps the shorter time. */
int tune_time_grid(tuner *self, const tuning *numbers, grid *sizes, int again);

/* Chooses the sizes at which launch parameters are tuned. */
void tune_sizes(const tuner *self, grid *sizes);

/* ---- tune_neighbour.c ---- */

/*
 * Measures the number of list members from which on the device computes neighbour forces faster; 0, or -1 with a
 * message in `error`.
 */
int tune_neighbour(tuner *self, tuning *numbers);

/* ---- tune_search.c ---- */

/* Searches the launch parameters, then the sizes below which the CPU is faster. */
int tune_search(tuner *self, tune_result *result);

/* ---- tune_maps.c ---- */

/* Appends the data of one kind to the files of a folder; the first kind makes them. */
int tune_maps(tuner *self, const tuning *numbers, const char *folder, int first);

/* Draws the maps if python3 and matplotlib are installed. */
void tune_draw_maps(const char *folder);

#endif
