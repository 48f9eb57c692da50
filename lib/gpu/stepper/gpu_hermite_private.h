/* gpu_hermite_private.h - Hermite schemes on an accelerator: declarations that gpu_hermite*.c share. */
#ifndef SAP_GPU_HERMITE_PRIVATE_H
#define SAP_GPU_HERMITE_PRIVATE_H

#include "device/hermite_layout.h"
#include "gpu/gpu_kernel_list.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_sums.h"
#include "gpu/stepper/gpu_stepper.h"

/* The kernels of lib/device/hermite.h on a device. */
struct sap_gpu_hermite_kernels {
    struct sap_module *module;
    SAP_KERNELS_HERMITE(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
};
SAP_KERNELS_HERMITE(SAP_LAUNCH_EACH, SAP_LAUNCH_EARLY, struct sap_gpu_hermite_kernels)

struct sap_gpu_hermite {
    const struct sap_gpu_hermite_kernels *f;
    struct sap_gpu_buffer higher; /* by address */
    struct sap_gpu_buffer store;  /* the sources, by slot, or by index of a whole, as the force kernels see them */
    struct sap_gpu_buffer row_d;  /* particles after the step */
    struct sap_gpu_buffer near;   /* nearest neighbours of the rows: squared distances, and who they are */
    struct sap_gpu_buffer nearest, nearest_r2; /* by address */
    struct sap_hermite_units units;
    struct sap_hermite_force force; /* the last one */
    struct sap_event *told;         /* the host has what kernels tell */
    int done;
    int told_at;                               /* where the ints of the next step begin */
    int ready;                                 /* 1: they are as before a step */
    int lacks_blocks;                          /* 1: no kernel for several steps pays on this device */
    struct sap_gpu_buffer blocks, blocks_told; /* what the kernel for several steps tells, and pinned memory for it */
};

/* Bytes per particle of the derivatives beyond the acceleration that an order keeps. */
static inline size_t sap_hermite_higher_bytes(int order)
{
    return (size_t)(SAP_HERMITE_KEPT_OF(order) - 3) * 3 * sizeof(double);
}

/* Bytes of a record of a source. */
static inline size_t sap_hermite_record_bytes(int order)
{
    return (size_t)SAP_HERMITE_RECORD_OF(order) * sizeof(double);
}

/* All functions below return driver statuses and run within a call. */

/* ---- sources (gpu_hermite_store.c) ---- */

enum { SAP_HERMITE_FORCES = 4096 }; /* after so many all sources are stored again */

/* Superpackets and bytes of a j-store of n particles. */
int sap_hermite_superpackets(int n);
size_t sap_hermite_store_bytes(int n, int columns);

/* Stores all particles with mass: at first, and now and then in new units. */
int sap_hermite_send_all(struct sap_gpu_stepper *s, struct sap_step step);

/* Of a part: writes records of its sources, s->shared->own: of all, or of those rows with mass that have been corrected
 * for a time; and waits.  _join stores those of all parts, of all sources or of rows. */
int sap_hermite_share_all(struct sap_gpu_stepper *s, const struct sap_step *step);
int sap_hermite_share_rows(struct sap_gpu_stepper *s, const struct sap_step *step, double time);
int sap_hermite_join_all(struct sap_gpu_stepper *s);
int sap_hermite_join_rows(struct sap_gpu_stepper *s);

/* ---- steps (gpu_hermite.c) ---- */

/* Describes a force on the active particles, and makes memory for its rows. */
int sap_hermite_describe(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active);

/* Sets the numbers of a force that depend on units. */
void sap_hermite_set_units(struct sap_gpu_stepper *s);

/* The arguments of the force kernels for a step. */
struct sap_gpu_slab sap_hermite_slab(struct sap_gpu_stepper *s, const struct sap_step *step);

/* Computes the sums of a force from the sources that are stored. */
int sap_hermite_sum(struct sap_gpu_stepper *s, const struct sap_step *step);

/* After the first force: particles get jerks, with which the next force has all derivatives. */
int sap_hermite_give_jerks(struct sap_gpu_stepper *s, const struct sap_step *step);

/* Makes the rows after a step; quiet: more iterations follow. */
int sap_hermite_judge(struct sap_gpu_stepper *s, struct sap_step step, int quiet);

/* Makes the rows targets, and sources unless records are shared; then sums. */
int sap_hermite_go_again(struct sap_gpu_stepper *s, const struct sap_step *step);
int sap_hermite_sum_again(struct sap_gpu_stepper *s, const struct sap_step *step);

/* Asks for what the last kernels tell; reads it, without the levels, when it is there. */
int sap_hermite_ask(struct sap_gpu_stepper *s);
void sap_hermite_read_told(const struct sap_gpu_stepper *s, struct sap_step_told *to);

/* Moves the particles to the end of the step unless one is wrong. */
int sap_hermite_commit(struct sap_gpu_stepper *s, struct sap_step step);

#endif
