/* stub_driver.c - see stub_driver.h. */
#include "stub_driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"

/* FILLED: bytes of new memory that are filled, because filling takes time. */
enum { STUB_DEVICES_MOST = 64, STUB_NAMES_MOST = 64, FILLED = 1 << 16 };

struct sap_dev {
    int number, entered;
};

struct sap_mem {
    struct sap_dev *dev;
    unsigned char *at;
    size_t bytes;
};

struct sap_stream {
    struct sap_dev *dev;
};

struct sap_event {
    struct sap_dev *dev;
    int timed, recorded, pending;
};

struct sap_module {
    struct sap_dev *dev;
    struct sap_function *functions;
};

struct sap_function {
    struct sap_function *next;
    char name[64];
};

struct stub_state stub = {.devices = 1, .memory = (size_t)1 << 30};

static atomic_size_t used[STUB_DEVICES_MOST]; /* bytes of each device */
static struct {
    struct sap_lock lock;
    int names;
    char name[STUB_NAMES_MOST][64];
    long launches[STUB_NAMES_MOST];
} noted = {.lock = SAP_LOCK_INIT};

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
    noted.names = 0;
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

void *stub_memory(const struct sap_mem *mem) { return mem->at; }

size_t stub_memory_bytes(const struct sap_mem *mem) { return mem->bytes; }

/* Returns the position of a name, a new one if the table is not full; -1: none. */
static int place_of(const char *name)
{
    for (int k = 0; k < noted.names; k++)
        if (strcmp(noted.name[k], name) == 0) return k;
    if (noted.names == STUB_NAMES_MOST) return -1;
    noted.launches[noted.names] = 0;
    (void)snprintf(noted.name[noted.names], sizeof noted.name[0], "%s", name);
    return noted.names++;
}

long stub_launches(const char *name)
{
    sap_lock(&noted.lock);
    const int k = place_of(name);
    const long n = k < 0 ? 0 : noted.launches[k];
    sap_unlock(&noted.lock);
    return n;
}

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

static int open_device(int number, struct sap_dev **dev)
{
    called(NULL);
    *dev = NULL;
    const int status = check_number(number);
    if (status != SAP_DRIVER_OK) return status;
    *dev = make(sizeof **dev, &stub.live.opens);
    if (!*dev) return SAP_DRIVER_MEMORY;
    (*dev)->number = number;
    return SAP_DRIVER_OK;
}

static void leave(struct sap_dev *dev)
{
    called(NULL);
    if (dev->entered) atomic_fetch_sub(&stub.live.entered, 1);
    dev->entered = 0;
}

static void close_device(struct sap_dev *dev)
{
    if (dev) leave(dev);
    unmake(dev, &stub.live.opens);
}

static int enter(struct sap_dev *dev)
{
    called(NULL);
    if (dev->entered) return refuse(SAP_DRIVER_ERROR, "stub: the device has been entered already");
    dev->entered = 1;
    atomic_fetch_add(&stub.live.entered, 1);
    return SAP_DRIVER_OK;
}

