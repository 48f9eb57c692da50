/* tree_limits.h - the limits of the input and options of trees. */
#ifndef SAP_TREE_LIMITS_H
#define SAP_TREE_LIMITS_H

/* Coordinates beyond this limit count as infinite.  Within it, squares of differences do not overflow, in units of a
 * cube neither. */
#define SAP_TREE_LIMIT 1e100

/* A search radius that reaches every particle: larger radii, including infinity, are replaced by it. */
#define SAP_TREE_REACH 1e101

/* Squared softening lengths below this limit count as 0. */
#define SAP_TREE_LEAST_EPS2 1e-200

/* The limit of squared softening lengths in units of the cube: the inverse cube of a smaller length overflows. */
#define SAP_TREE_LEAST_SCALED_EPS2 0x1p-660

/* The limits of a period. */
#define SAP_PERIOD_LEAST 1e-60
#define SAP_PERIOD_MOST  1e60

enum { SAP_LEAF_MOST = 1024, SAP_GROUP_MOST = 256 };

#endif
