/*
 * gpu_layout.h - the layout of particles and results in device memory: read by the host flow and by kernels.
 *
 * Constants of the arithmetic of the GPU kinds: a superpacket is 1,024 local addresses; address a of it belongs to
 * packet a % 32 and is its element a / 32.  A packet is summed in order of its elements in the working type, packet
 * sums are added in order in double, superpacket sums are deposited in reproducible accumulators (accumulate.h).  None
 * of these constants is tuned.
 *
 * Of D devices, device d owns the superpackets s with s % D == d.  A device has a slot for each of its superpackets
 * that holds a particle, in order of arrival, so gaps between addresses use no memory.  A local address is slot * 1024
 * + address % 1024.
 */
#ifndef SAP_PHYSICS_GPU_LAYOUT_H
#define SAP_PHYSICS_GPU_LAYOUT_H

#ifndef SAP_GPU_REAL
#define SAP_GPU_REAL double /* the type of an 8-byte number; kernel compilers may have no double */
#endif

enum {
    SAP_GPU_PACKETS = 32,                                   /* packets of a superpacket */
    SAP_GPU_PACKET = 32,                                    /* elements of a packet */
    SAP_GPU_SUPERPACKET = SAP_GPU_PACKETS * SAP_GPU_PACKET, /* addresses */

    /*
     * The j-store: superpackets one after the other, each of 18 columns of 1,024 doubles.  Columns 0 to 14 are
     * x, v, acc/2, jerk/6, snap/18, three axes each; then mass, time, and a column of two int32 arrays.  Orders 6 and 8
     * keep full derivatives, and those from the fifth on in three and nine columns more.  Stores of particles with
     * softening lengths have their squares in a last column, for which order 2 has that of the time.
     */
    SAP_GPU_MASS = 15,
    SAP_GPU_TIME = 16,
    SAP_GPU_EPS2 = 16, /* in order 2, which has no time: squared softening of the particle */
    SAP_GPU_TAGS = 17, /* int32 index[1024], then place[1024]: address + 1 of the particle, 0: empty slot */
    SAP_GPU_COLUMNS = 18,
    SAP_GPU_KEPT = 5, /* derivatives, x among them, that lie in the first columns */

    SAP_GPU_OUT_SUMS = 13, /* pot, acc[3], ... crackle[3]: the most of any order; a force has `sums` of them */
    SAP_GPU_INLINE = 4,    /* units of i-particles that fit into the arguments of a launch */

    SAP_GPU_LIST_UNIT = 8, /* entries: lists begin at multiples of this, and list memory is counted in it */
    SAP_GPU_CURSOR = 8,    /* int from one cursor to the next: atomics on one memory line wait for each other */
    SAP_GPU_SORT_ROWS = 4, /* lists that one group of threads sorts */
    SAP_GPU_LIST_UNITS = (1 << 30) - 1 /* units that a device's part of a force may need: 32 GiB */
};

/*
 * Order 2 has no velocities.  The first word of the velocity holds the squared softening: the common one plus the
 * i-particle's own.
 */
enum { SAP_GPU_I_EPS2 = 0 };

/*
 * Words of the second unit of an i-particle of a regular force.  A source particle is a candidate if its squared
 * distance, with the softening, is below reach + m weight.  These are numbers of the working type, rounded up.
 */
enum { SAP_GPU_I_REACH, SAP_GPU_I_WEIGHT, SAP_GPU_I_AHEAD };

/*
 * Words of an i-particle for kernels without double precision: v (or the squared softening of order 2), and what
 * (float)x leaves of x.
 */
struct sap_gpu_split {
    float v[3], low[3];
};

/*
 * By order: columns of the j-store, without lengths; column of derivative k along an axis; column of the squared
 * softening; by the columns, words of an update; units of an i-particle, without lengths and with them (soft 1).
 */
