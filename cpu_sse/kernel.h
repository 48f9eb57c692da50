/*
 * kernel.h - the interface of a CPU kernel for the CPU engine.
 *
 * Each precision and instruction path has one table. The engine (lib/cpu/cpu_engine.c) distributes work over threads;
 * the kernels do the arithmetic. Results depend neither on whether many_i or few_i is used, nor on how tiles and groups
 * are distributed (lib/physics/arithmetic.h).
 */
#ifndef SAP_KERNEL_H
#define SAP_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "physics/arithmetic.h"

enum {
    SAP_GROUP_MAX = 32,                      /* most i-particles of a group */
    SAP_SUMS = 13,                           /* pot, acc[3], ... crackle[3]: SAP_SUMS8, the most of any order */
    SAP_SUMS_PADDED = 16,                    /* SAP_SUMS rounded up to whole vectors of any path */
    SAP_SORT_MAX = 256,                      /* entries that a kernel sorts faster than qsort */
    SAP_TERMS = 4,                           /* highest derivative used by the predictor of order 4 */
    SAP_TERMS_MOST = 7,                      /* the same of any order: 5 for order 6, 7 for order 8 */
    SAP_BLOCK = 16,                          /* elements of a packet that share one record of the nearest */
    SAP_BLOCKS = SAP_CPU_PACKET / SAP_BLOCK, /* blocks of a packet */
    SAP_IWORDS = 16                          /* words of an i-particle at most: x, v, a, jerk, low parts, eps2 */
};

/* The columns of 2,048 consecutive addresses.  derivative[k][(a / 16) * 48 + axis * 16 + a % 16]; NULL: zero. */
struct sap_columns {
    const double *derivative[SAP_TERMS_MOST + 1];
    const double *mass, *time;
    const int32_t *index;
    const double *eps2;   /* squared softening; NULL: none */
    const double *h2;     /* squared radii within which targets count the particle; NULL: nothing is counted */
    const double *quad;   /* SAP_QUAD_WORDS per address; NULL: no moments */
    const double *floor2; /* squared floors of distances; NULL: none */
};

/* A candidate for the neighbour list of a lane, or the header of several candidates. */
struct sap_hit {
    uint32_t address; /* with SAP_DOUBTFUL if it may lie outside; of a header: the lane */
    int32_t index;    /* of the particle, if not doubtful; of a header: number of candidates that follow */
};

#define SAP_DOUBTFUL (UINT32_C(1) << 31)

/* Headers, each followed by its candidates; for one lane, addresses increase. */
struct sap_hits {
    int n, room; /* headers count, too */
    int failed;  /* out of memory: candidates are missing */
    struct sap_hit *hit;
};

/* Implements the slow part of sap_hits_reserve. */
int sap_hits_grow(struct sap_hits *hits, int more);

/* Frees the candidates. */
void sap_hits_free(struct sap_hits *hits);

/* Makes room for more candidates; 0 if memory is short, which sets `failed`. */
static inline int sap_hits_reserve(struct sap_hits *hits, int more)
{
    return hits->n + more <= hits->room || sap_hits_grow(hits, more);
}

/* The accumulators of one quantity of a group, one lane per i-particle. */
struct sap_sum_lanes {
    double unit[SAP_GROUP_MAX], limb[SAP_LIMBS][SAP_GROUP_MAX], special[SAP_GROUP_MAX];
};

/* The nearest neighbours of a group (many_i), or of one i-particle by packet (few_i). */
struct sap_near_lanes {
    double best[SAP_GROUP_MAX];   /* smallest squared distance */
    double second[SAP_GROUP_MAX]; /* smallest one in all blocks other than that of best */
    int64_t block[SAP_GROUP_MAX]; /* number of the block of best: address / 2048 * 128 + packet * 8 + element / 16 */
};

/* The nearest neighbour of one i-particle. */
struct sap_near {
    double best, second; /* squared distances; DBL_MAX: none */
    int64_t block;       /* -1: none */
};

/* The state of a group of i-particles in many_i. */
struct sap_group {
    _Alignas(64) struct sap_sum_lanes sum[SAP_SUMS];
    _Alignas(64) double words[SAP_IWORDS][SAP_GROUP_MAX]; /* i-particles in the working type */
    _Alignas(64) int64_t index[SAP_GROUP_MAX];
    _Alignas(64) float reach_f[SAP_GROUP_MAX]; /* squared radius within which j are candidates */
    _Alignas(64) double reach_d[SAP_GROUP_MAX];
    _Alignas(64) float weight_f[SAP_GROUP_MAX]; /* of variants `outside`: this times the mass of j is added to reach */
    _Alignas(64) double weight_d[SAP_GROUP_MAX];
    double sure[SAP_GROUP_MAX], sure_weight[SAP_GROUP_MAX]; /* likewise, for candidates that are not doubtful */
    _Alignas(64) struct sap_near_lanes near;
    uint32_t coincident; /* lanes that met a particle at zero distance */
    /* of variants that count: bounds of squared radii, and particles that are surely and that may be within them */
    _Alignas(64) float within[2][SAP_GROUP_MAX];
    _Alignas(64) int32_t count[2][SAP_GROUP_MAX];
    _Alignas(64) float floor2[SAP_GROUP_MAX]; /* of variants `more`: of the softened distance; 0: none */
    int n;                                    /* i-particles in the group */
    /* 1: the group meets one tile only; the totals are in limb 0, and all other limbs are unused */
    int alone;
    struct sap_hits hits;
};

