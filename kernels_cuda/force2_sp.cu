/* force2_sp.cu - kernels of order 2 in the precision sp. */
#define SAP_KERNEL_ORDER 2
#define SAP_KERNEL_SP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define BATCH_GROUPS 10 /* 48 registers, where the compiler would take 55 */
#endif
#include "device/batch.h"
#include "device/batch_float.h"
#include "device/force.h"
