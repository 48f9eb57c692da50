/* force2_dp.cl - kernels of order 2 in the precision dp. */
#define SAP_KERNEL_ORDER 2
#define SAP_KERNEL_DP
#include "device/batch.h"
#include "device/force.h"
