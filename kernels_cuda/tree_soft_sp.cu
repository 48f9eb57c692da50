/* tree_soft_sp.cu - tree walks with Plummer lengths per particle in the precision sp. */
#define SAP_KERNEL_SP
#define SAP_TREE_SOFT
#define WALK_GROUPS 16 /* as for splines */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WHOLE_GROUPS 12
#else
#define WHOLE_GROUPS 0
#endif
#include "device/tree_walk.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_soft_sp, SAP_FEW_THREADS, 0)
