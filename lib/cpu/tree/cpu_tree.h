/*
 * cpu_tree.h - the tree of the CPU engine: shared declarations.
 *
 * Sorted particles have four doubles each: x, y, z and the mass times mass_unit. Nodes have the layout of
 * physics/tree_cell.h. The walk reads words of float in units of the cube (cpu_sse/tree_kernel.h). Pair terms use the
 * same units, so models of any size keep within the range of float.
 */
#ifndef SAP_CPU_TREE_H
#define SAP_CPU_TREE_H

#include <stdint.h>

#include "cpu/cpu_engine.h"
#include "engine/cube.h"
#include "engine/kdtree.h"
#include "engine/softening.h"
#include "engine/tree_limits.h"
#include "engine/tree_nodes.h"
#include "engine/tree_part.h"
#include "physics/scalars.h"
#include "physics/tree_periodic.h"
#include "tree_kernels.h"

enum { SAP_WIDE_FAR = 2 };

/* A group of particles that share a walk. */
struct sap_cpu_group {
    int first, count; /* its sorted particles */
    struct sap_bound bound;
    int wide;      /* its pair terms need double precision; SAP_WIDE_FAR: and roots of any size */
    int has_bound; /* bound and wide are those of the present positions (sap_cpu_tree_need_bounds) */
};

/* Sorted target particles: the tree's own particles, or positions from the caller. */
struct sap_cpu_walkers {
    int n, groups;
    const double (*x)[4];
    const struct sap_cpu_group *group; /* [groups], in the order of their particles */
    int own;                           /* 1: the tree's own particles */
    const double *h;                   /* their lengths, in units, if the particles of the tree have some */
};

/* Sorted addresses and keys of n positions; the `spare` arrays have the same length. */
struct sap_cpu_order {
    sap_key *key, *spare_key;
    int *address, *spare_address;
    int *count; /* [SAP_SORT_PARTS * SAP_SORT_DIGITS] */
};
enum { SAP_SORT_PARTS = 64, SAP_SORT_DIGITS = 256 };

/* How a tree is walked: the same for its own nodes and for those of its halo. */
struct sap_cpu_frame {
    const struct sap_tree_settings *settings;    /* of the tree */
    const struct sap_tree_kernel *narrow, *wide; /* pair terms in float and in double */
    struct sap_cube cube;
    struct sap_softening soft;
    const struct sap_cpu_pairs *pairs; /* operations of the tree's softening */
    double unit, mass_unit;            /* powers of two: coordinates and masses in the kernels' units */
    double middle[3];                  /* of the units (engine/cube.h) */
    int is_point;                      /* the units have no extent (engine/cube.h) */
    double pull;                       /* unit of MULTIPOLE's tolerance (engine/pull.h); of other criteria 1 */
    int far;                           /* some particles are beyond the range of float */
    double least;                      /* ACCELERATION takes smaller accelerations for as large; 0 of open trees */
};

/* Nodes, and the particles in them: of a tree, or of its halo. */
struct sap_cpu_nodes {
    int n; /* particles */
    double (*x)[4];
    double *h;                                                 /* lengths in units */
    int nodes, room, levels, level_first[SAP_TREE_LEVELS + 1]; /* room: of `node` */
    struct sap_tree_node *node;
    int lengths;   /* of each particle in `h`: 1, or 0 */
    int words;     /* doubles of each node in `of_node` (engine/softening.h); 0: particles never had lengths */
    int cell_room; /* nodes, of the arrays below */
    struct sap_cell *cell;
    struct sap_tree_words words_of; /* words of the nodes for the walk; their memory is `word` */
    float *word;
    struct sap_tree_source *source;
    double *of_node; /* lengths in units */
    double turn_unit;
};

/* Particles of the last set, by address. */
struct sap_cpu_given {
    int n;
    double (*x)[3], *mass;
    double *a;              /* size of the acceleration; < 0: unknown */
    double *h;              /* lengths; NULL: particles never had some */
    int lengths;            /* of each particle: 1, or 0 */
    double (*past_x[2])[3]; /* positions of the last call and the one before (cpu_ahead.c); NULL: none were kept */
    int past[2];            /* so many */
};

