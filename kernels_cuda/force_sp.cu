/* force_sp.cu - kernels of the precision sp. */
#define SAP_KERNEL_SP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SAP_EARLY 1 /* kernels wait for those before them, and so begin early */
#endif
#include "device/force.h"
#include "device/neighbour.h"
