/*
 * tree_kernels.h - what a CPU kernel offers to the tree (lib/cpu/tree).
 *
 * One table a precision and instruction path, from the text in tree_kernel.h.  All lengths are in units of the tree's
 * cube, all masses in units of its mass; words of pair terms are float or double (`word` bytes) and relative to the
 * centre of the group that walks.
 */
#ifndef SAP_TREE_KERNELS_H
#define SAP_TREE_KERNELS_H

#include <stddef.h>

enum {
    SAP_TREE_LANES = 256, /* most particles of a group that a kernel takes at a time */
    SAP_TREE_PACKET = 256 /* sources whose terms are added up in words before they go to double */
};

enum { SAP_TREE_PARTICLE_WORDS = 4, SAP_TREE_CELL_WORDS = 12 };

/* What the walk looks at, by node; arrays begin at 64 bytes and are readable 16 words beyond the last node. */
struct sap_tree_words {
    float *x, *y, *z; /* centres, relative to the middle of the cube */
    float *guard, *turn;
};

struct sap_tree_ball {
    float x, y, z, radius, strictness;
};

/* A cell as a source: its centre as it is, mass and 3 Q and 3/2 tr Q in units. */
struct sap_tree_source {
    double x[3], mass, s[6], t;
};

/* Particles of a group, a lane each; x, y, z and number hold words. */
struct sap_tree_lanes {
    _Alignas(64) double x[SAP_TREE_LANES], y[SAP_TREE_LANES], z[SAP_TREE_LANES];
    _Alignas(64) double number[SAP_TREE_LANES]; /* of the particle in its group; -1: none */
    _Alignas(
        64) double sum[4][SAP_TREE_LANES]; /* potential without sign, acceleration; scaled by `scale` of the table */
    int n;                                 /* lanes in use */
};

/* How to see particles and cells from a group. */
struct sap_tree_frame {
    double centre[3], unit;
    double eps2; /* in units */
    int far;     /* particles may be farther apart than float reaches: dp alone */
};

struct sap_tree_kernel {
    size_t word;
    double pot_scale, acc_scale; /* sums are to be multiplied by these */

    /*
     * Nodes from ... to - 1 that act as a whole go to `accepted`, the others to `opened`, each in order; *naccepted is
     * how many the first are.  Both have room for to - from.  NULL in dp: the walk is in float.
     */
    void (*open)(const struct sap_tree_words *words, int from, int to, const struct sap_tree_ball *ball, int *accepted,
                 int *naccepted, int *opened, int *nopened);

    /* Words of n particles, SAP_TREE_PARTICLE_WORDS each; of cells, as many, or SAP_TREE_CELL_WORDS of order 2. */
    void (*take_particles)(const struct sap_tree_frame *frame, const double (*x)[4], int n, void *words);
    void (*take_cells)(const struct sap_tree_frame *frame, const struct sap_tree_source *source, const int *cells,
                       int n, int order, void *words);

    /* Starts lanes: lane k is the particle at x[which[k]], in its group number[k]. */
    void (*start)(const struct sap_tree_frame *frame, const double (*x)[4], const int *which, const int *number, int n,
                  struct sap_tree_lanes *lanes);

    /*
     * Adds sources.  own: the sources are the particles 0, 1, ... of the lanes' group, and none acts on itself.
     * Without softening pairs at one place are left out.
     */
    void (*particles)(const struct sap_tree_frame *frame, const void *words, int n, int own,
                      struct sap_tree_lanes *lanes);
    void (*cells)(const struct sap_tree_frame *frame, const void *words, int n, struct sap_tree_lanes *lanes);
};

#endif
