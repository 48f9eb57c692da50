/* force_sp.cu - kernels of the precision sp. */
#define SAP_KERNEL_SP
#include "device/force.h"
#include "device/neighbour.h"
