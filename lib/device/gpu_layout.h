/*
 * gpu_layout.h - how particles and results lie in the memory of an accelerator: read by the host flow and by kernels.
 *
 * Constants of the arithmetic of the GPU kinds: a superpacket is 1,024 local
 * addresses; address a of it belongs to packet a % 32 and is its element
 * a / 32.  A packet is summed in order of its elements in the working type,
 * packet sums are added in order in double, superpacket sums are deposited in
 * order-free accumulators (accumulate.h).  None of this is ever tuned.
 *
 * Of D devices, device d owns the superpackets s with s % D == d.  A device has a
 * slot for each of them that holds a particle, in order of arrival: gaps cost
 * nothing.  A local address is slot * 1024 + address % 1024.
 */
#ifndef SAP_PHYSICS_GPU_LAYOUT_H
#define SAP_PHYSICS_GPU_LAYOUT_H

#ifndef SAP_GPU_REAL
#define SAP_GPU_REAL double /* what 8 bytes of a number are called; kernels may know no double */
#endif

enum {
    SAP_GPU_PACKETS = 32,                                   /* packets of a superpacket */
    SAP_GPU_PACKET = 32,                                    /* elements of a packet */
    SAP_GPU_SUPERPACKET = SAP_GPU_PACKETS * SAP_GPU_PACKET, /* addresses */

    /*
     * The j-store: superpackets one after the other, each of 18 columns of 1,024 doubles.  Columns 0 to 14 are
     * x, v, acc/2, jerk/6, snap/18, three axes each; then mass, time, and a column of two int32 arrays.  Orders 6 and 8
     * keep full derivatives, and those from the fifth on in three and nine columns more.
     */
    SAP_GPU_MASS = 15,
    SAP_GPU_TIME = 16,
    SAP_GPU_EPS2 = 16, /* in order 2, which knows no time: squared softening of the particle */
    SAP_GPU_TAGS = 17, /* int32 index[1024], then int32 place[1024]: address + 1 where a particle is, else 0 */
    SAP_GPU_COLUMNS = 18,
    SAP_GPU_KEPT = 5, /* derivatives, x among them, in the first columns */

    SAP_GPU_OUT_SUMS = 13, /* pot, acc[3], ... crackle[3]: as many as any order has; a force has `sums` of them */
    SAP_GPU_INLINE = 4,    /* so many units of i-particles can travel with a launch */

    SAP_GPU_LIST_UNIT = 8,             /* entries: lists begin at multiples of these, and room for them is so counted */
    SAP_GPU_CURSOR = 8,                /* int from a cursor to the next: neighbours would wait for each other */
    SAP_GPU_SORT_ROWS = 4,             /* lists that a group of threads sorts */
    SAP_GPU_LIST_UNITS = (1 << 30) - 1 /* that a device's part of a force may need: 32 GiB */
};

/* Order 2 has no velocities: in the place of one is the squared softening, common and the i-particle's own together. */
enum { SAP_GPU_I_EPS2 = 0 };

/*
 * Words of the second unit of a force without the members of lists.  Who is within a squared distance of reach +
 * m weight, with the softening, is a candidate; numbers of the working type, rounded up.
 */
enum { SAP_GPU_I_REACH, SAP_GPU_I_WEIGHT, SAP_GPU_I_AHEAD };

/* Words of an i-particle that kernels without double precision are given: of v (or order 2's eps2), and what (float)x
 * leaves of x. */
struct sap_gpu_split {
    float v[3], low[3];
};

/* By order: columns of the j-store, of derivative k along an axis; words of an update; units of an i-particle. */
#define SAP_GPU_COLUMNS_OF(order)   (SAP_GPU_COLUMNS + ((order) == 6 ? 3 : (order) == 8 ? 9 : 0))
#define SAP_GPU_COLUMN(k, axis)     (((k) < SAP_GPU_KEPT ? 0 : SAP_GPU_COLUMNS - 3 * SAP_GPU_KEPT) + 3 * (k) + (axis))
#define SAP_GPU_UPDATE_WORDS(order) (SAP_GPU_COLUMNS_OF(order) + 1)
#define SAP_GPU_UNITS(order)        ((order) > 4 ? 2 : 1)
#define SAP_GPU_UNITS_OUTSIDE       2

