/* The CPU kernels of order 6 in `dp` for the path `scalar`. */
#define SAP_ORDER     6
#define SAP_KERNEL_DP 1
#include "physics/ops_scalar.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel6_dp_scalar, 48);
