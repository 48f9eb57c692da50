/* util.h - functions that every part of the tool needs: time, statistics, memory, names. */
#ifndef TOOL_UTIL_H
#define TOOL_UTIL_H

#include <sapporo.h>
#include <stddef.h>

/* Exit statuses of the tool. */
enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Returns the seconds of a clock that never jumps. */
double now(void);

/* Sorts in place, ascending; NaN counts as larger than everything, so that it cannot hide in a statistic. */
void sort_values(double *value, size_t n);
/* Returns a quantile of sorted values, 0 <= fraction <= 1, between the two nearest values; NaN for n == 0. */
double quantile(const double *sorted, size_t n, double fraction);

/* Returns zeroed memory for n elements; ends the tool with a message if there is not enough. */
void *allocate(size_t n, size_t size);

/* Return names as in the environment and on the command line; 0 (automatic) for NULL. */
const char *backend_name(sapporo_backend backend);

/* The backends that have devices, in the order in which `auto` asks for them. */
enum { BACKENDS_OF_DEVICES = 4 };
extern const sapporo_backend DEVICE_BACKENDS[BACKENDS_OF_DEVICES];

const char *precision_name(sapporo_precision precision);
sapporo_backend backend_from_name(const char *name);
sapporo_precision precision_from_name(const char *name);

/* The instruction paths of the CPU engine, narrowest first; NULL ends the list. */
extern const char *const CPU_ISAS[];

/* Returns the bytes of this process in memory, or 0 if the system does not tell. */
size_t resident_bytes(void);

/*
 * Write JSON, one object per line on stdout.  Members are written in the order of the calls; numbers that JSON cannot
 * hold (NaN, infinities) become null.  `name` NULL marks an element of an array.
 */
void json_begin(const char *name, char bracket);
void json_end(char bracket);
void json_text(const char *name, const char *text);
void json_integer(const char *name, long long value);
void json_real(const char *name, double value);
void json_truth(const char *name, int value);

#endif
