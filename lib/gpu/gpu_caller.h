/* gpu_caller.h - columns and results that the caller has in memory of the device. */
#ifndef SAP_GPU_CALLER_H
#define SAP_GPU_CALLER_H

#include "engine/caller_ops.h"

extern const struct sap_caller_ops sap_caller_gpu;

#endif
