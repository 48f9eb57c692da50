/* tree_walk_dp.cu - walks of trees in the precision dp. */
#define SAP_KERNEL_DP
#include "device/tree_walk.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_dp, SAP_FEW_THREADS, 0)

#include "device/tree_stackless.h"
