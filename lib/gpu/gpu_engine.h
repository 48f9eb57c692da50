/*
 * gpu_engine.h - the engines for accelerators. One host flow over lib/driver/driver.h serves every vendor; each of its
 * modules has a header of its own.
 */
#ifndef SAP_GPU_ENGINE_H
#define SAP_GPU_ENGINE_H

#include "engine/engine.h"

extern const struct sap_engine sap_engine_cuda, sap_engine_hip, sap_engine_opencl;

/* Trees on accelerators (lib/gpu/tree/gpu_tree.c). */
extern const struct sap_tree_maker sap_gpu_tree_maker; /* tree/gpu_tree.c */
extern const struct sap_tree_ops sap_gpu_tree_ops;

#endif
