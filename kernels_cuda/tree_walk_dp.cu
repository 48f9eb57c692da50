/* tree_walk_dp.cu - walks of trees in the precision dp. */
#define SAP_KERNEL_DP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1030
#define WALK_GROUPS 8 /* left to itself the compiler puts a variable in memory */
#endif
#include "device/tree_walk.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_dp, SAP_FEW_THREADS, 0)

#include "device/tree_stackless.h"
