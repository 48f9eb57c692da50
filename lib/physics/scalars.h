/*
 * scalars.h - the named operations on one double in plain C, for work that is done once per particle or once per cell.
 *
 * Files compiled for every processor include it; files that include cpu_sse/ops_*.h have the operations on vectors.
 */
#ifndef SAP_TREE_SCALARS_H
#define SAP_TREE_SCALARS_H

#include "physics/ops_scalar.h"

SAP_INLINE int int_of_d(D x) { return (int)x; }

#include "physics/nearest.h"
#include "physics/tree_accept.h"
#include "physics/tree_ahead.h"
#include "physics/tree_cell.h"
#include "physics/tree_image.h"
#include "physics/tree_key.h"
#include "physics/tree_parts.h"
#include "physics/tree_soft.h"
#include "physics/tree_words.h"

#endif
