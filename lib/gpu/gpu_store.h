/* gpu_store.h - the j-particles of a context on its devices. Functions that return int return driver statuses. */
#ifndef SAP_GPU_STORE_H
#define SAP_GPU_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "driver/driver.h"
#include "engine/jstore.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_sums.h"

struct sap_store;
struct sap_gpu_device;
struct sap_gpu_force;
struct sap_gpu_host_force;
struct sap_gpu_set;

/* The part of a store that one device holds. */
struct sap_gpu_share {
    struct sap_gpu_device *device;
    struct sap_stream *stream;
    struct sap_gpu_buffer j;
    int room;     /* slots that fit into j */
    int slots;    /* slots that hold a superpacket */
    int cleared;  /* slots, counted from the first, that are initialised */
    int *number;  /* [slots] superpacket in each slot */
    int *slot_of; /* [owned] by superpacket / devices: slot of the superpacket, or -1 */
    int numbers, owned;
    struct sap_gpu_staging update[2];
    int next_update;
    int updates;            /* staged updates that are not yet sent */
    uint64_t serial, batch; /* serial of the next update; serial of the first staged update */
    uint64_t *stamp;        /* by local address: serial of its last update + 1 */
    int stamps;
    struct sap_gpu_sums sums; /* its forces */
};

/*
 * The head of a struct in which another module keeps what it needs for a store: its first member, so that a pointer to
 * one is a pointer to the other. A store frees what is attached to it, the last first, before its own memory.
 */
struct sap_gpu_attached {
    struct sap_gpu_attached *next;
    void (*release)(struct sap_gpu_store *store, struct sap_gpu_attached *attached);
};

struct sap_gpu_store {
    struct sap_gpu_set *set;
    struct sap_jstore *host;
    uint64_t seen, cleared; /* versions of the host's copy */
    int terms;              /* highest derivative that is not zero for some particle */
    int lost;               /* the devices' copy cannot be trusted: the next update uploads all particles again */
    int given;              /* > 0: the host does not have the particles; their highest derivative that is not zero */
    int broken;             /* a device is lost: the caller must open the context again */
    int at;                 /* the device that the current call works on */
    int entered;            /* `at` + 1 while the context of that device is current, else 0 */
    struct sap_gpu_attached *attached;  /* of other modules, the last first */
    struct sap_gpu_host_force *listing; /* forces whose lists are not complete: their buffers may overflow */
    char words[200];                    /* why the last call failed; "": nothing to add to its status */
    struct sap_gpu_share share[];
};

/* Makes a store on the particles of `host`, which outlives it; NULL: no memory. */
struct sap_gpu_store *sap_gpu_store_new(struct sap_gpu_set *set, struct sap_jstore *host);

void sap_gpu_store_free(struct sap_gpu_store *store);

/* Attaches what a module needs. `release`, of which each module has its own, frees it together with the store. */
void sap_gpu_attach(struct sap_gpu_store *store, struct sap_gpu_attached *attached,
                    void (*release)(struct sap_gpu_store *store, struct sap_gpu_attached *attached));

/* Returns what the module with this `release` has attached, or NULL. */
void *sap_gpu_attached_by(const struct sap_gpu_store *store,
                          void (*release)(struct sap_gpu_store *store, struct sap_gpu_attached *attached));

/* Implements the entry `put` of struct sap_store_ops. */
int sap_gpu_store_put(struct sap_store *store, const struct sap_staged *particles, int n);

/*
 * Makes a store ready for softening of each particle: further kernels, a column of squares, and targets of two units.
 * Stores of order 2 are ready from the start.
 */
int sap_gpu_store_soften(struct sap_gpu_store *store);

/* Stages the changes that the devices' copies lack. */
int sap_gpu_store_update(struct sap_gpu_store *store);

/* Sends the staged updates, and copies units of i-particles from pinned memory to share->i, in stream order. */
int sap_gpu_store_send(struct sap_gpu_store *store, struct sap_gpu_share *share, const struct sap_gpu_buffer *i,
                       int units);

/* Predicts the j-particles, unless the predicted records are valid already. */
int sap_gpu_store_predict(struct sap_gpu_store *store, struct sap_gpu_share *share, const struct sap_gpu_force *f);

/*
 * Replaces all particles by n superpackets that the host does not have: makes slot k for superpacket number[k], or
 * without numbers k.  The caller writes them there.  For stores on one device, like what follows.
 */
int sap_gpu_store_give(struct sap_gpu_store *store, const int *number, int n, int terms);

/* Makes slots, up to superpacket number `superpackets` - 1, for more particles that the host does not have. */
int sap_gpu_store_extend(struct sap_gpu_store *store, int superpackets, int terms);

/* Notes that the host has all particles now, none of which has changed. */
void sap_gpu_store_returned(struct sap_gpu_store *store);

/* Makes the stream of the first device, unless there is one. */
int sap_gpu_store_stream(struct sap_gpu_store *store);

/* Makes superpackets from .. to-1, of so many columns, in a memory empty, in the share's stream. */
int sap_gpu_store_clear(const struct sap_gpu_store *store, const struct sap_gpu_share *share,
                        const struct sap_gpu_buffer *in, int columns, int from, int to);

/* Returns the slot of a superpacket in a store on one device, or -1. */
int sap_gpu_slot_of(const struct sap_gpu_share *share, int superpacket);

/* Returns how many slots, counted from the first, may hold addresses below nj. */
int sap_gpu_slots_below(const struct sap_gpu_share *share, int nj);

/* ---- upload of whole superpackets (gpu_load.c), and what it needs ---- */

/* Uploads whole superpackets that are new, and removes their addresses from the list of changes. */
int sap_gpu_load(struct sap_gpu_store *store, struct sap_gpu_share *share);

/* Copies n superpackets between stores of which one may have a column of lengths, which the other then misses. */
int sap_gpu_copy_superpackets(const struct sap_driver *d, struct sap_stream *stream, struct sap_mem *to, int to_at,
                              size_t to_each, struct sap_mem *from, int from_at, size_t from_each, int n);

/* Bytes of a superpacket of the j-store. */
size_t sap_gpu_superpacket_bytes(const struct sap_gpu_store *store);

void sap_gpu_staging_free(const struct sap_gpu_store *store, const struct sap_gpu_share *share,
                          struct sap_gpu_staging *s);

/* Records the events of staging memory behind the launches that read it. */
int sap_gpu_staging_mark(const struct sap_gpu_store *store, struct sap_gpu_share *share);

/* Waits until the next staging memory can be written. */
int sap_gpu_staging_ready(const struct sap_gpu_store *store, struct sap_gpu_share *share);

#endif
