/*
 * sapporo_tree.h - the tree of libsapporo: part of the native interface, included by sapporo.h.
 *
 * An octree or a kd-tree of n particles, and forces from it in O(n log n): a handle of its own, with its own particles,
 * beside contexts.  The order of calls is create, set, build, then any number of force, tidal, neighbours, statistics;
 * after the particles have moved set and refresh, or set and build.  Particles are named by address, 0 to n-1.
 *
 * The force of nearby particles is summed pair by pair, as in sapporo_request with R2 = |r|^2 + eps2; that of a cell
 * that the acceptance criterion accepts comes from its mass at its centre of mass and, of order 2, its second
 * moments (formulas and sources: lib/physics/tree_pair.h, tree_accept.h of the source).  A particle does not act on
 * itself.
 *
 * Particles may have softening lengths h.  With Plummer's softening R2 = |r|^2 + eps2 + h_i^2 + h_j^2, and a cell has
 * the mean of h_j^2, weighted by mass.  Criteria take a cell whose particles differ for a larger one, so errors are as
 * without lengths (lib/physics/tree_soft.h).  With spline softening (`softening` of the options) lengths are as in
 * sapporo_request: pairs within the larger of both lengths are summed pair by pair, and a cell is accepted only if no
 * pair of it and the target particles that walk together is within a length.  So all forces of cells are Newton's
 * without softening.
 *
 * With a `period` L particles and positions are taken modulo L, and each has images at all multiples of L along the
 * axes, in a uniform background that makes the sum of masses 0 (Ewald's sum).  The walk adds the pulls of 27 images,
 * and a polynomial those of all others (lib/physics/tree_periodic.h), off by some 1e-8 G M / L^2.  Softening lengths
 * must be below L / 2, which is not checked in device memory; images beyond the 27 act without Plummer's softening.  A
 * particle acts on itself by its images: on its potential, not on its acceleration.  SAPPORO_MAC_ACCELERATION takes
 * accelerations below G M / (L^2 n^(1/3)) for as large, with the sum M of masses without signs, so that a lattice does
 * not open all cells.  Tensors have the trace 4 pi G M / L^3 of the background.  Distances of neighbours and of nearest
 * particles are those of their nearest images.  Trees over ranks are not supported; forces are computed on the first
 * device of a tree.
 *
 * Errors are as for contexts.  After one, forces and tensors of the call are NaN, its lists of neighbours are empty,
 * its statistics are 0, with seconds of NaN, and the particles and the tree are as before.  On accelerators there are
 * three exceptions, each with an error of its own in the calls that follow:
 *  - sapporo_tree_set fails while particles are copied to the device: the tree stays, but builds and refreshes fail
 *    until particles are set again, with masses if the set that failed had some.
 *  - sapporo_tree_build fails in the device while it writes the tree, or the device has no memory for the new arrays
 *    that are larger beside the old ones, and none for them alone either: there is no tree until a build succeeds.
 *  - sapporo_tree_refresh fails in the device while it writes moments: forces fail until a refresh or a build succeeds.
 * A device that is lost takes its trees with it: SAPPORO_ERR_DEVICE from then on; destroy the tree and create another.
 *
 * Calls on one tree are serialised; different trees are independent.  Handles are as for contexts, too: a tree that was
 * destroyed answers SAPPORO_ERR_CLOSED for ever, from any thread, and functions without a status give "" or 0.
 */
#ifndef SAPPORO_TREE_H
#define SAPPORO_TREE_H

#include <stddef.h> /* size_t */

#include "sapporo_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sapporo_tree sapporo_tree; /* handle of a tree */

typedef enum sapporo_tree_kind {
    SAPPORO_TREE_KIND_DEFAULT = 0, /* octree */
    SAPPORO_TREE_OCTREE = 1,
    SAPPORO_TREE_KDTREE = 2 /* binary tree, small nodes split by volume and mass (Kofler et al. 2014) */
} sapporo_tree_kind;

