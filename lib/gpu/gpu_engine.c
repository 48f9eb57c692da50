/*
 * gpu_engine.c - the engine tables for accelerators: one flow, and a short table for each driver.
 *
 * Drivers may change the floating-point environment of their caller, and the caller's own may trap. So each entry that
 * may call the driver runs in the standard environment and restores the caller's.
 */
#include "gpu/gpu_engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/engine.h"
#include "gpu/gpu_batch.h"
#include "gpu/gpu_caller.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_force.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_lists.h"
#include "gpu/gpu_neighbour.h"
#include "gpu/gpu_selftest.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_store.h"
#include "gpu/gpu_travel.h"
#include "gpu/stepper/gpu_stepper.h"
#include "physics/arithmetic.h"

/* The body of an entry: evaluates the call in the standard floating-point environment and returns its value. */
#define RETURN_GUARDED(type, call)                                                                                     \
    type result;                                                                                                       \
    GUARDED(result = (call));                                                                                          \
    return result

/* ------------------------------------------------------------------ devices */

static int describe(const struct sap_driver *driver, sapporo_backend backend, int number, sapporo_device *device)
{
    struct sap_device_properties p;
    const int status = driver->properties(number, &p);
    if (status) return sap_gpu_status(status);
    device->backend = backend;
    device->number = number;
    device->units = p.units;
    device->has_fp64 = p.has_fp64;
    device->memory = (long long)p.memory;
    (void)snprintf(device->name, sizeof device->name, "%s", p.name);
    (void)snprintf(device->detail, sizeof device->detail, "%s, %.44s%s%s", p.architecture, p.uuid,
                   p.bus[0] ? ", bus " : "", p.bus);
    return SAPPORO_OK;
}

/* Opens devices with the function of their engine. */
static int open_set(int (*open)(const struct sap_settings *settings, struct sap_gpu_set **set, char *why, size_t room),
                    const struct sap_settings *settings, struct sap_device_set **set, char *why, size_t room)
{
    struct sap_gpu_set *opened = NULL;
    int status;
    GUARDED(status = open(settings, &opened, why, room));
    if (opened && settings->few) opened->below = SAP_FEW_J; /* the self-test needed more */
    *set = (void *)opened;
    return status;
}

static void kind(const struct sap_device_set *opaque_set, char *text, size_t room)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    const struct sap_device_properties *p = &set->device[0].properties;
    (void)snprintf(text, room, "%s %s %s%s%s", set->driver->name, p->architecture, sap_precision_names[set->precision],
                   set->mixed ? SAP_MIXED_WORD : "", p->has_fp64 ? "" : " twofloat");
}

static int mixed(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return set->mixed;
}

static void close_set(struct sap_device_set *opaque_set)
{
    struct sap_gpu_set *const set = (void *)opaque_set;
    GUARDED(sap_gpu_close(set));
}

/* Returns the units of all devices. */
static int threads(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    int units = 0;
    for (int k = 0; k < set->n; k++) units += set->device[k].properties.units;
    return units;
}

static int cpu_below(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return (int)set->tuning.cpu_below_nj;
}

/* -------------------------------------------------------------------- store */

static int store_create(struct sap_device_set *opaque_set, struct sap_jstore *host, struct sap_store **store)
{
    struct sap_gpu_set *const set = (void *)opaque_set;
    *store = (void *)sap_gpu_store_new(set, host);
    return *store ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

static void store_destroy(struct sap_store *opaque_store)
{
    struct sap_gpu_store *const store = (void *)opaque_store;
    GUARDED(sap_gpu_store_free(store));
}

static size_t store_memory(const struct sap_device_set *opaque_set, int nj, size_t *device_bytes)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    const size_t superpackets = ((size_t)nj + SAP_GPU_SUPERPACKET - 1) / SAP_GPU_SUPERPACKET;
    const size_t each = (size_t)set->columns * sizeof(double) + set->working;
    if (device_bytes) *device_bytes = superpackets * SAP_GPU_SUPERPACKET * each * 5 / 4;
    return 2 * 16384 * set->update;
}

static const char *words(const struct sap_store *opaque_store)
{
    const struct sap_gpu_store *const store = (const void *)opaque_store;
    return store->words;
}

/* ------------------------------------------------------------------- forces */

static int begin(struct sap_store *opaque_store, const struct sap_force_request *request, struct sap_force **force)
{
    struct sap_gpu_store *const store = (void *)opaque_store;
    struct sap_gpu_host_force *f = (void *)*force;
    int status;
    GUARDED(status = sap_gpu_begin(store, request, &f));
    *force = (void *)f;
    return status;
}

static int extra(struct sap_store *opaque_store, struct sap_force *opaque_force, unsigned wanted)
{
    struct sap_gpu_store *const store = (void *)opaque_store;
    struct sap_gpu_host_force *const force = (void *)opaque_force;
    RETURN_GUARDED(int, sap_gpu_extra(store, force, wanted));
}

