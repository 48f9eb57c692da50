/* tree_walk_sp.cu - tree walks in the precision sp. */
#define SAP_KERNEL_SP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WALK_GROUPS     20 /* older architectures have room for fewer */
#define SELECTED_GROUPS 16
#define WHOLE_GROUPS    16
#endif
#include "device/tree_walk.h"

#include "device/tree_few.h"
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define LARGE_GROUPS 5 /* in 96 registers; with more, or on other architectures, variables would lie in memory */
#else
#define LARGE_GROUPS 4
#endif
FEW_KERNEL(tree_few_sp, SAP_FEW_THREADS, LARGE_GROUPS > 4 ? 20 : 0)
FEW_KERNEL(tree_large_sp, SAP_LARGE_THREADS, LARGE_GROUPS)
