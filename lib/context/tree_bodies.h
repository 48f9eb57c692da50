/*
 * tree_bodies.h - the particles of a rank's caller with a tree whose engine divides them (engine/tree_bodies.h).
 *
 * libsapporo_mpi calls these functions by the table of internals.h.  They lock the tree, errors are those of
 * sapporo_tree.h, and all but the first want an engine that has such particles.
 */
#ifndef SAP_CONTEXT_TREE_BODIES_H
#define SAP_CONTEXT_TREE_BODIES_H

#include "engine/tree_bodies.h"

/* Whether the engine of a tree divides the particles of callers itself. */
int sap_bodies_able(sapporo_tree *tree);

/* Makes room for a tree of n particles, of which none are left then. */
int sap_bodies_grow(sapporo_tree *tree, int n);

/* The others do what the functions of struct sap_tree_bodies_ops do. */
int sap_bodies_take(sapporo_tree *tree, const sapporo_tree_particles *particles, double gravity);
int sap_bodies_know(sapporo_tree *tree, int n, const double *size, const int64_t *work);
int sap_bodies_tell(sapporo_tree *tree, double *size, int64_t *work);
int sap_bodies_copy(sapporo_tree *tree, void *theirs, size_t bytes, void *host, int to_host);
int sap_bodies_look(sapporo_tree *tree, struct sap_bodies_look *look);
int sap_bodies_places(sapporo_tree *tree, int n, const int *list, double (*x)[3]);
int sap_bodies_sort(sapporo_tree *tree, const struct sap_cube *cube, uint64_t mean);
int sap_bodies_below(sapporo_tree *tree, int weighs, int n, const uint64_t *key, uint64_t *below);
int sap_bodies_order(sapporo_tree *tree, int n, int *order);
int sap_bodies_send(sapporo_tree *tree, const struct sap_bodies_way *way, int in_order, double (*out)[SAP_BODY]);
int sap_bodies_arrive(sapporo_tree *tree, const struct sap_bodies_way *way, const double (*in)[SAP_BODY]);
int sap_bodies_learn(sapporo_tree *tree);
int sap_bodies_answer(sapporo_tree *tree, const struct sap_bodies_wish *wish, double (*out)[SAP_ANSWER]);
int sap_bodies_deliver(sapporo_tree *tree, const struct sap_bodies_wish *wish, const double (*in)[SAP_ANSWER]);

/* Writes NaN into results of a force that failed, in memory of the device. */
int sap_bodies_erase(sapporo_tree *tree, int ni, double (*acc)[3], double *pot);

#endif