/*
 * An i-particle as the host writes it: a unit of 64 bytes.  In orders 6 and 8 another one follows, in which the
 * acceleration, the jerk and the squared softening, common and own together, are in the places of x, v and h2.
 * Where the members of lists leave the sums, the second has the velocity, as doubles everywhere, in the place of x, the
 * time ahead in that of h2, and in that of v words of SAP_GPU_I_...
 */
struct sap_gpu_i {
    SAP_GPU_REAL x[3];
#ifdef SAP_BITS
    struct sap_gpu_split split; /* in the place of v */
#else
    double v[3];
#endif
    SAP_GPU_REAL h2; /* squared radius of the neighbour list, 0: none */
    int index;       /* skipped where `skip_own` */
    float reach;     /* squared radius, in the working type rounded up, within which the kernel notes candidates */
};

/* A j-particle on its way to a device: 152 bytes; in orders 6 and 8 the derivatives from the fifth on follow. */
struct sap_gpu_update {
    SAP_GPU_REAL derivative[5][3];
    SAP_GPU_REAL mass, time; /* order 2: eps2 in the place of time */
    int index, place;        /* address + 1 */
    int at;                  /* local address */
    int unused;
};

/*
 * Words of a predicted j in the working type; low: whether positions have a second word, size: bytes of a word.
 *   order 2  x y z m | index eps2 ..                ds: x y z m | low x y z, index | eps2 ..
 *   order 4  x y z m | vx vy vz index               ds: the same | low x y z, unused
 *   order 6  the same, ax ay az                     order 8: also jx jy jz; then low x y z in ds
 * in whole parts of 16 bytes.
 */
#define SAP_GPU_IN_PARTS(words, size) (((words) + 16 / (size)-1) / (16 / (size)) * (16 / (size)))
#define SAP_GPU_WORDS(order, low, size)                                                                                \
    ((order) == 2 ? ((size) == 8 ? 6 : 8 + 4 * (low)) : SAP_GPU_IN_PARTS(2 + 3 * (order) / 2 + 3 * (low), (int)(size)))

/* Where the rounded sums of one superpacket go: columns of rows, or rows of sums, which few threads write faster. */
enum { SAP_GPU_BY_COLUMN = 1, SAP_GPU_BY_ROW };

/* Order 2: the word of a predicted j-particle that holds its squared softening; its index is before that. */
#define SAP_GPU_AT_EPS2(low) (5 + 3 * (low))

/* What a force is, for all kernels that take part; by value. */
struct sap_gpu_force {
    SAP_GPU_REAL time, eps2;
    SAP_GPU_REAL near_eps2; /* in squared distances that kernels report: eps2 in order 4, else nothing */
    SAP_GPU_REAL r2_error,
        x_error;      /* of squared distances in the working type: relative, and relative to coordinates */
    int nj;           /* global addresses below take part */
    int superpackets; /* slots that may hold any of them, from the first on */
    int terms;        /* highest derivative that any particle has: 1 to 4; 0: order 2; 5, 7: orders 6, 8 */
    int columns;      /* of the j-store */
    int skip_own;
    int ni;         /* i-particles of this slab */
    int first_i;    /* the first of them in the i array */
    int room_i;     /* rows that the records have: distance of their columns */
    int out_rows;   /* rows that the results have: distance of their columns */
    int hit_room;   /* entries that the candidates' buffer holds */
    int fused;      /* 1: few-i kernels predict for themselves, 0: they read predicted records */
    int accumulate; /* 1: results are accumulators, 0: rounded sums */
    int inlined;    /* 1: the i-particles are these, not those of the array */
    int units;      /* of an i-particle */
    int lone;       /* of one superpacket there are no records: force kernels write rounded sums, SAP_GPU_BY_... */
    int sums;       /* of an i-particle */
    struct sap_gpu_i inline_i[SAP_GPU_INLINE];
};

/* What else is to be known where the members of lists leave the sums; by value. */
struct sap_gpu_outside {
    SAP_GPU_REAL coincident; /* pairs of a squared distance below do not count */
    int by_mass;             /* h2 is multiplied by the mass of j */
    int first_i;             /* of the slab in the i array */
};

