/* tree_wrapped.h - neighbours in a periodic cube, by searches of an engine, which knows no images. */
#ifndef SAP_TREE_WRAPPED_H
#define SAP_TREE_WRAPPED_H

#include "context/tree_private.h"

/* As `search` of an engine (tree_ops.h), of a tree with a period: each particle counts by its nearest image. */
int sap_tree_wrapped_search(sapporo_tree *t, int ni, sapporo_column x, sapporo_column h, long long *first,
                            long long room, int *list);

#endif
