/*
 * gpu_positions.h - positions that receive a force from a tree on an accelerator: those of a caller, or of the massless
 * particles of a stepper.
 */
#ifndef SAP_GPU_POSITIONS_H
#define SAP_GPU_POSITIONS_H

#include "engine/cube.h"
#include "gpu/tree/gpu_targets.h"
#include "sapporo.h"

struct sap_gpu_positions {
    struct sap_gpu_buffer given,
        a; /* in the order of the caller: four doubles each, with mass 1; sizes of accelerations */
    struct sap_gpu_targets targets;
};

/*
 * Reads position i of a caller; unit: of coordinates, or 0. A position that is not finite, or has no length, is
 * replaced by the corner of the cube; returns 0. With a period the position is its image inside the periodic cube.
 */
int sap_gpu_positions_read(const sapporo_tree_request *r, int i, const struct sap_cube *cube, double unit,
                           double period, double *x);

/* Uploads the positions of a caller; *bad: the number of those that were replaced. A driver status. */
int sap_gpu_positions_upload(struct sap_gpu_positions *p, struct sap_gpu_session *s, const sapporo_tree_request *r,
                             const struct sap_cube *cube, double unit, double period, int *bad);

void sap_gpu_positions_free(const struct sap_driver *driver, struct sap_gpu_positions *p);

#endif
