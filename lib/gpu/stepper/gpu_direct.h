/* gpu_direct.h - direct sums for a stepper on an accelerator: of order 2, and what those of Hermite schemes share. */
#ifndef SAP_GPU_DIRECT_H
#define SAP_GPU_DIRECT_H

#include <stddef.h>

#include "engine/units.h"
#include "gpu/gpu_session.h"
#include "gpu/gpu_sums.h"
#include "gpu/tree/gpu_tree.h"

struct sap_device_set;
struct sap_gpu_stepper;

struct sap_gpu_direct {
    struct sap_gpu_session session;
    struct sap_gpu_given given;
    struct sap_gpu_sums sums;   /* predicted records of the particles with mass, memory and launch parameters */
    struct sap_gpu_buffer out;  /* columns of sums */
    struct sap_units units;     /* of the particles as the force kernels see them */
    struct sap_gpu_buffer copy; /* order 2: the particles in these units, unless they are plain */
    struct sap_gpu_buffer soft; /* squared softening lengths by slot, in units, where kernels have lengths */
    int forces;                 /* since the units were chosen */
};

/* Returns whether a stepper over direct sums can live on these devices: on one with double precision. */
int sap_gpu_direct_able(const struct sap_device_set *devices);

/* Bytes of device memory that direct sums of order 2 over n particles take in addition to the stepper. */
size_t sap_gpu_direct_bytes(int n);

/*
 * _new makes s->direct with a session and particles of its own, which s->session and s->given then name; a
 * sapporo_status. _open, within a call, opens them; a driver status. _free frees all and closes the session, in the
 * bracket of frees that sap_session_stop began.
 */
int sap_gpu_direct_new(struct sap_gpu_stepper *s, struct sap_device_set *devices);
int sap_gpu_direct_open(struct sap_gpu_stepper *s);
void sap_gpu_direct_free(struct sap_gpu_stepper *s);

/* Uploads the squares of the lengths, by slot in units; _square_of returns one, not in units; 0: there is none. */
int sap_gpu_direct_send_squares(struct sap_gpu_stepper *s);
double sap_gpu_direct_square_of(const struct sap_gpu_stepper *s, int slot);

/* New particles were taken: units are chosen at their first force.  Does nothing if forces come from a tree. */
void sap_gpu_direct_forget(struct sap_gpu_stepper *s);

/*
 * Computes forces on the active particles, listed in s->active unless all are active; the results are in s->row_a
 * and s->row_pot. The device's context is current. A driver status.
 */
int sap_gpu_direct_force(struct sap_gpu_stepper *s, int active);

#endif
