/* tree_walk_sp.cl - tree walks in the precision sp, on devices with double precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#define SAP_GROUPS 1 /* groups of threads, on CPUs too */
#define SAP_KERNEL_SP
#include "device/tree_walk.h"

#include "device/tree_districts.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_sp, SAP_FEW_THREADS, 0)
FEW_KERNEL(tree_large_sp, SAP_LARGE_THREADS, 4)
#endif
