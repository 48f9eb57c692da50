/*
 * g5_table.h - the devices of the GRAPE-5 interface.
 *
 * A device is a memory for j-particles and a set of pipes, named by an id that
 * clients take from their threads; it is no GPU.  Devices come into being when
 * they are first named, are found by one load and never freed, so any number of
 * threads, each with its own, share nothing but the softening.
 *
 * A device has two contexts: the plain one, and the one of the calls with a 0
 * in their names, whose j-particles have a softening each.  They are opened
 * when they are first needed and kept when a client closes the device.
 */
#ifndef SAP_G5_TABLE_H
#define SAP_G5_TABLE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/option_parts.h"
#include "base/ranges.h"
#include "context/context.h"
#include "sapporo.h"

enum sap_g5_memory { SAP_G5_PLAIN, SAP_G5_SYMMETRIC, SAP_G5_MEMORIES };

/* Ids of GRAPE-5 devices are below this. */
enum { SAP_G5_DEVICES = 65536 };

struct sap_g5_device;

/* The GRAPE-5 devices.  No thread takes a lock. */
struct sap_g5_table {
    _Atomic(struct sap_g5_device *) device[SAP_G5_DEVICES]; /* by id; NULL: never used */
    _Atomic double eps2;                                    /* squared softening of all devices */
    atomic_int cutoff;                                      /* 1: a force that is not Newton's was asked for */
};
extern struct sap_g5_table sap_g5;

/* The i-particles that g5_set_xi left. */
struct sap_g5_pipes {
    int ni, room;
    double (*x)[3];         /* [room], like eps2 */
    double *eps2;           /* squared softening of each pipe */
    double common;          /* the same for all, if they have none of their own */
    int own;                /* 1: eps2 counts, 0: common */
    int failed;             /* 1: the last g5_set_xi was refused: forces are NaN until the next */
    int fresh;              /* 1: g5_run has not been called since */
    double (*acc)[3], *pot; /* [room] the force by a tree, where the method is that; pot as GRAPE-5 has it */
    int ready, partial;     /* rows of it; 1: some are NaN */
};

/* The tree of a device, for SAPPORO_METHOD=tree. */
struct sap_g5_tree {
    sapporo_tree *tree; /* NULL: none yet */
    int room, n, fits;  /* fits: it was built of particles of `version`, the first n of them */
    double eps2;
    unsigned long long version;
};

struct sap_g5_device {
    struct sap_lock lock; /* held during every call on the device; guards what follows */
    int id;               /* never changes */
    sapporo *context[SAP_G5_MEMORIES];
    int refused; /* a context could not be opened: not tried again before the next g5_open */
    int lost;    /* the device failed: contexts are opened anew by the next g5_open */
    struct sap_ranges lost_loads[SAP_G5_MEMORIES]; /* see sap_g5_lose */
    int n;                                         /* j-particles that take part */
    int n_set;                                     /* 1: g5_set_n was called */
    double range[3];
    int ndevices, devices[SAP_DEVICES_MAX]; /* g5_open_special; ndevices as in sapporo_options */
    struct sap_g5_pipes pipes;
    sapporo_job *job; /* begun by g5_run; NULL: none */
    int job_ni;
    int by_tree; /* SAPPORO_METHOD=tree, as it was when the plain context was opened */
    struct sap_g5_tree tree;
};

/* The device of an id, made if nobody has named it yet, and locked; NULL after a message: no such id, or no memory. */
struct sap_g5_device *sap_g5_hold(int id, const char *caller);
void sap_g5_release(struct sap_g5_device *device);

/* A context of a device, opened if it is not; NULL after a message, which is given once.  Device locked. */
sapporo *sap_g5_context(struct sap_g5_device *device, enum sap_g5_memory memory);

/*
 * n j-particles from address `first` on could not be stored: forces with them are NaN until they are loaded again.
 * Without a context the device keeps their addresses for the next.  Device locked.
 */
void sap_g5_lose(struct sap_g5_device *device, enum sap_g5_memory memory, int first, int n);

/* Frees the force of g5_run.  Device locked. */
void sap_g5_drop_job(struct sap_g5_device *device);

/* Lets a device that failed, or could not be opened, be tried again.  Device locked. */
void sap_g5_recover(struct sap_g5_device *device);

#endif
