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
 * _new makes s->direct with a session and particles of its own, which s->session and s->given then name; a
 * sapporo_status. _open, within a call, opens them; a driver status. _free frees all and closes the session, in the
 * bracket of frees that sap_session_stop began.
 */
int sap_gpu_direct_new(struct sap_gpu_stepper *s, struct sap_device_set *devices);
int sap_gpu_direct_open(struct sap_gpu_stepper *s);
void sap_gpu_direct_free(struct sap_gpu_stepper *s);

/* New particles were taken: units are chosen at their first force.  Does nothing if forces come from a tree. */
void sap_gpu_direct_forget(struct sap_gpu_stepper *s);

/*
 * Computes forces on the active particles, listed in s->active unless all are active; the results are in s->row_a
 * and s->row_pot. The device's context is current. A driver status.
 */
int sap_gpu_direct_force(struct sap_gpu_stepper *s, int active);

#endif
