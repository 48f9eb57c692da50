/* The CPU kernels in `ds` for the path `scalar`. */
#define SAP_KERNEL_DS 1
#include "physics/ops_scalar.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel_ds_scalar, 48);
