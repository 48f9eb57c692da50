/* force_dp.cl - kernels of the precision dp. */
#define SAP_KERNEL_DP
#include "device/force.h"
#include "device/neighbour.h"
