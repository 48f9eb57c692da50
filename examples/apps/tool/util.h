/*
 * util.h - what every part of the tool needs: time, statistics, memory, names.
 */
#ifndef TOOL_UTIL_H
#define TOOL_UTIL_H

#include <sapporo.h>
#include <stddef.h>

/* Exit statuses of the tool. */
enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Seconds of a clock that never jumps. */
double now(void);

/* Sorts in place, ascending; NaN counts as larger than everything, so that it cannot hide in a statistic. */
void sort_values(double *value, size_t n);
/* Quantile of sorted values, 0 <= fraction <= 1, between the two nearest ones; NaN for n == 0. */
double quantile(const double *sorted, size_t n, double fraction);

/* Zeroed memory for n elements; ends the tool with a message when there is none. */
void *allocate(size_t n, size_t size);

/* Names of the environment and of the command line; 0 (automatic) for NULL. */
const char *backend_name(sapporo_backend backend);
const char *precision_name(sapporo_precision precision);
sapporo_backend backend_from_name(const char *name);
sapporo_precision precision_from_name(const char *name);

/* The instruction paths of the CPU engine, narrowest first; NULL ends the list. */
extern const char *const CPU_ISAS[];

/* Bytes of this process in memory, or 0 where the system does not tell. */
size_t resident_bytes(void);

/*
 * JSON, one object a line on stdout.  Members are written in the order of the calls; numbers that
 * JSON cannot hold (NaN, infinities) become null.  `name` NULL stands for an element of an array.
 */
void json_begin(const char *name, char bracket);
void json_end(char bracket);
void json_text(const char *name, const char *text);
void json_integer(const char *name, long long value);
void json_real(const char *name, double value);
void json_truth(const char *name, int value);

#endif
