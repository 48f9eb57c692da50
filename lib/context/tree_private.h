/* tree_private.h - the object behind the handle of a tree, for the files tree*.c. */
#ifndef SAP_TREE_PRIVATE_H
#define SAP_TREE_PRIVATE_H

#include "context/call.h"
#include "context/object.h"
#include "context/tree_engine.h"
#include "context/tree_pace.h"

/* The object behind the handle of a tree.  Handles have the same type. */
struct sapporo_tree {
    struct sap_object object;
    struct sap_tree_engine on;
    struct sap_tree_settings settings;
    struct sap_tree *tree;
    int room, given; /* largest number of particles; number of particles last set */
    int has_lengths; /* these came with softening lengths */
    int soft;        /* the particles of the tree have softening lengths */
    int has_masses;  /* some particles were set with masses */
    int aimed;       /* the accuracy of `settings` was found for so many particles (tree_aim.h); 0: for none */
    struct sap_tree_pace pace;
    int past; /* so many positions of the last call of sapporo_tree_refresh_or_build are known */
    char kind[96];
};

/* Sets the error of an engine call: `what` failed, with the engine's own text; `stays` says what the tree is now. */
int sap_context_tree_failed(sapporo_tree *tree, int status, const char *what, const char *stays);

/* Sets the error of a call that needs a tree while there is none. */
int sap_context_tree_missing(sapporo_tree *tree);

/* Whether element i of something is not valid; threads call it. */
typedef int sap_context_tree_look(const void *of, int i);

/* Returns the first of n elements that is not valid, or n. */
int sap_context_tree_first_wrong(const sapporo_tree *t, int n, sap_context_tree_look *is_wrong, const void *of);

/* Whether the three coordinates at `at` are finite and within SAP_TREE_LIMIT. */
int sap_context_tree_is_place(const void *at);

/*
 * Begins a call with a request: copies the request to *r, which is zeroed, and checks its rows; numbers in memory of a
 * device are the engine's to check.  Returns the locked tree; NULL: the handle is closed.
 */
sapporo_tree *sap_context_tree_asked(struct sap_public_call *call, sapporo_tree *tree,
                                     const sapporo_tree_request *request, sapporo_tree_request *r, int *status);

/*
 * Sets all bits of the results of a call that failed, `row` bytes for each row of the request: they are NaN, or -1.
 * tree NULL: only results in host memory.  results may be NULL.
 */
void sap_context_tree_erase(sapporo_tree *tree, const sapporo_tree_request *r, void *results, size_t row);

#endif
