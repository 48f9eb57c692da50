/* The CPU kernels of the tree in `dp` for the path `scalar`. */
#define SAP_KERNEL_DP    1
#define SAP_TREE_VECTORS 1
#include "physics/ops_scalar.h"

#include "tree_kernel.h"

SAP_DEFINE_TREE_KERNEL(sap_tree_kernel_dp_scalar);
