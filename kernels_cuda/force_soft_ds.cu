/* force_soft_ds.cu - kernels of order 4 in the precision ds for particles with softening lengths. */
#define SAP_KERNEL_SOFT 1
#define SAP_KERNEL_DS
#include "device/force.h"
