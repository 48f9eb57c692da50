/* faulty_driver.c - see faulty_driver.h. */
#include "faulty_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"

/*
 * Most wrapped drivers, and devices of each; the number of a device is its driver's number for it plus DEVICES times
 * the driver's number.
 */
enum { DRIVERS = 2, DEVICES = 32 };

struct faulty_state faulty;

const struct faulty_kind faulty_kinds[] = {{"memory", SAP_DRIVER_MEMORY},
                                           {"launch", SAP_DRIVER_LAUNCH},
                                           {"lost", SAP_DRIVER_LOST},
                                           {"error", SAP_DRIVER_ERROR},
                                           {NULL, 0}};

static const struct sap_driver *inner[DRIVERS];
static struct sap_driver table[DRIVERS];
static long fail_at;
static int fail_with;
static atomic_int lost[DRIVERS * DEVICES], opens[DRIVERS * DEVICES];

/* The device of each open device, memory, stream and so on, in no order.  Functions go with their module, `parent`. */
static struct {
    struct sap_lock lock;
    int n, room;
    struct owned {
        const void *thing, *parent;
        int number;
    } * list;
} owned = {.lock = SAP_LOCK_INIT};

/* This thread's last error, if this driver made it. */
static _Thread_local char error[128];
static _Thread_local int is_ours;
static _Thread_local const struct sap_driver *of_last; /* otherwise: the driver that failed; NULL: none */

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
    if (owned.n == 0) { /* a test that has released all objects leaks no memory here either */
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
    const int device = number < 0 ? -1 : number % DEVICES;
    if (first) faulty.failed_device = device;
    atomic_fetch_add(&faulty.failed, 1);
    (void)snprintf(error, sizeof error, "faulty driver: %s on %s device %d fails with status %d", call,
                   number < 0 ? "an unknown" : inner[number / DEVICES]->name, device, status);
    is_ours = 1;
    if (first && faulty.tells) (void)fprintf(stderr, "SAPPORO_FAULT: call %ld: %s\n", fail_at, error);
    return status;
}

/* Counts a call on a device; returns OK, or the planned fault. */
static int judge_number(int number, const char *call)
{
    const int known = number >= 0 && number < DRIVERS * DEVICES;
    const long n = atomic_fetch_add(&faulty.calls, 1) + 1;
    if (known && opens[number] == 0) lost[number] = 0; /* no user holds the broken context any more */
    if (known && lost[number]) return fail(SAP_DRIVER_LOST, number, call);
    if (n != fail_at) return SAP_DRIVER_OK;
    if (known && fail_with == SAP_DRIVER_LOST) lost[number] = 1;
    return fail(fail_with, number, call);
}

static int judge(const void *thing, const char *call) { return judge_number(number_of(thing), call); }

/* Returns the driver of an object. */
static const struct sap_driver *driver_of(const void *thing)
{
    const int number = number_of(thing);
    return inner[number < 0 ? 0 : number / DEVICES];
}

/* Returns the status of a driver itself, and notes the driver if it failed. */
static int given(const struct sap_driver *driver, int status)
{
    if (status == SAP_DRIVER_OK || status == SAP_DRIVER_PENDING) return status;
    is_ours = 0;
    of_last = driver;
    return status;
}

/* The same, for a call that made `thing` for the device of `parent`. */
static int made(int status, const void *thing, const void *parent)
{
    if (status == SAP_DRIVER_OK) own(thing, NULL, number_of(parent));
    return given(driver_of(parent), status);
}

/* ---------------------------------------------------------------- devices */

/* These two functions take a device's number, so each driver has its own. */
static int properties_of(int driver, int device, struct sap_device_properties *p)
{
    const int status = judge_number(device + driver * DEVICES, "properties");
    return status ? status : given(inner[driver], inner[driver]->properties(device, p));
}

static int properties_of_0(int device, struct sap_device_properties *p) { return properties_of(0, device, p); }
static int properties_of_1(int device, struct sap_device_properties *p) { return properties_of(1, device, p); }

static int open_of(int driver, int device, struct sap_dev **dev)
{
    *dev = NULL;
    const int known = device >= 0 && device < DEVICES, number = device + driver * DEVICES;
    int status = judge_number(number, "open");
    /* A device that is not open is not lost. */
    if (status && known && opens[number] == 0) lost[number] = 0;
    if (status) return status;
    status = given(inner[driver], inner[driver]->open(device, dev));
    if (status == SAP_DRIVER_OK) {
        own(*dev, NULL, number);
        if (known) atomic_fetch_add(&opens[number], 1);
    }
    return status;
}

static int open_of_0(int device, struct sap_dev **dev) { return open_of(0, device, dev); }
static int open_of_1(int device, struct sap_dev **dev) { return open_of(1, device, dev); }

