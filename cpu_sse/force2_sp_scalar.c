/* The CPU kernels of order 2 in `sp` for the path `scalar`. */
#define SAP_ORDER     2
#define SAP_KERNEL_SP 1
#include "physics/ops_scalar.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel2_sp_scalar, 48);