/* When a cell acts as a whole.  The meaning of `accuracy`, smaller is better, and its default in brackets: */
typedef enum sapporo_tree_mac {
    SAPPORO_MAC_DEFAULT = 0,     /* chosen for you: ACCELERATION; with an accuracy OPENING, of that angle */
    SAPPORO_MAC_OPENING = 1,     /* size of the cell over its distance, with the centre of mass's offset (0.7) */
    SAPPORO_MAC_MULTIPOLE = 2,   /* bound on the error of a cell's pull over M/s^2 of all, s their r.m.s. radius without
                                    few far particles and distances of far groups (0.1) */
    SAPPORO_MAC_ACCELERATION = 3 /* estimated error of a cell's pull over the particle's acceleration (0.01) */
} sapporo_tree_mac;

/* Options of a tree.  Zero everywhere but in size means the default. */
typedef struct sapporo_tree_options {
    size_t size; /* sizeof(sapporo_tree_options) */
    sapporo_tree_kind kind;
    sapporo_tree_mac mac;
    double accuracy; /* > 0; see sapporo_tree_mac */
    int order;       /* of multipoles: 1 masses alone, 2 (default) second moments too */
    double eps2;     /* square of the Plummer softening length, 0 to 1e200; below 1e-200, or 2^-660 times the
                        square of the tree's size, it counts as 0.  With a spline: of the length of particles and
                        positions that have none of their own */
    int leaf_size;   /* most particles of a leaf, 1 to 1024 */
    int group_size;  /* particles of a group, 1 to 256; groups of kd-trees have up to 1.5 times as many */
    sapporo_precision precision; /* SAPPORO_SP (default): pair terms in float with coordinates relative to the group,
                                    sums in double; pairs that float does not resolve take double, so rounding adds at
                                    most 1e-4 of the largest pair.  SAPPORO_DP and SAPPORO_DS: all in double */
    sapporo_backend backend;     /* this and what follows as in sapporo_options */
    const int *devices;
    int ndevices;
    int preferred_device;
    const char *cpu_isa;
    int threads;
    unsigned experiments; /* 0; other values are in sapporo_experiments.h */
    unsigned unused;      /* 0 */
    double group_extent;  /* longest diagonal of a group's box; longer groups are halved, down to 8 particles.  0 or
                             INFINITY: no limit.  In a timed stepper 0 means: measure the best limit */
    sapporo_softening softening;   /* SAPPORO_SOFTENING_PLUMMER (0), or a spline */
    double gravitational_constant; /* G, as in sapporo_options.  Masses are multiplied by it as they are set; their
                                      products must be finite */
    double error; /* instead of accuracy, by SAPPORO_MAC_ACCELERATION: 99 % of the relative errors are to stay below, of
                     accelerations and of potentials, 1e-9 to 0.1; 0: not asked.  The first force, and the first one
                     after the number of particles has changed, finds the accuracy: it sums forces on 1,024 particles
                     directly, and tries accuracies on all.  Below 1e-5 the default precision is SAPPORO_DP.  Steppers
                     and trees over ranks take an accuracy that was measured for usual models.  On accelerators a
                     part of the particles, or few positions, take a tenth of it to have the same errors, but not over
                     ranks: there, and by `accuracy`, errors of few are up to ten times as large as those of all */
    double period; /* edge of a periodic cube, 1e-60 to 1e60; 0: space is open.  See above */
} sapporo_tree_options;

/*
 * Creates a tree for at most n >= 0 particles.  `options` may be NULL.  On failure *tree is NULL and
 * sapporo_last_error(NULL) says why; if there is too little memory, with the bytes needed.
 *
 * A tree is built on the first of the devices that are chosen; the others walk shares of its forces, over copies of it,
 * with the same bits.  Devices without double precision have no trees: if they were named, SAPPORO_ERR_UNSUPPORTED,
 * else the tree is on the CPU, with one warning.
 */
SAPPORO_API int sapporo_tree_create(const sapporo_tree_options *options, int n, sapporo_tree **tree);

