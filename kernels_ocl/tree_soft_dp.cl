/* tree_soft_dp.cl - tree walks with Plummer lengths per particle in the precision dp, on devices with double
 * precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#define SAP_GROUPS 1 /* groups of threads, on CPUs too */
#define SAP_KERNEL_DP
#define SAP_TREE_SOFT
#include "device/tree_walk.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_soft_dp, SAP_FEW_THREADS, 0)

#include "device/tree_stackless.h"
#endif
