/* tree_walk_sp.cu - walks of trees in the precision sp. */
#define SAP_KERNEL_SP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1030
#define WALK_GROUPS 22 /* with 24 a variable would lie in memory */
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WALK_GROUPS 24 /* others have room for fewer */
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define FEW_GROUPS 6
#endif
#include "device/tree_walk.h"

#include "device/tree_few.h"
