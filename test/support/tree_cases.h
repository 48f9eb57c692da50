/* tree_cases.h - models and trees for tests, and checks that any tree on any engine must pass. */
#ifndef TEST_TREE_CASES_H
#define TEST_TREE_CASES_H

#include "bodies.h"
#include "cluster.h"
#include "model.h"

/* The kind of trees of the running test, which tree_on chooses. */
extern sapporo_tree_kind tree_kind;

/* Set-up functions for CMocka, and a test that runs once for each kind of tree. */
int tree_octree(void **state);
int tree_kdtree(void **state);
#define TREE_TEST(test)                                                                                                \
    cmocka_unit_test_setup(test, tree_octree), { #test ", kd-tree", test, tree_kdtree, NULL, NULL }

/* Makes a model as columns, with masses over a factor of 200 or more; free it with bodies_free. */
bodies tree_model(cluster_kind kind, int n);
bodies tree_model_of(cluster_kind kind, int n, int seed);

/* Particles that are difficult for the planes and groups of kd-trees. */
enum tree_input {
    TREE_ONE_POINT, /* all at one point */
    TREE_LINE,
    TREE_PLANE,
    TREE_GRID, /* on a coarse grid, so that coordinates are equal */
    TREE_DISC, /* a thousandth as thick as it is wide */
    TREE_MASSLESS,
    TREE_SIGNS, /* masses of both signs */
    TREE_INPUTS
};

/* Makes n such particles; free them with bodies_free. */
bodies tree_input(enum tree_input what, int n);

/* Moves each particle, so that cells of a refreshed tree overlap. */
void tree_stir(bodies *b);

/*
 * Builds a tree of a model on an engine; fails the test if that is not possible.  options->backend and cpu_isa name the
 * engine.
 */
sapporo_tree *tree_of(const bodies *b, const sapporo_tree_options *options);
void tree_set(sapporo_tree *t, const bodies *b);

/* Returns 1 if an engine of the list of model.h is usable and has trees. */
int tree_has_engine(const struct engine *e);

/* Runs a test on each such engine; skips it if there is none. */
void tree_on_each(void (*test)(const struct engine *e));

/* Returns the options for such an engine, with the opening angle. */
sapporo_tree_options tree_on(const struct engine *e);

/* Accelerations and potentials of all particles, or of the active ones. */
struct tree_rows {
    int n;
    double (*acc)[3], *pot;
};
struct tree_rows tree_rows_of(sapporo_tree *t, const int *active, int n);
void tree_rows_free(struct tree_rows *r);

/* Computes exact rows of every stride-th particle, in long double. */
struct tree_rows tree_exact(const bodies *b, double eps2, int stride);

/* Returns the relative errors of accelerations against exact ones, ascending; the caller frees them. */
double *tree_errors(const struct tree_rows *rows, const struct tree_rows *exact, int stride);

/* Returns the same of potentials. */
double *tree_pot_errors(const struct tree_rows *rows, const struct tree_rows *exact, int stride);

/* Fails the test unless a number that was found, such as an error, is below a bound; NaN is not. */
void tree_below(const char *what, double found, double most);

/* Returns the nodes and groups of a tree in arrays of the caller, without weights and bounds. */
struct sap_tree_structure tree_structure_of(sapporo_tree *t);
void tree_structure_free(struct sap_tree_structure *s);

/* Writes the group of each particle, in the order of the tree. */
void tree_groups_of(sapporo_tree *t, int *group);

/* Returns the statistics of a tree. */
sapporo_tree_statistics tree_statistics(sapporo_tree *t);

/* Checks all properties of a tree of these particles, and the numbers of nodes and groups that its statistics tell. */
void tree_check_structure(sapporo_tree *t, const bodies *b, int leaf_size);

#endif
