/*
 * gpu_stops.h - a tree in depth-first order in device memory, for the walk of single particles (device/tree_stops.h).
 */
#ifndef SAP_GPU_STOPS_H
#define SAP_GPU_STOPS_H

#include "gpu/tree/gpu_built.h"

struct sap_gpu_stops {
    struct sap_gpu_buffer begin, top; /* by sorted particle: cells that begin before it, level of the largest there */
    struct sap_gpu_buffer stop;
    int n; /* stops of the present nodes and particles; 0: none yet */
};

/*
 * Writes the stops of a tree with particles if they are needed; a driver status. cells: pinned memory for the number of
 * stops that are cells.
 */
int sap_gpu_stops_make(struct sap_gpu_stops *stops, const struct sap_gpu_built *of, int *cells);

void sap_gpu_stops_free(const struct sap_driver *driver, struct sap_gpu_stops *stops);

#endif
