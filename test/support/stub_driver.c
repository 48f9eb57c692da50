/* stub_driver.c - see stub_driver.h. */
#include "stub_driver.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub_launches.h"

/* FILLED: bytes of new memory that are filled, because filling takes time. */
enum { STUB_DEVICES_MOST = 64, FILLED = 1 << 16 };

struct stub_device {
    int number, entered;
};

struct stub_memory {
    struct stub_device *dev;
    unsigned char *at;
    size_t bytes;
};

struct stub_stream {
    struct stub_device *dev;
};

struct stub_event {
    struct stub_device *dev;
    int timed, recorded, pending;
};

struct stub_module {
    struct stub_function *functions;
};

struct stub_function {
    struct stub_function *next;
    char name[64];
};

/* Convert a handle of driver.h to the type behind it. A handle of the stub is the address of its object. */
static struct stub_device *device_of(struct sap_dev *handle) { return (void *)handle; }
static struct stub_memory *memory_of(struct sap_mem *handle) { return (void *)handle; }
static const struct stub_memory *const_memory_of(const struct sap_mem *handle) { return (const void *)handle; }
static struct stub_stream *stream_of(struct sap_stream *handle) { return (void *)handle; }
static struct stub_event *event_of(struct sap_event *handle) { return (void *)handle; }
static struct stub_module *module_of(struct sap_module *handle) { return (void *)handle; }
static struct stub_function *function_of(struct sap_function *handle) { return (void *)handle; }

struct stub_state stub = {.devices = 1, .memory = (size_t)1 << 30};

static atomic_size_t used[STUB_DEVICES_MOST]; /* bytes of each device */

static _Thread_local char error[256];

static int refuse(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, sizeof error, format, arguments);
    va_end(arguments);
    return status;
}

/* Counts a call; `unused` is an argument that the call itself does not read. */
static void called(const void *unused)
{
    (void)unused;
    if (stub.on_call) stub.on_call();
}

/* Allocates zero bytes of host memory, and counts them in *count. */
static void *make(size_t bytes, atomic_int *count)
{
    called(count);
    void *p = calloc(1, bytes);
    if (p)
        atomic_fetch_add(count, 1);
    else
        (void)refuse(SAP_DRIVER_MEMORY, "stub: no memory of the host");
    return p;
}

static void unmake(void *p, atomic_int *count)
{
    called(p);
    if (!p) return;
    atomic_fetch_sub(count, 1);
    free(p);
}

/* ---------------------------------------------------------------- for tests */

void stub_reset(int devices)
{
    memset(&stub, 0, sizeof stub);
    stub.devices = devices;
    stub.memory = (size_t)1 << 30;
    memset(used, 0, sizeof used);
    stub_forget_launches();
}

int stub_idle(void)
{
    const struct stub_live *l = &stub.live;
    if (!l->opens && !l->entered && !l->memories && !l->streams && !l->events && !l->modules && !l->functions &&
        !l->bytes)
        return 1;
    printf("held: %d opens, %d entered, %d memories of %zu bytes, %d streams, %d events, %d modules, %d functions\n",
           l->opens, l->entered, l->memories, (size_t)l->bytes, l->streams, l->events, l->modules, l->functions);
    return 0;
}

void *stub_memory(const struct sap_mem *mem) { return const_memory_of(mem)->at; }

size_t stub_memory_bytes(const struct sap_mem *mem) { return const_memory_of(mem)->bytes; }

/* ---------------------------------------------------------------- devices */

static int count(void) { return stub.devices; }

static const char *describe(void)
{
    called(NULL);
    if (stub.describe) return stub.describe;
    return stub.devices > 0 ? "stub driver" : "the stub has no device";
}

static int check_number(int number)
{
    if (number >= 0 && number < stub.devices && number < STUB_DEVICES_MOST) return SAP_DRIVER_OK;
    return refuse(SAP_DRIVER_UNSUPPORTED, "stub: there is no device %d", number);
}