/* The field of the far images of a periodic cube; memory is NULL of open trees. */
struct sap_cpu_far {
    int known;                     /* the field is that of the present particles */
    double *field;                 /* [SAP_FAR_FIELD] */
    double (*part)[SAP_FAR_TERMS]; /* moments of parts of the particles */
};

/* Memory of builds. */
struct sap_cpu_builder {
    struct sap_tree_node *spare_node; /* the nodes of the next build */
    int spare_room;
    struct sap_kd_builder kd;
    double sample[3][SAP_CUBE_SAMPLE];
    double sorted_seconds; /* of the last build */
};

struct sap_cpu_tree {
    struct sap_tree base;
    struct sap_tree_settings settings;
    int threads, room;
    char words[160];
    struct sap_cpu_given given;
    struct sap_cpu_builder builder;
    struct sap_cpu_far far;

    /* the tree; valid if `built` is set */
    int built;
    struct sap_cpu_frame frame;
    struct sap_cpu_nodes own;
    struct sap_cpu_order order; /* address: of the sorted particles */
    int *place;                 /* index of the sorted particle, by address */
    struct sap_cpu_group *group;
    int *group_of; /* number of the group, by sorted particle */
    struct sap_cpu_walkers self;

    int is_part; /* the next tree is a part of `whole` */
    struct sap_tree_whole whole;
    struct sap_cpu_nodes halo; /* of a part: nodes and particles of other parts; node == NULL: none were imported */

    sapporo_tree_statistics done;
};

/* An octree under construction. The nodes of the present tree are kept until these are complete. */
struct sap_cpu_draft {
    int n, leaf_size;
    const sap_key *key; /* [n], sorted */
    struct sap_tree_nodes *made;
};

/* Softening lengths (cpu_lengths.c); of trees without, these functions find no length to work on. */

/* Gives the particles of the next build or refresh lengths, if `wanted` or of a spline; 0 or SAPPORO_ERR_MEMORY. */
int sap_cpu_want_lengths(struct sap_cpu_tree *tree, int wanted);

/* Takes the lengths of particles from ... to - 1 of a set; is_new: earlier lengths are not those of these particles. */
void sap_cpu_take_lengths(struct sap_cpu_tree *tree, const sapporo_tree_particles *p, int from, int to, int is_new);

/* Copies the lengths of the given particles in sorted order, in units. */
void sap_cpu_tree_gather_lengths(struct sap_cpu_tree *tree);

/* Computes the lengths of nodes, and enters them into the words of nodes. */
void sap_cpu_tree_lengths(struct sap_cpu_tree *tree);

/* Takes the lengths of the halo, whose words have been made. */
void sap_cpu_tree_import_lengths(struct sap_cpu_tree *tree, const struct sap_tree_halo *halo);

/*
 * Makes the lengths of n positions, in units, in sorted order; bad positions get 0.  Makes groups wide that need double
 * for them.  *made belongs to the caller; 0 or SAPPORO_ERR_MEMORY.
 */
int sap_cpu_lengths_of(const struct sap_cpu_tree *tree, const sapporo_column *h, const struct sap_cpu_walkers *of,
                       const int *address, const unsigned char *bad, struct sap_cpu_group *group, double **made);

/* Bytes that only lengths need, of n particles and so many nodes. */
size_t sap_cpu_bytes_of_lengths(const struct sap_tree_settings *settings, int n, int nodes);

/* Returns the greatest of n lengths in units, padded for words of float. */
double sap_cpu_tree_greatest_length(const double *h, int n);

/* Allocates arrays for n positions; 0 or SAPPORO_ERR_MEMORY. The caller frees them also after a failure. */
int sap_cpu_tree_new_order(int n, struct sap_cpu_order *order);
void sap_cpu_tree_free_order(struct sap_cpu_order *order);

/*
 * Computes the keys and sorts them, ties by address (cpu_sort.c).  mass: keys tell its sign (physics/tree_key.h); NULL:
 * they do not.
 */
void sap_cpu_tree_sort(const struct sap_cube *cube, int curve, const double (*x)[3], const double *mass, int n,
                       struct sap_cpu_order *order, int threads);

/* The box of n > 0 positions (cpu_sort.c). */
struct sap_cpu_box {
    double low[3], high[3];
};
struct sap_cpu_box sap_cpu_tree_box_of(const double (*x)[3], int n, int threads);