/* The state of one i-particle in few_i: lanes are packets, sums are contiguous. */
struct sap_single {
    _Alignas(64) double packet[SAP_SUMS][SAP_CPU_LANES]; /* in the working type */
    _Alignas(64) double unit[SAP_SUMS_PADDED], limb[SAP_LIMBS][SAP_SUMS_PADDED], special[SAP_SUMS_PADDED];
    double words[SAP_IWORDS];
    int32_t index;
    double reach, weight;     /* of candidates: reach + m weight */
    double sure, sure_weight; /* of certain members, where members leave the sums */
    _Alignas(64) struct sap_near_lanes near;
    uint32_t coincident;
    int alone;            /* as of a group */
    struct sap_hits hits; /* lane is always 0 */
};

/* Results in addition to the force. */
enum { SAP_NEAREST = 1, SAP_LISTS = 2 };

/*
 * What lists of batches ask for, as bits (kernel_counts.h): a floor of the distance, which any of them has, counts of
 * neighbours, second moments of sources, floors of sources, which need counts, too.
 */
enum { SAP_FLOOR = 1, SAP_COUNTS = 2, SAP_QUAD = 4, SAP_FLOORS = 8 };

/* Words of second moments Q of a source, as tree_pair.h takes them: 3 Q, 3/2 tr Q, 0. */
enum { SAP_QUAD_TRACE = 6, SAP_QUAD_WORDS = 8 };

/* The requirements of a force, which select a variant of the kernels. */
struct sap_variant {
    int near;     /* SAP_NEAREST, SAP_LISTS (their candidates), both or none */
    int zero;     /* 1: eps2 is below SAP_TINY_R2, pairs at zero distance are skipped */
    int skip_own; /* 1: pairs of equal index are skipped */
    int wide;     /* 1: coordinates beyond the range of single precision (dp only) */
    int soft;     /* 0: eps2 is common; 1: each i has its own; 2: each j adds its own */
    int outside;  /* 1: candidates of lists are excluded (order 4; this variant has lists and no other results) */
    int exact;    /* 1: roots are made of correctly rounded operations, so all machines agree */
    int spline;   /* of order 2: SAP_SPLINE_... of spline softening; 0: Plummer's. It needs soft, and looks at zero
                     distances itself */
    int more;     /* SAP_FLOOR ...; only of kernels with more_bytes */
    int half;     /* 1: the group has one vector of i-particles, of two; many_i itself sets it */
};

struct sap_many_args {
    const void *records; /* predicted j of the tile, as predict wrote them */
    uint32_t first;      /* first address of the tile */
    int n;               /* addresses of the tile that take part */
    double eps2;
    struct sap_variant variant;
};

struct sap_few_args {
    const struct sap_columns *columns;
    double time;
    uint32_t first;
    int n, terms, ni;
    double eps2;
    struct sap_variant variant;
};

/*
 * The layout of particles in rows, by address. A row has terms + 1 (4 or 5) groups of four doubles. Each group is a
 * derivative and another word: the time, the mass, the index (an int32_t in both halves), unused.
 */
enum { SAP_ROW_TIME = 3, SAP_ROW_MASS = 7, SAP_ROW_INDEX = 11 };

struct sap_rows_args {
    const double *rows; /* row of address 0 */
    int terms;          /* 3 or 4; of `columns` from 1 on */
    double time;
    const int32_t *address; /* n addresses; NULL: first, first + 1, ... */
    int first, n;
    /* Instead of `rows`, unless NULL: the same particles, whose addresses begin with a whole block of 16. */
    const struct sap_columns *columns;
    void *predicted; /* rows of row_bytes each, from address 0 on; 64-byte aligned */
};

/*
 * One i-particle and its list, in predicted rows. The row before address 0 belongs to the kernel, see predict_rows. If
 * `given` is not NULL, no particle is predicted yet: the kernel predicts all from these rows (sp and ds only, since the
 * kernel does not report particles that are far). It then also checks the addresses, and prefetches rows of the next
 * list.
 */
struct sap_neighbour_args {
    const void *predicted;
    const struct sap_rows_args *given; /* only rows, terms and time are used; addresses are below n */
    int own;                           /* the i-particle's address */
    const int *list, *next;            /* n and nnext addresses, n at most the size of a tile */
    int n, nnext;
    double eps2;
    struct sap_variant variant; /* skip_own; neither soft nor outside */
};