static int properties(int number, struct sap_device_properties *p)
{
    called(NULL);
    const int status = check_number(number);
    memset(p, 0, sizeof *p);
    if (status != SAP_DRIVER_OK) return status;
    (void)snprintf(p->name, sizeof p->name, "Stub %d", number);
    (void)snprintf(p->uuid, sizeof p->uuid, "GPU-00000000-0000-0000-0000-%012d", number);
    (void)snprintf(p->bus, sizeof p->bus, "0000:%02x:00.0", (unsigned)number + 1);
    (void)snprintf(p->architecture, sizeof p->architecture, "sm_90");
    p->memory = stub.memory;
    p->units = 4;
    p->threads_per_unit = 2048;
    p->threads_per_group = 1024;
    p->shared_per_group = 227 * 1024;
    p->shared_per_unit = 228 * 1024;
    p->l2 = (size_t)32 << 20;
    p->warp = 32;
    p->has_fp64 = 1;
    return SAP_DRIVER_OK;
}

static int open_device(int number, struct sap_dev **opaque_dev)
{
    called(NULL);
    *opaque_dev = NULL;
    const int status = check_number(number);
    if (status != SAP_DRIVER_OK) return status;
    struct stub_device *const dev = make(sizeof *dev, &stub.live.opens);
    if (!dev) return SAP_DRIVER_MEMORY;
    dev->number = number;
    *opaque_dev = (void *)dev;
    return SAP_DRIVER_OK;
}

static void leave(struct sap_dev *opaque_dev)
{
    struct stub_device *const dev = device_of(opaque_dev);
    called(NULL);
    if (dev->entered) atomic_fetch_sub(&stub.live.entered, 1);
    dev->entered = 0;
}

static void close_device(struct sap_dev *dev)
{
    if (dev) leave(dev);
    unmake(dev, &stub.live.opens);
}

static int enter(struct sap_dev *opaque_dev)
{
    struct stub_device *const dev = device_of(opaque_dev);
    called(NULL);
    if (dev->entered) return refuse(SAP_DRIVER_ERROR, "stub: the device has been entered already");
    dev->entered = 1;
    atomic_fetch_add(&stub.live.entered, 1);
    return SAP_DRIVER_OK;
}