/* Copies the sample of n positions; returns the number of its members (cpu_sort.c). */
int sap_cpu_tree_take_sample(const double (*x)[3], int n, double (*sample)[SAP_CUBE_SAMPLE]);

/* Makes nodes from sorted keys; 0 or SAPPORO_ERR_MEMORY. The nodes belong to the caller either way (cpu_link.c). */
int sap_cpu_tree_link(struct sap_cpu_draft *draft, int threads);

/* Computes moments and boxes, and the data of nodes for the walk; bounds of groups are then unknown (cpu_moments.c). */
void sap_cpu_tree_moments(struct sap_cpu_tree *tree, int threads);

/* Computes the data of nodes for the walk, from their cells; root: of the tree whose groups walk (cpu_moments.c). */
void sap_cpu_tree_make_words(struct sap_cpu_nodes *nodes, const struct sap_cpu_frame *frame,
                             const struct sap_cell *root, int threads);

/* Makes room for the cells of so many nodes; on failure the existing arrays are kept (cpu_nodes.c). */
int sap_cpu_reserve_cells(struct sap_cpu_nodes *t, int nodes);
size_t sap_cpu_bytes_of_nodes(size_t room);

/* Frees the arrays, and sets all to zero. */
void sap_cpu_free_nodes(struct sap_cpu_nodes *nodes);

/* Returns the threads that are worth waking for n particles (cpu_build.c). */
int sap_cpu_tree_threads(const struct sap_cpu_tree *t, int n);

/* Implement `build` and `refresh` of the table (cpu_build.c). */
int sap_cpu_tree_build(struct sap_tree *tree);
int sap_cpu_tree_refresh(struct sap_tree *tree);

/* Implement `past` and `build_ahead` of the table (cpu_ahead.c). */
int sap_cpu_tree_past(struct sap_tree *tree, int keeps);
int sap_cpu_tree_build_ahead(struct sap_tree *tree, double lead);

/* Implement `join`, `import` and `walk` of the table (cpu_part.c). */
void sap_cpu_tree_join(struct sap_tree *tree, const struct sap_tree_whole *whole);
int sap_cpu_tree_import(struct sap_tree *tree, const struct sap_tree_halo *halo);
int sap_cpu_tree_walk(struct sap_tree *tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot,
                      int *work);

/*
 * Divides the tree's sorted particles into groups of at most group_size (cpu_groups.c): runs of that length, or, of a
 * kd-tree, whole nodes of the tree that was built last.  With a limit of their extent, groups that are longer are
 * halved (physics/tree_parts.h).  A refresh keeps the groups.
 */
void sap_cpu_tree_cut_groups(struct sap_cpu_tree *tree, int threads);

/* Divides n sorted positions, from index `first` on, into runs of `most`; returns the number of groups. */
int sap_cpu_tree_cut_runs(int first, int n, int most, struct sap_cpu_group *group);

/*
 * Computes the bounds of the tree's own groups that have rows, unless they are known; slots == NULL: of all groups.  A
 * step of few particles needs few of them.
 */
struct sap_cpu_slots;
void sap_cpu_tree_need_bounds(struct sap_cpu_tree *tree, const struct sap_cpu_slots *slots, int threads);

/* Computes the bounds of groups, whose particles are known. */
void sap_cpu_tree_groups(const struct sap_cpu_frame *frame, const double (*x)[4], int groups,
                         struct sap_cpu_group *group, int threads);

/* Rows of a force by group: slot k is row[k] of the request and particle walker[k]; group g begins at slot first[g]. */
struct sap_cpu_slots {
    int n;
    int *row, *walker, *first;
};

/* Makes all walkers targets, in their order; row_of: the row of each (cpu_force.c). */
int sap_cpu_tree_all_slots(const struct sap_cpu_walkers *walkers, const int *row_of, struct sap_cpu_slots *slots);
void sap_cpu_tree_free_slots(struct sap_cpu_slots *slots);

/* Makes ni active particles targets, sorted by group; within a group they keep the order of their rows. */
int sap_cpu_tree_active_slots(const struct sap_cpu_tree *tree, const int *active, int ni, struct sap_cpu_slots *slots);

/* Returns the threads that are worth waking for so many rows. */
int sap_cpu_tree_threads_for_rows(const struct sap_cpu_tree *tree, int rows);

