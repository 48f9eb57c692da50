/* force8_ds.cu - kernels of order 8 in the precision ds. */
#define SAP_KERNEL_ORDER 8
#define SAP_KERNEL_DS
#include "device/force.h"
