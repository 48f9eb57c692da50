/* gpu_gather.h - sums of several devices, merged on the first one. Functions that return int return driver statuses. */
#ifndef SAP_GPU_GATHER_H
#define SAP_GPU_GATHER_H

#include "driver/driver.h"
#include "gpu/gpu_memory.h"

struct sap_gpu_slab;
struct sap_gpu_store;

/* Gathers the sums of several devices on the first one: one buffer is filled while the other is merged. */
struct sap_gpu_gather {
    enum { SAP_GPU_GATHER_UNKNOWN, SAP_GPU_GATHER_HOST, SAP_GPU_GATHER_COPY, SAP_GPU_GATHER_WRITE } mode;
    unsigned turn;                /* buffer of the next slab: turn % 2 */
    struct sap_gpu_buffer all[2]; /* accumulators of a slab, one block per device */
    struct sap_event *merged[2];  /* recorded when the buffer can be filled again */
    int used[2];                  /* `merged` has been recorded */
};

/* Returns 1 if the first device merges the sums of all devices; 0: the host does. */
int sap_gpu_gathers(struct sap_gpu_store *store);

/* Reserves memory for the accumulators of `rows` rows. */
int sap_gpu_gather_reserve(struct sap_gpu_store *store, int rows);

/* Sends the slab's sums to the first device. The first device must come last; it then merges all sums. */
int sap_gpu_gather_slab(struct sap_gpu_slab *s);

void sap_gpu_gather_free(struct sap_gpu_store *store);

#endif