/* i-particles as the caller supplied them. */
struct sap_i {
    const double (*x)[3], (*v)[3];
    const int32_t *index;             /* NULL: no index */
    const double *eps2;               /* sum of common and own softening; NULL: all is common */
    const double (*a)[3], (*jerk)[3]; /* a: from order 6 on; jerk: order 8 */
    const double *dtr;                /* time ahead at which candidates of variants `outside` are near, too; NULL: 0 */
    const double *h2;                 /* squared radii of variants that count; NULL: nothing is counted */
    const double *floor2;             /* squared floors of variants `more`; NULL: 0 */
};

/* Sources of a list of kernel_more.h, in double; every column is padded to a multiple of SAP_MORE_LANES by sources far
 * away without mass. */
struct sap_more_args {
    int n;
    const double *x[3], *mass, *eps2, *h2, *floor2;
    const double *quad[6]; /* xx, yy, zz, xy, xz, yz; NULL: there are none */
};

struct sap_more_target {
    double x[3], eps2, h2, floor2;
};

struct sap_kernel {
    int sums;  /* pot, acc and, from order 4 on, jerk; snap from 6, crackle from 8 */
    int group; /* i-particles per call of many_i */
    int half;  /* number of them up to which many_i takes half the time in frequent variants; 0: there is none */
    size_t tile_bytes; /* of 2,048 predicted j in packet order */
    size_t soft_bytes; /* bytes that follow if the tile has softening per particle */
    size_t more_bytes; /* bytes that follow those in batches: bounds, moments; 0: many_i has no variants `more` */
    int few;           /* few_i is for fewer i-particles than this */

    /*
     * Predicts the first n (> 0) addresses of a tile to `time` into tile_bytes of 64-byte aligned memory; returns
     * whether any particle lies beyond SAP_FAR (dp only).
     */
    int (*predict)(const struct sap_columns *columns, int terms, double time, int n, void *records);

    /* Returns the largest size of n numbers, 64-byte aligned, n a multiple of SAP_CPU_LANES; no NaN. */
    double (*largest)(const double *x, int n);

    /* Start a group on i-particles from, from + 1, ...; n <= group, or one of them. alone: it meets at most one tile,
     * once. */
    void (*start_group)(struct sap_group *group, const struct sap_i *i, int from, int n, int alone);
    void (*start_single)(struct sap_single *single, const struct sap_i *i, int from, int alone);

    /* Adds one tile. */
    void (*many_i)(const struct sap_many_args *args, struct sap_group *group);
    void (*few_i)(const struct sap_few_args *args, struct sap_single *singles);

    /* Order 2 only: the force on a target: pot and acc to sums, and the number of sources within the larger of h2 and
     * their own. */
    void (*more)(const struct sap_more_args *args, const struct sap_more_target *target, double *sums, int *count);

    /* ---- neighbour forces; order 4 only: other orders have 0 here ---- */
    size_t row_bytes; /* of a predicted row */
    int rows_ahead;   /* number of entries that `neighbour` prefetches given rows ahead; 0: it needs predicted rows */

    /*
     * Predicts rows; returns whether any particle lies beyond SAP_FAR (dp only). With n = 0 it writes the row of no
     * particle, which fills vectors, before address 0.
     */
    int (*predict_rows)(const struct sap_rows_args *args);

    /*
     * Computes the force of a list, with the bits of a force on particles stored in list order. Totals go to sum. If
     * sum is NULL, more of the list follows, and they go to the accumulators of `single`. If the nearest is requested,
     * the kernel writes to `place` the list indices (at most n) of the entries that may be the nearest in the working
     * type, and returns their number; 0: undetermined; -1: an address was invalid.
     */
    int (*neighbour)(const struct sap_neighbour_args *args, struct sap_single *single, double *sum, int32_t *place);

    /* Write totals in true scale and sign, with `scale` of the table: `sums` of them per lane, contiguous. */
    void (*finish_group)(const struct sap_group *group, const double *scale, double *out);
    void (*finish_single)(const struct sap_single *single, const double *scale, double *out);

    /*
     * For roots that are left at their seeds: computes their mean relative excess, as a factor, and that of their
     * cubes, over x distributed uniformly in the logarithm. NULL: roots are not left at seeds, or have no bias.
     */
    void (*seed_bias)(double *first, double *third);

    /* Return the nearest neighbour of a lane, or of one i-particle over all packets. */
    struct sap_near (*near_group)(const struct sap_group *group, int lane);
    struct sap_near (*near_single)(const struct sap_single *single);

    /* Writes the predicted position of address a (in the tile) from records, to the accuracy of the working type. */
    void (*position)(const void *records, int a, double *x);
    /* Returns the squared distance of that position from x. */
    double (*rough_r2)(const void *records, int a, const double *x);

    /* Sorts n <= SAP_SORT_MAX entries; returns 0, and leaves them unchanged, if some are equal. */
    int (*sort)(int32_t *entries, int n);

    /* Factors from accumulators to totals, with the sign; powers of two, unless they remove a bias of seeds. */
    double scale[SAP_SUMS];

    /* Errors of the kernel's squared distances: relative, and of a difference relative to the coordinates. */
    double r2_error, x_error;
};

#endif
