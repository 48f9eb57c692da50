/* force6_soft_dp.cl - kernels of order 6 in the precision dp for particles with softening lengths. */
#define SAP_KERNEL_ORDER 6
#define SAP_KERNEL_SOFT  1
#define SAP_KERNEL_DP
#include "device/force.h"
