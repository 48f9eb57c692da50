/*
 * tree_kernels.h - the interface of a CPU kernel for the tree (lib/cpu/tree).
 *
 * Each precision and instruction path has one table, made from tree_kernel.h. All lengths are in units of the tree's
 * cube, all masses in units of its mass. Words of pair terms are float or double (`word` bytes), relative to the centre
 * of the target group.
 */
#ifndef SAP_TREE_KERNELS_H
#define SAP_TREE_KERNELS_H

#include <stddef.h>

enum {
    SAP_TREE_LANES = 256, /* most particles of a group per call of a kernel */
    SAP_TREE_PACKET = 128 /* sources whose terms are added in words before the sums go to double */
};

/*
 * Where sources are, as seen from the bound of a group: beyond it, by more than `close` of a frame; in it or near it;
 * the group's own particles.
 */
enum { SAP_SOURCES_OUTER, SAP_SOURCES_INNER, SAP_SOURCES_OWN };

enum { SAP_TREE_PARTICLE_WORDS = 4, SAP_TREE_CELL_WORDS = 12, SAP_TREE_SPLINE_WORDS = 5 };

/* The input of the walk, by node; arrays begin at 64 bytes and are readable 16 words beyond the last node. */
struct sap_tree_words {
    float *x, *y, *z; /* centres, relative to the middle of the cube */
    float *guard, *turn;
    float *far; /* largest distance of the box from the centre */
};

/* The bound of a group (tree_accept.h) about x, y, z, and the strictness of its criterion. */
struct sap_tree_bound {
    float x, y, z, extent[3], radius, strictness;
    float size;   /* the greatest distance of a particle from x, y, z */
    float close;  /* sap_bound_close */
    float length; /* with spline softening: the greatest of its particles */
};

/*
 * A cell as a source: its centre in original coordinates; mass, 3 Q and 3/2 tr Q in units.  soft: with Plummer lengths
 * of particles, the mean of their squares.
 */
struct sap_tree_source {
    double x[3], mass, s[6], t, soft;
};

/* Particles of a group, one per lane; x, y, z and number hold words. */
struct sap_tree_lanes {
    _Alignas(64) double x[SAP_TREE_LANES], y[SAP_TREE_LANES], z[SAP_TREE_LANES];
    _Alignas(64) double number[SAP_TREE_LANES]; /* of the particle in its group; -1: none */
    /* potential without sign, acceleration, scaled by `scale` of the table; or a tidal tensor, scaled as accelerations
     */
    _Alignas(64) double sum[6][SAP_TREE_LANES];
    int n;                                  /* lanes in use */
    _Alignas(64) double h2[SAP_TREE_LANES]; /* words; if particles have lengths: their squares */
};

/* The coordinates of particles and cells as seen from a group. */
struct sap_tree_frame {
    double centre[3], unit;
    double middle[3]; /* of the group's bound: distant cells are expanded about it */
    double eps2;      /* in units */
    double close;     /* sap_bound_close, in units */
    int far;          /* particles may be farther apart than the range of float: dp only */
    int law;          /* of spline softening: SAP_SPLINE_... */
};

struct sap_tree_kernel {
    size_t word;
    double pot_scale, acc_scale; /* factors from sums to results */

    /*
     * Writes accepted nodes of from ... to - 1 to `accepted`, and the nodes that must be opened to `opened`, each
     * in order; *naccepted and *nopened are their numbers. Both arrays have space for to - from nodes. An accepted node
     * k that is distant (physics/tree_local.h) is written as ~k, and so is an opened one whose particles are outer
     * sources. NULL in dp: the walk is in float.
     */
    void (*open)(const struct sap_tree_words *words, int from, int to, const struct sap_tree_bound *bound,
                 int *accepted, int *naccepted, int *opened, int *nopened);

    /*
     * Convert n particles to SAP_TREE_PARTICLE_WORDS words each; cells to as many, or to SAP_TREE_CELL_WORDS for order
     * 2.
     */
    void (*take_particles)(const struct sap_tree_frame *frame, const double (*x)[4], int n, void *words);
    void (*take_cells)(const struct sap_tree_frame *frame, const struct sap_tree_source *source, const int *cells,
                       int n, int order, void *words);

