/* tree_lengths.cl - softening lengths of sorted particles, nodes and groups of a tree, on devices with double
 * precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#define SAP_GROUPS 1 /* groups of threads, on CPUs too */
#define SAP_KERNEL_SP
#include "device/tree_lengths.h"
#endif
