/*
 * gpu_frame.h - the bounds of the particles of a tree on an accelerator, and from them its cube and units.
 *
 * Functions that return int return driver statuses.
 */
#ifndef SAP_GPU_FRAME_H
#define SAP_GPU_FRAME_H

#include "engine/cube.h"
#include "engine/tree_ops.h"
#include "gpu/tree/gpu_builder.h"
#include "gpu/tree/gpu_given.h"
#include "gpu/tree/gpu_lengths.h"

/* What is known of the given particles. */
struct sap_gpu_bounds {
    double low[3], high[3];
    double weight; /* sum of |m| */
    int signs;     /* there are masses of both signs */
    int members;   /* of the sample of positions */
    double sample[3][SAP_CUBE_SAMPLE];
};

/* What units depend on beside the particles. */
struct sap_gpu_rules {
    const struct sap_tree_settings *settings;
    const struct sap_gpu_lengths *lengths;
    const struct sap_tree_whole *whole; /* NULL: the tree is no part of one */
    int n;                              /* given particles */
};

/* Returns whether the tree needs the unit of MULTIPOLE's tolerance, and finds it itself. */
int sap_gpu_frame_finds_pull(const struct sap_gpu_rules *rules);

/*
 * Finds the bounds of the given particles and so many members of a sample; waits. SAP_DRIVER_ERROR, and
 * builder->out_of_range, if their moments exceed the range of double.
 */
int sap_gpu_frame_look(const struct sap_gpu_session *s, struct sap_gpu_builder *builder,
                       const struct sap_gpu_given *given, int members, struct sap_gpu_bounds *bounds);

/* Chooses the cube of a tree. */
void sap_gpu_frame_choose(struct sap_gpu_tree *frame, struct sap_cube *cube, const struct sap_gpu_rules *rules,
                          const struct sap_gpu_bounds *bounds);

/* Sets the units of lengths, masses and tolerances for a cube. */
void sap_gpu_frame_units(struct sap_gpu_tree *frame, const struct sap_cube *cube, const struct sap_gpu_rules *rules,
                         const struct sap_gpu_bounds *bounds);

#endif
