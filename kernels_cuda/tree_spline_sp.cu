/* tree_spline_sp.cu - tree walks with spline softening in the precision sp. */
#define SAP_KERNEL_SP
#define SAP_TREE_SPLINE
#define WALK_GROUPS 16 /* as for other softening, with a squared length more per target particle */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WHOLE_GROUPS 12
#else
#define WHOLE_GROUPS 0
#endif
#include "device/tree_walk.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_spline_sp, SAP_FEW_THREADS, 0)
