/* dialect.h - the names in which the kernels of lib/device are written, for HIP: those of CUDA over builtins.h. */
#ifndef SAP_HIP_DIALECT_H
#define SAP_HIP_DIALECT_H

#include "builtins.h"

#include "../kernels_cuda/dialect.h"

#if defined(SAP_EMULATED)
#undef GROUP_MEMORY
#define GROUP_MEMORY(type, name) type *name = (type *)emulated_memory;
#endif

#endif
