/*
 * primitives_layout.h - how the primitives of accelerators are cut into groups: read by the host flow and by kernels.
 *
 * No number here changes a result: scans, stable sorts and minima have one answer.
 */
#ifndef SAP_PHYSICS_PRIMITIVES_LAYOUT_H
#define SAP_PHYSICS_PRIMITIVES_LAYOUT_H

enum {
    SAP_PRIMITIVE_THREADS = 256, /* of each group */
    SAP_SCAN_TILE = 2048,        /* integers that a group sums up */
    SAP_BOUNDS_GROUPS = 512,     /* groups a column at most */
    SAP_SORT_BITS = 8,           /* of a pass */
    SAP_SORT_DIGITS = 1 << SAP_SORT_BITS,
    /* Keys that a group sorts by one digit: long runs of equal digits are written at once, short tiles fill a device.
     */
    SAP_SORT_SHORT = 1024,
    SAP_SORT_LONG = 2048,   /* where 32 KB of memory of a group must do */
    SAP_SORT_LONGEST = 4096 /* CUDA */
};

#endif