struct sap_cpu_run {
    const struct sap_cpu_walkers *walkers;
    const struct sap_cpu_slots *slots;
    const double *a; /* sizes of accelerations for the criterion ACCELERATION; NULL: another criterion */
    const int *a_of; /* index into `a` of each walker; NULL: the walker's own index */
    double (*acc)[3], *pot;
    double (*tidal)[6];       /* the results, instead of forces; NULL: forces */
    int *work;                /* interactions by row; NULL: not wanted */
    double period;            /* > 0: images of the target particles walk, too (sap_cpu_images_of) */
    long long particle, cell; /* numbers of interactions */
    int beyond;               /* rows whose force double cannot hold: they are NaN */
};

/* Nodes that act, and how they are walked. */
struct sap_cpu_field {
    const struct sap_cpu_nodes *from;
    const struct sap_cpu_frame *frame;
};

/* What a walk does by its softening: there is one of each law (engine/softening.h). */
struct sap_cpu_pairs {
    double lost;  /* where a potential that left the range of double starts anew; NAN: lengths keep pairs in range */
    int adds;     /* squares of lengths are added to those of distances */
    size_t words; /* per particle */
    void (*open)(const struct sap_cpu_field *field, int from, int to, const struct sap_tree_bound *bound, int *accepted,
                 int *naccepted, int *opened, int *nopened);
    void (*start)(const struct sap_tree_kernel *kernel, const struct sap_cpu_run *run, const int *which,
                  struct sap_tree_lanes *lanes);
    void (*take)(const struct sap_cpu_nodes *from, const struct sap_tree_kernel *kernel,
                 const struct sap_tree_frame *frame, int first, int n, void *words);
    void (*sum)(const struct sap_tree_kernel *kernel, const struct sap_tree_frame *frame, const void *words, int n,
                int sources, struct sap_tree_lanes *lanes);
    /* Take the words of near cells, SAP_TREE_CELL_WORDS each at most, and add them. */
    void (*take_cells)(const struct sap_cpu_field *field, const struct sap_tree_kernel *kernel,
                       const struct sap_tree_frame *frame, const int *cells, int n, void *words);
    void (*cells)(const struct sap_cpu_field *field, const struct sap_tree_kernel *kernel,
                  const struct sap_tree_frame *frame, const void *words, int n, struct sap_tree_lanes *lanes);
    double (*length)(const struct sap_cpu_run *run, int first, int n); /* of bounds: the greatest of targets; or 0 */
};

/* Returns the operations of the softening of a tree: the place that picks them (cpu_walk.c). */
const struct sap_cpu_pairs *sap_cpu_pairs_of(const struct sap_tree_settings *settings, int lengths);

/* Computes forces or tidal tensors of slots, by groups (cpu_walk.c). Without `a`, ACCELERATION means an opening angle
 * of 1. */
int sap_cpu_walk(const struct sap_cpu_nodes *from, const struct sap_cpu_frame *frame, struct sap_cpu_run *run,
                 int threads);

/* Periodic cubes (cpu_periodic.c); of open trees these functions do nothing. */

/* _reserve allocates memory, of which the caller frees also what a failure leaves; 0 or SAPPORO_ERR_MEMORY. */
int sap_cpu_far_reserve(struct sap_cpu_far *far);
void sap_cpu_far_free(struct sap_cpu_far *far);
size_t sap_cpu_far_bytes(const struct sap_tree_settings *settings);

/* Replace the given particles by images: inside the cube, or nearest to the particles of the tree. */
void sap_cpu_periodic_inside(struct sap_cpu_tree *tree, int threads);
void sap_cpu_periodic_follow(struct sap_cpu_tree *tree, int threads);

/* The images of a target particle that walk: numbers from `from` to `to`, SAP_NO_SHIFT is the particle itself. */
struct sap_cpu_images {
    int from, to;
};
struct sap_cpu_images sap_cpu_images_of(const struct sap_cpu_run *run);

/* Moves a position to an image. */
void sap_cpu_shift(const struct sap_cpu_run *run, int image, double *x);

/* Computes the field of the far images, and adds it to the results of a run whose walk is done. */
int sap_cpu_periodic_field(struct sap_cpu_tree *tree, int threads);
void sap_cpu_periodic_add(const struct sap_cpu_tree *tree, struct sap_cpu_run *run, int threads);

