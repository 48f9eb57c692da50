/* faulty_driver.c - see faulty_driver.h. */
#include "faulty_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"

enum { FAULTY_DEVICES_MOST = 64 };

struct faulty_state faulty;

const struct faulty_kind faulty_kinds[] = {{"memory", SAP_DRIVER_MEMORY},
                                           {"launch", SAP_DRIVER_LAUNCH},
                                           {"lost", SAP_DRIVER_LOST},
                                           {"error", SAP_DRIVER_ERROR},
                                           {NULL, 0}};

static const struct sap_driver *inner;
static struct sap_driver table;
static long fail_at;
static int fail_with;
static int tell; /* of the first call that fails, on stderr */
static atomic_int lost[FAULTY_DEVICES_MOST], opens[FAULTY_DEVICES_MOST];

/* Whose device an open device, a memory, a stream ... is; in no order.  Functions go with their module, `parent`. */
static struct {
    atomic_flag lock;
    int n, room;
    struct owned {
        const void *thing, *parent;
        int number;
    } * list;
} owned = {.lock = ATOMIC_FLAG_INIT};

/* This thread's last error, if it was made here. */
static _Thread_local char error[128];
static _Thread_local int is_ours;

/* ---------------------------------------------------------------- who belongs to which device */

static int place_of(const void *thing)
{
    int k = owned.n - 1;
    while (k >= 0 && owned.list[k].thing != thing) k--;
    return k;
}

static int number_of(const void *thing)
{
    sap_lock(&owned.lock);
    const int k = place_of(thing), number = k < 0 ? -1 : owned.list[k].number;
    sap_unlock(&owned.lock);
    return number;
}

static void own(const void *thing, const void *parent, int number)
{
    sap_lock(&owned.lock);
    if (owned.n == owned.room) {
        const int room = 2 * owned.room + 64;
        struct owned *list = realloc(owned.list, (size_t)room * sizeof *list);
        if (list) {
            owned.list = list;
            owned.room = room;
        }
    }
    if (owned.n < owned.room) owned.list[owned.n++] = (struct owned){thing, parent, number};
    sap_unlock(&owned.lock);
}

static void disown(const void *thing)
{
    sap_lock(&owned.lock);
    for (int k = owned.n - 1; k >= 0; k--)
        if (owned.list[k].thing == thing || owned.list[k].parent == thing) owned.list[k] = owned.list[--owned.n];
    if (owned.n == 0) { /* a test that has given everything back leaks nothing here either */
        free(owned.list);
        owned.list = NULL;
        owned.room = 0;
    }
    sap_unlock(&owned.lock);
}

/* ---------------------------------------------------------------- faults */

static int fail(int status, int number, const char *call)
{
    const char *none = NULL;
    const int first = atomic_compare_exchange_strong(&faulty.failed_call, &none, call);
    if (first) faulty.failed_device = number;
    atomic_fetch_add(&faulty.failed, 1);
    (void)snprintf(error, sizeof error, "faulty driver: %s on device %d fails with status %d", call, number, status);
    is_ours = 1;
    if (first && tell) (void)fprintf(stderr, "SAPPORO_FAULT: call %ld: %s\n", fail_at, error);
    return status;
}

/* Counts a call on a device: OK, or what it has to give. */
static int judge_number(int number, const char *call)
{
    const int known = number >= 0 && number < FAULTY_DEVICES_MOST;
    const long n = atomic_fetch_add(&faulty.calls, 1) + 1;
    if (known && opens[number] == 0) lost[number] = 0; /* nobody holds the broken context any more */
    if (known && lost[number]) return fail(SAP_DRIVER_LOST, number, call);
    if (n != fail_at) return SAP_DRIVER_OK;
    if (known && fail_with == SAP_DRIVER_LOST) lost[number] = 1;
    return fail(fail_with, number, call);
}

static int judge(const void *thing, const char *call) { return judge_number(number_of(thing), call); }

/* What the driver itself gave. */
static int given(int status)
{
    if (status != SAP_DRIVER_OK && status != SAP_DRIVER_PENDING) is_ours = 0;
    return status;
}

/* The same, of a call that made `thing` for the device of `parent`. */
static int made(int status, const void *thing, const void *parent)
{
    if (status == SAP_DRIVER_OK) own(thing, NULL, number_of(parent));
    return given(status);
}

/* ---------------------------------------------------------------- devices */

static int properties(int number, struct sap_device_properties *p)
{
    const int status = judge_number(number, "properties");
    return status ? status : given(inner->properties(number, p));
}

static int open_device(int number, struct sap_dev **dev)
{
    *dev = NULL;
    const int known = number >= 0 && number < FAULTY_DEVICES_MOST;
    int status = judge_number(number, "open");
    /* Nothing is broken where nothing is open. */
    if (status && known && opens[number] == 0) lost[number] = 0;
    if (status) return status;
    status = given(inner->open(number, dev));
    if (status == SAP_DRIVER_OK) {
        own(*dev, NULL, number);
        if (known) atomic_fetch_add(&opens[number], 1);
    }
    return status;
}

