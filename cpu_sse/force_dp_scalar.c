/* The CPU kernels in `dp` for the path `scalar`. */
#define SAP_KERNEL_DP 1
#include "physics/ops_scalar.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel_dp_scalar, 48);
