/*
 * g5_table.h - the devices of the GRAPE-5 interface.
 *
 * A GRAPE-5 device is a memory for j-particles and a set of pipes; it is not a
 * GPU.  Clients name it by an id, which is often the number of a thread.  A
 * device is created at the first call that names it, found by one load and
 * never freed.  So threads with a device each share nothing but the softening.
 *
 * A device has two contexts: the plain one, and the symmetric one for calls with
 * a 0 in their names, whose j-particles have individual softening.  A context is
 * opened when it is first needed and stays open when a client closes the device.
 */
#ifndef SAP_G5_TABLE_H
#define SAP_G5_TABLE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/ranges.h"
#include "context/context.h"
#include "sapporo.h"

enum sap_g5_memory { SAP_G5_PLAIN, SAP_G5_SYMMETRIC, SAP_G5_MEMORIES };

/* The id of a GRAPE-5 device is below this number. */
enum { SAP_G5_DEVICES = 65536 };

struct sap_g5_device;

/* The GRAPE-5 devices.  The table is lock-free. */
struct sap_g5_table {
    _Atomic(struct sap_g5_device *) device[SAP_G5_DEVICES]; /* by id; NULL: never used */
    _Atomic double eps2;                                    /* squared softening of all devices */
    atomic_int cutoff;                                      /* 1: a client asked for a force other than Newton's */
};
extern struct sap_g5_table sap_g5;

/* The i-particles of the last g5_set_xi. */
struct sap_g5_pipes {
    int ni, room;
    double (*x)[3];         /* [room], like eps2 */
    double *eps2;           /* squared softening of each pipe */
    double common;          /* common squared softening */
    int own;                /* 1: eps2[] counts; 0: common */
    int failed;             /* 1: the last g5_set_xi was refused: forces are NaN until the next g5_set_xi */
    int fresh;              /* 1: g5_run has not been called since g5_set_xi */
    double (*acc)[3], *pot; /* [room] the force by the tree; pot with the sign of GRAPE-5 */
    int ready, partial;     /* number of rows of acc and pot; partial 1: some rows are NaN */
};

/* The tree of a device, for SAPPORO_METHOD=tree. */
struct sap_g5_tree {
    sapporo_tree *tree; /* NULL: none yet */
    int room, n, fits;  /* fits 1: the tree was built from the first n j-particles of `version` */
    double eps2;
    unsigned long long version; /* of the context (sap_context_version) */
    int elsewhere, by_angle;    /* some targets were not the sources; the tree was created when some were */
    int known;                  /* accelerations that the tree remembers tell those of the sources */
    int sources;                /* the particles of the tree */
    double (*x)[3], *mass;      /* [sources] */
};

struct sap_g5_device {
    struct sap_lock lock; /* held during every call on the device; guards all members that follow */
    int id;               /* never changes */
    sapporo *context[SAP_G5_MEMORIES];
    int refused; /* 1: a context could not be opened; the next g5_open allows another attempt */
    int lost;    /* 1: the device failed; the next g5_open closes the contexts, so that they are opened again */
    struct sap_ranges lost_loads[SAP_G5_MEMORIES]; /* see sap_g5_lose */
    int n;                                         /* number of j-particles in a force */
    int n_set;                                     /* 1: g5_set_n was called */
    double range[3];
    int ndevices, devices[SAP_DEVICES_MAX]; /* g5_open_special; ndevices as in sapporo_options */
    struct sap_g5_pipes pipes;
    sapporo_job *job; /* begun by g5_run; NULL: none */
    int job_ni;
    int by_tree; /* 1: SAPPORO_METHOD was tree when a context was last opened */
    struct sap_g5_tree tree;
};

/* The device of an id, locked; created if it is new.  NULL after a message: invalid id, or out of memory. */
struct sap_g5_device *sap_g5_hold(int id, const char *caller);
void sap_g5_release(struct sap_g5_device *device);

/* The precision that contexts ask for: that of the environment, else single, which is enough for clients. */
static inline sapporo_precision sap_g5_precision(void) { return sap_context_precision(SAPPORO_SP); }

/* A context of a device, opened if necessary; NULL after a message, which is given once.  Device locked. */
sapporo *sap_g5_context(struct sap_g5_device *device, enum sap_g5_memory memory);

/*
 * Marks n addresses from `first` on as lost: forces from these j-particles are NaN until the j-particles are loaded
 * again.  Without an open context the device records the addresses for the next context.  Device locked.
 */
void sap_g5_lose(struct sap_g5_device *device, enum sap_g5_memory memory, int first, int n);

/* Frees the force of g5_run.  Device locked. */
void sap_g5_drop_job(struct sap_g5_device *device);

/* Resets a device that failed or could not be opened, so that the next call tries again.  Device locked. */
void sap_g5_recover(struct sap_g5_device *device);

#endif
