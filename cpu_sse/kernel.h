/*
 * kernel.h - what a CPU kernel offers to the CPU engine.
 *
 * One table a precision and instruction path.  The engine (lib/cpu/cpu_engine.c)
 * decides what to run on which thread; the kernels do the arithmetic.  Results
 * do not depend on whether many_i or few_i is used, nor on how tiles and groups
 * are shared out (lib/physics/arithmetic.h).
 */
#ifndef SAP_KERNEL_H
#define SAP_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "physics/arithmetic.h"

enum {
    SAP_GROUP_MAX = 32,                      /* most i-particles of a group */
    SAP_SUMS = 13,                           /* pot, acc[3], ... crackle[3]: SAP_SUMS8, the most of any order */
    SAP_SUMS_PADDED = 16,                    /* in whole vectors of any path */
    SAP_SORT_MAX = 256,                      /* entries that a kernel sorts faster than qsort */
    SAP_TERMS = 4,                           /* highest derivative used by the predictor of order 4 */
    SAP_TERMS_MOST = 7,                      /* and of any order: 5 of order 6, 7 of order 8 */
    SAP_BLOCK = 16,                          /* elements of a packet among which the nearest is told */
    SAP_BLOCKS = SAP_CPU_PACKET / SAP_BLOCK, /* blocks of a packet */
    SAP_IWORDS = 16                          /* words of an i-particle at most: x, v, a, jerk, low parts, eps2 */
};

/* The columns of 2,048 consecutive addresses.  derivative[k][(a / 16) * 48 + axis * 16 + a % 16]; NULL: zero. */
struct sap_columns {
    const double *derivative[SAP_TERMS_MOST + 1];
    const double *mass, *time;
    const int32_t *index;
    const double *eps2; /* squared softening; NULL: none */
};

/* A candidate for the neighbour list of a lane, or the heading of several. */
struct sap_hit {
    uint32_t address; /* with SAP_DOUBTFUL if it may lie outside; of a heading: the lane */
    int32_t index;    /* of the particle, if not doubtful; of a heading: how many candidates follow */
};

#define SAP_DOUBTFUL (UINT32_C(1) << 31)

/* Headings, each with its candidates: for one lane, addresses rise. */
struct sap_hits {
    int n, room; /* headings are counted too */
    int failed;  /* out of memory: candidates are missing */
    struct sap_hit *hit;
};

/* The slow part of sap_hits_reserve. */
int sap_hits_grow(struct sap_hits *hits, int more);

/* Frees the candidates. */
void sap_hits_free(struct sap_hits *hits);

/* Makes room for more candidates; 0 if memory is short, which is remembered in `failed`. */
static inline int sap_hits_reserve(struct sap_hits *hits, int more)
{
    return hits->n + more <= hits->room || sap_hits_grow(hits, more);
}

/* The accumulators of one quantity of a group, a lane an i-particle. */
struct sap_sum_lanes {
    double unit[SAP_GROUP_MAX], limb[SAP_LIMBS][SAP_GROUP_MAX], special[SAP_GROUP_MAX];
};

/* What is known of the nearest neighbours of a group (many_i) or of one i-particle by packet (few_i). */
struct sap_near_lanes {
    double best[SAP_GROUP_MAX];   /* smallest squared distance */
    double second[SAP_GROUP_MAX]; /* smallest in the blocks other than that of best */
    int64_t block[SAP_GROUP_MAX]; /* number of the block of best: address / 2048 * 128 + packet * 8 + element / 16 */
};

/* The same of one i-particle. */
struct sap_near {
    double best, second; /* squared distances; DBL_MAX: there is none */
    int64_t block;       /* -1: none */
};

/* State of a group of i-particles in many_i. */
struct sap_group {
    _Alignas(64) struct sap_sum_lanes sum[SAP_SUMS];
    _Alignas(64) double words[SAP_IWORDS][SAP_GROUP_MAX]; /* i-particles in the working type */
    _Alignas(64) int64_t index[SAP_GROUP_MAX];
    _Alignas(64) float reach_f[SAP_GROUP_MAX]; /* squared radius within which j are candidates */
    _Alignas(64) double reach_d[SAP_GROUP_MAX];
    _Alignas(64) float weight_f[SAP_GROUP_MAX]; /* of variants `outside`: this times the mass of j is added to reach */
    _Alignas(64) double weight_d[SAP_GROUP_MAX];
    double sure[SAP_GROUP_MAX], sure_weight[SAP_GROUP_MAX]; /* the same, within which candidates are not doubtful */
    _Alignas(64) struct sap_near_lanes near;
    uint32_t coincident; /* lanes that met a particle at zero distance */
    int n;               /* i-particles in the group */
    int alone;           /* 1: one tile is all; its sums are the totals, limb 0 holds them and nothing else counts */
    struct sap_hits hits;
};

/* State of one i-particle in few_i: lanes are packets, sums lie beside each other. */
struct sap_single {
    _Alignas(64) double packet[SAP_SUMS][SAP_CPU_LANES]; /* in the working type */
    _Alignas(64) double unit[SAP_SUMS_PADDED], limb[SAP_LIMBS][SAP_SUMS_PADDED], special[SAP_SUMS_PADDED];
    double words[SAP_IWORDS];
    int32_t index;
    double reach, weight;
    _Alignas(64) struct sap_near_lanes near;
    uint32_t coincident;
    struct sap_hits hits; /* lane is always 0 */
};

/* What is wanted beside the force. */
enum { SAP_NEAREST = 1, SAP_LISTS = 2 };