static int memory_left(struct sap_dev *opaque_dev, size_t *bytes)
{
    struct stub_device *const dev = device_of(opaque_dev);
    called(NULL);
    *bytes = stub.memory - used[dev->number];
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- memory, copies */

static int allocate(struct sap_dev *opaque_dev, size_t bytes, struct sap_mem **opaque_mem)
{
    struct stub_device *const dev = device_of(opaque_dev);
    called(NULL);
    *opaque_mem = NULL;
    if (bytes == 0) bytes = 1;
    if (bytes > stub.memory - used[dev->number])
        return refuse(SAP_DRIVER_MEMORY, "stub: no %zu bytes left on device %d", bytes, dev->number);
    struct stub_memory *m = make(sizeof *m, &stub.live.memories);
    if (!m) return SAP_DRIVER_MEMORY;
    m->dev = dev;
    m->bytes = bytes;
    m->at = malloc(bytes);
    if (!m->at) {
        unmake(m, &stub.live.memories);
        return refuse(SAP_DRIVER_MEMORY, "stub: no %zu bytes of the host", bytes);
    }
    memset(m->at, 0xa5, bytes < FILLED ? bytes : FILLED); /* not zero, as in device memory */
    atomic_fetch_add(&used[dev->number], bytes);
    atomic_fetch_add(&stub.live.bytes, bytes);
    *opaque_mem = (void *)m;
    return SAP_DRIVER_OK;
}

static int allocate_pinned(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host)
{
    const int status = allocate(dev, bytes, mem);
    *host = *mem ? memory_of(*mem)->at : NULL;
    return status;
}

static int allocate_shared(struct sap_dev *dev, struct sap_dev *const *others, int n, size_t bytes,
                           struct sap_mem **mem)
{
    *mem = NULL;
    for (int k = 0; k < n; k++)
        if (others[k] == dev)
            return refuse(SAP_DRIVER_ERROR, "stub: device %d shares with itself", device_of(dev)->number);
    return stub.apart > 0 ? refuse(SAP_DRIVER_UNSUPPORTED, "stub: devices do not reach each other")
                          : allocate(dev, bytes, mem);
}

static int together(const struct sap_dev *a, const struct sap_dev *b) { return a == b || stub.apart < 2; }

static void release(struct sap_mem *opaque_mem)
{
    struct stub_memory *const mem = memory_of(opaque_mem);
    called(NULL);
    if (!mem) return;
    atomic_fetch_sub(&used[mem->dev->number], mem->bytes);
    atomic_fetch_sub(&stub.live.bytes, mem->bytes);
    free(mem->at);
    unmake(mem, &stub.live.memories);
}

static int inside(const struct stub_memory *mem, size_t at, size_t bytes)
{
    if (at <= mem->bytes && bytes <= mem->bytes - at) return SAP_DRIVER_OK;
    atomic_fetch_add(&stub.outside, 1);
    return refuse(SAP_DRIVER_ERROR, "stub: %zu bytes at %zu are not inside a memory of %zu", bytes, at, mem->bytes);
}

static int copy_in(struct sap_stream *s, struct sap_mem *opaque_to, size_t at, const void *from, size_t bytes)
{
    struct stub_memory *const to = memory_of(opaque_to);
    called(s);
    const int status = inside(to, at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    atomic_fetch_add(&stub.copies, 1);
    memcpy(to->at + at, from, bytes);
    return SAP_DRIVER_OK;
}

static int copy_out(struct sap_stream *s, void *to, struct sap_mem *opaque_from, size_t at, size_t bytes)
{
    const struct stub_memory *const from = memory_of(opaque_from);
    called(s);
    const int status = inside(from, at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    atomic_fetch_add(&stub.copies, 1);
    memcpy(to, from->at + at, bytes);
    return SAP_DRIVER_OK;
}

static int copy(struct sap_stream *s, struct sap_mem *opaque_to, size_t at, struct sap_mem *opaque_from, size_t from_at,
                size_t bytes)
{
    struct stub_memory *const to = memory_of(opaque_to);
    const struct stub_memory *const from = memory_of(opaque_from);
    called(s);
    int status = inside(to, at, bytes);
    if (status == SAP_DRIVER_OK) status = inside(from, from_at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    atomic_fetch_add(&stub.copies, 1);
    memmove(to->at + at, from->at + from_at, bytes);
    return SAP_DRIVER_OK;
}

static int fill(struct sap_stream *s, struct sap_mem *opaque_to, size_t at, unsigned char byte, size_t bytes)
{
    struct stub_memory *const to = memory_of(opaque_to);
    called(s);
    const int status = inside(to, at, bytes);
    if (status != SAP_DRIVER_OK) return status;
    atomic_fetch_add(&stub.fills, 1);
    memset(to->at + at, byte, bytes);
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- streams, events */

static int stream_create(struct sap_dev *dev, struct sap_stream **opaque_stream)
{
    struct stub_stream *const s = make(sizeof *s, &stub.live.streams);
    *opaque_stream = (void *)s;
    if (!s) return SAP_DRIVER_MEMORY;
    s->dev = device_of(dev);
    return SAP_DRIVER_OK;
}

static void stream_destroy(struct sap_stream *s) { unmake(s, &stub.live.streams); }

static int stream_finish(struct sap_stream *s)
{
    called(s);
    atomic_fetch_add(&stub.finishes, 1);
    return SAP_DRIVER_OK;
}

static int event_create(struct sap_dev *dev, struct sap_event **opaque_event)
{
    struct stub_event *const e = make(sizeof *e, &stub.live.events);
    *opaque_event = (void *)e;
    if (!e) return SAP_DRIVER_MEMORY;
    e->dev = device_of(dev);
    return SAP_DRIVER_OK;
}

static int event_create_timed(struct sap_dev *dev, struct sap_event **e)
{
    const int status = event_create(dev, e);
    if (status == SAP_DRIVER_OK) event_of(*e)->timed = 1;
    return status;
}

static void event_destroy(struct sap_event *e) { unmake(e, &stub.live.events); }

static int event_record(struct sap_event *opaque_event, struct sap_stream *opaque_stream)
{
    struct stub_event *const e = event_of(opaque_event);
    const struct stub_stream *const s = stream_of(opaque_stream);
    called(NULL);
    if (e->dev != s->dev) return refuse(SAP_DRIVER_ERROR, "stub: an event of one device, a stream of another");
    e->recorded = 1;
    e->pending = stub.pending;
    return SAP_DRIVER_OK;
}

static int event_query(struct sap_event *opaque_event)
{
    struct stub_event *const e = event_of(opaque_event);
    called(NULL);
    if (e->pending == 0) return SAP_DRIVER_OK;
    e->pending--;
    return SAP_DRIVER_PENDING;
}

static int event_wait(struct sap_event *opaque_event)
{
    struct stub_event *const e = event_of(opaque_event);
    called(NULL);
    atomic_fetch_add(&stub.waits, 1);
    e->pending = 0;
    return SAP_DRIVER_OK;
}

static int stream_wait(struct sap_stream *s, struct sap_event *e)
{
    called(s);
    (void)e;
    return SAP_DRIVER_OK;
}

static int event_milliseconds(struct sap_event *opaque_from, struct sap_event *opaque_to, float *ms)
{
    const struct stub_event *const from = event_of(opaque_from);
    const struct stub_event *const to = event_of(opaque_to);
    called(NULL);
    *ms = 0;
    if (!from->timed || !to->timed || !from->recorded || !to->recorded)
        return refuse(SAP_DRIVER_ERROR, "stub: an event that is not timed, or not recorded");
    *ms = 0.5F;
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- modules, launches */

static int module_load(struct sap_dev *dev, const void *image, size_t bytes, struct sap_module **opaque_module)
{
    called(dev);
    *opaque_module = NULL;
    if (!image || bytes == 0) return refuse(SAP_DRIVER_UNSUPPORTED, "stub: an empty image");
    *opaque_module = make(sizeof(struct stub_module), &stub.live.modules);
    return *opaque_module ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
}

static void module_unload(struct sap_module *opaque_module)
{
    struct stub_module *const m = module_of(opaque_module);
    called(NULL);
    if (!m) return;
    for (struct stub_function *f = m->functions, *next; f; f = next) {
        next = f->next;
        unmake(f, &stub.live.functions);
    }
    unmake(m, &stub.live.modules);
}

/* Every module has every kernel. */
static int function(struct sap_module *opaque_module, const char *name, struct sap_function **opaque_function)
{
    struct stub_module *const m = module_of(opaque_module);
    struct stub_function *const f = make(sizeof *f, &stub.live.functions);
    *opaque_function = (void *)f;
    if (!f) return SAP_DRIVER_MEMORY;
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    f->next = m->functions;
    m->functions = f;
    return SAP_DRIVER_OK;
}

static int occupancy(struct sap_function *f, unsigned threads, size_t shared, int *groups)
{
    called(f);
    *groups = 0;
    if (threads < 1 || threads > 1024 || shared > (size_t)227 * 1024)
        return refuse(SAP_DRIVER_LAUNCH, "stub: %u threads, %zu bytes of shared memory", threads, shared);
    *groups = (int)(2048 / threads);
    return SAP_DRIVER_OK;
}

static int launch(struct sap_stream *s, struct sap_function *opaque_function, const struct sap_launch *l)
{
    const struct stub_function *const f = function_of(opaque_function);
    called(s);
    if (l->threads < 1 || l->threads > 1024 || !l->groups[0] || !l->groups[1] || !l->groups[2])
        return refuse(SAP_DRIVER_LAUNCH, "stub: %s with %u x %u x %u groups of %u threads", f->name, l->groups[0],
                      l->groups[1], l->groups[2], l->threads);
    atomic_fetch_add(&stub.launches, 1);
    stub_note_launch(f->name);
    if (stub.on_launch) stub.on_launch(f->name, l);
    return SAP_DRIVER_OK;
}

static void *native_stream(const struct sap_stream *s) { return (void *)(uintptr_t)s; }

static const char *error_text(void) { return error; }

const struct sap_driver stub_driver = {
    .name = "cuda",
    .count = count,
    .describe = describe,
    .properties = properties,
    .open = open_device,
    .close = close_device,
    .enter = enter,
    .leave = leave,
    .memory_left = memory_left,
    .allocate = allocate,
    .allocate_pinned = allocate_pinned,
    .allocate_shared = allocate_shared,
    .pinned_for_all = 1,
    .pinned_in_order = 1,
    .together = together,
    .release = release,
    .address = stub_memory,
    .native_stream = native_stream,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .copy_peer = copy,
    .fill = fill,
    .stream_create = stream_create,
    .stream_create_urgent = stream_create,
    .stream_destroy = stream_destroy,
    .stream_finish = stream_finish,
    .event_create = event_create,
    .event_create_timed = event_create_timed,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_wait = event_wait,
    .stream_wait = stream_wait,
    .event_milliseconds = event_milliseconds,
    .module_load = module_load,
    .module_unload = module_unload,
    .function = function,
    .occupancy = occupancy,
    .launch = launch,
    .error_text = error_text,
};