#define SAP_GPU_COLUMNS_OF(order)     (SAP_GPU_COLUMNS + ((order) == 6 ? 3 : (order) == 8 ? 9 : 0))
#define SAP_GPU_COLUMN(k, axis)       (((k) < SAP_GPU_KEPT ? 0 : SAP_GPU_COLUMNS - 3 * SAP_GPU_KEPT) + 3 * (k) + (axis))
#define SAP_GPU_EPS2_OF(order)        ((order) == 2 ? (int)SAP_GPU_EPS2 : SAP_GPU_COLUMNS_OF(order))
#define SAP_GPU_UPDATE_WORDS(columns) ((columns) + 1)
#define SAP_GPU_UNITS(order, soft)    ((order) > 4 || (soft) ? 2 : 1)
#define SAP_GPU_UNITS_OUTSIDE         2

/*
 * An i-particle as the host writes it: a unit of 64 bytes.  In orders 6 and 8, and of order 4 with lengths, a second
 * unit follows, which holds the acceleration and the jerk, if the order has them, and the squared softening (common
 * plus own) in the members x, v and h2.  In regular forces the second unit holds the velocity, always as doubles, in x,
 * the time ahead in h2, and in v the words of SAP_GPU_I_...
 */
struct sap_gpu_i {
    SAP_GPU_REAL x[3];
#ifdef SAP_BITS
    struct sap_gpu_split split; /* in place of v */
#else
    double v[3];
#endif
    SAP_GPU_REAL h2; /* squared radius of the neighbour list, 0: none */
    int index;       /* pairs with a j-particle of this index are skipped if `skip_own` */
    float reach;     /* squared radius, in the working type rounded up, within which the kernel notes candidates */
};

/*
 * A j-particle to be stored on a device: 152 bytes; in orders 6 and 8 the derivatives from the fifth on follow, and
 * with lengths the squared softening.
 */
struct sap_gpu_update {
    SAP_GPU_REAL derivative[5][3];
    SAP_GPU_REAL mass, time; /* order 2: eps2 in place of time */
    int index, place;        /* address + 1 */
    int at;                  /* local address */
    int unused;
};

/*
 * Words of a predicted j-particle in the working type.  low: whether positions have a second word; size: bytes of a
 * word.
 *    order 2  x y z m | index eps2 ..                ds: x y z m | low x y z, index | eps2 ..
 *    order 4  x y z m | vx vy vz index               ds: the same | low x y z, unused
 *    order 6  the same, ax ay az                     order 8: also jx jy jz; then low x y z in ds
 * With lengths (soft 1), orders 4 to 8 have the squared softening as the last word.  The number of words is rounded up
 * to whole parts of 16 bytes.
 */
#define SAP_GPU_IN_PARTS(words, size) (((words) + 16 / (size)-1) / (16 / (size)) * (16 / (size)))
#define SAP_GPU_WORDS(order, low, size, soft)                                                                          \
    ((order) == 2 ? ((size) == 8 ? 6 : 8 + 4 * (low))                                                                  \
                  : SAP_GPU_IN_PARTS(2 + 3 * (order) / 2 + 3 * (low) + (soft), (int)(size)))

/*
 * Layout of rounded sums of a force with one superpacket: one column per sum, or one row per i-particle, which few
 * threads write faster.
 */
enum { SAP_GPU_BY_COLUMN = 1, SAP_GPU_BY_ROW };

/* Order 2: the word of a predicted j-particle that holds its squared softening; the word before holds its index. */
#define SAP_GPU_AT_EPS2(low) (5 + 3 * (low))

