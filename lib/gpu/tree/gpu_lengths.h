/* gpu_lengths.h - the softening of a tree on an accelerator, and the lengths of its particles. */
#ifndef SAP_GPU_LENGTHS_H
#define SAP_GPU_LENGTHS_H

#include "device/tree_layout.h"
#include "engine/softening.h"
#include "gpu/gpu_kernel_list.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_session.h"
#include "sapporo.h"

struct sap_gpu_nodes;
struct sap_gpu_targets;
struct sap_gpu_lengths;
struct sap_tree_halo;

/* Kernels for softening lengths of a device. */
struct sap_gpu_length_kernels {
    struct sap_module *module[1];
    SAP_KERNELS_TREE_LENGTHS(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
};

/* Walks with spline softening. */
struct sap_gpu_spline_kernels {
    struct sap_module *module[2];
    SAP_KERNELS_TREE_SPLINE_SP(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
    SAP_KERNELS_TREE_SPLINE_DP(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
};

/* Walks with Plummer lengths per particle. */
struct sap_gpu_soft_kernels {
    struct sap_module *module[2];
    SAP_KERNELS_TREE_SOFT_SP(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
    SAP_KERNELS_TREE_SOFT_DP(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
};

SAP_KERNELS_TREE_LENGTHS(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_length_kernels)
SAP_KERNELS_TREE_SPLINE_SP(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_spline_kernels)
SAP_KERNELS_TREE_SPLINE_DP(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_spline_kernels)
SAP_KERNELS_TREE_SOFT_SP(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_soft_kernels)
SAP_KERNELS_TREE_SOFT_DP(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_soft_kernels)

/* Lengths of a halo, in units: of its particles, and what its nodes have of them. */
struct sap_gpu_halo_lengths {
    struct sap_gpu_buffer of_particle, of_node;
};

/* A halo whose nodes get their lengths; root: the cells of the tree that walks, of which the root is the first. */
struct sap_gpu_length_halo {
    const struct sap_gpu_halo_lengths *lengths;
    const struct sap_gpu_nodes *nodes;
    const struct sap_gpu_buffer *sorted, *root;
    const struct sap_gpu_tree *frame;
};

/* A level of a selection for other parts, of so many entries; the arguments of tree_length_fill. */
struct sap_gpu_length_fill {
    int entries, shift_at;
    const struct sap_gpu_buffer *entry, *shift, *before, *address, *made, *made_h;
    const struct sap_gpu_buffer *in_order; /* lengths that are copied, of nodes in units, too; NULL: those given */
    const struct sap_gpu_nodes *nodes;
};

/* Return the kernels of a device, loaded by the first call (gpu_length_kernels.c); driver statuses. */
int sap_gpu_length_kernels(const struct sap_gpu_session *s, const struct sap_gpu_length_kernels **f);
int sap_gpu_spline_kernels(const struct sap_gpu_session *s, const struct sap_gpu_spline_kernels **f);
int sap_gpu_soft_kernels(const struct sap_gpu_session *s, const struct sap_gpu_soft_kernels **f);

/* The laws of softening (engine/softening.h), by which tables of them are sorted. */
enum sap_gpu_law_number { SAP_GPU_PLAIN, SAP_GPU_SOFT, SAP_GPU_SPLINE, SAP_GPU_LAWS };

/* What a tree does by its softening.  Functions return driver statuses. */
struct sap_gpu_law {
    enum sap_gpu_law_number number;
    int lengths; /* of each particle and group: 1, or 0 */
    int of_node; /* doubles per node */

    /* Loads the kernels of walks, within a call. */
    int (*open)(const struct sap_gpu_session *s, struct sap_gpu_lengths *l);

    /* Computes the lengths of the particles of a tree, in units, and what nodes have of them. */
    int (*nodes)(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l, const struct sap_gpu_nodes *nodes,
                 const struct sap_gpu_targets *own, const struct sap_gpu_tree *frame);

    /* Computes the greatest length of each group of targets. */
    int (*groups)(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l, const struct sap_gpu_targets *to);

    /*
     * Of a halo, where nodes have lengths (else NULL): upload them; compute those of nodes first ... end-1 from their
     * children, and enter them into their words; enter those of all nodes.
     */
    int (*import)(struct sap_gpu_session *s, struct sap_gpu_halo_lengths *to, const struct sap_tree_halo *halo,
                  double unit);
    int (*above)(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l, const struct sap_gpu_length_halo *to,
                 int first, int end);
    int (*words)(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                 const struct sap_gpu_length_halo *to);

    /* For a halo: make nodes accepted only from as far away as their lengths allow; copy those of a level. */
    int (*reach)(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l, const struct sap_gpu_nodes *nodes,
                 const struct sap_gpu_buffer *reach, const struct sap_gpu_tree *frame);
    int (*fill)(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l, const struct sap_gpu_length_fill *of,
                double unit);

    /* Sorts the lengths of positions, which are in of_positions, for coordinates in units. */
    int (*sort)(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l, struct sap_gpu_targets *to,
                double unit);

    /* Takes the lengths of sorted positions in the order of the caller, for coordinates in units; NULL: the usual one.
     */
    int (*positions)(struct sap_gpu_session *s, struct sap_gpu_lengths *l, struct sap_gpu_targets *to,
                     const sapporo_column *of, double unit);
};

/* The softening of a tree, and the lengths of its particles, if they have lengths. */
struct sap_gpu_lengths {
    const struct sap_gpu_law *law, *next;        /* of the tree; of the last set, for the next build or refresh */
    const struct sap_gpu_length_kernels *f;      /* these three: NULL until there are such lengths */
    const struct sap_gpu_spline_kernels *spline; /* or NULL */
    const struct sap_gpu_soft_kernels *walks;    /* of Plummer lengths, or NULL */
    const struct sap_tree_settings *settings;
    int room;
    struct sap_softening soft;     /* of the last set */
    double *h;                     /* [room] of the last set; NULL: there were no lengths yet */
    double least;                  /* of the last set, the least length > 0; INFINITY: there is none */
    int uploaded;                  /* these are in `given` */
    struct sap_gpu_buffer given;   /* by address */
    struct sap_gpu_buffer of_node; /* of splines the greatest of each node, else SAP_SOFT_WORDS per node; in units */
    struct sap_gpu_buffer of_positions; /* of positions, in the order of the caller */
};

/* Prepares the lengths of a tree of `room` particles, whose settings remain. */
void sap_gpu_lengths_new(struct sap_gpu_lengths *l, const struct sap_tree_settings *settings, int room);

/* Makes memory and kernels for lengths that every set has: those of splines; a driver status. */
int sap_gpu_lengths_open(const struct sap_gpu_session *s, struct sap_gpu_lengths *l);
void sap_gpu_lengths_free(const struct sap_driver *driver, struct sap_gpu_lengths *l);

/* Bytes of host memory, and of device memory, that n particles of a tree need for their lengths. */
size_t sap_gpu_lengths_bytes(const struct sap_tree_settings *settings, int n, size_t *device_bytes);

/*
 * Reads n lengths in device memory to host memory, for sap_gpu_lengths_take, and looks for the first that is no length,
 * or half a period > 0 or more; *bad: its number, or -1.  The caller frees *h.  A driver status.
 */
int sap_gpu_lengths_fetch(struct sap_gpu_session *s, const sapporo_column *of, int n, double period, double **h,
                          int *bad);

/*
 * Takes and uploads the lengths of a set of n particles; NULL: as before, or, unless `keeps`, the usual one of splines,
 * or none.  A driver status.
 */
int sap_gpu_lengths_take(struct sap_gpu_session *s, struct sap_gpu_lengths *l, const sapporo_column *of, int n,
                         int keeps);

/* Says that the particles of the last set have no lengths, unless those of splines. */
void sap_gpu_lengths_drop(struct sap_gpu_lengths *l);

/* Whether some length of n particles needs pair terms in double, in these units. */
int sap_gpu_lengths_short(const struct sap_gpu_lengths *l, int n, double unit);

#endif