static void close_device(struct sap_dev *dev)
{
    const int number = dev ? number_of(dev) : -1;
    if (number >= 0 && number < FAULTY_DEVICES_MOST) atomic_fetch_sub(&opens[number], 1);
    if (dev) disown(dev);
    inner->close(dev);
}

static int enter(struct sap_dev *dev)
{
    const int status = judge(dev, "enter");
    return status ? status : given(inner->enter(dev));
}

static void leave(struct sap_dev *dev) { inner->leave(dev); }

static int memory_left(struct sap_dev *dev, size_t *bytes)
{
    const int status = judge(dev, "memory_left");
    *bytes = 0;
    return status ? status : given(inner->memory_left(dev, bytes));
}

/* ---------------------------------------------------------------- memory, copies */

static int allocate(struct sap_dev *dev, size_t bytes, struct sap_mem **mem)
{
    *mem = NULL;
    int status = judge(dev, "allocate");
    if (status) return status;
    status = inner->allocate(dev, bytes, mem);
    return made(status, *mem, dev);
}

static int allocate_pinned(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host)
{
    *mem = NULL;
    *host = NULL;
    int status = judge(dev, "allocate_pinned");
    if (status) return status;
    status = inner->allocate_pinned(dev, bytes, mem, host);
    return made(status, *mem, dev);
}

static int allocate_shared(struct sap_dev *dev, struct sap_dev *const *others, int n, size_t bytes,
                           struct sap_mem **mem)
{
    *mem = NULL;
    int status = judge(dev, "allocate_shared");
    if (status) return status;
    status = inner->allocate_shared(dev, others, n, bytes, mem);
    return made(status, *mem, dev);
}

static int adopt(struct sap_dev *dev, const void *address, size_t bytes, struct sap_mem **mem)
{
    *mem = NULL;
    int status = judge(dev, "adopt");
    if (status) return status;
    status = inner->adopt(dev, address, bytes, mem);
    return made(status, *mem, dev);
}

static void release(struct sap_mem *mem)
{
    if (mem) disown(mem);
    inner->release(mem);
}

static int copy_in(struct sap_stream *s, struct sap_mem *to, size_t at, const void *from, size_t bytes)
{
    const int status = judge(s, "copy_in");
    return status ? status : given(inner->copy_in(s, to, at, from, bytes));
}

static int copy_out(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes)
{
    const int status = judge(s, "copy_out");
    return status ? status : given(inner->copy_out(s, to, from, at, bytes));
}

static int copy(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at, size_t bytes)
{
    const int status = judge(s, "copy");
    return status ? status : given(inner->copy(s, to, at, from, from_at, bytes));
}

static int copy_peer(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at,
                     size_t bytes)
{
    const int status = judge(s, "copy_peer");
    return status ? status : given(inner->copy_peer(s, to, at, from, from_at, bytes));
}

static int fill(struct sap_stream *s, struct sap_mem *to, size_t at, unsigned char byte, size_t bytes)
{
    const int status = judge(s, "fill");
    return status ? status : given(inner->fill(s, to, at, byte, bytes));
}

static int pinned_to_device(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes)
{
    const int status = judge(s, "pinned_to_device");
    return status ? status : given(inner->pinned_to_device(s, mem, at, bytes));
}

static int pinned_to_host(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes)
{
    const int status = judge(s, "pinned_to_host");
    return status ? status : given(inner->pinned_to_host(s, mem, at, bytes));
}

/* ---------------------------------------------------------------- streams, events */

static int stream_create(struct sap_dev *dev, struct sap_stream **s)
{
    *s = NULL;
    int status = judge(dev, "stream_create");
    if (status) return status;
    status = inner->stream_create(dev, s);
    return made(status, *s, dev);
}

static void stream_destroy(struct sap_stream *s)
{
    if (s) disown(s);
    inner->stream_destroy(s);
}

static int stream_finish(struct sap_stream *s)
{
    const int status = judge(s, "stream_finish");
    return status ? status : given(inner->stream_finish(s));
}

static int stream_wait(struct sap_stream *s, struct sap_event *e)
{
    const int status = judge(s, "stream_wait");
    return status ? status : given(inner->stream_wait(s, e));
}

static int event_create(struct sap_dev *dev, struct sap_event **e)
{
    *e = NULL;
    int status = judge(dev, "event_create");
    if (status) return status;
    status = inner->event_create(dev, e);
    return made(status, *e, dev);
}

static int event_create_timed(struct sap_dev *dev, struct sap_event **e)
{
    *e = NULL;
    int status = judge(dev, "event_create_timed");
    if (status) return status;
    status = inner->event_create_timed(dev, e);
    return made(status, *e, dev);
}

