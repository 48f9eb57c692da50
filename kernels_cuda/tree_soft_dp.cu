/* tree_soft_dp.cu - tree walks with Plummer lengths per particle in the precision dp. */
#define SAP_KERNEL_DP
#define SAP_TREE_SOFT
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1030
#define WALK_GROUPS 8 /* with the compiler's own choice a variable would lie in memory */
#endif
#include "device/tree_walk.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_soft_dp, SAP_FEW_THREADS, 0)

#include "device/tree_stackless.h"
