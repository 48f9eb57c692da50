/* tree_cases.h - models and trees for tests, and what must be so of any tree on any engine. */
#ifndef TEST_TREE_CASES_H
#define TEST_TREE_CASES_H

#include "bodies.h"
#include "cluster.h"
#include "model.h"

/* A model as columns; free with bodies_free. */
bodies tree_model(cluster_kind kind, int n);

/* A tree of a model on an engine; fails the test if it cannot be made.  options->backend and cpu_isa are the engine's.
 */
sapporo_tree *tree_of(const bodies *b, const sapporo_tree_options *options);
void tree_set(sapporo_tree *t, const bodies *b);

/* Options on an engine of the list of model.h. */
sapporo_tree_options tree_on(const struct engine *e);

/* Accelerations and potentials of all particles, or of the active ones. */
struct tree_rows {
    int n;
    double (*acc)[3], *pot;
};
struct tree_rows tree_rows_of(sapporo_tree *t, const int *active, int n);
void tree_rows_free(struct tree_rows *r);

/* Exact rows of every stride-th particle, in long double. */
struct tree_rows tree_exact(const bodies *b, double eps2, int stride);

/* Relative errors of accelerations against exact ones, ascending; to be freed. */
double *tree_errors(const struct tree_rows *rows, const struct tree_rows *exact, int stride);

/* Checks everything that a tree of these particles must be. */
void tree_check_structure(sapporo_tree *t, const bodies *b, int leaf_size);

#endif
