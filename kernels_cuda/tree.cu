/* tree.cu - kernels that build a tree. */
#define SAP_KERNEL_SP
#include "device/tree_bodies.h"
#include "device/tree_given.h"
#include "device/tree_images.h"
#include "device/tree_moments.h"
#include "device/tree_nearest.h"
#include "device/tree_periodic.h"
#include "device/tree_rows.h"
#include "device/tree_stops.h"
