/* The CPU kernels of order 6 in `dp` for the path `avx2`. */
#define SAP_ORDER     6
#define SAP_KERNEL_DP 1
#include "ops_avx2.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel6_dp_avx2, 48);
