/* The CPU kernels of the tree in `dp` for the path `avx2`. */
#define SAP_KERNEL_DP    1
#define SAP_TREE_VECTORS 1
#include "ops_avx2.h"

#include "tree_kernel.h"

SAP_DEFINE_TREE_KERNEL(sap_tree_kernel_dp_avx2);
