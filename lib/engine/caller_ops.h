/*
 * caller_ops.h - columns and results that the caller has in memory of the device, and j-particles that the device alone
 * has.
 *
 * Functions that return int return a sapporo_status; SAPPORO_ERR_ARGUMENT: an address is not in memory of the first
 * device.
 */
#ifndef SAP_CALLER_OPS_H
#define SAP_CALLER_OPS_H

#include <stddef.h>

#include "engine/jstore.h"
#include "sapporo.h"

struct sap_device_set;
struct sap_store;

/* The largest sizes of numbers in a column: high words of doubles without sign, as sap_caller_exponent takes them. */
struct sap_caller_sizes {
    int most, least; /* least: of numbers that are not zero; most 0: all are zero, and least has no meaning */
    int negative;    /* 1: some number is below zero */
};

/* What the device sees of particles. */
struct sap_caller_seen {
    struct sap_caller_sizes derivative[SAPPORO_DERIVATIVES], mass, time, eps2; /* of absent columns all is 0 */
    double some_mass[4];                                                       /* of particles that are far apart */
};

struct sap_caller_ops {
    /* 1: memory has addresses that a caller could name. */
    int (*names)(const struct sap_device_set *devices);
    /* 1: the store can keep particles that the host does not have, because it is on one device. */
    int (*keeps)(const struct sap_device_set *devices);
    /* Copies memory of the caller on the device, and waits. */
    int (*read)(struct sap_store *store, void *to, const void *from, size_t bytes);
    int (*write)(struct sap_store *store, void *to, const void *from, size_t bytes);
    /* Looks at n > 0 particles; columns have no gaps. */
    int (*look)(struct sap_store *store, int n, const sapporo_particles *columns, struct sap_caller_seen *seen);
    /*
     * Stores n > 0 particles, of which derivatives up to number `terms` count, at addresses from `first` on.  anew:
     * they replace all particles, and first is 0; else the device alone has all particles, at addresses from 0 to first
     * - 1 at least.  After a failure the device has no particle.
     */
    int (*take)(struct sap_store *store, int first, int n, const sapporo_particles *columns, int terms, int anew);
    /* Copies the n particles that the device alone has to `host` of the store, which is empty. */
    int (*fetch)(struct sap_store *store, int n);
};

/* The exponent of a size, 2^e <= x < 2^(e+1) for normal numbers. */
static inline int sap_caller_exponent(int size) { return (size >> 20) - 1023; }

/* Whether all numbers of a column are finite. */
static inline int sap_caller_is_finite(const struct sap_caller_sizes *sizes) { return sizes->most < 0x7FF00000; }

#endif
