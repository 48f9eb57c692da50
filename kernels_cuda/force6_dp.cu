/* force6_dp.cu - kernels of order 6 in the precision dp. */
#define SAP_KERNEL_ORDER 6
#define SAP_KERNEL_DP
#include "device/force.h"