static int memory_left(struct sap_dev *dev, size_t *bytes)
{
    called(NULL);
    *bytes = stub.memory - used[dev->number];
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- memory, copies */

static int allocate(struct sap_dev *dev, size_t bytes, struct sap_mem **mem)
{
    called(NULL);
    *mem = NULL;
    if (bytes == 0) bytes = 1;
    if (bytes > stub.memory - used[dev->number])
        return refuse(SAP_DRIVER_MEMORY, "stub: no %zu bytes left on device %d", bytes, dev->number);
    struct sap_mem *m = make(sizeof *m, &stub.live.memories);
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
    *mem = m;
    return SAP_DRIVER_OK;
}

static int allocate_pinned(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host)
{
    const int status = allocate(dev, bytes, mem);
    *host = *mem ? (*mem)->at : NULL;
    return status;
}

static int allocate_shared(struct sap_dev *dev, struct sap_dev *const *others, int n, size_t bytes,
                           struct sap_mem **mem)
{
    *mem = NULL;
    for (int k = 0; k < n; k++)
        if (others[k] == dev) return refuse(SAP_DRIVER_ERROR, "stub: device %d shares with itself", dev->number);
    return stub.apart > 0 ? refuse(SAP_DRIVER_UNSUPPORTED, "stub: devices do not reach each other")
                          : allocate(dev, bytes, mem);
}

static int together(const struct sap_dev *a, const struct sap_dev *b) { return a == b || stub.apart < 2; }

static void release(struct sap_mem *mem)
{
    called(NULL);
    if (!mem) return;
    atomic_fetch_sub(&used[mem->dev->number], mem->bytes);
    atomic_fetch_sub(&stub.live.bytes, mem->bytes);
    free(mem->at);
    unmake(mem, &stub.live.memories);
}

static int inside(const struct sap_mem *mem, size_t at, size_t bytes)
{
    if (at <= mem->bytes && bytes <= mem->bytes - at) return SAP_DRIVER_OK;
    atomic_fetch_add(&stub.outside, 1);
    return refuse(SAP_DRIVER_ERROR, "stub: %zu bytes at %zu are not inside a memory of %zu", bytes, at, mem->bytes);
}

static int copy_in(struct sap_stream *s, struct sap_mem *to, size_t at, const void *from, size_t bytes)
{
    called(s);
    const int status = inside(to, at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    atomic_fetch_add(&stub.copies, 1);
    memcpy(to->at + at, from, bytes);
    return SAP_DRIVER_OK;
}

static int copy_out(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes)
{
    called(s);
    const int status = inside(from, at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    atomic_fetch_add(&stub.copies, 1);
    memcpy(to, from->at + at, bytes);
    return SAP_DRIVER_OK;
}

static int copy(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at, size_t bytes)
{
    called(s);
    int status = inside(to, at, bytes);
    if (status == SAP_DRIVER_OK) status = inside(from, from_at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    atomic_fetch_add(&stub.copies, 1);
    memmove(to->at + at, from->at + from_at, bytes);
    return SAP_DRIVER_OK;
}

static int fill(struct sap_stream *s, struct sap_mem *to, size_t at, unsigned char byte, size_t bytes)
{
    called(s);
    const int status = inside(to, at, bytes);
    if (status != SAP_DRIVER_OK) return status;
    atomic_fetch_add(&stub.fills, 1);
    memset(to->at + at, byte, bytes);
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- streams, events */

static int stream_create(struct sap_dev *dev, struct sap_stream **s)
{
    *s = make(sizeof **s, &stub.live.streams);
    if (!*s) return SAP_DRIVER_MEMORY;
    (*s)->dev = dev;
    return SAP_DRIVER_OK;
}

static void stream_destroy(struct sap_stream *s) { unmake(s, &stub.live.streams); }

static int stream_finish(struct sap_stream *s)
{
    called(s);
    atomic_fetch_add(&stub.finishes, 1);
    return SAP_DRIVER_OK;
}

static int event_create(struct sap_dev *dev, struct sap_event **e)
{
    *e = make(sizeof **e, &stub.live.events);
    if (!*e) return SAP_DRIVER_MEMORY;
    (*e)->dev = dev;
    return SAP_DRIVER_OK;
}

static int event_create_timed(struct sap_dev *dev, struct sap_event **e)
{
    const int status = event_create(dev, e);
    if (status == SAP_DRIVER_OK) (*e)->timed = 1;
    return status;
}

static void event_destroy(struct sap_event *e) { unmake(e, &stub.live.events); }

static int event_record(struct sap_event *e, struct sap_stream *s)
{
    called(NULL);
    if (e->dev != s->dev) return refuse(SAP_DRIVER_ERROR, "stub: an event of one device, a stream of another");
    e->recorded = 1;
    e->pending = stub.pending;
    return SAP_DRIVER_OK;
}

static int event_query(struct sap_event *e)
{
    called(NULL);
    if (e->pending == 0) return SAP_DRIVER_OK;
    e->pending--;
    return SAP_DRIVER_PENDING;
}

static int event_wait(struct sap_event *e)
{
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

static int event_milliseconds(struct sap_event *from, struct sap_event *to, float *ms)
{
    called(NULL);
    *ms = 0;
    if (!from->timed || !to->timed || !from->recorded || !to->recorded)
        return refuse(SAP_DRIVER_ERROR, "stub: an event that is not timed, or not recorded");
    *ms = 0.5F;
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- modules, launches */

static int module_load(struct sap_dev *dev, const void *image, size_t bytes, struct sap_module **m)
{
    called(NULL);
    *m = NULL;
    if (!image || bytes == 0) return refuse(SAP_DRIVER_UNSUPPORTED, "stub: an empty image");
    *m = make(sizeof **m, &stub.live.modules);
    if (!*m) return SAP_DRIVER_MEMORY;
    (*m)->dev = dev;
    return SAP_DRIVER_OK;
}

static void module_unload(struct sap_module *m)
{
    called(NULL);
    if (!m) return;
    for (struct sap_function *f = m->functions, *next; f; f = next) {
        next = f->next;
        unmake(f, &stub.live.functions);
    }
    unmake(m, &stub.live.modules);
}

/* Every module has every kernel. */
static int function(struct sap_module *m, const char *name, struct sap_function **f)
{
    *f = make(sizeof **f, &stub.live.functions);
    if (!*f) return SAP_DRIVER_MEMORY;
    (void)snprintf((*f)->name, sizeof(*f)->name, "%s", name);
    (*f)->next = m->functions;
    m->functions = *f;
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

static int launch(struct sap_stream *s, struct sap_function *f, const struct sap_launch *l)
{
    called(s);
    if (l->threads < 1 || l->threads > 1024 || !l->groups[0] || !l->groups[1] || !l->groups[2])
        return refuse(SAP_DRIVER_LAUNCH, "stub: %s with %u x %u x %u groups of %u threads", f->name, l->groups[0],
                      l->groups[1], l->groups[2], l->threads);
    atomic_fetch_add(&stub.launches, 1);
    sap_lock(&noted.lock);
    const int k = place_of(f->name);
    if (k >= 0) noted.launches[k]++;
    memcpy(stub.last_launch, f->name, sizeof stub.last_launch);
    sap_unlock(&noted.lock);
    if (stub.on_launch) stub.on_launch(f->name, l);
    return SAP_DRIVER_OK;
}

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
    .together = together,
    .release = release,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .copy_peer = copy,
    .fill = fill,
    .stream_create = stream_create,
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
