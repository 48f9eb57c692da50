/* force2_sp.cl - kernels of order 2 in the precision sp. */
#define SAP_KERNEL_ORDER 2
#define SAP_KERNEL_SP
#include "device/batch.h"
#include "device/batch_float.h"
#include "device/force.h"
