/* The CPU kernels of the tree in `dp` for the path `avx512`. */
#define SAP_KERNEL_DP    1
#define SAP_TREE_VECTORS 2
#include "ops_avx512.h"

#include "tree_kernel.h"

SAP_DEFINE_TREE_KERNEL(sap_tree_kernel_dp_avx512);
