/* gpu_memory.h - memory of accelerators that grows and is reused. Functions that return int return driver statuses. */
#ifndef SAP_GPU_MEMORY_H
#define SAP_GPU_MEMORY_H

#include <stddef.h>

#include "driver/driver.h"

/* Memory that grows and is reused. */
struct sap_gpu_buffer {
    struct sap_mem *mem;
    void *host; /* pinned memory only */
    size_t bytes;
};

/* Pinned memory for uploads, reused once the device has read it. */
struct sap_gpu_staging {
    struct sap_gpu_buffer buffer;
    int borrowed; /* with sap_gpu_borrow */
    struct sap_event *read;
    int under_way; /* a kernel or copy that reads it was launched; UNMARKED: `read` is still to be recorded behind it */
};
enum { SAP_GPU_UNDER_WAY = 1, SAP_GPU_UNMARKED };

/* Makes a buffer at least `bytes` long. Its contents are lost. On failure it is empty. */
int sap_gpu_reserve(const struct sap_driver *driver, struct sap_dev *dev, struct sap_gpu_buffer *b, size_t bytes);
int sap_gpu_reserve_pinned(const struct sap_driver *driver, struct sap_dev *dev, struct sap_gpu_buffer *b,
                           size_t bytes);
/* The same, of memory that kernels of n other devices can write too; UNSUPPORTED if they cannot. */
int sap_gpu_reserve_shared(const struct sap_driver *driver, struct sap_dev *dev, struct sap_dev *const *others, int n,
                           struct sap_gpu_buffer *b, size_t bytes);
void sap_gpu_free(const struct sap_driver *driver, struct sap_gpu_buffer *b);

static inline void sap_gpu_exchange(struct sap_gpu_buffer *a, struct sap_gpu_buffer *b)
{
    const struct sap_gpu_buffer was = *a;
    *a = *b;
    *b = was;
}

/* Synchronise pinned memory before and after kernels that access it (lib/driver/driver.h). */
int sap_gpu_to_device(struct sap_stream *stream, const struct sap_driver *d, struct sap_mem *mem, size_t at,
                      size_t bytes);
int sap_gpu_to_host(struct sap_stream *stream, const struct sap_driver *d, struct sap_mem *mem, size_t at,
                    size_t bytes);

#endif