/* The arguments of a force, for all its kernels; passed by value. */
struct sap_gpu_force {
    SAP_GPU_REAL time, eps2;
    SAP_GPU_REAL near_eps2; /* softening within reported squared distances, or 0 (sap_gpu_near_eps2) */
    SAP_GPU_REAL r2_error,
        x_error;      /* errors of squared distances in the working type: relative, and relative to coordinates */
    int nj;           /* j-particles at global addresses below nj take part */
    int superpackets; /* number of slots that may hold such particles, from the first slot on */
    int terms;        /* highest derivative that any particle has: 1 to 4; order 2: 0; orders 6, 8: 5, 7 */
    int columns;      /* columns of the j-store */
    int skip_own;
    int ni;         /* i-particles of this slab */
    int first_i;    /* index of the slab's first i-particle in the i array */
    int room_i;     /* rows of the records: distance of their columns */
    int out_rows;   /* rows of the results: distance of their columns */
    int hit_room;   /* entries of the buffer of candidates */
    int fused;      /* 1: few-target kernels predict for themselves, 0: they read predicted records */
    int accumulate; /* 1: results are accumulators, 0: rounded sums */
    int inlined;    /* 1: the i-particles are inline_i, 0: those in the i array */
    int units;      /* units per i-particle */
    int lone;       /* SAP_GPU_BY_...: there is one superpacket, and force kernels write rounded sums; 0: records */
    int sums;       /* sums per i-particle */
    int spline;     /* SAP_SPLINE_..., for kernels with spline softening */
    int unused;
    struct sap_gpu_i inline_i[SAP_GPU_INLINE];
};

/* Further arguments of a regular force; passed by value. */
struct sap_gpu_outside {
    SAP_GPU_REAL coincident; /* pairs with a squared distance below this are skipped */
    int by_mass;             /* h2 is multiplied by the mass of j */
    int first_i;             /* index of the slab's first i-particle in the i array */
};

/*
 * Candidates for one list: elements of one packet, bit 31 - e for element e, that may be neighbours of one i-particle.
 */
struct sap_gpu_hit {
    int row;    /* row of the slab */
    int packet; /* local superpacket * 32 + packet */
    unsigned mask;
    int unused;
};

/*
 * Counters that kernels raise, in device memory.  They are zero when a force begins, except `coincident`, a minimum,
 * which is INT_MAX then.  list_offsets, which runs once per slab, moves them on to the next slab.
 */
enum { SAP_GPU_NOBODY = 0x7FFFFFFF };
struct sap_gpu_counters {
    int hits;           /* entries that this slab produced, also those that found the buffer full */
    int coincident;     /* smallest i-particle (index in the whole i array) that has a pair at zero distance */
    int noted;          /* `hits` of the slab whose lists are being made */
    int first, total;   /* in units: first of the lists of this slab among all lists, and of the next slab */
    int most;           /* units of all lists of the slab that needs most, counted before candidates are tested */
    unsigned most_hits; /* `hits` of the slab that had most hits */
    int ended;          /* groups that have ended (device/tell.h); at the host: 1, all have */
};

/* The list of an i-particle: `count` entries from unit `first` on. */
struct sap_gpu_list_row {
    int first, count;
};

/*
 * Neighbour forces (order 4).  Particles lie by address in rows of `words` doubles, as lib/cpu/cpu_neighbour.h says.
 * The input begins with a sap_gpu_neighbour_row for each list; then the lists follow, one after the other.
 */
struct sap_gpu_neighbour_slabs {
    SAP_GPU_REAL time, eps2;
    int words;
    int upper; /* addresses below this have a row */
    int gaps;  /* 1: some addresses hold no particle: bit a % 32 of word a / 32 of `there` tells */
    int near;  /* 1: the nearest neighbour is wanted */
    int ni;
    int lists; /* where the lists begin in the input, in int */
};

struct sap_gpu_neighbour_row {
    int own;      /* address of the target particle */
    int first, n; /* its list of neighbours: first entry and length */
    int unused;
};

/* Results, in rows of doubles: sums as those of a force, then these words. */
enum {
    SAP_GPU_NEIGHBOUR_R2 = 7,
    SAP_GPU_NEIGHBOUR_NEAREST, /* index of the nearest neighbour */
    SAP_GPU_NEIGHBOUR_STATE, /* SAP_GPU_NEIGHBOUR_ALONE: there is no neighbour; LEFT: the CPU must compute the force */
    SAP_GPU_NEIGHBOUR_WORDS
};
enum { SAP_GPU_NEIGHBOUR_GOOD, SAP_GPU_NEIGHBOUR_ALONE, SAP_GPU_NEIGHBOUR_LEFT };

