/*
 * cuda_driver.c - the CUDA and HIP drivers: copies, streams, events, modules, launches, and the tables.
 *
 * cuda_api.c loads libcuda, hip/hip_api.c HIP's library; cuda_device.c has the devices, cuda_memory.c the memory.
 */
#include "driver/cuda/cuda_driver.h"

#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"
#include "driver/cuda/cuda_api.h"

/* Flags and numbers of libcuda. */
enum {
    STREAM_NON_BLOCKING = 1, /* does not wait for the caller's default stream */
    EVENT_BLOCKING_SYNC = 1, /* a thread that waits long sleeps */
    EVENT_DISABLE_TIMING = 2,
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 /* CUfunction_attribute */
};

enum { ARGUMENTS_MOST = 32, SPIN_NANOSECONDS = 5000000 };

/* ---------------------------------------------------------------- copies */

static int inside(const struct sap_cuda_memory *mem, size_t at, size_t bytes)
{
    if (at <= mem->bytes && bytes <= mem->bytes - at) return SAP_DRIVER_OK;
    return sap_cuda_refuse(SAP_DRIVER_ERROR, "%zu bytes at %zu are not inside a memory of %zu", bytes, at, mem->bytes);
}

static int copy_in(struct sap_stream *opaque_stream, struct sap_mem *opaque_to, size_t at, const void *from,
                   size_t bytes)
{
    const struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    const struct sap_cuda_memory *const to = sap_cuda_memory_of(opaque_to);
    int status = inside(to, at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    status = sap_cuda_begin(s->dev);
    if (status == SAP_DRIVER_OK)
        status = SAP_CUDA_CALL(s->dev->cuda, copy_in, to->address + at, from, bytes, s->stream);
    return sap_cuda_end(s->dev, status);
}

static int copy_out(struct sap_stream *opaque_stream, void *to, struct sap_mem *opaque_from, size_t at, size_t bytes)
{
    const struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    const struct sap_cuda_memory *const from = sap_cuda_memory_of(opaque_from);
    int status = inside(from, at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    status = sap_cuda_begin(s->dev);
    if (status == SAP_DRIVER_OK)
        status = SAP_CUDA_CALL(s->dev->cuda, copy_out, to, from->address + at, bytes, s->stream);
    return sap_cuda_end(s->dev, status);
}

static int inside_both(const struct sap_cuda_memory *to, size_t at, const struct sap_cuda_memory *from, size_t from_at,
                       size_t bytes)
{
    const int status = inside(to, at, bytes);
    return status == SAP_DRIVER_OK ? inside(from, from_at, bytes) : status;
}

static int copy(struct sap_stream *opaque_stream, struct sap_mem *opaque_to, size_t at, struct sap_mem *opaque_from,
                size_t from_at, size_t bytes)
{
    const struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    const struct sap_cuda_memory *const to = sap_cuda_memory_of(opaque_to);
    const struct sap_cuda_memory *const from = sap_cuda_memory_of(opaque_from);
    int status = inside_both(to, at, from, from_at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    status = sap_cuda_begin(s->dev);
    if (status == SAP_DRIVER_OK)
        status = SAP_CUDA_CALL(s->dev->cuda, copy, to->address + at, from->address + from_at, bytes, s->stream);
    return sap_cuda_end(s->dev, status);
}

/*
 * Copies between devices. libcuda copies through the host unless peer access is enabled. Peer access would change the
 * primary contexts and make the caller's own attempt to enable it fail. Fast transfers therefore use kernels that write
 * into shared memory.
 */
static int copy_peer(struct sap_stream *opaque_stream, struct sap_mem *opaque_to, size_t at,
                     struct sap_mem *opaque_from, size_t from_at, size_t bytes)
{
    const struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    const struct sap_cuda_memory *const to = sap_cuda_memory_of(opaque_to);
    const struct sap_cuda_memory *const from = sap_cuda_memory_of(opaque_from);
    int status = inside_both(to, at, from, from_at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    status = sap_cuda_begin(s->dev);
    if (status == SAP_DRIVER_OK)
        status = SAP_CUDA_CALL(s->dev->cuda, copy_peer, to->address + at, to->dev->context, from->address + from_at,
                               from->dev->context, bytes, s->stream);
    return sap_cuda_end(s->dev, status);
}

static int fill(struct sap_stream *opaque_stream, struct sap_mem *opaque_to, size_t at, unsigned char byte,
                size_t bytes)
{
    const struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    const struct sap_cuda_memory *const to = sap_cuda_memory_of(opaque_to);
    int status = inside(to, at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    status = sap_cuda_begin(s->dev);
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(s->dev->cuda, fill, to->address + at, byte, bytes, s->stream);
    return sap_cuda_end(s->dev, status);
}

/* ---------------------------------------------------------------- streams */

/* Creates a stream of the device whose context is current: of the greatest priority, if it is urgent. */
static int make_stream(const struct sap_cuda *cuda, sap_cu_stream *stream, int urgent)
{
    int least = 0, greatest = 0;
    if (!urgent || !cuda->api.stream_create_urgent || !cuda->api.priorities)
        return SAP_CUDA_CALL(cuda, stream_create, stream, STREAM_NON_BLOCKING);
    const int status = SAP_CUDA_CALL(cuda, priorities, &least, &greatest);
    if (status != SAP_DRIVER_OK) return status;
    return SAP_CUDA_CALL(cuda, stream_create_urgent, stream, STREAM_NON_BLOCKING, greatest);
}

static int create_stream(struct sap_dev *opaque_dev, int urgent, struct sap_stream **opaque_stream)
{
    struct sap_cuda_device *const dev = sap_cuda_device_of(opaque_dev);
    *opaque_stream = NULL;
    struct sap_cuda_stream *made = sap_cuda_room(sizeof *made);
    if (!made) return SAP_DRIVER_MEMORY;
    made->dev = dev;
    int status = sap_cuda_begin(dev);
    if (status == SAP_DRIVER_OK) status = make_stream(dev->cuda, &made->stream, urgent);
    status = sap_cuda_end(dev, status);
    if (status == SAP_DRIVER_OK)
        *opaque_stream = sap_cuda_stream_handle(made);
    else
        free(made);
    return status;
}

static int stream_create(struct sap_dev *dev, struct sap_stream **stream) { return create_stream(dev, 0, stream); }

static int stream_create_urgent(struct sap_dev *dev, struct sap_stream **stream)
{
    return create_stream(dev, 1, stream);
}

static void stream_destroy(struct sap_stream *opaque_stream)
{
    struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    if (!s) return;
    int status = sap_cuda_begin(s->dev);
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(s->dev->cuda, stream_destroy, s->stream);
    (void)sap_cuda_end(s->dev, status);
    free(s);
}

static int stream_finish(struct sap_stream *opaque_stream)
{
    const struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    int status = sap_cuda_begin(s->dev);
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(s->dev->cuda, stream_synchronize, s->stream);
    return sap_cuda_end(s->dev, status);
}

static int stream_wait(struct sap_stream *opaque_stream, struct sap_event *opaque_event)
{
    struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    const struct sap_cuda_event *const e = sap_cuda_event_of(opaque_event);
    int status = sap_cuda_begin(s->dev);
    s->waited = 1;
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(s->dev->cuda, stream_wait, s->stream, e->event, 0);
    return sap_cuda_end(s->dev, status);
}

/* ---------------------------------------------------------------- events */

static int create_event(struct sap_cuda_device *dev, unsigned flags, struct sap_event **opaque_event)
{
    *opaque_event = NULL;
    struct sap_cuda_event *made = sap_cuda_room(sizeof *made);
    if (!made) return SAP_DRIVER_MEMORY;
    made->dev = dev;
    int status = sap_cuda_begin(dev);
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(dev->cuda, event_create, &made->event, flags);
    status = sap_cuda_end(dev, status);
    if (status == SAP_DRIVER_OK)
        *opaque_event = sap_cuda_event_handle(made);
    else
        free(made);
    return status;
}

static int event_create(struct sap_dev *opaque_dev, struct sap_event **opaque_event)
{
    return create_event(sap_cuda_device_of(opaque_dev), EVENT_BLOCKING_SYNC | EVENT_DISABLE_TIMING, opaque_event);
}

static int event_create_timed(struct sap_dev *opaque_dev, struct sap_event **opaque_event)
{
    return create_event(sap_cuda_device_of(opaque_dev), EVENT_BLOCKING_SYNC, opaque_event);
}

static void event_destroy(struct sap_event *opaque_event)
{
    struct sap_cuda_event *const e = sap_cuda_event_of(opaque_event);
    if (!e) return;
    int status = sap_cuda_begin(e->dev);
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(e->dev->cuda, event_destroy, e->event);
    (void)sap_cuda_end(e->dev, status);
    free(e);
}

static int event_record(struct sap_event *opaque_event, struct sap_stream *opaque_stream)
{
    const struct sap_cuda_event *const e = sap_cuda_event_of(opaque_event);
    const struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    int status = sap_cuda_begin(e->dev);
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(e->dev->cuda, event_record, e->event, s->stream);
    return sap_cuda_end(e->dev, status);
}

static int event_query(struct sap_event *opaque_event)
{
    const struct sap_cuda_event *const e = sap_cuda_event_of(opaque_event);
    int status = sap_cuda_begin(e->dev);
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(e->dev->cuda, event_query, e->event);
    return sap_cuda_end(e->dev, status);
}

/* Waits for an event. Small forces take some tens of microseconds: less than a sleeping thread needs to wake up. */
static int spin_then_sleep(const struct sap_cuda *cuda, sap_cu_event event)
{
    const long long end = sap_clock_nanoseconds() + SPIN_NANOSECONDS;
    int status = SAP_DRIVER_PENDING;
    do {
        status = SAP_CUDA_CALL(cuda, event_query, event);
    } while (status == SAP_DRIVER_PENDING && sap_clock_nanoseconds() < end);
    return status == SAP_DRIVER_PENDING ? SAP_CUDA_CALL(cuda, event_synchronize, event) : status;
}

static int event_wait(struct sap_event *opaque_event)
{
    const struct sap_cuda_event *const e = sap_cuda_event_of(opaque_event);
    int status = sap_cuda_begin(e->dev);
    if (status == SAP_DRIVER_OK) status = spin_then_sleep(e->dev->cuda, e->event);
    return sap_cuda_end(e->dev, status);
}

static int event_milliseconds(struct sap_event *opaque_from, struct sap_event *opaque_to, float *ms)
{
    const struct sap_cuda_event *const from = sap_cuda_event_of(opaque_from);
    const struct sap_cuda_event *const to = sap_cuda_event_of(opaque_to);
    int status = sap_cuda_begin(from->dev);
    *ms = 0;
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(from->dev->cuda, event_elapsed, ms, from->event, to->event);
    return sap_cuda_end(from->dev, status);
}

/* ---------------------------------------------------------------- modules and kernels */

/* Completes the error for a user whose driver or GPU does not fit the library. */
static int explain(const struct sap_cuda_device *dev, int status)
{
    char words[160];
    if (status != SAP_DRIVER_UNSUPPORTED) return status;
    size_t n = 0;
    for (; sap_cuda_error[n] && n + 1 < sizeof words; n++) words[n] = sap_cuda_error[n];
    words[n] = '\0';
    const struct sap_cuda_kind *const kind = dev->cuda->kind;
    char version[128];
    kind->version(dev->cuda, version, sizeof version);
    return sap_cuda_refuse(status, "a GPU of %s, a driver for %s, a library with code for %s: %s", dev->architecture,
                           version, kind->kernels->count > 0 ? kind->kernels->archs : "no GPU", words);
}

/* Whether the code of a module waits for the launches before it, where kernels say so (kernels_cuda/dialect.h). */
static int can_wait(const struct sap_cuda *cuda, sap_cu_module module)
{
    enum { MAX_THREADS_PER_BLOCK = 0, WAITING_THREADS = 64 };
    sap_cu_function f = NULL;
    int threads = 0;
    return cuda->api.launch_more && cuda->api.module_function(&f, module, "sap_waits") == 0 &&
           cuda->api.function_get(&threads, MAX_THREADS_PER_BLOCK, f) == 0 && threads == WAITING_THREADS;
}

static int module_load(struct sap_dev *opaque_dev, const void *image, size_t bytes, struct sap_module **opaque_module)
{
    struct sap_cuda_device *const dev = sap_cuda_device_of(opaque_dev);
    (void)bytes; /* a fat binary contains its size */
    *opaque_module = NULL;
    struct sap_cuda_module *made = sap_cuda_room(sizeof *made);
    if (!made) return SAP_DRIVER_MEMORY;
    made->dev = dev;
    int status = sap_cuda_begin(dev);
    if (status == SAP_DRIVER_OK) status = explain(dev, SAP_CUDA_CALL(dev->cuda, module_load, &made->module, image));
    if (status == SAP_DRIVER_OK) made->waits = can_wait(dev->cuda, made->module);
    status = sap_cuda_end(dev, status);
    if (status == SAP_DRIVER_OK)
        *opaque_module = sap_cuda_module_handle(made);
    else
        free(made);
    return status;
}

static void module_unload(struct sap_module *opaque_module)
{
    struct sap_cuda_module *const m = sap_cuda_module_of(opaque_module);
    if (!m) return;
    int status = sap_cuda_begin(m->dev);
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(m->dev->cuda, module_unload, m->module);
    (void)sap_cuda_end(m->dev, status);
    for (struct sap_cuda_function *f = m->functions, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    free(m);
}

static int function(struct sap_module *opaque_module, const char *name, struct sap_function **opaque_function)
{
    struct sap_cuda_module *const m = sap_cuda_module_of(opaque_module);
    *opaque_function = NULL;
    struct sap_cuda_function *made = sap_cuda_room(sizeof *made);
    if (!made) return SAP_DRIVER_MEMORY;
    int status = sap_cuda_begin(m->dev);
    if (status == SAP_DRIVER_OK)
        status =
            explain(m->dev, sap_cuda_check(m->dev->cuda,
                                           m->dev->cuda->api.module_function(&made->function, m->module, name), name));
    status = sap_cuda_end(m->dev, status);
    if (status != SAP_DRIVER_OK) {
        free(made);
        return status;
    }
    made->module = m;
    made->next = m->functions;
    m->functions = made;
    *opaque_function = sap_cuda_function_handle(made);
    return SAP_DRIVER_OK;
}

/* Raises the limit of shared memory. It never lowers it, so one kernel can be queried for several sizes. */
static int allow_shared(const struct sap_cuda *cuda, sap_cu_function f, size_t shared)
{
    int allowed = 0;
    if (shared > INT_MAX) return sap_cuda_refuse(SAP_DRIVER_LAUNCH, "%zu bytes of shared memory", shared);
    const int status = SAP_CUDA_CALL(cuda, function_get, &allowed, MAX_DYNAMIC_SHARED_SIZE_BYTES, f);
    if (status != SAP_DRIVER_OK || (int)shared <= allowed) return status;
    if (!cuda->api.function_set)
        return sap_cuda_refuse(SAP_DRIVER_LAUNCH, "%zu bytes of shared memory: this GPU has %d", shared, allowed);
    return SAP_CUDA_CALL(cuda, function_set, f, MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared);
}

/* Translates libcuda's invalid value: here it means a launch that the device cannot make. */
static int of_launch(int status) { return status == SAP_DRIVER_ERROR ? SAP_DRIVER_LAUNCH : status; }

static int occupancy(struct sap_function *opaque_function, unsigned threads, size_t shared, int *groups)
{
    const struct sap_cuda_function *const f = sap_cuda_function_of(opaque_function);
    struct sap_cuda_device *const dev = f->module->dev;
    int status = sap_cuda_begin(dev);
    *groups = 0;
    if (status == SAP_DRIVER_OK) status = allow_shared(dev->cuda, f->function, shared);
    if (status == SAP_DRIVER_OK)
        status = SAP_CUDA_CALL(dev->cuda, occupancy, groups, f->function, (int)threads, shared);
    return sap_cuda_end(dev, of_launch(status));
}

/* Of a launch (CUDA Driver API, CUlaunchAttributeID). */
enum { CLUSTER_DIMENSION = 4, PROGRAMMATIC_STREAM_SERIALIZATION = 6 };

/* A launch whose groups are one cluster (CUlaunchConfig); *a: its attribute. */
static struct sap_cu_launch cluster_of(const unsigned groups[3], unsigned threads, size_t shared, sap_cu_stream stream,
                                       struct sap_cu_attribute *a)
{
    *a = (struct sap_cu_attribute){.id = CLUSTER_DIMENSION, .value = {groups[0], groups[1], groups[2]}};
    return (struct sap_cu_launch){.groups = {groups[0], groups[1], groups[2]},
                                  .threads = {threads, 1, 1},
                                  .shared = (unsigned)shared,
                                  .stream = stream,
                                  .attribute = a,
                                  .attributes = 1};
}

/* The largest cluster that the device holds; one group, where it has none: the call then fails. */
static void find_most(const struct sap_cuda *cuda, sap_cu_function f, unsigned threads, size_t shared, int *groups)
{
    enum { NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14, MOST = 16 };
    if (!cuda->api.launch_more || !cuda->api.clusters || !cuda->api.function_set) return;
    (void)cuda->api.function_set(f, NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1); /* beyond 8 */
    for (unsigned n = MOST; n > 1 && *groups == 1; n /= 2) {
        struct sap_cu_attribute attribute;
        const struct sap_cu_launch l = cluster_of((const unsigned[3]){n, 1, 1}, threads, shared, NULL, &attribute);
        int held = 0;
        if (cuda->api.clusters(&held, f, &l) == 0 && held > 0) *groups = (int)n;
    }
}

static int together_most(struct sap_function *opaque_function, unsigned threads, size_t shared, int *groups)
{
    const struct sap_cuda_function *const f = sap_cuda_function_of(opaque_function);
    struct sap_cuda_device *const dev = f->module->dev;
    int status = sap_cuda_begin(dev);
    *groups = 1;
    if (status == SAP_DRIVER_OK) status = allow_shared(dev->cuda, f->function, shared);
    if (status == SAP_DRIVER_OK) find_most(dev->cuda, f->function, threads, shared, groups);
    return sap_cuda_end(dev, of_launch(status));
}

/* Returns the address where libcuda reads the value of an argument; missing memory is a null pointer. */
static const void *argument_value(const struct sap_argument *argument)
{
    static const sap_cu_address null = 0;
    if (argument->size > 0) return argument->value;
    const struct sap_cuda_memory *const mem = sap_cuda_const_memory_of(argument->value);
    return mem ? &mem->address : &null;
}

static int launch(struct sap_stream *opaque_stream, struct sap_function *opaque_function, const struct sap_launch *l)
{
    struct sap_cuda_stream *const s = sap_cuda_stream_of(opaque_stream);
    const struct sap_cuda_function *const f = sap_cuda_function_of(opaque_function);
    void *argument[ARGUMENTS_MOST];
    if (l->arguments > ARGUMENTS_MOST || l->shared > UINT_MAX)
        return sap_cuda_refuse(SAP_DRIVER_LAUNCH, "a kernel with %d arguments, %zu bytes of shared memory",
                               l->arguments, l->shared);
    for (int k = 0; k < l->arguments; k++) argument[k] = (void *)argument_value(&l->argument[k]);
    int status = sap_cuda_begin(s->dev);
    if (status == SAP_DRIVER_OK && (l->together || (l->early && f->module->waits && !s->waited))) {
        struct sap_cu_attribute attribute;
        const struct sap_cu_launch all = cluster_of(l->groups, l->threads, l->shared, s->stream, &attribute);
        if (!l->together) attribute = (struct sap_cu_attribute){PROGRAMMATIC_STREAM_SERIALIZATION, .value = {1}};
        status = SAP_CUDA_CALL(s->dev->cuda, launch_more, &all, f->function, argument, NULL);
    } else if (status == SAP_DRIVER_OK) {
        status = SAP_CUDA_CALL(s->dev->cuda, launch, f->function, l->groups[0], l->groups[1], l->groups[2], l->threads,
                               1, 1, (unsigned)l->shared, s->stream, argument, NULL);
    }
    s->waited = 0;
    return sap_cuda_end(s->dev, of_launch(status));
}

static int together(const struct sap_dev *a, const struct sap_dev *b)
{
    (void)a;
    (void)b;
    return 1;
}

static void *native_stream(const struct sap_stream *opaque_stream)
{
    const struct sap_cuda_stream *const s = (const void *)opaque_stream;
    return s->stream;
}

static const char *error_text(void) { return sap_cuda_error; }

/* What both tables share: all that is done with an open device. */
#define SHARED_ENTRIES                                                                                                 \
    .close = sap_cuda_close, .enter = sap_cuda_enter, .leave = sap_cuda_leave, .memory_left = sap_cuda_memory_left,    \
    .allocate = sap_cuda_allocate, .allocate_pinned = sap_cuda_allocate_pinned,                                        \
    .allocate_shared = sap_cuda_allocate_shared, .pinned_for_all = 1, .together = together,                            \
    .release = sap_cuda_release, .adopt = sap_cuda_adopt, .address = sap_cuda_address, .native_stream = native_stream, \
    .copy_in = copy_in, .copy_out = copy_out, .copy = copy, .copy_peer = copy_peer, .fill = fill,                      \
    .stream_create = stream_create, .stream_create_urgent = stream_create_urgent, .stream_destroy = stream_destroy,    \
    .stream_finish = stream_finish, .event_create = event_create, .event_create_timed = event_create_timed,            \
    .event_destroy = event_destroy, .event_record = event_record, .event_query = event_query,                          \
    .event_wait = event_wait, .stream_wait = stream_wait, .event_milliseconds = event_milliseconds,                    \
    .module_load = module_load, .module_unload = module_unload, .function = function, .occupancy = occupancy,          \
    .together_most = together_most, .launch = launch, .error_text = error_text

static int cuda_count(void) { return sap_cuda_count_of(&sap_cuda); }
static const char *cuda_describe(void) { return sap_cuda_describe_of(&sap_cuda); }
static int cuda_properties(int number, struct sap_device_properties *properties)
{
    return sap_cuda_properties_of(&sap_cuda, number, properties);
}
static int cuda_open(int number, struct sap_dev **dev) { return sap_cuda_open_of(&sap_cuda, number, dev); }
const struct sap_driver sap_driver_cuda = {.name = "cuda",
                                           .pinned_in_order = 1,
                                           .count = cuda_count,
                                           .describe = cuda_describe,
                                           .properties = cuda_properties,
                                           .open = cuda_open,
                                           SHARED_ENTRIES};

static int hip_count(void) { return sap_cuda_count_of(&sap_hip); }
static const char *hip_describe(void) { return sap_cuda_describe_of(&sap_hip); }
static int hip_properties(int number, struct sap_device_properties *properties)
{
    return sap_cuda_properties_of(&sap_hip, number, properties);
}
static int hip_open(int number, struct sap_dev **dev) { return sap_cuda_open_of(&sap_hip, number, dev); }
const struct sap_driver sap_driver_hip = {.name = "hip",
                                          .count = hip_count,
                                          .describe = hip_describe,
                                          .properties = hip_properties,
                                          .open = hip_open,
                                          SHARED_ENTRIES};
