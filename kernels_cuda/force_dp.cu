/* force_dp.cu - kernels of the precision dp. */
#define SAP_KERNEL_DP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SAP_EARLY 1 /* kernels wait for those before them, and so begin early */
#endif
#include "device/force.h"
#include "device/neighbour.h"
