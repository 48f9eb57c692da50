/* gpu_copied.h - copies of a tree on other devices (gpu_shares.h). Functions that return int return driver statuses. */
#ifndef SAP_GPU_COPIED_H
#define SAP_GPU_COPIED_H

#include "gpu/tree/gpu_shares.h"

/* Returns the bytes that a helper lacks for its part of a walk. */
size_t sap_gpu_copied_lacks(struct sap_gpu_helper *h, const struct sap_gpu_walking *walk,
                            const struct sap_gpu_subset *to);

/*
 * Sends them in h->send, or, if that is NULL, in the stream of the first device, whose session is `first`. writes: the
 * first device can write memory of the helper.
 */
int sap_gpu_copied_send(const struct sap_gpu_session *first, struct sap_gpu_helper *h,
                        const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int writes);

void sap_gpu_copied_free(const struct sap_driver *driver, struct sap_gpu_helper *h);

#endif
