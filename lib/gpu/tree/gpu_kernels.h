/* gpu_kernels.h - the tree kernels of a device. */
#ifndef SAP_GPU_TREE_KERNELS_H
#define SAP_GPU_TREE_KERNELS_H

#include "device/tree_bodies_layout.h"
#include "device/tree_halo_layout.h"
#include "device/tree_layout.h"
#include "gpu/gpu_kernel_list.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/gpu_session.h"

/* The kernels of a device: of all trees, and of walks in sp and dp. */
struct sap_gpu_tree_kernels {
    struct sap_module *module[3];
    struct sap_primitives primitives;
    SAP_KERNELS_TREE(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
    SAP_KERNELS_TREE_WALK_SP(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
    SAP_KERNELS_TREE_WALK_DP(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
};

SAP_KERNELS_TREE(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_tree_kernels)
SAP_KERNELS_TREE_WALK_SP(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_tree_kernels)
SAP_KERNELS_TREE_WALK_DP(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct sap_gpu_tree_kernels)

/* Finds or loads the kernels of a session's device, its primitives among them; a driver status. */
int sap_gpu_tree_load(struct sap_gpu_session *s, const struct sap_gpu_tree_kernels **f);

#endif
