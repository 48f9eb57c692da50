/* kdtree.cl - kernels that build a kd-tree, on devices with double precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#define SAP_GROUPS 1 /* groups of threads, on CPUs too */
#include "device/kd_groups.h"
#include "device/kd_large.h"
#include "device/kd_link.h"
#include "device/kd_small.h"
#endif
