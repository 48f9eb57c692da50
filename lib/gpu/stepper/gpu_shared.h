/*
 * gpu_shared.h - a stepper over direct sums whose sources are the particles with mass of all parts of a whole: ranks.
 *
 * Records of sources go from device memory to device memory (struct sap_step_sharing).  Each part has all sources, and
 * computes the forces on its own particles.
 */
#ifndef SAP_GPU_SHARED_H
#define SAP_GPU_SHARED_H

#include "gpu/stepper/gpu_stepper.h"

struct sap_gpu_shared {
    const struct sap_step_sharing *by;
    void *of;
    struct sap_gpu_buffer own, all; /* records of this part, unless they are elsewhere, and of all */
    struct sap_gpu_buffer copy;     /* order 2: sources in units, unless these are plain */
    struct sap_gpu_buffer soft;     /* order 2: squared lengths of the sources, in units */
    struct sap_gpu_buffer number;   /* Hermite schemes: numbers of the sources */
};

/* _new makes s->shared, besides s->direct; a sapporo_status.  _free frees all, in the bracket of frees. */
int sap_gpu_shared_new(struct sap_gpu_stepper *s, const struct sap_step_source *source);
void sap_gpu_shared_free(struct sap_gpu_stepper *s);

/* Number of the particles that act. */
static inline int sap_gpu_sources(const struct sap_gpu_stepper *s)
{
    return s->shared ? s->shared->by->all : s->order.massive;
}

/* What indices of particles are above their slots: of those with mass, and of massless ones, which no source has. */
static inline int sap_gpu_before(const struct sap_gpu_stepper *s) { return s->shared ? s->shared->by->before : 0; }
static inline int sap_gpu_beyond(const struct sap_gpu_stepper *s) { return sap_gpu_sources(s) - s->order.massive; }

/* Collective, in no call: agrees on a status of this part, and announces so many rows with mass (announce, agree). */
int sap_gpu_shared_announce(struct sap_gpu_stepper *s, int status, int rows, int *any);
int sap_gpu_shared_agree(struct sap_gpu_stepper *s, int status);

/* Collective, in no call: brings records of all sources or of the rows; this part may fail alone. */
int sap_gpu_shared_gather(struct sap_gpu_stepper *s, int of_rows, size_t each, const struct sap_gpu_buffer *own,
                          const struct sap_gpu_buffer *all);

/* Within a call: copies this part's records, of all of its sources, to their place among all, and waits. */
int sap_gpu_shared_place(struct sap_gpu_stepper *s, struct sap_gpu_buffer *all, const struct sap_gpu_buffer *own,
                         size_t each);

/* Order 2, within a call: makes room for sources and rows, puts this part's sources at their place, and waits. */
int sap_gpu_shared_show(struct sap_gpu_stepper *s, int active);

/* Order 2, collective, in no call: computes forces on the active particles, after a `show` with this status. */
int sap_gpu_shared_force(struct sap_gpu_stepper *s, int status, int active);

#endif
