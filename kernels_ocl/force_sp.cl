/* force_sp.cl - kernels of the precision sp. */
#define SAP_KERNEL_SP
#include "device/force.h"
#include "device/neighbour.h"