/* Destroys a tree.  Waits for calls of other threads on it.  NULL and trees that were destroyed are allowed. */
SAPPORO_API void sapporo_tree_destroy(sapporo_tree *tree);

/* Returns the text of the last error of a tree, "" if there was none; a copy, valid as that of sapporo_last_error. */
SAPPORO_API const char *sapporo_tree_last_error(const sapporo_tree *tree);

/*
 * Returns a text that names everything on which the bits of forces depend beside particles and options, such as
 * "cpu avx512 sp octree AuthenticAMD"; "" of a tree that was destroyed.
 */
SAPPORO_API const char *sapporo_tree_kind_text(const sapporo_tree *tree);

/* Returns the backend of a tree; SAPPORO_BACKEND_AUTO if it was destroyed. */
SAPPORO_API sapporo_backend sapporo_tree_get_backend(const sapporo_tree *tree);

/*
 * Returns the most bytes of host memory that a tree of n particles takes, without the memory of its threads during a
 * walk, and writes those of device memory to *device_bytes, which may be NULL: of the first device, while others need
 * less for their copies.  A kd-tree of an accelerator may take 24 bytes per particle more.  0 if options are not valid
 * or n <= 0.
 */
SAPPORO_API size_t sapporo_tree_memory_needed(const sapporo_tree_options *options, int n, size_t *device_bytes);

/* Particles for a tree.  Requests with positions are for SAPPORO_MEMORY_HOST alone. */
typedef struct sapporo_tree_particles {
    size_t size; /* sizeof(sapporo_tree_particles) */
    int n;       /* addresses 0 .. n-1; at most as many as the tree was created for */
    sapporo_memory memory;
    sapporo_column x;    /* double[3]; beyond 1e100 counts as infinite */
    sapporo_column mass; /* double, of any sign; absent: as before (then n must be, too), at first 0.  Their sum without
                            signs, times the square of the largest extent, must be in the range of double.  With masses
                            of both signs forces take twice the time, and errors are those of the criterion in units of
                            the sum of the sizes of all terms */
    sapporo_column a;    /* double: size of the acceleration, for SAPPORO_MAC_ACCELERATION; absent: of the last force,
                            even if it was of other particles; another number of particles forgets them */
    sapporo_column h;    /* double, 0 to 1e100: softening lengths; absent: as before (then n must be, too), at first
                            with a spline the root of eps2, else 0.  Plummer lengths need 8 bytes per particle and 32
                            per cell more, which sapporo_tree_memory_needed does not count */
} sapporo_tree_particles;

/*
 * Copies all particles.  The tree stays as it is until the next build or refresh.  SAPPORO_ERR_NOT_FINITE names the
 * first particle that is NaN or infinite; then no particle was copied.
 */
SAPPORO_API int sapporo_tree_set(sapporo_tree *tree, const sapporo_tree_particles *particles);

/*
 * Builds a tree from the particles set last.  On failure the old tree stays valid (exceptions: top of this file).
 * SAPPORO_ERR_NOT_FINITE: masses are too large for moments in double.
 */
SAPPORO_API int sapporo_tree_build(sapporo_tree *tree);

/*
 * Computes moments and boxes of the present cells from the particles set last.  Each cell keeps its particles, by
 * address, so the number of particles must stay.  A refresh takes less time than a build; the farther particles move,
 * the more interactions later forces need.  SAPPORO_ERR_ARGUMENT: there is no tree of so many particles.
 * SAPPORO_ERR_NOT_FINITE: as of sapporo_tree_build.
 */
SAPPORO_API int sapporo_tree_refresh(sapporo_tree *tree);

