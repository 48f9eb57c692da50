/* blocks_sp.cu - several block steps of order 4 in the precision sp by one kernel. */
#define SAP_KERNEL_SP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SAP_TOGETHER 1 /* groups of a cluster wait for each other */
#endif
#include "device/blocks.h"
