/* gpu_status.c - failures of accelerators: their statuses, messages and consequences. */
#include "gpu/gpu_status.h"

#include <stdio.h>

#include "driver/driver.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_store.h"

int sap_gpu_status(int status)
{
    switch (status) {
    case SAP_DRIVER_OK:
        return SAPPORO_OK;
    case SAP_DRIVER_MEMORY:
        return SAPPORO_ERR_MEMORY;
    case SAP_DRIVER_UNSUPPORTED:
        return SAPPORO_ERR_UNSUPPORTED;
    default:
        return SAPPORO_ERR_DEVICE;
    }
}

int sap_gpu_refuse(struct sap_gpu_store *store, int status, const char *words)
{
    if (!store->words[0]) (void)snprintf(store->words, sizeof store->words, "%s", words);
    return status;
}

int sap_gpu_refuse_lost(struct sap_gpu_store *store)
{
    return store->broken && sap_gpu_refuse(store, 1, "a device was lost: close, and open again");
}

int sap_gpu_judge(struct sap_gpu_store *store, int status)
{
    const struct sap_gpu_device *device = &store->set->device[store->at];
    if (status == SAP_DRIVER_OK) return SAPPORO_OK;
    store->lost = 1;
    if (!store->words[0])
        (void)snprintf(store->words, sizeof store->words, "device %d: %s", device->number,
                       store->set->driver->error_text());
    if (status == SAP_DRIVER_LOST) {
        store->broken = 1;
        sap_gpu_lose(store->set, device);
    }
    return sap_gpu_status(status);
}

void sap_gpu_halt(const struct sap_gpu_store *store)
{
    for (int k = 0; k < store->set->n; k++)
        if (store->share[k].stream) (void)store->set->driver->stream_finish(store->share[k].stream);
}
