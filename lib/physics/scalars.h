/*
 * scalars.h - the named operations on one double in plain C, for what is done once a particle or once a cell.
 *
 * Whoever includes cpu_sse/ops_*.h has them as vectors; this is for files that are compiled for every processor.
 */
#ifndef SAP_TREE_SCALARS_H
#define SAP_TREE_SCALARS_H

#include "physics/ops_scalar.h"

SAP_INLINE int int_of_d(D x) { return (int)x; }

#include "physics/tree_accept.h"
#include "physics/tree_cell.h"
#include "physics/tree_key.h"
#include "physics/tree_words.h"

#endif
