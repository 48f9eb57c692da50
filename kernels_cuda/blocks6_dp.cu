/* blocks6_dp.cu - several block steps of order 6 in the precision dp by one kernel. */
#define SAP_KERNEL_ORDER 6
#define SAP_KERNEL_DP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SAP_TOGETHER 1 /* groups of a cluster wait for each other */
#endif
#include "device/blocks.h"
