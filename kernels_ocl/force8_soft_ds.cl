/* force8_soft_ds.cl - kernels of order 8 in the precision ds for particles with softening lengths. */
#define SAP_KERNEL_ORDER 8
#define SAP_KERNEL_SOFT  1
#define SAP_KERNEL_DS
#include "device/force.h"
