/* kdtree.cu - kernels that build a kd-tree. */
#include "device/kd_groups.h"
#include "device/kd_large.h"
#include "device/kd_link.h"
#include "device/kd_small.h"
