/* tree_walk_sp.cu - walks of trees in the precision sp. */
#define SAP_KERNEL_SP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1030
#define WALK_GROUPS 22 /* with 24 a variable would lie in memory */
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WALK_GROUPS 24 /* others have room for fewer */
#endif
#include "device/tree_walk.h"

#include "device/tree_few.h"
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
FEW_KERNEL(tree_few_sp, SAP_FEW_THREADS, 24)
FEW_KERNEL(tree_large_sp, SAP_LARGE_THREADS, 6)
#else
FEW_KERNEL(tree_few_sp, SAP_FEW_THREADS, 0)
FEW_KERNEL(tree_large_sp, SAP_LARGE_THREADS, 4)
#endif
