/*
 * gpu_hermite.h - Hermite schemes on an accelerator: a stepper over direct sums whose particles keep more derivatives.
 *
 * All functions but the first and the last three return driver statuses and run within a call.
 */
#ifndef SAP_GPU_HERMITE_H
#define SAP_GPU_HERMITE_H

#include <stddef.h>

#include "engine/stepper_ops.h"
#include "gpu/gpu_memory.h"

struct sap_gpu_stepper;

/* Bytes of device memory that a Hermite scheme over n particles takes in addition to the stepper. */
size_t sap_hermite_gpu_bytes(int order, int n);

/* _open makes memory for the particles of s->settings.order and loads kernels; _free frees all. */
int sap_hermite_gpu_open(struct sap_gpu_stepper *s);
void sap_hermite_gpu_free(struct sap_gpu_stepper *s);

/* The column SAP_STEP_HIGHER, SAP_STEP_NEAREST or SAP_STEP_NEAREST_R2. */
const struct sap_gpu_buffer *sap_hermite_gpu_column(const struct sap_gpu_stepper *s, enum sap_step_column column);

/* Particles were taken: they have no derivatives yet. */
int sap_hermite_gpu_clear(struct sap_gpu_stepper *s);

/* Notes whether particles are predicted from their times after the present tick (done) or before it. */
void sap_hermite_gpu_predict(struct sap_gpu_stepper *s, int done);

/*
 * The parts of a step, of sums and of outputs (engine/stepper_ops.h).  _judge moves the particles, too, unless one is
 * wrong: the kernel that does so looks at what the one before it has found; it sets to->bad and to->close.  _pots
 * writes the potentials of a force on all particles, by address, to s->to_x.
 */
int sap_hermite_gpu_force(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active);
int sap_hermite_gpu_judge(struct sap_gpu_stepper *s, const struct sap_step *step, struct sap_step_told *to);
int sap_hermite_gpu_at(struct sap_gpu_stepper *s, const struct sap_step *step);
int sap_hermite_gpu_sums(struct sap_gpu_stepper *s, const struct sap_step *step, int forced);
int sap_hermite_gpu_pots(struct sap_gpu_stepper *s);

/*
 * Several steps of few particles by one kernel (gpu_hermite_blocks.c).  _has_blocks, in no call: it may make them,
 * which are those of forces alone, once per step, from at most a superpacket of particles.
 */
int sap_hermite_gpu_has_blocks(const struct sap_gpu_stepper *s);
int sap_hermite_gpu_blocks(struct sap_gpu_stepper *s, const struct sap_step *step, struct sap_step_blocks *blocks,
                           struct sap_step_told *told);

/*
 * Collective, in no call, of parts of a whole (gpu_hermite_shared.c): a force and a judgement, whose status may be of
 * this part alone, and the commit, in which no part moves a particle unless the records of all have arrived.
 */
int sap_hermite_gpu_shared_force(struct sap_gpu_stepper *s, const struct sap_step *step,
                                 const struct sap_step_active *active);
int sap_hermite_gpu_shared_judge(struct sap_gpu_stepper *s, const struct sap_step *step, struct sap_step_told *to);
int sap_hermite_gpu_shared_commit(struct sap_gpu_stepper *s, const struct sap_step *step);

#endif
