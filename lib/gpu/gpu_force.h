/* gpu_force.h - forces on accelerators: i-particles, launches, results. */
#ifndef SAP_GPU_FORCE_H
#define SAP_GPU_FORCE_H

#include <stdint.h>

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/engine.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_lists.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_sums.h"

struct sap_gpu_joined;
struct sap_gpu_store;

enum { SAP_GPU_PARTS = 8 }; /* most parts in which the rows of a long force come back */

/* Results of one device, in pinned memory. */
struct sap_gpu_part {
    struct sap_gpu_slab slab;     /* the slab that is being launched */
    struct sap_gpu_buffer i_host; /* i-particles for the upload */
    struct sap_gpu_buffer out;    /* columns of ni doubles: sums, or accumulators; by_row: ni rows of sums */
    int by_row;
    struct sap_gpu_buffer lists;    /* of the nearest: squared distances, then local addresses with indices */
    struct sap_gpu_buffer counters; /* two: counters that the device returns, and their initial values */
    struct sap_event *done;
    int told; /* 1: `counters` tell when the force has ended (gpu_told.h), before `done` is complete */

    /* the first ready_rows[k] rows are complete once ready[k] is recorded */
    struct sap_event *ready[SAP_GPU_PARTS];
    int ready_rows[SAP_GPU_PARTS], parts;

    /* neighbour lists, and the sizes of their buffers at the launch (struct sap_gpu_need) */
    struct sap_gpu_buffer list_entries, list_rows;
    int hit_room, entry_room, list_room, slab_rows;
};

struct sap_gpu_host_force {
    struct sap_gpu_set *set;
    struct sap_gpu_store *store;
    struct sap_force_request request;
    int nj, superpackets[SAP_GPU_DEVICES];
    unsigned have;
    int accumulate; /* devices return accumulators */
    int from;       /* number of devices that return sums */
    int gathered;   /* rows of the arrays below that are filled */
    int complete;   /* all rows are complete */
    int failed;     /* sapporo_status of a failure: there are no results */
    int listing;    /* its lists are not complete: it is in the store's list `listing` */
    int no_lists;   /* sapporo_status of a failure of the lists alone */
    struct sap_gpu_host_force *next_listing;
    int room;
    double scale[SAP_GPU_OUT_SUMS];
    double *sum; /* set->sums per row; accum likewise */
    struct sap_accum *accum;
    int32_t *nearest, *nearest_address;
    double *nearest_r2;
    int is_joined;                 /* the lists of several devices are joined */
    struct sap_gpu_joined *joined; /* memory for them; NULL: none yet */
    int coincident;
    struct sap_gpu_part part[];
};

/* ---- entries of the engine table; sapporo statuses ---- */
int sap_gpu_begin(struct sap_gpu_store *store, const struct sap_force_request *request,
                  struct sap_gpu_host_force **force);
int sap_gpu_extra(struct sap_gpu_store *store, struct sap_gpu_host_force *force, unsigned extra);
int sap_gpu_done(struct sap_gpu_host_force *force);
int sap_gpu_end(struct sap_gpu_host_force *force, int from, struct sap_force_output *output);
void sap_gpu_drop(struct sap_gpu_host_force *force);

/* ---- launches (gpu_force.c); driver statuses ---- */

/* Launches a force again: on device k for its lists, or whole on all devices. Particles must not have changed. */
int sap_gpu_launch_again(struct sap_gpu_host_force *force, int k);
int sap_gpu_launch_all_again(struct sap_gpu_host_force *force);

/*
 * Turns a slab's records into accumulators or rounded sums, as sap_gpu_launch_sums does; in regular forces without the
 * members of lists.
 */
int sap_gpu_launch_all_sums(const struct sap_gpu_slab *s, struct sap_mem *out, const struct sap_gpu_force *f);

/* ---- i-particles (gpu_input.c) ---- */

/* Returns the units of an i-particle in the upload of a force (device/gpu_layout.h). */
int sap_gpu_units(const struct sap_gpu_set *set, const struct sap_force_request *request);

/* Copies i-particles from .. end-1 into pinned memory of the first device, with several threads if there are many. */
void sap_gpu_fill_i(struct sap_gpu_host_force *force, unsigned extra, int from, int end);

/* Uploads the n i-particles of a slab to device k. Slabs come in order from first == 0 on. A driver status. */
int sap_gpu_bring_i(struct sap_gpu_host_force *force, int k, int first, int n);

/* Returns the pinned memory, readable by device k, that holds the uploaded i-particles. */
const struct sap_gpu_buffer *sap_gpu_pinned_i(const struct sap_gpu_host_force *force, int k);

#endif