    /* Starts lanes: lane k is the particle x[which[k]], with number[k] in its group. */
    void (*start)(const struct sap_tree_frame *frame, const double (*x)[4], const int *which, const int *number, int n,
                  struct sap_tree_lanes *lanes);

    /*
     * Adds sources (SAP_SOURCES_*). Own sources are the particles 0, 1, ... of the lanes' group, and no particle acts
     * on itself. In double, pairs at the same position are excluded without softening. In float, the sums of a lane
     * with a pair as near as `close` become NaN: its coordinates do not resolve that pair.
     */
    void (*particles)(const struct sap_tree_frame *frame, const void *words, int n, int sources,
                      struct sap_tree_lanes *lanes);
    void (*cells)(const struct sap_tree_frame *frame, const void *words, int n, struct sap_tree_lanes *lanes);

    /* Adds distant cells of this order, as one polynomial. */
    void (*distant)(const struct sap_tree_frame *frame, const void *words, int order, int n,
                    struct sap_tree_lanes *lanes);

    /*
     * The same with spline softening; h: lengths in units, of the particles x.  A particle has SAP_TREE_SPLINE_WORDS
     * words.  start_spline adds the lengths of lanes that `start` has started.  Particles at the same position act if
     * they have a length.
     */
    void (*open_spline)(const struct sap_tree_words *words, int from, int to, const struct sap_tree_bound *bound,
                        int *accepted, int *naccepted, int *opened, int *nopened);
    void (*take_spline)(const struct sap_tree_frame *frame, const double (*x)[4], const double *h, int n, void *words);
    void (*start_spline)(const double *h, const int *which, struct sap_tree_lanes *lanes);
    void (*particles_spline)(const struct sap_tree_frame *frame, const void *words, int n, int sources,
                             struct sap_tree_lanes *lanes);

    /*
     * The same with Plummer lengths of particles, whose words and lanes are those of splines; soft: of nodes.  Cells of
     * order 1 have SAP_TREE_SPLINE_WORDS words, and are added as outer particles.  Cells of order 1 and 2 are never
     * distant.
     */
    void (*take_cells_soft)(const struct sap_tree_frame *frame, const struct sap_tree_source *source, const int *cells,
                            int n, int order, void *words);
    void (*particles_soft)(const struct sap_tree_frame *frame, const void *words, int n, int sources,
                           struct sap_tree_lanes *lanes);
    void (*cells_soft)(const struct sap_tree_frame *frame, const void *words, int n, struct sap_tree_lanes *lanes);

    /*
     * Tidal tensors, with any softening: of splines if the frame has a law.  h NULL: there are no lengths.  Words of
     * particles are those of splines; `own`: they are own sources.  soft: lengths add to distances, of cells too.  NULL
     * in sp: tensors are in double.
     */
    void (*take_tensor)(const struct sap_tree_frame *frame, const double (*x)[4], const double *h, int n, void *words);
    void (*start_tensor)(const struct sap_tree_frame *frame, const double (*x)[4], const double *h, const int *which,
                         const int *number, int n, struct sap_tree_lanes *lanes);
    void (*particles_tensor)(const struct sap_tree_frame *frame, const void *words, int n, int own,
                             struct sap_tree_lanes *lanes);
    void (*cells_tensor)(const struct sap_tree_frame *frame, const struct sap_tree_source *source, const int *cells,
                         int n, int order, int soft, struct sap_tree_lanes *lanes);

    /*
     * The far images of a periodic cube (physics/tree_periodic.h); inverse: 1 / its edge.  far_moments adds those of n
     * particles to sum[SAP_FAR_TERMS].  The others compute SAP_FAR_FORCE or SAP_FAR_TIDAL results of a field at each of
     * n particles x[which[k]].  NULL in sp.
     */
    void (*far_moments)(const double (*x)[4], int n, double inverse, double *sum);
    void (*far_forces)(const double *field, const double (*x)[4], const int *which, int n, double inverse, double *out);
    void (*far_tensors)(const double *field, const double (*x)[4], const int *which, int n, double inverse,
                        double *out);
};

#endif
