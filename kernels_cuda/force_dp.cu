/* force_dp.cu - kernels of the precision dp. */
#define SAP_KERNEL_DP
#include "device/force.h"
#include "device/neighbour.h"
