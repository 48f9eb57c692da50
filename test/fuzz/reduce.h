/* reduce.h - makes a failing sequence small, while it fails in the same way. */
#ifndef FUZZ_REDUCE_H
#define FUZZ_REDUCE_H

#include "worker.h"

/*
 * Reduces *s, which fails as *result says when `job` runs it; at the end *result is that of the reduced sequence.
 * Takes about `seconds` at most.
 */
void reduce(const struct job *job, struct sequence *s, struct result *result, double seconds);

/* Whether two results are of one kind: the same outcome, at the same kind of output. */
int results_alike(const struct result *a, const struct result *b);

#endif
