/* tree_walk_dp.cu - walks of trees in the precision dp. */
#define SAP_KERNEL_DP
#include "device/tree_walk.h"

#include "device/tree_few.h"

#include "device/tree_stackless.h"
