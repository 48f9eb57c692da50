/* gpu_direct.h - direct sums of order 2 for a stepper on an accelerator. */
#ifndef SAP_GPU_DIRECT_H
#define SAP_GPU_DIRECT_H

#include <stddef.h>

struct sap_device_set;
struct sap_gpu_stepper;

/* Returns whether a stepper over direct sums can live on these devices: on one with double precision. */
int sap_gpu_direct_able(const struct sap_device_set *devices);

/* Bytes of device memory that direct sums over n particles take in addition to the stepper. */
size_t sap_gpu_direct_bytes(int n);

/*
 * _open makes s->direct, and s->t, a tree that is never built: it holds device, stream and predicted particles. A
 * sapporo_status. _close frees both, also after _open has failed.
 */
int sap_gpu_direct_open(struct sap_gpu_stepper *s, struct sap_device_set *devices);
void sap_gpu_direct_close(struct sap_gpu_stepper *s);

/* New particles were taken: units are chosen at their first force.  Does nothing if forces come from a tree. */
void sap_gpu_direct_forget(struct sap_gpu_stepper *s);

/*
 * Computes forces on the active particles, listed in s->t->active unless all are active; the results are in s->t->acc
 * and s->t->pot. The device's context is current. A driver status.
 */
int sap_gpu_direct_force(struct sap_gpu_stepper *s, int active);

#endif
