/*
 * gpu_sums.h - sums over predicted records on one device: the memory that they need, their slabs and launches.
 *
 * The share of a store sums the predicted records of its j-particles. A stepper with direct sums has records of its own
 * and no store. Functions that return int return driver statuses.
 */
#ifndef SAP_GPU_SUMS_H
#define SAP_GPU_SUMS_H

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "gpu/gpu_lists.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_shape.h"

struct sap_gpu_device;
struct sap_gpu_part;
struct sap_gpu_set;
struct sap_gpu_share;
struct sap_gpu_store;

/* Device memory of forces, and what the last ones were like. */
struct sap_gpu_sums {
    struct sap_gpu_buffer predicted;
    int valid; /* the predicted records are valid, for this time and nj: */
    double time;
    int nj;
    struct sap_gpu_buffer record, near, i, counters;
    int ready; /* the counters are as a force needs them when it begins */
    struct sap_gpu_list_memory lists;
    struct sap_gpu_chosen chosen[SAP_GPU_CHOSEN]; /* the last choices */
    int next_chosen;
    int slab_ni, slab_superpackets, slab_rows; /* of the last force that was cut into slabs */
};

/* A slab: some i-particles of a force on one device, and what the host launches for them. */
struct sap_gpu_slab {
    const struct sap_gpu_set *set;
    const struct sap_gpu_device *device;
    struct sap_stream *stream;
    struct sap_gpu_sums *sums;
    struct sap_mem *j;    /* the j-particles; NULL: there are predicted records alone */
    struct sap_mem *i;    /* the i-particles */
    struct sap_mem *out;  /* where the kernels of a single superpacket write sums (f.lone) */
    struct sap_mem *told; /* where the last sums tell the host that all are there (device/tell.h), or NULL */
    int gathers;          /* the first device merges the sums of all */
    /* of forces from a store: */
    struct sap_gpu_store *store;
    struct sap_gpu_share *share;
    struct sap_gpu_part *part;
    struct sap_gpu_shape shape;
    struct sap_gpu_force f; /* the kernel's argument */
    int near;               /* SAP_EXTRA_NEAREST | SAP_EXTRA_LISTS: extra results that this launch computes */
    int tells;              /* kernels report pairs at zero distance */
    int mode;               /* treatment of pairs, which chooses the kernels */
    int again;              /* 1: launched again for the lists only; all other results are complete */
    int by_mass;            /* h2 is multiplied by the mass of j, where h2 is used */
    int outside;            /* regular force: members of lists leave the sums, which therefore need all candidates */
};

/* Reserves memory for the records of a slab of so many rows. */
int sap_gpu_reserve_records(const struct sap_gpu_slab *s, int rows);

/* Predicts the j-particles of f->superpackets superpackets into sums->predicted, which has room for them. */
int sap_gpu_launch_predict(const struct sap_gpu_set *set, const struct sap_gpu_device *device,
                           struct sap_stream *stream, struct sap_mem *j, const struct sap_gpu_sums *sums,
                           const struct sap_gpu_force *f);

/* Launches the force kernel of s->shape and s->mode: predicted j-particles act on the i-particles of s->f. */
int sap_gpu_launch_force(const struct sap_gpu_slab *s);

/* Returns the lanes that share a row when the records of a force are added up. */
int sap_gpu_sharing_lanes(const struct sap_gpu_slab *s, const struct sap_gpu_force *f);

/* Turns a slab's records into accumulators or rounded sums, in rows f->first_i and on of the columns in `out`. */
int sap_gpu_launch_sums(const struct sap_gpu_slab *s, struct sap_mem *out, const struct sap_gpu_force *f);

/* Finds the nearest neighbours of a slab with s->near, in rows f.first_i and on of two columns in `out`. */
int sap_gpu_launch_nearest(const struct sap_gpu_slab *s, struct sap_mem *out);

/* Forgets what depends on kernels, which have become others: predicted records and the choices of launches. */
void sap_gpu_sums_forget(struct sap_gpu_sums *sums);

void sap_gpu_sums_free(const struct sap_driver *driver, struct sap_gpu_sums *sums);

#endif
