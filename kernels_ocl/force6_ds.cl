/* force6_ds.cl - kernels of order 6 in the precision ds. */
#define SAP_KERNEL_ORDER 6
#define SAP_KERNEL_DS
#include "device/force.h"