/*
 * A batch of small forces (order 2): a group of threads computes the force on some targets of a list from up to a
 * superpacket of its sources.  Sources lie in the input as predicted j-particles, one after the other, or are local
 * addresses of the j-store.  The position of a source in its list decides to which packet it belongs, as its address
 * does in a force.
 */
struct sap_gpu_item {
    int i, n;    /* targets: first, counted over the slab, and number */
    int j, nj;   /* sources: first source in the input, or first address, and number */
    int indexed; /* where the addresses of the sources are: 0: the input has the sources themselves; SAP_GPU_SENT_LISTS:
                    in the input; SAP_GPU_NARROW_LISTS: in the input, as numbers of 16 bits from `base` on;
                    SAP_GPU_KEPT_LISTS: among the addresses that the device keeps */
    int lone;    /* 1: the list has one superpacket: sums are results; 0: sums are records */
    int row;     /* first row of results; or, in records, where potentials begin; 3 columns of acceleration follow */
    int pitch;   /* in records: distance of columns; of device/batch_input.h: SAP_GPU_ASKS_... */
    int base;    /* of SAP_GPU_NARROW_LISTS */
};

/* Targets of a list with several superpackets, which have left records. */
struct sap_gpu_long {
    int record, pitch; /* record of the first target; rows of the list */
    int superpackets;
    int row, n; /* rows of the results */
    int unused[3];
};

/*
 * The input of a slab of lists begins with the items; these numbers, times 16 bytes, say where the other arrays begin.
 */
struct sap_gpu_batch {
    int longs, i, j, index;
    int out_rows; /* distance of the columns of results */

    /* of lists with second moments, a floor or counts (device/batch_more.h, batch_float.h) */
    int columns; /* of the j-store */
    int words;   /* doubles of a source in the input */
    int extra;   /* doubles per address of `extra`: squared radius, second moments, floor; 0: there are none */
    int groups;  /* of list_more per item */
    int marked;  /* 1: list_more computes rows that list_float has marked; 0: all */
};

/*
 * Words of doubles of batches with second moments, a floor of the distance or counts of neighbours.  A target has
 * x y z eps2 h2 floor2, a source of the input x y z m eps2 h2, second moments xx yy zz xy xz yz if any list of the
 * batch has them or floor2 of sources, and floor2 if any has it.  Sources that are addresses have the words from h2 on
 * by address in an array of their own. Results are those of other batches, and a column of counts.
 */
enum {
    SAP_GPU_MORE_TARGET = 6,
    SAP_GPU_MORE_PLAIN = 6,
    SAP_GPU_MORE_MOMENTS = 6,
    SAP_GPU_MORE_FLOOR = SAP_GPU_MORE_PLAIN + SAP_GPU_MORE_MOMENTS,
    SAP_GPU_MORE_WORDS = SAP_GPU_MORE_FLOOR + 1,
    SAP_GPU_ASKS_MOMENTS = 1, /* of an item: its sources have second moments, floors */
    SAP_GPU_ASKS_FLOORS = 2,
    SAP_GPU_MORE_ITEMS = 128,   /* threads per group; with vectors one */
    SAP_GPU_MORE_TARGETS = 16,  /* targets per group: SAP_MORE_LANES threads each */
    SAP_GPU_FLOAT_TARGETS = 32, /* the same in sp and ds (device/batch_float.h); with vectors 16 */
    SAP_GPU_MORE_SUMS = 5
};

/* Words of a target: x y z eps2, and with a second word of positions | low x y z, unused. */
#define SAP_GPU_TARGET_WORDS(low) (4 + 4 * (low))

enum {
    SAP_GPU_TARGETS = 2,         /* targets per thread; with vectors one vector */
    SAP_GPU_BATCH_THREADS = 128, /* threads per group; each 32 have a packet of their own, and the same targets */
    SAP_GPU_LONG_SUMS = 4,       /* sums per target */
    SAP_GPU_SENT_LISTS = 1,      /* of struct sap_gpu_item */
    SAP_GPU_KEPT_LISTS = 2,
    SAP_GPU_NARROW_LISTS = 3
};

#endif
