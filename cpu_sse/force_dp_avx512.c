/* The CPU kernels in `dp` for the path `avx512`. */
#define SAP_KERNEL_DP    1
#define SAP_MANY_VECTORS 2
#include "ops_avx512.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel_dp_avx512, 48);
