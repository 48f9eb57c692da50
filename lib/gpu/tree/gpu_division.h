/* gpu_division.h - divides a walk among devices so that all end together (gpu_shares.h). */
#ifndef SAP_GPU_DIVISION_H
#define SAP_GPU_DIVISION_H

#include "gpu/tree/gpu_shares.h"

/* Chooses the share of each device, by the times of earlier walks; the first has them all if it is fastest alone. */
void sap_gpu_division_choose(struct sap_gpu_shares *shares, const struct sap_gpu_walking *walk,
                             const struct sap_gpu_subset *to);

#endif
