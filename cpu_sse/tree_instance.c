/* tree_instance.c - one instance of the tree kernels: make compiles it for each row of instances.mk and each path. */
#define SAP_TREE_VECTORS SAP_VECTORS_OF_TARGETS
#include "ops.h"

#include "tree_kernel.h"

SAP_DEFINE_TREE_KERNEL(SAP_INSTANCE);
