/* tree_limits.h - what trees take. */
#ifndef SAP_TREE_LIMITS_H
#define SAP_TREE_LIMITS_H

/* Coordinates beyond count as infinite: squares of their differences, and of those in units of a cube, are finite. */
#define SAP_TREE_LIMIT 1e100

enum { SAP_LEAF_MOST = 1024, SAP_GROUP_MOST = 256 };

#endif
