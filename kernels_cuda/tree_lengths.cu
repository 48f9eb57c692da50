/* tree_lengths.cu - softening lengths of sorted particles, nodes and groups of a tree. */
#define SAP_KERNEL_SP
#include "device/tree_lengths.h"
