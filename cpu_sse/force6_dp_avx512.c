/* The CPU kernels of order 6 in `dp` for the path `avx512`. */
#define SAP_ORDER     6
#define SAP_KERNEL_DP 1
#include "ops_avx512.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel6_dp_avx512, 48);