/*
 * Refreshes the tree while its forces are cheap, else builds a new one: for a loop that calls it once per step.  It
 * builds if there is no tree of as many particles as were set last, or if the interactions per row of the last force
 * exceed `factor` times those of the cheapest force since the last build.  Only forces on at least half of the tree's
 * particles count.  factor >= 1; 0 means 1.15.
 *
 * A build is for a later time, by half of the life of the tree before, from positions that are extrapolated from those
 * of the last three calls; a refresh follows.  Errors of forces before and after that time cancel, and energy does not
 * drift (docs/tree.md).  For that the first call takes 48 bytes per particle more of host memory, or 64 of device
 * memory, which sapporo_tree_memory_needed does not count.
 *
 * *built, unless built is NULL: 1 after a build, 0 after a refresh or an error.  Errors are those of sapporo_tree_build
 * and sapporo_tree_refresh.  SAPPORO_ERR_ARGUMENT also if factor is not allowed.  SAPPORO_ERR_MEMORY: no memory for
 * positions; nothing has changed.
 */
SAPPORO_API int sapporo_tree_refresh_or_build(sapporo_tree *tree, double factor, int *built);

/* Where forces are computed: on particles of the tree, or at positions. */
typedef struct sapporo_tree_request {
    size_t size; /* sizeof(sapporo_tree_request) */
    sapporo_memory memory;
    int ni;            /* number of rows >= 0 */
    const int *active; /* [ni] addresses of particles of the tree, in any order, repeated at will; NULL: 0 .. ni-1 */
    sapporo_column x;  /* double[3]: instead, any ni positions, on which every particle acts that is not at R2 = 0 */
    sapporo_column h;  /* double: softening lengths of the positions x; absent: with a spline the root of eps2 for all,
                          else 0.  Without x it must be absent, because particles have their own; also of a tree whose
                          particles have none */
} sapporo_tree_request;

/*
 * Writes accelerations and potentials from all particles of the tree, as it was built or refreshed last: ni rows each,
 * in the order of the request; NULL: not wanted.  With SAPPORO_MAC_ACCELERATION, particles without an acceleration
 * first get one from a walk by opening angle 1, and positions in each call.
 *
 * SAPPORO_PARTIAL: some rows are NaN, the others right.  Their positions are not finite, or farther away than 2^300
 * (2e90) times the size of the tree or its softening; or their h is negative, not finite, or as large; or, on the CPU,
 * their forces are beyond the range of double.  SAPPORO_ERR_NOT_FINITE: on an accelerator, a pair without softening is
 * nearer than 2^-340 of the tree's size, and its force beyond the range of double in units of the tree.
 */
SAPPORO_API int sapporo_tree_force(sapporo_tree *tree, const sapporo_tree_request *request, double (*acc)[3],
                                   double *pot);

/*
 * Writes the tidal tensor at each row of a request, from all particles of the tree but the row's own: tidal[ni][6],
 * T_ij = d a_i / d x_j in the order xx, xy, xz, yy, yz, zz, in units of G mass / length^3.  It is symmetric, and
 * without softening its trace is 0.  The array is in the memory of the request.
 *
 * Particles act with their softening, and cells as in forces; formulas: lib/physics/tree_tidal.h of the source.  Cells
 * are accepted as for forces, but near cells matter more: in Plummer's model relative errors are 3 to 13 times those of
 * forces (docs/tree.md).  All terms and sums are in double, on the first device of the tree; a CPU takes 4 to 6 times
 * as long as for forces in SAPPORO_SP.  Forces and statistics stay those that they would be without this call.  An
 * accelerator takes up to 104 bytes per particle and 48 per row more, which sapporo_tree_memory_needed does not count.
 *
 * SAPPORO_PARTIAL: some rows are NaN, the others right: those whose forces would be NaN, or whose tensors are beyond
 * the range of double.  Other errors are as of sapporo_tree_force; after one all rows are NaN.
 */
SAPPORO_API int sapporo_tree_tidal(sapporo_tree *tree, const sapporo_tree_request *request, double (*tidal)[6]);

