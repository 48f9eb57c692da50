/*
 * process.h - lists the state of the process, and keeps it consistent when the process forks.
 *
 * This table has every global variable that changes.  All other state belongs to a context or ends with a call.  No
 * state is destroyed when the process ends, so calls from atexit handlers and from other threads are harmless.
 *
 *   state                       declared in                      what it is
 *   sap_forked                  base/process.h                   1 in a child after fork
 *   sap_messages                base/log.h                       log function, verbosity, messages without a context
 *   sap_handles                 base/handle.h                    handles of contexts, forces and trees
 *   workers                     base/team.c                      worker threads
 *   OMP_NUM_THREADS as read     base/threads.c
 *   count                       base/saving.c                    number of the last file, for names that are unique
 *   sap_segments                engine/jstore.h                  memory of freed j-stores, kept for reuse
 *   far                         engine/ewald.c               coefficients of the far images of periodic boxes
 *   sap_machine                 cpu_sse/isa.h                    instruction paths of the processor
 *   loaded kernels              gpu/gpu_kernels.c                kernels that are kept with their device
 *   sap_cuda, sap_hip, sap_opencl      driver/cuda, hip, opencl  the vendors' libraries
 *   hip                         driver/hip/hip_api.c             calls of HIP with other arguments than libcuda's
 *   left                        driver/opencl/opencl_vendors.c   1: `auto` does not load OpenCL
 *   sap_driver_replaced         driver/driver.h                  drivers that tests put in place
 *   sap_g6, sap_npipes_known    api/g6/g6_table.h, npipes.h      GRAPE-6 clusters; the number of pipes
 *   sap_g5                      api/g5/g5_table.h                GRAPE-5 devices
 *   sap_open_error              context/context.h                why opening failed, per thread
 *   list, last_number, spare    mpi/registry.c                   objects over MPI; those of ranks without memory
 *   open_error                  mpi/handle.c                     why opening a handle over MPI failed, per thread
 *   nccl                        mpi/nccl.c                       the functions of NCCL
 *   said                        mpi/transport.c, mpi/node.c      1: a warning of objects over MPI has been printed
 *   create_error                mpi/tree.c, mpi/stepper.c        why creating an object over MPI failed, per thread
 *   sap_cuda_error, sap_opencl_error   driver/cuda, driver/opencl   the last failed call, per thread
 */
#ifndef SAP_PROCESS_H
#define SAP_PROCESS_H

#include "base/lock.h"

/* 1 in a child after fork of a process that had worker threads or a vendor's driver. */
extern int sap_forked;

/* Locks of the process, in the order in which a thread may take them. */
enum sap_lock_order {
    SAP_LOCK_CLUSTERS,
    SAP_LOCK_OPENCL,
    SAP_LOCK_KERNELS,
    SAP_LOCK_HANDLES,
    SAP_LOCK_SEGMENTS,
    SAP_LOCK_MACHINE,
    SAP_LOCK_FAR,
    SAP_LOCK_NOTES,
    SAP_LOCK_LOG,
    SAP_LOCKS
};

/* Holds a lock during every fork, so that the data that it guards are consistent in the child. */
void sap_guard_at_fork(enum sap_lock_order order, struct sap_lock *lock);

/* Calls sap_guard_at_fork when the library is loaded.  For use at file scope; NAME makes the function unique. */
#define SAP_GUARD_AT_FORK(NAME, ORDER, LOCK)                                                                           \
    __attribute__((constructor)) static void guard_##NAME##_at_fork(void) { sap_guard_at_fork(ORDER, LOCK); }

#endif
