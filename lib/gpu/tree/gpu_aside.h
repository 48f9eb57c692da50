/* gpu_aside.h - what happens to a tree on an accelerator while a walk is under way: calls in a session beside. */
#ifndef SAP_GPU_ASIDE_H
#define SAP_GPU_ASIDE_H

#include "gpu/tree/gpu_tree.h"

/*
 * The bracket of a call beside walks, whose results it does not touch.  _begin returns a sapporo_status; *built: the
 * tree, with the session beside.  _end translates the driver status; the error is one of the tree.
 */
int sap_gpu_aside_begin(struct sap_gpu_host_tree *t, struct sap_gpu_built *built);
int sap_gpu_aside_end(struct sap_gpu_host_tree *t, int driver_status);

/* Within it: opens the session at first use; a driver status. */
int sap_gpu_aside_open(struct sap_gpu_host_tree *t);

void sap_gpu_aside_free(struct sap_gpu_host_tree *t);

#endif