static void event_destroy(struct sap_event *e)
{
    if (e) disown(e);
    inner->event_destroy(e);
}

static int event_record(struct sap_event *e, struct sap_stream *s)
{
    const int status = judge(e, "event_record");
    return status ? status : given(inner->event_record(e, s));
}

static int event_query(struct sap_event *e)
{
    const int status = judge(e, "event_query");
    return status ? status : given(inner->event_query(e));
}

static int event_wait(struct sap_event *e)
{
    const int status = judge(e, "event_wait");
    return status ? status : given(inner->event_wait(e));
}

static int event_milliseconds(struct sap_event *from, struct sap_event *to, float *ms)
{
    const int status = judge(from, "event_milliseconds");
    *ms = 0;
    return status ? status : given(inner->event_milliseconds(from, to, ms));
}

/* ---------------------------------------------------------------- modules, launches */

static int module_load(struct sap_dev *dev, const void *image, size_t bytes, struct sap_module **m)
{
    *m = NULL;
    int status = judge(dev, "module_load");
    if (status) return status;
    status = inner->module_load(dev, image, bytes, m);
    return made(status, *m, dev);
}

static void module_unload(struct sap_module *m)
{
    if (m) disown(m);
    inner->module_unload(m);
}

static int function(struct sap_module *m, const char *name, struct sap_function **f)
{
    *f = NULL;
    int status = judge(m, "function");
    if (status) return status;
    status = inner->function(m, name, f);
    if (status == SAP_DRIVER_OK) own(*f, m, number_of(m));
    return given(status);
}

static int occupancy(struct sap_function *f, unsigned threads, size_t shared, int *groups)
{
    *groups = 0;
    const int status = judge(f, "occupancy");
    return status ? status : given(inner->occupancy(f, threads, shared, groups));
}

static int launch(struct sap_stream *s, struct sap_function *f, const struct sap_launch *l)
{
    const int status = judge(s, "launch");
    return status ? status : given(inner->launch(s, f, l));
}

static const char *error_text(void) { return is_ours ? error : inner->error_text(); }

/* ---------------------------------------------------------------- for tests */

const struct sap_driver *faulty_wrap(const struct sap_driver *driver)
{
    inner = driver;
    table = (struct sap_driver){
        .name = driver->name,
        .count = driver->count,
        .describe = driver->describe,
        .properties = properties,
        .open = open_device,
        .close = close_device,
        .enter = enter,
        .leave = leave,
        .memory_left = memory_left,
        .allocate = allocate,
        .allocate_pinned = allocate_pinned,
        .allocate_shared = driver->allocate_shared ? allocate_shared : NULL,
        .adopt = driver->adopt ? adopt : NULL,
        .pinned_for_all = driver->pinned_for_all,
        .unite = driver->unite,
        .together = driver->together,
        .release = release,
        .copy_in = copy_in,
        .copy_out = copy_out,
        .copy = copy,
        .copy_peer = driver->copy_peer ? copy_peer : NULL,
        .fill = fill,
        .pinned_to_device = driver->pinned_to_device ? pinned_to_device : NULL,
        .pinned_to_host = driver->pinned_to_host ? pinned_to_host : NULL,
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
    memset(opens, 0, sizeof opens);
    faulty_plan(0, SAP_DRIVER_OK);
    return &table;
}

int faulty_is_harmless(const char *call)
{
    static const char *const calls[] = {"occupancy",   "event_query", "properties", "stream_finish",  "open",
                                        "module_load", "function",    "allocate",   "allocate_pinned"};
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++)
        if (strcmp(call, calls[k]) == 0) return 1;
    return 0;
}

void faulty_plan(long n, int status)
{
    memset(lost, 0, sizeof lost);
    faulty.calls = 0;
    faulty.failed = 0;
    faulty.failed_call = NULL;
    fail_at = n;
    fail_with = status;
}

/* ---------------------------------------------------------------- for libraries built with FAULTS=1 */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct sap_driver *from_environment = &sap_driver_cuda;

static void read_environment(void)
{
    const char *text = getenv("SAPPORO_FAULT");
    char *end = NULL;
    const long n = text ? strtol(text, &end, 10) : 0;
    int status = text && !*end ? SAP_DRIVER_ERROR : SAP_DRIVER_OK;
    for (const struct faulty_kind *k = faulty_kinds; k->name && text; k++)
        if (*end == ':' && strcmp(end + 1, k->name) == 0) status = k->status;
    if (!text || !*text) return;
    if (n < 1 || status == SAP_DRIVER_OK) {
        (void)fprintf(stderr, "SAPPORO_FAULT is '%s'; it may be n, n:memory, n:launch, n:lost or n:error\n", text);
        return;
    }
    from_environment = faulty_wrap(&sap_driver_cuda);
    faulty_plan(n, status);
    tell = 1;
}

const struct sap_driver *faulty_from_environment(void)
{
    (void)pthread_once(&once, read_environment);
    return from_environment;
}
