/* g5_table.c - devices of the GRAPE-5 interface: finding and holding them, opening their contexts. */
#include "g5_table.h"

#include <stdlib.h>

#include "context.h"
#include "lock.h"
#include "particles_part.h"

static struct sap_g5_device *new_device(int id)
{
    struct sap_g5_device *device = calloc(1, sizeof *device), *other = NULL;
    if (device == NULL) return NULL;
    atomic_flag_clear(&device->lock);
    device->id = id;
    /* Of two threads that name it at the same time, one makes it. */
    if (atomic_compare_exchange_strong_explicit(&sap_g5.device[id], &other, device, memory_order_acq_rel,
                                                memory_order_acquire))
        return device;
    free(device);
    return other;
}

struct sap_g5_device *sap_g5_hold(int id, const char *caller)
{
    struct sap_g5_device *device = NULL;
    if (id < 0 || id >= SAP_G5_DEVICES) {
        sap_context_error(NULL, SAPPORO_ERR_ARGUMENT, "%s: device id %d is not between 0 and %d", caller, id,
                          SAP_G5_DEVICES - 1);
        return NULL;
    }
    device = atomic_load_explicit(&sap_g5.device[id], memory_order_acquire);
    if (device == NULL) device = new_device(id);
    if (device == NULL)
        sap_context_error(NULL, SAPPORO_ERR_MEMORY, "%s: out of memory for device %d", caller, id);
    else
        sap_lock(&device->lock);
    return device;
}

void sap_g5_release(struct sap_g5_device *device) { sap_unlock(&device->lock); }

/* GRAPE-5 clients are content with single precision, unless the user says otherwise. */
static sapporo_precision precision(void)
{
    const char *text = getenv("SAPPORO_PRECISION");
    return text != NULL && *text != 0 ? SAPPORO_PRECISION_DEFAULT : SAPPORO_SP;
}

sapporo *sap_g5_context(struct sap_g5_device *device, enum sap_g5_memory memory)
{
    sapporo **context = &device->context[memory];
    if (*context != NULL || device->refused) return *context;
    const sapporo_options options = {.size = sizeof options,
                                     .order = 2,
                                     .precision = precision(),
                                     .devices = device->ndevices > 0 ? device->devices : NULL,
                                     .ndevices = device->ndevices,
                                     .preferred_device = device->id};
    const int method = sap_settings_method();
    if (method < 0)
        (void)sap_context_error(NULL, SAPPORO_ERR_ARGUMENT, "SAPPORO_METHOD is '%.40s'; it may be direct or tree",
                                getenv("SAPPORO_METHOD"));
    device->by_tree = method > 0;
    device->refused = method < 0 || sapporo_open(&options, context) < 0;
    /* Every i-particle is usually among the j-particles: without softening it meets itself, which is no news. */
    if (*context != NULL) sap_context_silence(*context, SAP_WARN_COINCIDENT);
    return *context;
}

void sap_g5_drop_job(struct sap_g5_device *device)
{
    sapporo_force_free(device->job);
    device->job = NULL;
    device->job_ni = 0;
    device->pipes.ready = 0;
}

void sap_g5_recover(struct sap_g5_device *device)
{
    if (device->lost) {
        sap_g5_drop_job(device);
        for (int k = 0; k < SAP_G5_MEMORIES; k++) {
            sapporo_close(device->context[k]);
            device->context[k] = NULL;
        }
    }
    device->lost = device->refused = 0;
}
