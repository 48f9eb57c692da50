/* The CPU kernels of order 2 in `sp` for the path `avx2`. */
#define SAP_ORDER        2
#define SAP_KERNEL_SP    1
#define SAP_MANY_VECTORS 2
#include "ops_avx2.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(sap_kernel2_sp_avx2, 48);
