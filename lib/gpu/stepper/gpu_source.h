/* gpu_source.h - a stepper on an accelerator whose forces come from a source in memory of the device: trees over ranks.
 */
#ifndef SAP_GPU_SOURCE_H
#define SAP_GPU_SOURCE_H

#include "gpu/stepper/gpu_stepper.h"

struct sap_gpu_source {
    struct sap_step_source by;
    struct sap_gpu_buffer x, mass; /* predicted particles by slot, one after the other */
};

/*
 * _new makes s->source, besides s->direct, whose session and particles it uses; a sapporo_status.  _open, within a
 * call, makes its memory; a driver status.  _free frees all, in the bracket of frees.
 */
int sap_gpu_source_new(struct sap_gpu_stepper *s, const struct sap_step_source *source);
int sap_gpu_source_open(struct sap_gpu_stepper *s);
void sap_gpu_source_free(struct sap_gpu_stepper *s);

/* Within a call: says that no size of an acceleration is known; writes the predicted particles, without waiting. */
int sap_gpu_source_forget(struct sap_gpu_stepper *s);
int sap_gpu_source_show(struct sap_gpu_stepper *s);

/* Tells the source where the particles are, after a call that has shown them. */
void sap_gpu_source_place(const struct sap_gpu_stepper *s);

/* Within a call: makes memory for the rows of a force on the active particles, and waits for their list. */
int sap_gpu_source_prepare(struct sap_gpu_stepper *s, int active);

/* Collective, in no call: computes forces on them, unless `status` of some part is bad; a sapporo_status. */
int sap_gpu_source_force(const struct sap_gpu_stepper *s, int status, const struct sap_step_active *active);

#endif
