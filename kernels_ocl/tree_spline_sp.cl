/* tree_spline_sp.cl - tree walks with spline softening in the precision sp, on devices with double precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#define SAP_GROUPS 1 /* groups of threads, on CPUs too */
#define SAP_KERNEL_SP
#define SAP_TREE_SPLINE
#include "device/tree_walk.h"

#include "device/tree_few.h"
FEW_KERNEL(tree_few_spline_sp, SAP_FEW_THREADS, 0)
#endif