/* A candidate: elements of one packet, bit 31 - e for element e, that may be neighbours of one i-particle. */
struct sap_gpu_hit {
    int row;    /* of the slab */
    int packet; /* local superpacket * 32 + packet */
    unsigned mask;
    int unused;
};

/*
 * Counters that kernels raise, in device memory; zero when a force begins.  `coincident` is a minimum: then INT_MAX.
 * list_offsets, which runs once a slab, moves on from one to the next.
 */
enum { SAP_GPU_NOBODY = 0x7FFFFFFF };
struct sap_gpu_counters {
    int hits;           /* entries wanted by this slab, also those for which there was no room */
    int coincident;     /* smallest i-particle (place in the whole i array) that met another at zero distance */
    int noted;          /* `hits` of the slab whose lists are made */
    int first, total;   /* units: where its lists begin among all, where those of the next slab will */
    int most;           /* units of all lists of a slab, of the largest: with candidates that do not belong there */
    unsigned most_hits; /* `hits` of the slab that had most */
    int unused;
};

/* The list of an i-particle: `count` entries from unit `first` on. */
struct sap_gpu_list_row {
    int first, count;
};

/*
 * Forces from lists (order 4): particles lie in rows of `words` doubles by address, as lib/cpu/cpu_neighbour.h says;
 * the input begins with a sap_gpu_neighbour_row for each list, then come the lists, one after the other.
 */
struct sap_gpu_neighbour_slabs {
    SAP_GPU_REAL time, eps2;
    int words;
    int upper; /* addresses below have a row */
    int gaps;  /* 1: not all of them hold a particle: bit a % 32 of word a / 32 of `there` tells */
    int near;  /* 1: the nearest is wanted */
    int ni;
    int lists; /* where they begin in the input, in addresses */
};

struct sap_gpu_neighbour_row {
    int own;      /* address */
    int first, n; /* its list */
    int unused;
};

/* Results, in rows of doubles: sums as of a force, then these. */
enum {
    SAP_GPU_NEIGHBOUR_R2 = 7,
    SAP_GPU_NEIGHBOUR_NEAREST, /* its index */
    SAP_GPU_NEIGHBOUR_STATE,   /* SAP_GPU_NEIGHBOUR_ALONE: nobody is near; LEFT: the CPU must compute it */
    SAP_GPU_NEIGHBOUR_WORDS
};
enum { SAP_GPU_NEIGHBOUR_GOOD, SAP_GPU_NEIGHBOUR_ALONE, SAP_GPU_NEIGHBOUR_LEFT };

/*
 * Many small forces (order 2): some targets of a list and up to a superpacket of its sources, a group of threads.
 * Sources lie in the input as predicted j-particles do, one after the other, or are local addresses of the j-store.
 * Their place in the list is what their address is for a force: it makes packets.
 */
struct sap_gpu_item {
    int i, n;    /* targets, those of the slab counted together */
    int j, nj;   /* sources: first of those in the input, or of the addresses there */
    int indexed; /* 1: addresses; SAP_GPU_KEPT_LISTS: among those that the device keeps */
    int lone;    /* 1: the list has no other superpacket: sums are results, else records */
    int row;     /* of the results; or of records: where potentials begin, then 3 columns of acceleration */
    int pitch;   /* of records: from column to column */
};

/* Targets of a long list, whose superpackets have left records. */
struct sap_gpu_long {
    int record, pitch; /* those of the first target; rows of the list */
    int superpackets;
    int row, n; /* of the results */
    int unused[3];
};

/* The input of a slab of lists: items first, then, so many times 16 bytes from its beginning: */
struct sap_gpu_batch {
    int longs, i, j, index;
    int out_rows; /* distance of the columns of results */
    int unused[3];
};

/* Words of a target: x y z eps2, and with a second word of positions | low x y z, unused. */
#define SAP_GPU_TARGET_WORDS(low) (4 + 4 * (low))

enum {
    SAP_GPU_TARGETS = 2,         /* of a thread; with vectors one vector */
    SAP_GPU_BATCH_THREADS = 128, /* of a group; each 32 have a packet of their own, and the same targets */
    SAP_GPU_LONG_SUMS = 4,       /* of a target */
    SAP_GPU_KEPT_LISTS = 2
};

#endif