static unsigned have(const struct sap_force *opaque_force)
{
    const struct sap_gpu_host_force *const force = (const void *)opaque_force;
    return force->have;
}

static int done(struct sap_force *opaque_force)
{
    struct sap_gpu_host_force *const force = (void *)opaque_force;
    RETURN_GUARDED(int, sap_gpu_done(force));
}

static int end(struct sap_force *opaque_force, int from, struct sap_force_output *output)
{
    struct sap_gpu_host_force *const force = (void *)opaque_force;
    RETURN_GUARDED(int, sap_gpu_end(force, from, output));
}

static int list(struct sap_force *opaque_force, int i, const int32_t **entries, int *n)
{
    struct sap_gpu_host_force *const force = (void *)opaque_force;
    const int there = !force->listing && (force->set->n == 1 || force->is_joined);
    if (there) return sap_gpu_list(force, i, entries, n); /* calls neither a driver nor a thread */
    RETURN_GUARDED(int, sap_gpu_list(force, i, entries, n));
}

static void drop(struct sap_force *opaque_force)
{
    struct sap_gpu_host_force *const force = (void *)opaque_force;
    GUARDED(sap_gpu_drop(force));
}

static int batch(struct sap_device_set *opaque_set, struct sap_store *opaque_store, const struct sap_jstore *host,
                 const struct sap_batch *lists)
{
    struct sap_gpu_store *const store = (void *)opaque_store;
    (void)opaque_set;
    RETURN_GUARDED(int, sap_gpu_batch(store, host, lists));
}

static int batch_begin(struct sap_device_set *opaque_set, struct sap_store *opaque_store, const struct sap_jstore *host,
                       const struct sap_batch *lists, struct sap_flight **flight)
{
    struct sap_gpu_store *const store = (void *)opaque_store;
    struct sap_gpu_places *places = NULL;
    (void)opaque_set;
    int status;
    GUARDED(status = sap_gpu_batch_begin(store, host, lists, &places));
    *flight = (void *)places;
    return status;
}

static int batch_done(const struct sap_flight *opaque_flight)
{
    const struct sap_gpu_places *const flight = (const void *)opaque_flight;
    RETURN_GUARDED(int, sap_gpu_batch_done(flight));
}

static int batch_end(struct sap_flight *opaque_flight)
{
    struct sap_gpu_places *const flight = (void *)opaque_flight;
    RETURN_GUARDED(int, sap_gpu_batch_end(flight));
}

static void batch_drop(struct sap_flight *opaque_flight)
{
    struct sap_gpu_places *const flight = (void *)opaque_flight;
    GUARDED(sap_gpu_batch_drop(flight));
}

static const struct sap_flight_ops flight_ops = {
    .begin = batch_begin, .done = batch_done, .end = batch_end, .drop = batch_drop};

static int neighbour(struct sap_store *opaque_store, const struct sap_neighbour_context *context,
                     const struct sap_neighbour_request *request)
{
    struct sap_gpu_store *const store = (void *)opaque_store;
    RETURN_GUARDED(int, sap_gpu_neighbour(store, context, request));
}

static const struct sap_store_ops store_ops = {
    .create = store_create, .destroy = store_destroy, .put = sap_gpu_store_put, .memory = store_memory, .words = words};

static const struct sap_force_ops force_ops = {
    .begin = begin, .extra = extra, .have = have, .done = done, .end = end, .list = list, .drop = drop};

/* What all tables share: all that is done with open devices. */
#define SHARED_ENTRIES                                                                                                 \
    .close = close_set, .kind = kind, .mixed = mixed, .threads = threads, .cpu_below = cpu_below, .store = &store_ops, \
    .force = &force_ops, .batch = batch, .looks_at_addresses = 1, .flight = &flight_ops, .neighbour = neighbour,       \
    .tree = &sap_gpu_tree_maker, .stepper = &sap_stepper_gpu, .caller = &sap_caller_gpu

/* ------------------------------------------------------------- CUDA and HIP */

/* Returns why a driver has no devices, or the driver's name. */
static const char *absent(const struct sap_driver *driver, const struct sap_embedded *kernels)
{
    const char *why;
    GUARDED(why = kernels->count > 0 ? driver->describe() : kernels->why);
    return why;
}

