/* tree_walk_sp.cu - tree walks in the precision sp. */
#define SAP_KERNEL_SP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define SAP_LANES_REDUCE
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WALK_GROUPS  20 /* older architectures have room for fewer */
#define WHOLE_GROUPS 16
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
#define SELECTED_GROUPS 20 /* some variables lie in memory */
#define LARGE_GROUPS    6
#define FEW_GROUPS      24
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ > 900
#define SELECTED_GROUPS 16
#define LARGE_GROUPS    5
#define FEW_GROUPS      20
#else
#define LARGE_GROUPS 4
#define FEW_GROUPS   0
#endif
#include "device/tree_walk.h"

#include "device/tree_districts.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_sp, SAP_FEW_THREADS, FEW_GROUPS)
FEW_KERNEL(tree_large_sp, SAP_LARGE_THREADS, LARGE_GROUPS)
