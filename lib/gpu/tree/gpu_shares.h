/*
 * gpu_shares.h - the other devices of a tree: each walks a share of a force over a copy of the tree.
 *
 * A tree is built on the first device of its set. Before a walk the others receive what has changed of it since their
 * last share, and the devices divide the parts or bunches of the walk. A row is computed alike on each device, so bits
 * do not depend on the shares. These follow from measured times, so that all devices end together.
 *
 * Functions that return int return driver statuses.
 */
#ifndef SAP_GPU_SHARES_H
#define SAP_GPU_SHARES_H

#include "gpu/tree/gpu_walk.h"

/* What of a copy is older than the tree. */
enum {
    SAP_COPY_CUT = 1,       /* order and groups of the particles */
    SAP_COPY_PARTICLES = 2, /* sorted particles */
    SAP_COPY_NODES = 4,     /* what follows from them: nodes, bounds of groups, lengths */
    SAP_COPY_CELLS = 8,     /* moments in double, which only walks in double read */
    SAP_COPY_MOVED = SAP_COPY_PARTICLES | SAP_COPY_NODES | SAP_COPY_CELLS, /* what a refresh changes */
    SAP_COPY_ALL = SAP_COPY_CUT | SAP_COPY_MOVED
};

/* Walks are sorted by their slots: octave k has 2^k and more. */
enum { SAP_WALK_OCTAVES = 32 };

/* A device that walks: the first one, or a helper. */
struct sap_gpu_sharer {
    struct sap_event *began, *ended; /* of its last walk */
    double cost[SAP_WALK_OCTAVES];   /* seconds of all items by this device alone, per slot; 0: unknown */
    int share, shares;               /* of the walk under way, as of struct sap_gpu_walk */
};

/* A copy of a tree, and of the targets of a walk. */
struct sap_gpu_copy {
    unsigned stale; /* of the tree */
    struct sap_gpu_nodes nodes;
    struct sap_gpu_targets own, positions;
    struct sap_gpu_lengths lengths;
    struct sap_gpu_buffer row, slot, strict;
};

/* Another device than the first. */
struct sap_gpu_helper {
    struct sap_gpu_session session;
    const struct sap_gpu_tree_kernels *f;
    struct sap_gpu_sharer walks;
    int wide; /* its last walk has left something to double, so it needs the cells */
    int full; /* the device had too little memory: it takes no part until the next build */

    struct sap_gpu_copy copy;

    /* on the first device: the stream of copies, and their times */
    struct sap_stream *send;
    struct sap_event *sends, *sent, *cells; /* cells: these have been sent, too */
    int sends_early;                        /* work may be in that stream that nothing has waited for */
    size_t sent_bytes;                      /* between `sends` and `sent` */
    double byte_cost;                       /* seconds per byte */

    struct sap_gpu_walk_lists lists;
    struct sap_gpu_results results;           /* its rows, unless it writes them to memory of the first device */
    struct sap_gpu_buffer more_acc, more_pot; /* on the first device: copies of these */
    struct sap_event *done;
};

struct sap_gpu_shares {
    int helpers;
    struct sap_gpu_helper *helper; /* [helpers] */
    struct sap_gpu_sharer first;
    enum { SAP_SHARES_WRITE, SAP_SHARES_COPY, SAP_SHARES_WAIT } mode;
    struct sap_event *ready;
    struct sap_mem *acc, *pot;         /* memory of rows that all devices can write */
    double whole[2][SAP_WALK_OCTAVES]; /* of drivers without times, seconds per slot: undivided, divided; 0: unknown */
    int early;                         /* walks for which copies are sent while a tree is built */
    int octave, slots, parts, walked;  /* of the last walk; walked: its times have not been read */
};

/* What walks of a tree need: memory of the first device, and other devices. */
struct sap_gpu_walks {
    struct sap_gpu_walk_lists lists;
    struct sap_gpu_shares shares;
};

/* Makes the helpers of a session with several devices, within a call; frees them, within sap_session_stop. */
int sap_gpu_shares_open(struct sap_gpu_session *s, struct sap_gpu_shares *shares);
void sap_gpu_shares_free(const struct sap_driver *driver, struct sap_gpu_shares *shares);

/* Says what of the tree has changed. */
void sap_gpu_shares_changed(struct sap_gpu_shares *shares, unsigned what);

/*
 * Sends order and particles of a tree that is being built or refreshed to the helpers while the first device computes
 * its nodes, if that has paid for one of the last walks.
 */
int sap_gpu_shares_early(struct sap_gpu_shares *shares, const struct sap_gpu_built *tree);

/* Waits for that, before memory of the tree is freed or written. */
int sap_gpu_shares_settle(struct sap_gpu_shares *shares);

/* As sap_gpu_walk_run, by all devices. positions: the targets are no particles of the tree. */
int sap_gpu_shares_walk(struct sap_gpu_shares *shares, const struct sap_gpu_walking *walk,
                        const struct sap_gpu_subset *to);

/* Learns how long the last walk took, where only the host's clock tells. */
void sap_gpu_shares_took(struct sap_gpu_shares *shares, double seconds);

/* Adds what the walk of the helpers has told to words of the first device (device/tree_layout.h), after a wait. */
void sap_gpu_shares_tell(const struct sap_gpu_shares *shares, unsigned *told);

/* Waits until no helper works, after a failure. */
void sap_gpu_shares_halt(const struct sap_gpu_shares *shares);

#endif
