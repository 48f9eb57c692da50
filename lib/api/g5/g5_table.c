/* g5_table.c - finds and locks the devices of the GRAPE-5 interface and opens their contexts. */
#include "api/g5/g5_table.h"

#include <stdlib.h>

#include "base/lock.h"
#include "context/context.h"
#include "context/particles_part.h"

struct sap_g5_table sap_g5;

/* Marks an id whose device could not be allocated; its members are never read or written. */
static struct sap_g5_device missing;

/*
 * Marks everything that a client could have set on a device as lost.  Calls on an id without memory for its device
 * store nothing; so forces of the device are NaN until the client sets its data again.
 */
static void lose_all(struct sap_g5_device *device)
{
    device->n = -1;
    device->pipes.failed = 1;
    for (int k = 0; k < SAP_G5_MEMORIES; k++) sap_g5_lose(device, (enum sap_g5_memory)k, 0, SAP_ADDRESSES);
}

static struct sap_g5_device *new_device(int id)
{
    _Atomic(struct sap_g5_device *) *const place = &sap_g5.device[id];
    struct sap_g5_device *device = calloc(1, sizeof *device), *other = NULL;
    if (device == NULL) {
        const int first = atomic_compare_exchange_strong(place, &other, &missing);
        return first || other == &missing ? NULL : other;
    }
    sap_lock_start(&device->lock);
    device->id = id;
    /* if two threads create the device at the same time, the first one to store the pointer wins */
    while (
        !atomic_compare_exchange_strong_explicit(place, &other, device, memory_order_acq_rel, memory_order_acquire)) {
        if (other == &missing) {
            lose_all(device);
            continue;
        }
        free(device);
        return other;
    }
    return device;
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
    if (device == NULL || device == &missing) device = new_device(id);
    if (device == NULL)
        sap_context_error(NULL, SAPPORO_ERR_MEMORY, "%s: out of memory for device %d", caller, id);
    else
        sap_lock(&device->lock);
    return device;
}

void sap_g5_release(struct sap_g5_device *device) { sap_unlock(&device->lock); }

/* Reads SAPPORO_METHOD.  1: forces by a tree; 0: direct sums; -1 after a message about an invalid variable. */
static int read_method(void)
{
    struct sap_tree_variables settings;
    const int method = sap_context_method();
    return method > 0 && sap_context_tree_variables(NULL, &settings) ? -1 : method;
}

sapporo *sap_g5_context(struct sap_g5_device *device, enum sap_g5_memory memory)
{
    sapporo **context = &device->context[memory];
    if (*context != NULL || device->refused) return *context;
    const sapporo_options options = {.size = sizeof options,
                                     .order = 2,
                                     .precision = sap_g5_precision(),
                                     .devices = device->ndevices > 0 ? device->devices : NULL,
                                     .ndevices = device->ndevices,
                                     .preferred_device = device->id};
    const int method = read_method();
    device->by_tree = method > 0;
    device->refused = method < 0 || sapporo_open(&options, context) < 0;
    struct sap_ranges *const lost = &device->lost_loads[memory];
    while (*context != NULL && lost->n > 0) {
        const struct sap_range r = lost->range[--lost->n];
        sap_context_lose_parts(*context, r.first, r.last - r.first + 1);
    }
    /* Each i-particle is usually also a j-particle.  Without softening the pair has distance zero, which is normal. */
    if (*context != NULL) sap_context_silence(*context, SAP_WARN_COINCIDENT);
    return *context;
}

void sap_g5_lose(struct sap_g5_device *device, enum sap_g5_memory memory, int first, int n)
{
    if (device->context[memory] != NULL)
        sap_context_lose_parts(device->context[memory], first, n);
    else
        sap_ranges_add(&device->lost_loads[memory], (struct sap_range){first, first + n - 1});
}

void sap_g5_drop_job(struct sap_g5_device *device)
{
    sapporo_force_free(device->job);
    device->job = NULL;
    device->job_ni = 0;
    device->pipes.ready = 0;
}

/* Closes a context and marks its particles as lost for the next context. */
static void close_context(struct sap_g5_device *device, enum sap_g5_memory memory)
{
    sapporo *const context = device->context[memory];
    if (context == NULL) return;
    const int upper = sap_context_upper(context);
    sapporo_close(context);
    device->context[memory] = NULL;
    if (upper > 0) sap_g5_lose(device, memory, 0, upper);
}

void sap_g5_recover(struct sap_g5_device *device)
{
    if (device->lost) {
        sap_g5_drop_job(device);
        for (int k = 0; k < SAP_G5_MEMORIES; k++) close_context(device, (enum sap_g5_memory)k);
    }
    device->lost = device->refused = 0;
}
