/* gpu_copied.h - copies of a tree on other devices (gpu_shares.h). Functions that return int return driver statuses. */
#ifndef SAP_GPU_COPIED_H
#define SAP_GPU_COPIED_H

#include "gpu/tree/gpu_shares.h"

/* The copies of a helper that are made now. */
struct sap_gpu_copying {
    const struct sap_gpu_built *tree; /* on the first device */
    const struct sap_gpu_subset *to;  /* targets of a walk; NULL: the tree alone */
    unsigned what;                    /* of the tree, as far as it is stale */
    int writes;                       /* the first device can write memory of the helper */
};

/* Returns the bytes that a helper lacks of these. */
size_t sap_gpu_copied_lacks(struct sap_gpu_helper *h, const struct sap_gpu_copying *c);

/* Makes memory for all copies, and loads the kernels that walks need by the lengths of the tree. */
int sap_gpu_copied_reserve(struct sap_gpu_helper *h, const struct sap_gpu_copying *c);

/* Sends what is lacking in h->send, or, if that is NULL, in the stream of the first device. */
int sap_gpu_copied_send(struct sap_gpu_helper *h, const struct sap_gpu_copying *c);

void sap_gpu_copied_free(const struct sap_driver *driver, struct sap_gpu_helper *h);

#endif
