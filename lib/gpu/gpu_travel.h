/* gpu_travel.h - j-particles that travel between processes from device memory to device memory. */
#ifndef SAP_GPU_TRAVEL_H
#define SAP_GPU_TRAVEL_H

#include "engine/travel_ops.h"

extern const struct sap_travel_ops sap_travel_gpu;

#endif
