/* gpu_port.h - what of a tree travels between processes from the memory of an accelerator (engine/tree_port.h). */
#ifndef SAP_GPU_PORT_H
#define SAP_GPU_PORT_H

#include "engine/tree_port.h"
#include "gpu/gpu_memory.h"

struct sap_gpu_port {
    struct sap_gpu_buffer hold;  /* of trials */
    struct sap_gpu_buffer in;    /* nodes that arrive; particles arrive where the halo has them */
    struct sap_gpu_buffer first; /* as tree_halo_join has it */
    struct sap_event *moved;     /* the transfers that were started last; NULL: none yet */
};

extern const struct sap_tree_port_ops sap_gpu_port_ops;

void sap_gpu_port_free(const struct sap_driver *driver, struct sap_gpu_port *port);

#endif
