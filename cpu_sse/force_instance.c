/* force_instance.c - one instance of the force kernels: make compiles it for each row of instances.mk and each path. */
#define SAP_MANY_VECTORS SAP_VECTORS_OF_TARGETS
#include "ops.h"

#include "force_kernel.h"

SAP_DEFINE_KERNEL(SAP_INSTANCE, 48);