static void close_device(struct sap_dev *dev)
{
    const int number = dev ? number_of(dev) : -1;
    if (number >= 0 && number < DRIVERS * DEVICES) atomic_fetch_sub(&opens[number], 1);
    const struct sap_driver *const driver = driver_of(dev);
    if (dev) disown(dev);
    driver->close(dev);
}

static int enter(struct sap_dev *dev)
{
    const int status = judge(dev, "enter");
    return status ? status : given(driver_of(dev), driver_of(dev)->enter(dev));
}

static void leave(struct sap_dev *dev) { driver_of(dev)->leave(dev); }

static int memory_left(struct sap_dev *dev, size_t *bytes)
{
    const int status = judge(dev, "memory_left");
    *bytes = 0;
    return status ? status : given(driver_of(dev), driver_of(dev)->memory_left(dev, bytes));
}

/* ---------------------------------------------------------------- memory, copies */

static int allocate(struct sap_dev *dev, size_t bytes, struct sap_mem **mem)
{
    *mem = NULL;
    int status = judge(dev, "allocate");
    if (status) return status;
    status = driver_of(dev)->allocate(dev, bytes, mem);
    return made(status, *mem, dev);
}

static int allocate_pinned(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host)
{
    *mem = NULL;
    *host = NULL;
    int status = judge(dev, "allocate_pinned");
    if (status) return status;
    status = driver_of(dev)->allocate_pinned(dev, bytes, mem, host);
    return made(status, *mem, dev);
}

static int allocate_shared(struct sap_dev *dev, struct sap_dev *const *others, int n, size_t bytes,
                           struct sap_mem **mem)
{
    *mem = NULL;
    int status = judge(dev, "allocate_shared");
    if (status) return status;
    status = driver_of(dev)->allocate_shared(dev, others, n, bytes, mem);
    return made(status, *mem, dev);
}

static int adopt(struct sap_dev *dev, const void *address, size_t bytes, struct sap_mem **mem)
{
    *mem = NULL;
    int status = judge(dev, "adopt");
    if (status) return status;
    status = driver_of(dev)->adopt(dev, address, bytes, mem);
    return made(status, *mem, dev);
}

static void release(struct sap_mem *mem)
{
    const struct sap_driver *const driver = driver_of(mem);
    if (mem) disown(mem);
    driver->release(mem);
}

static int copy_in(struct sap_stream *s, struct sap_mem *to, size_t at, const void *from, size_t bytes)
{
    const int status = judge(s, "copy_in");
    return status ? status : given(driver_of(s), driver_of(s)->copy_in(s, to, at, from, bytes));
}

static int copy_out(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes)
{
    const int status = judge(s, "copy_out");
    return status ? status : given(driver_of(s), driver_of(s)->copy_out(s, to, from, at, bytes));
}

static int copy(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at, size_t bytes)
{
    const int status = judge(s, "copy");
    return status ? status : given(driver_of(s), driver_of(s)->copy(s, to, at, from, from_at, bytes));
}

static int copy_peer(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at,
                     size_t bytes)
{
    const int status = judge(s, "copy_peer");
    return status ? status : given(driver_of(s), driver_of(s)->copy_peer(s, to, at, from, from_at, bytes));
}

static int fill(struct sap_stream *s, struct sap_mem *to, size_t at, unsigned char byte, size_t bytes)
{
    const int status = judge(s, "fill");
    return status ? status : given(driver_of(s), driver_of(s)->fill(s, to, at, byte, bytes));
}

static int pinned_to_device(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes)
{
    const int status = judge(s, "pinned_to_device");
    return status ? status : given(driver_of(s), driver_of(s)->pinned_to_device(s, mem, at, bytes));
}

static int pinned_to_host(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes)
{
    const int status = judge(s, "pinned_to_host");
    return status ? status : given(driver_of(s), driver_of(s)->pinned_to_host(s, mem, at, bytes));
}

/* ---------------------------------------------------------------- streams, events */

static int stream_create(struct sap_dev *dev, struct sap_stream **s)
{
    *s = NULL;
    int status = judge(dev, "stream_create");
    if (status) return status;
    status = driver_of(dev)->stream_create(dev, s);
    return made(status, *s, dev);
}

static int stream_create_urgent(struct sap_dev *dev, struct sap_stream **s)
{
    *s = NULL;
    int status = judge(dev, "stream_create_urgent");
    if (status) return status;
    status = driver_of(dev)->stream_create_urgent(dev, s);
    return made(status, *s, dev);
}

static void stream_destroy(struct sap_stream *s)
{
    const struct sap_driver *const driver = driver_of(s);
    if (s) disown(s);
    driver->stream_destroy(s);
}

static int stream_finish(struct sap_stream *s)
{
    const int status = judge(s, "stream_finish");
    return status ? status : given(driver_of(s), driver_of(s)->stream_finish(s));
}

static int stream_wait(struct sap_stream *s, struct sap_event *e)
{
    const int status = judge(s, "stream_wait");
    return status ? status : given(driver_of(s), driver_of(s)->stream_wait(s, e));
}

