/* force8_dp.cu - kernels of order 8 in the precision dp. */
#define SAP_KERNEL_ORDER 8
#define SAP_KERNEL_DP
#include "device/force.h"
