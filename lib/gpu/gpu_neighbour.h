/* gpu_neighbour.h - neighbour forces on accelerators. */
#ifndef SAP_GPU_NEIGHBOUR_H
#define SAP_GPU_NEIGHBOUR_H

struct sap_given;
struct sap_gpu_store;
struct sap_neighbour_context;
struct sap_neighbour_request;

/* Implements the entry of struct sap_engine. Returns SAP_LEFT where the CPU fallback is faster. */
int sap_gpu_neighbour(struct sap_gpu_store *store, const struct sap_neighbour_context *context,
                      const struct sap_neighbour_request *request);

/* Computes lists on the devices (gpu_neighbour_slabs.c); sets left[i] of those that the fallback must compute. */
int sap_gpu_neighbour_slabs(struct sap_gpu_store *store, const struct sap_given *given,
                            const struct sap_neighbour_request *l, unsigned char *left);

/* Returns whether the devices have computed neighbour forces for this store. Tests call it. */
int sap_gpu_neighbour_used(const struct sap_gpu_store *store);

#endif
