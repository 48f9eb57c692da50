/* gpu_stepper.h - the stepper of the accelerator engines: shared declarations. */
#ifndef SAP_GPU_STEPPER_H
#define SAP_GPU_STEPPER_H

#include "device/stepper_layout.h"
#include "engine/step_order.h"
#include "engine/stepper_ops.h"
#include "gpu/gpu_kernel_list.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/tree/gpu_tree.h"

struct sap_gpu_direct;
struct sap_gpu_hermite;
struct sap_gpu_shared;
struct sap_gpu_source;

extern const struct sap_stepper_ops sap_stepper_gpu;

/* The kernels of lib/device/stepper.h on a device. */
struct sap_gpu_stepper_kernels {
    struct sap_module *module;
    SAP_KERNELS_STEPPER(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
};

SAP_KERNELS_STEPPER(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_stepper_kernels)

struct sap_gpu_stepper {
    struct sap_stepper_settings settings;
    struct sap_gpu_session *session; /* of the tree, or of direct sums; so are the particles */
    struct sap_gpu_given *given;     /* the predicted particles */
    struct sap_gpu_host_tree *t;     /* NULL: forces come from direct sums */
    const struct sap_gpu_stepper_kernels *f;
    struct sap_gpu_direct *direct;   /* NULL: forces come from a tree */
    struct sap_gpu_source *source;   /* in place of direct sums; NULL: there is none */
    struct sap_gpu_shared *shared;   /* sources of direct sums over all parts of a whole; NULL: they are its own */
    struct sap_gpu_hermite *hermite; /* NULL: leap-frog */
    int room, n;
    struct sap_step_order order;
    struct sap_gpu_buffer slot, address;       /* of the order, if it has them */
    struct sap_gpu_buffer x, v, a, pot, level; /* the particles, by address */
    struct sap_gpu_buffer built;               /* by slot, the predicted particles at the last build of the tree */
    struct sap_gpu_buffer row_level, flag, place;
    struct sap_gpu_buffer active; /* the list of active particles */
    int own_rows;                 /* rows of the last force are in row_a and row_pot, else in memory of the tree */
    struct sap_gpu_buffer row_a, row_pot;
    struct sap_gpu_buffer bad;  /* what kernels tell: SAP_STEPPER_TOLD ints */
    struct sap_gpu_buffer told; /* pinned: a copy of it */
    struct sap_gpu_buffer to_x, to_v, sum;
    const struct sap_step_lengths *lengths; /* by address; NULL: particles have none */
    struct sap_gpu_buffer reach;            /* by address, of the rule for steps */
    struct sap_gpu_buffer length;           /* by slot, over a tree with massless particles, or over a source */
};

static inline struct sap_gpu_stepper *sap_gpu_stepper_of(struct sap_stepper *stepper) { return (void *)stepper; }

/* Where a buffer is; NULL: it has no memory, since there are no particles. */
static inline void *sap_stepper_place_of(const struct sap_gpu_stepper *s, const struct sap_gpu_buffer *b)
{
    return b->mem ? s->session->driver->address(b->mem) : NULL;
}

/* Finds or loads the kernels of the device; a driver status. */
int sap_stepper_kernels(struct sap_gpu_stepper *s);

/* Resets what kernels report; copies it to pinned memory and waits; driver statuses (gpu_readback.c). */
int sap_stepper_reset(struct sap_gpu_stepper *s);
int sap_stepper_ask(struct sap_gpu_stepper *s, int *bad);

/* Copies the levels that a step has told to pinned memory (gpu_readback.c). */
void sap_stepper_copy_levels(const struct sap_gpu_stepper *s, struct sap_step_told *told);

/* Copies the order of the particles to the device, and puts the predicted particles in that order; a driver status. */
int sap_stepper_arrange(struct sap_gpu_stepper *s, const double *mass);

/*
 * Computes the forces of the tree on the active particles, of which s->active has the slots unless all are active; a
 * sapporo_status. _rows_a and _rows_pot return where the rows of the last force are (gpu_rows.c).
 */
int sap_stepper_tree_force(struct sap_gpu_stepper *s, const struct sap_step *step,
                           const struct sap_step_active *active);
const struct sap_gpu_buffer *sap_stepper_rows_a(const struct sap_gpu_stepper *s);
const struct sap_gpu_buffer *sap_stepper_rows_pot(const struct sap_gpu_stepper *s);

/* Makes memory for so many rows of the last force, which no tree has; a driver status (gpu_rows.c). */
int sap_stepper_own_rows(struct sap_gpu_stepper *s, int rows);

/* Writes zero forces on so many rows, if no particle has a mass; a driver status (gpu_rows.c). */
int sap_stepper_no_force(struct sap_gpu_stepper *s, int rows);

/* The order of the particles as an argument of kernels, and the arrays, or any buffer in place of an array. */
struct sap_stepper_order sap_stepper_order_of(const struct sap_gpu_stepper *s);
const struct sap_gpu_buffer *sap_stepper_slots(const struct sap_gpu_stepper *s);
const struct sap_gpu_buffer *sap_stepper_addresses(const struct sap_gpu_stepper *s);

/* Gives the tree, the rule for steps and massless particles their softening lengths; a driver status (gpu_rows.c). */
int sap_stepper_send_lengths(struct sap_gpu_stepper *s);

/* Entries of the table (gpu_columns.c). */
int sap_stepper_take_gpu(struct sap_stepper *stepper, const struct sap_step_particles *particles, int *bad);
int sap_stepper_read_gpu(struct sap_stepper *stepper, enum sap_step_column column, void *to);
int sap_stepper_write_gpu(struct sap_stepper *stepper, enum sap_step_column column, const void *from);
int sap_stepper_pots_gpu(struct sap_stepper *stepper, sapporo_memory memory, double *to);
int sap_stepper_read_device_gpu(struct sap_stepper *stepper, enum sap_step_column column, void *to);
int sap_stepper_at_gpu(struct sap_stepper *stepper, const struct sap_step *step, sapporo_memory memory, double (*x)[3],
                       double (*v)[3]);

#endif