/* What a force needs: a variant of the kernels. */
struct sap_variant {
    int near;     /* SAP_NEAREST, SAP_LISTS (their candidates), both or none */
    int zero;     /* 1: eps2 is below SAP_TINY_R2, pairs at zero distance are skipped */
    int skip_own; /* 1: pairs of equal index are skipped */
    int wide;     /* 1: coordinates beyond the range of single precision (dp only) */
    int soft;     /* 0: eps2 is common; 1: that of each i; 2: each j adds its own */
    int outside;  /* 1: candidates of lists do not count (order 4; the variant then has lists and no more) */
    int exact;    /* 1: roots are made of correctly rounded operations, so that all machines agree */
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
 * Particles that lie in rows, by address: of each, terms + 1 (4 or 5) groups of four doubles, a derivative and a word
 * more in each: the time, the mass, the index (an int32_t in both halves), nothing.
 */
enum { SAP_ROW_TIME = 3, SAP_ROW_MASS = 7, SAP_ROW_INDEX = 11 };

struct sap_rows_args {
    const double *rows; /* that of address 0 */
    int terms;          /* 3 or 4 */
    double time;
    const int32_t *address; /* n of them; NULL: first, first + 1, ... */
    int first, n;
    void *predicted; /* row_bytes each, that of address 0; 64-byte aligned */
};

/*
 * One i-particle and a list, in predicted rows; the row before that of address 0 is the kernel's, see predict_rows.  If
 * `given` is not NULL, nobody is predicted yet, and all are on the way, out of these rows (sp and ds only: it is not
 * told who is far).  Then addresses are looked at, and rows of the list that comes next are asked for.
 */
struct sap_neighbour_args {
    const void *predicted;
    const struct sap_rows_args *given; /* of which rows, terms and time count; n addresses may be named */
    int own;                           /* the i-particle's address */
    const int *list, *next;            /* n and nnext addresses, n at most those of a tile */
    int n, nnext;
    double eps2;
    struct sap_variant variant; /* skip_own; neither soft nor outside */
};

/* i-particles as the caller gave them. */
struct sap_i {
    const double (*x)[3], (*v)[3];
    const int32_t *index;             /* NULL: no index */
    const double *eps2;               /* common and own together; NULL: all is common */
    const double (*a)[3], (*jerk)[3]; /* from order 6, and of order 8 */
    const double *dtr;                /* time ahead at which candidates of variants `outside` may be near; NULL: 0 */
};

struct sap_kernel {
    int sums;          /* pot, acc and, from order 4 on, jerk; snap from 6, crackle from 8 */
    int group;         /* i-particles that many_i takes at a time */
    size_t tile_bytes; /* of 2,048 predicted j in packet order */
    size_t soft_bytes; /* that follow where the tile has softening of its own */
    int few;           /* fewer i-particles than this are served better by few_i */

    /*
     * Predicts the first n (> 0) addresses of a tile to `time` into tile_bytes of 64-byte aligned memory; tells
     * whether any of them lies beyond SAP_FAR (dp only).
     */
    int (*predict)(const struct sap_columns *columns, int terms, double time, int n, void *records);

    /* Starts a group on i-particles from, from + 1, ...; n <= group.  alone: it meets one tile at most, once. */
    void (*start_group)(struct sap_group *group, const struct sap_i *i, int from, int n, int alone);
    void (*start_single)(struct sap_single *single, const struct sap_i *i, int from);

    /* Adds one tile. */
    void (*many_i)(const struct sap_many_args *args, struct sap_group *group);
    void (*few_i)(const struct sap_few_args *args, struct sap_single *singles);

    /* ---- forces from lists; of order 4 only: of others all this is 0 ---- */
    size_t row_bytes; /* of a predicted row */
    int rows_ahead; /* entries before its own for which `neighbour` asks for a given row; 0: it needs predicted rows */

    /*
     * Predicts rows; tells whether any particle lies beyond SAP_FAR (dp only).  With n = 0 it writes the row of nobody,
     * which fills vectors up, before that of address 0.
     */
    int (*predict_rows)(const struct sap_rows_args *args);

    /*
     * The force of a list, which must have the bits of one on particles stored in its order.  Totals go to sum, or, if
     * that is NULL, since more of the list follows, to the accumulators of `single`.  If the nearest is wanted, the
     * places of all in the list that may be it, as far as the working type knows, go to `place` (n of them at most),
     * and their number is returned; 0: it does not know; -1: there was an address that is none.
     */
    int (*neighbour)(const struct sap_neighbour_args *args, struct sap_single *single, double *sum, int32_t *place);

    /* Totals in true scale and sign, `scale` of the table: `sums` of them for each lane, side by side. */
    void (*finish_group)(const struct sap_group *group, const double *scale, double *out);
    void (*finish_single)(const struct sap_single *single, const double *scale, double *out);

    /*
     * Where roots are left at their seeds: what these are too large by on average, as a factor, and their cubes, over
     * all x alike in the logarithm.  NULL: not so, or they have no bias.
     */
    void (*seed_bias)(double *first, double *third);

    /* What is known of the nearest neighbour of a lane, or of one i-particle over all packets. */
    struct sap_near (*near_group)(const struct sap_group *group, int lane);
    struct sap_near (*near_single)(const struct sap_single *single);

    /* Predicted position of address a (in the tile) out of records, as far as the working type knows it. */
    void (*position)(const void *records, int a, double *x);
    /* Squared distance of that position from x. */
    double (*rough_r2)(const void *records, int a, const double *x);

    /* Sorts n <= SAP_SORT_MAX entries; 0 if some are equal: then they stay as they are. */
    int (*sort)(int32_t *entries, int n);

    /* Totals are accumulators times this: with the sign; powers of two, but where a bias of seeds is taken out. */
    double scale[SAP_SUMS];

    /* Squared distances of the kernel: relative error, and error of a difference relative to the coordinates. */
    double r2_error, x_error;
};

#endif
