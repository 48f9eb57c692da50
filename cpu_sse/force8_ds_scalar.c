/* The CPU kernels of order 8 in `ds` for the path `scalar`. */
#define SAP_ORDER     8
#define SAP_KERNEL_DS 1
#include "physics/ops_scalar.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel8_ds_scalar, 48);
