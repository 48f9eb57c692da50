/* force6_soft_ds.cl - kernels of order 6 in the precision ds for particles with softening lengths. */
#define SAP_KERNEL_ORDER 6
#define SAP_KERNEL_SOFT  1
#define SAP_KERNEL_DS
#include "device/force.h"
