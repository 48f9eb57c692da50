/* gpu_gather.h - sums of several devices, merged on the first one. Functions that return int return driver statuses. */
#ifndef SAP_GPU_GATHER_H
#define SAP_GPU_GATHER_H

struct sap_gpu_slab;
struct sap_gpu_store;

/* Decides, with the first force of a store, who merges the sums of its devices. */
int sap_gpu_gather_open(struct sap_gpu_store *store);

/* Returns 1 if the first device merges the sums of all devices; 0: the host does, or there is one device. */
int sap_gpu_gathers(const struct sap_gpu_store *store);

/* Reserves memory for the accumulators of `rows` rows. */
int sap_gpu_gather_reserve(struct sap_gpu_store *store, int rows);

/* Sends the slab's sums to the first device. The first device must come last; it then merges all sums. */
int sap_gpu_gather_slab(struct sap_gpu_slab *s);

#endif