/* The entries for devices that are not open yet, of a vendor whose kernels the build compiled. */
#define VENDOR(vendor, BACKEND)                                                                                        \
    static int vendor##_count(void)                                                                                    \
    {                                                                                                                  \
        RETURN_GUARDED(int, sap_gpu_count(sap_driver_for_##vendor(), sap_kernels_for_##vendor()));                     \
    }                                                                                                                  \
    static const char *vendor##_absent(void) { return absent(sap_driver_for_##vendor(), sap_kernels_for_##vendor()); } \
    static int vendor##_describe(int number, sapporo_device *device)                                                   \
    {                                                                                                                  \
        RETURN_GUARDED(int, describe(sap_driver_for_##vendor(), BACKEND, number, device));                             \
    }                                                                                                                  \
    static int vendor##_is_name(const char *word, size_t length)                                                       \
    {                                                                                                                  \
        RETURN_GUARDED(int, sap_gpu_is_name(sap_driver_for_##vendor(), word, length));                                 \
    }                                                                                                                  \
    static int open_##vendor(const struct sap_settings *settings, struct sap_gpu_set **set, char *why, size_t room)    \
    {                                                                                                                  \
        return sap_gpu_open(sap_driver_for_##vendor(), sap_kernels_for_##vendor(), settings, 0, set, why, room);       \
    }                                                                                                                  \
    static int vendor##_open(const struct sap_settings *settings, struct sap_device_set **set, char *why, size_t room) \
    {                                                                                                                  \
        return open_set(open_##vendor, settings, set, why, room);                                                      \
    }
VENDOR(cuda, SAPPORO_BACKEND_CUDA)
VENDOR(hip, SAPPORO_BACKEND_HIP)

const struct sap_engine sap_engine_cuda = {.backend = SAPPORO_BACKEND_CUDA,
                                           .name = "cuda",
                                           .count = cuda_count,
                                           .absent = cuda_absent,
                                           .describe = cuda_describe,
                                           .is_name = cuda_is_name,
                                           .open = cuda_open,
                                           .travel = &sap_travel_gpu,
                                           SHARED_ENTRIES};

/* Particles travel between ranks over the hosts: the library calls no RCCL. */
const struct sap_engine sap_engine_hip = {.backend = SAPPORO_BACKEND_HIP,
                                          .name = "hip",
                                          .count = hip_count,
                                          .absent = hip_absent,
                                          .describe = hip_describe,
                                          .is_name = hip_is_name,
                                          .open = hip_open,
                                          SHARED_ENTRIES};

/* ------------------------------------------------------------------- OpenCL */

static int opencl_count(void) { RETURN_GUARDED(int, sap_gpu_count(sap_driver_for_opencl(), &sap_embedded_opencl)); }

/* The library's CPU engine is faster than OpenCL on CPUs. */
static int opencl_automatic(void)
{
    RETURN_GUARDED(int, sap_driver_replaced.opencl ? opencl_count() : sap_opencl_automatic());
}

static const char *opencl_absent(void)
{
    const char *const left = sap_driver_replaced.opencl ? NULL : sap_opencl_left();
    if (left) return left;
    return opencl_count() > 0 ? "OpenCL's only devices are CPUs" : sap_driver_for_opencl()->describe();
}

static int opencl_describe(int number, sapporo_device *device)
{
    RETURN_GUARDED(int, describe(sap_driver_for_opencl(), SAPPORO_BACKEND_OPENCL, number, device));
}

static int opencl_is_name(const char *word, size_t length)
{
    RETURN_GUARDED(int, sap_gpu_is_name(sap_driver_for_opencl(), word, length));
}

/* Returns how many devices the settings may choose from, 0: all. CPUs beside GPUs take part only if they are named. */
static int opencl_meant(const struct sap_settings *settings)
{
    const int named = (settings->ndevices > 0 && !settings->devices_any) || settings->device_names[0];
    return settings->backend_given && named ? 0 : opencl_automatic();
}

/* Fails unless all devices are of one kind: the bits of a force depend on the kind. */
static int one_kind(const struct sap_gpu_set *set, char *why, size_t room)
{
    const struct sap_device_properties *first = &set->device[0].properties;
    for (int k = 1; k < set->n; k++) {
        const struct sap_device_properties *p = &set->device[k].properties;
        if (strcmp(p->architecture, first->architecture) == 0) continue;
        (void)snprintf(why, room, "devices %d (%.60s) and %d (%.60s) do not give the same bits: name those of one kind",
                       set->device[0].number, first->name, set->device[k].number, p->name);
        return SAPPORO_ERR_UNSUPPORTED;
    }
    return SAPPORO_OK;
}

static int open_opencl(const struct sap_settings *settings, struct sap_gpu_set **set, char *why, size_t room)
{
    const struct sap_driver *driver = sap_driver_for_opencl();
    int status = sap_gpu_open(driver, &sap_embedded_opencl, settings, opencl_meant(settings), set, why, room);
    if (!status) status = one_kind(*set, why, room);
    if (!status) status = sap_gpu_selftest(*set, &store_ops, &force_ops, why, room);
    if (!status) return SAPPORO_OK;
    sap_gpu_close(*set);
    *set = NULL;
    return status;
}

static int opencl_open(const struct sap_settings *settings, struct sap_device_set **set, char *why, size_t room)
{
    return open_set(open_opencl, settings, set, why, room);
}

const struct sap_engine sap_engine_opencl = {.backend = SAPPORO_BACKEND_OPENCL,
                                             .name = "opencl",
                                             .count = opencl_count,
                                             .absent = opencl_absent,
                                             .automatic = opencl_automatic,
                                             .describe = opencl_describe,
                                             .is_name = opencl_is_name,
                                             .open = opencl_open,
                                             .travel = &sap_travel_gpu,
                                             SHARED_ENTRIES};
