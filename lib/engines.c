/*
 * engines.c - the engines of this build.
 *
 * Only this file names every engine.  All other files find engines in this list, so the context does not depend on any
 * engine.
 */
#include "cpu/cpu_engine.h"
#include "gpu/gpu_engine.h"

const struct sap_engine *const sap_engines[] = {&sap_engine_cuda, &sap_engine_hip, &sap_engine_opencl, &sap_engine_cpu,
                                                NULL};

const struct sap_engine *sap_fallback_engine(void) { return &sap_engine_cpu; }