/* A force whose sums in double left its range, computed anew: acc and pot, without the unit of masses. */
struct sap_cpu_rescue {
    double x[3], eps, acc[3], pot;
};

/* Returns the empty sums at the position of a target particle (cpu_rescue.c). */
struct sap_cpu_rescue sap_cpu_rescue_of(const struct sap_cpu_field *field, const struct sap_cpu_walkers *of,
                                        int walker);

/* Add sorted particles from ... to - 1, but `self`, or a cell. */
void sap_cpu_tree_rescue_particles(const struct sap_cpu_field *field, int from, int to, int self,
                                   struct sap_cpu_rescue *rescue);
void sap_cpu_tree_rescue_cell(const struct sap_cpu_field *field, int cell, struct sap_cpu_rescue *rescue);

/*
 * Computes a row of results, from the sums of a walk, pot and acc[3], or from what was computed anew; returns whether
 * it is finite.  A row of the second is NaN else.
 */
int sap_cpu_results(const struct sap_cpu_frame *f, const double *sum, double *acc, double *pot);
int sap_cpu_rescued(const struct sap_cpu_frame *f, const struct sap_cpu_rescue *rescue, double *acc, double *pot);

/* Computes a tidal tensor from the sums of a walk; returns whether it is finite.  It is NaN else. */
int sap_cpu_tidal_results(const struct sap_cpu_frame *f, const double *sum, double *tidal);

/* Writes a row of the arrays that the caller wants. */
void sap_cpu_write_row(const struct sap_cpu_run *run, const double *acc, double pot, int row);

/* Computes forces or tidal tensors of slots, with a walk for each particle alone (cpu_stackless.c). */
void sap_cpu_walk_alone(const struct sap_cpu_nodes *from, const struct sap_cpu_frame *frame, struct sap_cpu_run *run,
                        int threads);

/* Returns the strictness that walkers first ... first + n - 1 need together, for the kernels; 0: another criterion. */
double sap_cpu_tree_strictness(const struct sap_cpu_field *field, const struct sap_cpu_run *run, int first, int n);

/* Who receives a force: n particles of the tree by address, or positions of the caller. */
struct sap_cpu_targets {
    int n;
    const int *active;   /* [n] addresses; NULL: the first n */
    sapporo_column x, h; /* positions, and their lengths; absent: particles of the tree, and their own */
};

/* Computes the forces of the tree on targets, as `force` of the table does (cpu_force.c). */
int sap_cpu_force(struct sap_cpu_tree *tree, const struct sap_cpu_targets *targets, double (*acc)[3], double *pot);

/* Implement `force` and `tidal` of the table (cpu_force.c). */
int sap_cpu_tree_force(struct sap_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot);
int sap_cpu_tree_tidal(struct sap_tree *tree, const sapporo_tree_request *request, double (*tidal)[6]);

/*
 * Computes forces on the positions of massless particles, as sap_cpu_tree_force does on positions of the caller.
 * a: sizes of their accelerations, for ACCELERATION; NULL: unknown.  If the tree has far more particles, groups have
 * fewer of the positions, so that a group stays as small as those of the tree.  Statistics stay those of the last force
 * on particles of the tree.  SAPPORO_PARTIAL: rows of positions that are too far away are NaN.
 */
int sap_cpu_tree_force_massless(struct sap_cpu_tree *tree, const struct sap_cpu_targets *targets, const double *a,
                                double (*acc)[3], double *pot);

/*
 * Implement `within` and `nearest` of the table (cpu_search.c, cpu_nearest.c).  _target reads the position of row i of
 * a request, in the cube; it returns which of the sorted particles that is, or -1.
 */
int sap_cpu_tree_within(struct sap_tree *tree, const sapporo_tree_request *request, const sapporo_column *radius,
                        long long *first, long long room, int *list);
int sap_cpu_tree_target(const struct sap_cpu_tree *tree, const sapporo_tree_request *request, int i, double *x);
int sap_cpu_tree_nearest(struct sap_tree *tree, const sapporo_tree_request *request, int k, int *list,
                         double *distance2);

/* Why a call with memory of a device fails. */
#define SAP_CPU_HOST_ONLY "the CPU engine works on host memory only"

/* Stores the message of a failure; returns status. */
int sap_cpu_tree_failed(struct sap_cpu_tree *t, int status, const char *why);

#endif
