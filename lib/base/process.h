/*
 * process.h - everything in this library that is global and mutable.
 *
 * There is one struct of each kind of state, and nothing else outlives a call
 * without belonging to a context.  None of it is torn down when the process
 * ends, so calls from atexit handlers and from other threads stay harmless.
 */
#ifndef SAP_PROCESS_H
#define SAP_PROCESS_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/log.h"
#include "driver/cuda/cuda_api.h"
#include "driver/opencl/opencl_api.h"
#include "sapporo.h"

struct sap_driver;     /* driver.h */
struct sap_g5_device;  /* g5_table.h */
struct sap_g6_cluster; /* g6_table.h */
struct sap_gpu_loaded; /* gpu_devices.c */
struct sap_embedded;   /* driver.h */
struct sap_segment;    /* jstore.h */

/* Cluster ids below this are found by one look into a table. */
enum { SAP_G6_DIRECT = 256 };

/* The GRAPE-6 clusters.  Readers take no lock; `lock` is for opening and closing (g6_table.c). */
struct sap_g6_table {
    struct sap_lock lock;
    _Atomic(struct sap_g6_cluster *) direct[SAP_G6_DIRECT]; /* by id; NULL: never opened */
    _Atomic(struct sap_g6_cluster *) all;                   /* list of all that ever were, also of other ids */
    _Atomic(struct sap_g6_cluster *) only;                  /* the only open one; NULL: none, or several */
    atomic_int open;                                        /* how many are open */
    atomic_int sort_mode;                                   /* g6_set_neighbour_list_sort_mode */
    atomic_uint failed[SAP_G6_DIRECT / 32];                 /* bit id % 32: the last attempt to open the id failed */
    atomic_int failed_beyond;                               /* 1: that of an id from SAP_G6_DIRECT on did */
};

/* Ids of GRAPE-5 devices are below this. */
enum { SAP_G5_DEVICES = 65536 };

/* The GRAPE-5 devices.  Nobody takes a lock (g5_table.c). */
struct sap_g5_table {
    _Atomic(struct sap_g5_device *) device[SAP_G5_DEVICES]; /* by id; NULL: never used */
    _Atomic double eps2;                                    /* squared softening of all devices */
    atomic_int cutoff;                                      /* 1: a force that is not Newton's was asked for */
};

/* Complaints about the surroundings of the process; each is made once. */
enum sap_complaint {
    SAP_COMPLAINT_SAPPORO2_CONFIG, /* a malformed sapporo2.config */
    SAP_COMPLAINT_SAPPORO_CONFIG,  /* a malformed sapporo.config */
    SAP_COMPLAINT_TUNE_FILE,       /* a tuning file that is missing or malformed */
    SAP_COMPLAINT_TUNE_KEY,        /* an unknown key in it */
    SAP_COMPLAINT_CACHE,           /* a cache folder that is not trusted */
    SAP_COMPLAINT_CACHE_FILE       /* a file in it that is not trusted or not a file */
};

/* What the processor is; found out once (cpu_sse/isa.c) and never changed. */
struct sap_machine {
    struct sap_lock lock;
    atomic_int known;
    unsigned paths; /* bit sap_isa: can be used */
    char vendor[16];
};

struct sap_process {
    struct sap_machine machine;

    /* segments of particles (jstore.c) */
    struct sap_lock segments_lock; /* guards segments and nsegments */
    struct sap_segment *segments;
    int nsegments;

    /* kernels of accelerators (gpu_devices.c) */
    struct sap_lock gpu_lock; /* guards gpu_loaded */
    struct sap_gpu_loaded *gpu_loaded;

    /* threads (threads.c); the worker threads themselves are in team.c */
    int forked;              /* 1 in a child after fork of a process that had worker threads */
    atomic_int threads_told; /* OMP_NUM_THREADS + 1, 1: it names no number; 0: not read yet */
    atomic_int threads_most; /* the same of OMP_THREAD_LIMIT */

    /* messages (log.c) */
    struct sap_lock log_lock; /* guards log and log_user */
    sapporo_log_function log; /* NULL: stderr */
    void *log_user;
    atomic_int verbosity;       /* SAPPORO_VERBOSE; -1: not read yet */
    struct sap_lock notes_lock; /* guards notes */
    struct sap_notes notes;     /* of messages that belong to no context */

    /* settings (options.c, npipes.c) */
    atomic_uint complained; /* bit sap_complaint: made */
    atomic_int npipes;      /* answer of g6_npipes; 0: not asked yet */

    struct sap_g6_table g6;

    /* NVIDIA's driver (cuda_api.c), and what tests put in its place (driver.c); NULL: nothing */
    struct sap_cuda cuda;
    const struct sap_driver *cuda_driver;
    const struct sap_embedded *cuda_kernels;

    /* OpenCL (opencl_api.c), and what tests put in its place */
    struct sap_opencl opencl;
    const struct sap_driver *opencl_driver;
};

extern struct sap_process sap_process;

/* On its own, since it begins as zeros: in sap_process it would add its length to the library's file. */
extern struct sap_g5_table sap_g5;

/* The same holds for contexts, forces and trees by handle: sap_handles, in handle.h. */

/* Why the last sapporo_open of this thread failed; "" if it did not. */
extern _Thread_local char sap_open_error[256];

/* What the last call of the CUDA driver in this thread that failed said. */
extern _Thread_local char sap_cuda_error[256];

/* The same of the OpenCL driver. */
extern _Thread_local char sap_opencl_error[256];

#endif
