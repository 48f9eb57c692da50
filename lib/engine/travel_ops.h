/*
 * travel_ops.h - j-particles that travel between processes from device memory to device memory: whole superpackets, in
 * the form in which a device stores them.
 *
 * The store that receives has a hold: memory for superpackets under way, and a stream for their transfers.  Another
 * store of the same device packs its own superpackets into the hold; those of other processes arrive there.  Then the
 * store takes all of them in place of its particles, which the host does not have.
 *
 * Functions that return int return a sapporo_status unless their comment says otherwise.
 */
#ifndef SAP_TRAVEL_OPS_H
#define SAP_TRAVEL_OPS_H

#include <stddef.h>

struct sap_device_set;
struct sap_store;

/* The device of a context. */
struct sap_travel_device {
    char text[64]; /* "cuda 0" */
    char uuid[48]; /* "": it has none */
    int travels;   /* 1: particles can travel from its memory: there is one device, and its memory has addresses */
    int unit;      /* addresses of a superpacket, if particles can travel */
    size_t bytes;  /* of a superpacket, likewise */
};

/*
 * Addresses that a store packs, and the places that their particles have among those of all processes: blocks of
 * `block` addresses belong to the processes in turn, and address `before` of all becomes 0.  first, n and block are
 * whole numbers of superpackets, except that n may end within one.
 */
struct sap_travel_part {
    int first, n;
    int block, processes, process, before;
};

/* What the host knows of particles, and the receiver cannot see. */
struct sap_travel_facts {
    int terms;   /* highest derivative that is not zero for some particle */
    double soft; /* largest squared softening of a particle */
    /* 1: single precision cannot hold the particles as they are, or they have softening, for which superpackets of
     * orders 4 to 8 have no room; then they travel over the hosts */
    int unfit;
};

enum sap_travel_state { SAP_TRAVEL_UNDER_WAY, SAP_TRAVEL_DONE };

struct sap_travel_ops {
    void (*describe)(const struct sap_device_set *devices, struct sap_travel_device *device);
    /* Makes the device current for libraries of its vendor; calls do not nest. */
    int (*enter)(const struct sap_device_set *devices);
    void (*leave)(const struct sap_device_set *devices);

    /* Makes the hold at least `bytes` long; *address: where it begins.  Its contents are lost if it grows. */
    int (*hold)(struct sap_store *store, size_t bytes, void **address);
    /* Returns the vendor's handle of the stream of transfers.  NULL is a stream, too. */
    void *(*stream)(struct sap_store *store);
    /* Copies from or to the beginning of the hold, and waits. */
    int (*write)(struct sap_store *store, const void *from, size_t bytes);
    int (*read)(struct sap_store *store, void *to, size_t bytes);

    /* Packs particles of `from` behind `at` superpackets of the hold; the stream of transfers waits for them. */
    int (*pack)(struct sap_store *from, struct sap_store *store, int at, const struct sap_travel_part *part);
    int (*packed)(struct sap_store *store); /* waits for them on the host */
    /* Notes that transfers have been started on the stream; `state` tells of them: a sap_travel_state, or an error. */
    int (*started)(struct sap_store *store);
    int (*state)(struct sap_store *store);
    /* Replaces all particles by n superpackets of the hold, whose first addresses are number[k] * unit. */
    int (*take)(struct sap_store *store, const int *number, int n, const struct sap_travel_facts *facts);
};

#endif
