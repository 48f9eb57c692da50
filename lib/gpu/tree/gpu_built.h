/* gpu_built.h - a tree in device memory, as searches, walks and other parts of a whole read it. */
#ifndef SAP_GPU_BUILT_H
#define SAP_GPU_BUILT_H

#include "gpu/tree/gpu_given.h"
#include "gpu/tree/gpu_lengths.h"
#include "gpu/tree/gpu_nodes.h"
#include "gpu/tree/gpu_targets.h"

/* The parts of a tree that is built, of which the tree is the owner. */
struct sap_gpu_built {
    struct sap_gpu_session *session;
    const struct sap_gpu_tree_kernels *f;
    struct sap_gpu_given *given;
    struct sap_gpu_nodes *nodes;
    const struct sap_gpu_targets *own; /* the particles in sorted order */
    const struct sap_gpu_lengths *lengths;
    const struct sap_gpu_tree *frame; /* argument of kernels */
};

#endif
