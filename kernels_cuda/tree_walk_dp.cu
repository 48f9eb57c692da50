/* tree_walk_dp.cu - tree walks in the precision dp. */
#define SAP_KERNEL_DP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define SAP_LANES_REDUCE
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1030
#define WALK_GROUPS 8 /* with the compiler's own choice a variable would lie in memory, as in the next */
#endif
#define SELECTED_GROUPS 8
#define FEW_GROUPS      8
#include "device/tree_walk.h"

#include "device/tree_districts.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_dp, SAP_FEW_THREADS, FEW_GROUPS)

#include "device/tree_stackless.h"
