/* force2_ds.cu - kernels of order 2 in the precision ds. */
#define SAP_KERNEL_ORDER 2
#define SAP_KERNEL_DS
#include "device/batch.h"
#include "device/batch_float.h"
#include "device/force.h"