static int event_create(struct sap_dev *dev, struct sap_event **e)
{
    *e = NULL;
    int status = judge(dev, "event_create");
    if (status) return status;
    status = driver_of(dev)->event_create(dev, e);
    return made(status, *e, dev);
}

static int event_create_timed(struct sap_dev *dev, struct sap_event **e)
{
    *e = NULL;
    int status = judge(dev, "event_create_timed");
    if (status) return status;
    status = driver_of(dev)->event_create_timed(dev, e);
    return made(status, *e, dev);
}

static void event_destroy(struct sap_event *e)
{
    const struct sap_driver *const driver = driver_of(e);
    if (e) disown(e);
    driver->event_destroy(e);
}

static int event_record(struct sap_event *e, struct sap_stream *s)
{
    const int status = judge(e, "event_record");
    return status ? status : given(driver_of(e), driver_of(e)->event_record(e, s));
}

static int event_query(struct sap_event *e)
{
    const int status = judge(e, "event_query");
    return status ? status : given(driver_of(e), driver_of(e)->event_query(e));
}

static int event_wait(struct sap_event *e)
{
    const int status = judge(e, "event_wait");
    return status ? status : given(driver_of(e), driver_of(e)->event_wait(e));
}

static int event_milliseconds(struct sap_event *from, struct sap_event *to, float *ms)
{
    const int status = judge(from, "event_milliseconds");
    *ms = 0;
    return status ? status : given(driver_of(from), driver_of(from)->event_milliseconds(from, to, ms));
}

/* ---------------------------------------------------------------- modules, launches */

static int module_load(struct sap_dev *dev, const void *image, size_t bytes, struct sap_module **m)
{
    *m = NULL;
    int status = judge(dev, "module_load");
    if (status) return status;
    status = driver_of(dev)->module_load(dev, image, bytes, m);
    return made(status, *m, dev);
}

static void module_unload(struct sap_module *m)
{
    const struct sap_driver *const driver = driver_of(m);
    if (m) disown(m);
    driver->module_unload(m);
}

static int function(struct sap_module *m, const char *name, struct sap_function **f)
{
    *f = NULL;
    int status = judge(m, "function");
    if (status) return status;
    status = driver_of(m)->function(m, name, f);
    if (status == SAP_DRIVER_OK) own(*f, m, number_of(m));
    return given(driver_of(m), status);
}

static int occupancy(struct sap_function *f, unsigned threads, size_t shared, int *groups)
{
    *groups = 0;
    const int status = judge(f, "occupancy");
    return status ? status : given(driver_of(f), driver_of(f)->occupancy(f, threads, shared, groups));
}

static int together_most(struct sap_function *f, unsigned threads, size_t shared, int *groups)
{
    *groups = 1;
    const int status = judge(f, "together_most");
    return status ? status : given(driver_of(f), driver_of(f)->together_most(f, threads, shared, groups));
}

static int launch(struct sap_stream *s, struct sap_function *f, const struct sap_launch *l)
{
    const int status = judge(s, "launch");
    return status ? status : given(driver_of(s), driver_of(s)->launch(s, f, l));
}

static const char *error_text(void) { return is_ours ? error : (of_last ? of_last : inner[0])->error_text(); }

/* ---------------------------------------------------------------- for tests */

const struct sap_driver *faulty_wrap_as(int number, const struct sap_driver *driver)
{
    inner[number] = driver;
    table[number] = (struct sap_driver){
        .name = driver->name,
        .count = driver->count,
        .describe = driver->describe,
        .properties = number == 0 ? properties_of_0 : properties_of_1,
        .open = number == 0 ? open_of_0 : open_of_1,
        .close = close_device,
        .enter = enter,
        .leave = leave,
        .memory_left = memory_left,
        .allocate = allocate,
        .allocate_pinned = allocate_pinned,
        .allocate_shared = driver->allocate_shared ? allocate_shared : NULL,
        .adopt = driver->adopt ? adopt : NULL,
        .address = driver->address,
        .native_stream = driver->native_stream,
        .pinned_for_all = driver->pinned_for_all,
        .pinned_in_order = driver->pinned_in_order,
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
        .stream_create_urgent = stream_create_urgent,
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
        .together_most = driver->together_most ? together_most : NULL,
        .launch = launch,
        .error_text = error_text,
    };
    return &table[number];
}

const struct sap_driver *faulty_wrap(const struct sap_driver *driver)
{
    memset(opens, 0, sizeof opens);
    faulty_plan(0, SAP_DRIVER_OK);
    return faulty_wrap_as(0, driver);
}

int faulty_is_harmless(const char *call)
{
    static const char *const calls[] = {"occupancy", "together_most", "event_query", "properties", "stream_finish",
                                        "open",      "module_load",   "function",    "allocate",   "allocate_pinned"};
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
