/* gpu_lengths.h - the lengths of spline softening of a tree on an accelerator. */
#ifndef SAP_GPU_LENGTHS_H
#define SAP_GPU_LENGTHS_H

#include "device/tree_layout.h"
#include "gpu/gpu_kernel_list.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_session.h"
#include "sapporo.h"

struct sap_gpu_nodes;
struct sap_gpu_targets;
struct sap_tree_settings;

/* Kernels for spline softening of a device. */
struct sap_gpu_spline_kernels {
    struct sap_module *module[2];
    SAP_KERNELS_TREE_SPLINE_SP(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
    SAP_KERNELS_TREE_SPLINE_DP(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
};

SAP_KERNELS_TREE_SPLINE_SP(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_spline_kernels)
SAP_KERNELS_TREE_SPLINE_DP(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_spline_kernels)

/* The lengths of the particles of a tree.  Without spline softening all is 0. */
struct sap_gpu_lengths {
    const struct sap_gpu_spline_kernels *f; /* NULL: the tree has no spline softening */
    int mean;                               /* pairs take the mean of the terms with both lengths */
    double eps2;                            /* of the tree */
    double *h;                              /* [room] of the last set */
    double most, least;                 /* the greatest of the last set, and the least > 0; INFINITY: there is none */
    int uploaded;                       /* these are in `given` */
    struct sap_gpu_buffer given;        /* by address */
    struct sap_gpu_buffer of_node;      /* the greatest of each node, in units */
    struct sap_gpu_buffer of_positions; /* of positions, in the order of the caller */
};

/*
 * Prepare the lengths of `room` particles of a tree whose settings have spline softening; driver statuses. _open,
 * within a call, needs _new.
 */
int sap_gpu_lengths_new(struct sap_gpu_lengths *l, const struct sap_tree_settings *settings, int room);
int sap_gpu_lengths_open(const struct sap_gpu_session *s, struct sap_gpu_lengths *l, int room);
void sap_gpu_lengths_free(const struct sap_driver *driver, struct sap_gpu_lengths *l);

/* Bytes of host memory, and of device memory, that n particles need for their lengths. */
size_t sap_gpu_lengths_bytes(int n, size_t *device_bytes);

/*
 * Reads n lengths in device memory to host memory, for sap_gpu_lengths_take, and looks for the first that is no length;
 * *bad: its number, or -1.  The caller frees *h.  A driver status.
 */
int sap_gpu_lengths_fetch(struct sap_gpu_session *s, const sapporo_column *of, int n, double **h, int *bad);

/*
 * Takes and uploads the lengths of a set of n particles; NULL: as before, or, unless `keeps`, the root of eps2.  A
 * driver status.
 */
int sap_gpu_lengths_take(struct sap_gpu_session *s, struct sap_gpu_lengths *l, const sapporo_column *of, int n,
                         int keeps);

/*
 * Takes the lengths of sorted positions in the order of the caller, for coordinates in units; NULL: the root of eps2. A
 * driver status.
 */
int sap_gpu_lengths_of_positions(struct sap_gpu_session *s, struct sap_gpu_lengths *l, struct sap_gpu_targets *to,
                                 const sapporo_column *of, double unit);

/* Returns the square of the greatest softening length; eps2: of a tree without spline softening. */
double sap_gpu_lengths_most(const struct sap_gpu_lengths *l, double eps2);

/* Whether some length of n particles needs pair terms in double, in these units. */
int sap_gpu_lengths_short(const struct sap_gpu_lengths *l, int n, double unit);

/*
 * Compute the lengths of sorted targets in units from lengths by address, those of the particles of a tree and the
 * greatest of each of its nodes, and the greatest of each group of targets; driver statuses.
 */
int sap_gpu_lengths_gather(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                           const struct sap_gpu_targets *to, const struct sap_gpu_buffer *given, double unit);
int sap_gpu_lengths_nodes(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                          const struct sap_gpu_nodes *nodes, const struct sap_gpu_targets *own,
                          const struct sap_gpu_tree *frame);
int sap_gpu_lengths_groups(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                           const struct sap_gpu_targets *to);

#endif
