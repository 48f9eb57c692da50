/* gpu_memory.c - memory of accelerators that grows and is reused. */
#include "gpu/gpu_memory.h"

#include <string.h>

#include "driver/driver.h"

void sap_gpu_free(const struct sap_driver *driver, struct sap_gpu_buffer *b)
{
    if (b->mem) driver->release(b->mem);
    memset(b, 0, sizeof *b);
}

static size_t rounded(size_t bytes)
{
    const size_t page = 65536;
    return (bytes + bytes / 8 + page - 1) / page * page;
}

int sap_gpu_reserve(const struct sap_driver *driver, struct sap_dev *dev, struct sap_gpu_buffer *b, size_t bytes)
{
    if (bytes <= b->bytes) return SAP_DRIVER_OK;
    sap_gpu_free(driver, b);
    const int status = driver->allocate(dev, rounded(bytes), &b->mem);
    if (status)
        b->mem = NULL;
    else
        b->bytes = rounded(bytes);
    return status;
}

int sap_gpu_reserve_shared(const struct sap_driver *driver, struct sap_dev *dev, struct sap_dev *const *others, int n,
                           struct sap_gpu_buffer *b, size_t bytes)
{
    if (bytes <= b->bytes) return SAP_DRIVER_OK;
    sap_gpu_free(driver, b);
    const int status = driver->allocate_shared(dev, others, n, rounded(bytes), &b->mem);
    if (status)
        b->mem = NULL;
    else
        b->bytes = rounded(bytes);
    return status;
}

int sap_gpu_reserve_pinned(const struct sap_driver *driver, struct sap_dev *dev, struct sap_gpu_buffer *b, size_t bytes)
{
    if (bytes <= b->bytes) return SAP_DRIVER_OK;
    sap_gpu_free(driver, b);
    const int status = driver->allocate_pinned(dev, rounded(bytes), &b->mem, &b->host);
    if (status)
        b->mem = NULL, b->host = NULL;
    else
        b->bytes = rounded(bytes);
    return status;
}

int sap_gpu_to_device(struct sap_stream *stream, const struct sap_driver *d, struct sap_mem *mem, size_t at,
                      size_t bytes)
{
    return d->pinned_to_device ? d->pinned_to_device(stream, mem, at, bytes) : (int)SAP_DRIVER_OK;
}

int sap_gpu_to_host(struct sap_stream *stream, const struct sap_driver *d, struct sap_mem *mem, size_t at, size_t bytes)
{
    return d->pinned_to_host ? d->pinned_to_host(stream, mem, at, bytes) : (int)SAP_DRIVER_OK;
}
