/* tree_walk_dp.cl - tree walks in the precision dp, on devices with double precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#define SAP_GROUPS 1 /* groups of threads, on CPUs too */
#define SAP_KERNEL_DP
#include "device/tree_walk.h"

#include "device/tree_districts.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_dp, SAP_FEW_THREADS, 0)

#include "device/tree_stackless.h"
#endif