/*
 * Writes the neighbours of each row of a request within a radius (double, one per row, >= 0, INFINITY too): of the
 * particles of the tree that it names, which are no neighbours of themselves, or of its positions.  Its h is absent.
 * Neighbours are the addresses of all particles with |r|^2 < radius^2 in double, of coordinates as they were set, or of
 * their images, ascending.  Those of row i are list[first[i]] to list[first[i + 1] - 1]; first has ni + 1 elements,
 * list has `room`.  Radii and both arrays are in the memory of the request; results are the same from every engine.
 *
 * SAPPORO_TRUNCATED: there are more than room; `first` is right, and `list` is full.  SAPPORO_ERR_ARGUMENT: a position
 * is not finite or beyond 1e100, a radius is not a number >= 0, or an argument is not allowed.  After an error all of
 * `first` is 0, in memory of a device -1: lists are empty.  An accelerator takes 12 bytes per row more, and 8 per row
 * and 4 per entry of results in host memory, which sapporo_tree_memory_needed does not count.
 */
SAPPORO_API int sapporo_tree_within(sapporo_tree *tree, const sapporo_tree_request *request, sapporo_column radius,
                                    long long *first, long long room, int *list);

/* The same of ni positions (x: double[3]) with the radii h, in host memory. */
SAPPORO_API int sapporo_tree_neighbours(sapporo_tree *tree, int ni, sapporo_column x, sapporo_column h,
                                        long long *first, long long room, int *list);

enum { SAPPORO_NEAREST_MOST = 256 }; /* the greatest k of sapporo_tree_nearest */

/*
 * Writes the k nearest particles of each row of a request, 1 <= k <= SAPPORO_NEAREST_MOST: of the particles of the tree
 * that it names, which are no neighbours of themselves, or of its positions.  Its h is absent.  list[ni][k]: addresses,
 * the nearest first, at the same distance by address; distance2[ni][k]: the squares of their distances in double, of
 * coordinates as they were set, or of their images; NULL: not wanted.  Where there are fewer particles addresses are -1
 * and distances infinite.  Both arrays are in the memory of the request; results are the same bits from every engine.
 * An accelerator takes 12 bytes more for each entry of up to 2^24 if k is at most 32, and of results in host memory.
 *
 * SAPPORO_ERR_ARGUMENT: a position is not finite or beyond 1e100, or an argument is not allowed.  After an error
 * addresses are -1 and distances NaN.
 */
SAPPORO_API int sapporo_tree_nearest(sapporo_tree *tree, const sapporo_tree_request *request, int k, int *list,
                                     double *distance2);

/* Phases of sapporo_tree_statistics. */
enum sapporo_tree_phase {
    SAPPORO_PHASE_SORT = 0,    /* keys, and sorting by them */
    SAPPORO_PHASE_LINK = 1,    /* cells */
    SAPPORO_PHASE_MOMENTS = 2, /* moments, boxes, groups */
    SAPPORO_PHASE_WALK = 3,    /* the force: lists and pair terms */
    SAPPORO_PHASES = 4
};

/* What a tree is and did. */
typedef struct sapporo_tree_statistics {
    size_t size; /* sizeof(sapporo_tree_statistics), set by the caller */
    int n;       /* particles of the tree as built */
    int cells, leaves, groups;
    int largest_leaf;            /* particles of it */
    int depth;                   /* level of the deepest cell; the root is 0 */
    int wide_groups;             /* groups that take double whatever the precision */
    int stackless;               /* 1: in the last force each particle walked alone (sapporo_experiments.h) */
    long long rows;              /* of the last force */
    long long particle_particle; /* interactions of them all */
    long long particle_cell;
    double seconds[SAPPORO_PHASES]; /* of the last build or refresh, and of the last force */
    size_t host_bytes, device_bytes;
    double first_interactions; /* per row, of the first force on at least half of the particles after the last build; 0:
                                  there was none */
    double group_extent;       /* the limit of the present groups; 0: none */
    double accuracy;           /* of the criterion: as in the options, or found for an error */
} sapporo_tree_statistics;

/* Fills *statistics up to its size; after an error, and of a tree that was destroyed, numbers are 0 and seconds NaN. */
SAPPORO_API int sapporo_tree_get_statistics(sapporo_tree *tree, sapporo_tree_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
