/* gpu_ahead.h - particles of earlier calls on an accelerator, from which a build extrapolates. */
#ifndef SAP_GPU_AHEAD_H
#define SAP_GPU_AHEAD_H

#include "gpu/tree/gpu_given.h"

struct sap_gpu_ahead {
    struct sap_gpu_buffer x[2]; /* particles of the last call and the one before */
    int n[2];                   /* so many; -1: none */
};

/* Reserves memory, and keeps the given particles if the caller wants them; a driver status. */
int sap_gpu_ahead_keep(struct sap_gpu_ahead *past, const struct sap_gpu_session *s, const struct sap_gpu_given *given,
                       int keeps);

/* Returns whether the particles of the last call are known, as many as are given. */
static inline int sap_gpu_ahead_knows(const struct sap_gpu_ahead *past, const struct sap_gpu_given *given)
{
    return given->n > 0 && past->n[0] == given->n;
}

/* Writes the particles `lead` calls later in place of the older ones; period: as of kernels.  A driver status. */
int sap_gpu_ahead_extrapolate(struct sap_gpu_ahead *past, const struct sap_gpu_session *s,
                              const struct sap_gpu_given *given, double lead, double period);

/* Changes the given particles against the extrapolated ones, and back. */
void sap_gpu_ahead_exchange(struct sap_gpu_ahead *past, struct sap_gpu_given *given);

void sap_gpu_ahead_free(const struct sap_driver *driver, struct sap_gpu_ahead *past);

#endif
