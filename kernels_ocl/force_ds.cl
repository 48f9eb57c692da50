/* force_ds.cl - kernels of the precision ds. */
#define SAP_KERNEL_DS
#include "device/force.h"
#include "device/neighbour.h"
