/* blocks8_ds.cu - several block steps of order 8 in the precision ds by one kernel. */
#define SAP_KERNEL_ORDER 8
#define SAP_KERNEL_DS
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SAP_TOGETHER 1 /* groups of a cluster wait for each other */
#endif
#include "device/blocks.h"
