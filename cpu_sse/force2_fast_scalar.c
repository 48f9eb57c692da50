/* The CPU kernels of order 2 in `sp` with fast roots for the path `scalar`. */
#define SAP_ORDER       2
#define SAP_KERNEL_SP   1
#define SAP_KERNEL_FAST 1
#include "physics/ops_scalar.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel2_fast_scalar, 48);
