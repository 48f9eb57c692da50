/* force_soft_sp.cu - kernels of order 4 in the precision sp for particles with softening lengths. */
#define SAP_KERNEL_SOFT 1
#define SAP_KERNEL_SP
#include "device/force.h"
