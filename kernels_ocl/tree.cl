/* tree.cl - kernels that build a tree, on devices with double precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#define SAP_GROUPS 1 /* groups of threads, on CPUs too */
#define SAP_KERNEL_SP
#include "device/tree_bodies.h"
#include "device/tree_given.h"
#include "device/tree_images.h"
#include "device/tree_moments.h"
#include "device/tree_nearest.h"
#include "device/tree_periodic.h"
#include "device/tree_rows.h"
#include "device/tree_stops.h"
#endif
