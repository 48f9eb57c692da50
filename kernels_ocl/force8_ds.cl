/* force8_ds.cl - kernels of order 8 in the precision ds. */
#define SAP_KERNEL_ORDER 8
#define SAP_KERNEL_DS
#include "device/force.h"
