/*
 * caller.h - columns and results in device memory of the caller (SAPPORO_MEMORY_DEVICE).  Functions whose context is a
 * handle are for libsapporo_mpi; all others need a locked context.
 */
#ifndef SAP_CONTEXT_CALLER_H
#define SAP_CONTEXT_CALLER_H

#include "context/context_private.h"

/* A column that is read to host memory: elements have `each` bytes. */
struct sap_caller_column {
    sapporo_column *column;
    size_t each;
};

/* Fails unless a call can have its columns or arrays in this memory; *device: 1 if that is device memory. */
int sap_caller_check(sapporo *context, sapporo_memory memory, const char *caller, int *device);

/*
 * Replaces columns of n rows in device memory by copies in *block, which the caller frees; after an error it is NULL.
 * Absent columns stay absent.
 */
int sap_caller_read(sapporo *context, int n, const struct sap_caller_column *columns, int count, void **block);

/*
 * Stores particles from columns in device memory, so that the device alone has them.  Returns 1 if it was done, or has
 * failed, with *status; 0: nothing was done, and the particles must be stored from the host.
 */
int sap_caller_put(sapporo *context, int first, int n, const sapporo_particles *columns, int *status);

/* Replaces columns of particles in device memory by copies, as sap_caller_read. */
int sap_caller_read_particles(sapporo *context, int n, sapporo_particles *columns, void **block);

/* A request whose columns are copies. */
struct sap_caller_request {
    void *block; /* to be freed */
    sapporo_regular regular;
};

/* Replaces columns of a request in device memory by copies; `own` lives as long as the request. */
int sap_caller_read_request(sapporo *context, sapporo_request *request, struct sap_caller_request *own);

/* Arrays in device memory for ni rows, and the block of those in host memory in their place. */
struct sap_caller_results {
    sapporo_result theirs;
    void *block;
};

/* Replaces arrays of a result in device memory by arrays in host memory. */
int sap_caller_open_results(sapporo *context, int ni, sapporo_result *result, struct sap_caller_results *own);

/* Copies the arrays to device memory and frees them; returns `status`, or the error of a copy. */
int sap_caller_close_results(sapporo *context, int ni, const sapporo_result *result, struct sap_caller_results *own,
                             int status);

/* The same for the handle of a context. */
int sap_caller_take_columns(sapporo *context, int n, const struct sap_caller_column *columns, int count, void **block);
int sap_caller_take_particles(sapporo *context, int n, sapporo_particles *columns, void **block);
int sap_caller_take_request(sapporo *context, sapporo_request *request, struct sap_caller_request *own);
int sap_caller_take_results(sapporo *context, int ni, sapporo_result *result, struct sap_caller_results *own);
int sap_caller_give_results(sapporo *context, int ni, const sapporo_result *result, struct sap_caller_results *own,
                            int status);

#endif
