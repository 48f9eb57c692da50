/* tree_limits.h - what trees take. */
#ifndef SAP_TREE_LIMITS_H
#define SAP_TREE_LIMITS_H

/* Coordinates beyond count as infinite: squares of their differences, and of those in units of a cube, are finite. */
#define SAP_TREE_LIMIT 1e100

/* Any two coordinates within the limit are nearer than this; larger search radii, infinity too, count as this one. */
#define SAP_TREE_REACH 1e101

/* Squares of softening lengths below count as 0, as differences of coordinates do. */
#define SAP_TREE_LEAST_EPS2 1e-200

/* The same in units of the cube: the inverse cube of a smaller softening length overflows. */
#define SAP_TREE_LEAST_SCALED_EPS2 0x1p-660

enum { SAP_LEAF_MOST = 1024, SAP_GROUP_MOST = 256 };

#endif
