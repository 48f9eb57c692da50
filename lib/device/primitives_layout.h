/*
 * primitives_layout.h - how the primitives of accelerators are divided among groups of threads: read by the host flow
 * and by kernels.
 *
 * No number here changes a result, because scans, stable sorts and minima have one answer.
 */
#ifndef SAP_PHYSICS_PRIMITIVES_LAYOUT_H
#define SAP_PHYSICS_PRIMITIVES_LAYOUT_H

enum {
    SAP_PRIMITIVE_THREADS = 256, /* threads of each group */
    SAP_SCAN_TILE = 2048,        /* integers that a group sums up */
    SAP_BOUNDS_GROUPS = 512,     /* groups per column at most */
    SAP_SORT_BITS = 8,           /* bits of the key per pass */
    SAP_SORT_DIGITS = 1 << SAP_SORT_BITS,
    /*
     * Keys that a group sorts by one digit.  Long tiles write long runs of equal digits; short tiles keep more groups
     * busy.
     */
    SAP_SORT_SHORT = 1024,
    SAP_SORT_LONG = 2048,   /* where a group has 32 KB of memory */
    SAP_SORT_LONGEST = 4096 /* CUDA */
};

#endif
