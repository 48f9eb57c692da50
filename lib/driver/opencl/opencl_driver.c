/*
 * opencl_driver.c - the OpenCL driver: streams, events, and the table.
 *
 * opencl_api.c loads OpenCL and finds devices. The other opencl_*.c files have devices, memory, programs and their
 * cache.
 */
#include "driver/opencl/opencl_driver.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/process.h"
#include "driver/opencl/opencl_api.h"

enum { EVENT_STATUS = 0x11D3, PROFILING_END = 0x1283, SPIN_NANOSECONDS = 50000 };

static const struct sap_opencl_api *api(void) { return &sap_opencl.api; }

static int in_child(void)
{
    if (!sap_forked) return SAP_DRIVER_OK;
    return sap_opencl_refuse(SAP_DRIVER_LOST, "OpenCL cannot be used in a child after fork");
}

/* ---------------------------------------------------------------- streams */

/* Creates a stream: an in-order queue. */
static int stream_create(struct sap_dev *opaque_dev, struct sap_stream **opaque_stream)
{
    struct sap_opencl_device *const dev = sap_opencl_device_of(opaque_dev);
    *opaque_stream = NULL;
    struct sap_opencl_stream *made = sap_opencl_room(sizeof *made);
    if (!made) return SAP_DRIVER_MEMORY;
    made->dev = dev;
    int status = in_child();
    if (status == SAP_DRIVER_OK) status = sap_opencl_queue(dev, 0, &made->queue);
    if (status != SAP_DRIVER_OK) {
        free(made);
        return status;
    }
    made->next = dev->streams;
    dev->streams = made;
    *opaque_stream = sap_opencl_stream_handle(made);
    return status;
}

/* Destroys a stream after its work is complete: the work may write into pinned memory that is freed next. */
static void stream_destroy(struct sap_stream *opaque_stream)
{
    struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    if (!s) return;
    struct sap_opencl_stream **at = &s->dev->streams;
    while (*at && *at != s) at = &(*at)->next;
    if (*at) *at = s->next;
    if (!sap_forked) {
        (void)api()->finish(s->queue);
        (void)api()->release_queue(s->queue);
    }
    free(s);
}

static int stream_finish(struct sap_stream *opaque_stream)
{
    const struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    const int status = in_child();
    return status == SAP_DRIVER_OK ? sap_opencl_check(api()->finish(s->queue), "clFinish") : status;
}

static int stream_wait(struct sap_stream *opaque_stream, struct sap_event *opaque_event)
{
    const struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    const struct sap_opencl_event *const e = sap_opencl_event_of(opaque_event);
    const int status = in_child();
    if (status != SAP_DRIVER_OK || !e->event) return status;
    return sap_opencl_check(api()->barrier(s->queue, 1, &e->event, NULL), "clEnqueueBarrierWithWaitList");
}

/* ---------------------------------------------------------------- events */

static int create_event(struct sap_opencl_device *dev, int timed, struct sap_event **opaque_event)
{
    *opaque_event = NULL;
    int status = in_child();
    if (status == SAP_DRIVER_OK && timed && !dev->timer)
        status = sap_opencl_queue(dev, SAP_CL_QUEUE_PROFILING, &dev->timer);
    if (status != SAP_DRIVER_OK) return status;
    struct sap_opencl_event *made = sap_opencl_room(sizeof *made);
    if (!made) return SAP_DRIVER_MEMORY;
    made->dev = dev;
    made->timed = timed;
    *opaque_event = sap_opencl_event_handle(made);
    return SAP_DRIVER_OK;
}

static int event_create(struct sap_dev *opaque_dev, struct sap_event **opaque_event)
{
    return create_event(sap_opencl_device_of(opaque_dev), 0, opaque_event);
}

static int event_create_timed(struct sap_dev *opaque_dev, struct sap_event **opaque_event)
{
    return create_event(sap_opencl_device_of(opaque_dev), 1, opaque_event);
}

static void forget(struct sap_opencl_event *e)
{
    if (e->event && !sap_forked) (void)api()->release_event(e->event);
    e->event = NULL;
}

static void event_destroy(struct sap_event *opaque_event)
{
    struct sap_opencl_event *const e = sap_opencl_event_of(opaque_event);
    if (!e) return;
    forget(e);
    free(e);
}

/*
 * Records a timed event. Queues with profiling are slower, so one queue serves only timed events and waits for the
 * stream.
 */
static int record_timed(struct sap_opencl_event *e, sap_cl_event happened)
{
    const int status =
        sap_opencl_check(api()->marker(e->dev->timer, 1, &happened, &e->event), "clEnqueueMarkerWithWaitList");
    (void)api()->release_event(happened);
    return status == SAP_DRIVER_OK ? sap_opencl_check(api()->flush(e->dev->timer), "clFlush") : status;
}

static int event_record(struct sap_event *opaque_event, struct sap_stream *opaque_stream)
{
    struct sap_opencl_event *const e = sap_opencl_event_of(opaque_event);
    const struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    sap_cl_event happened = NULL;
    int status = in_child();
    if (status != SAP_DRIVER_OK) return status;
    forget(e);
    status = sap_opencl_check(api()->marker(s->queue, 0, NULL, &happened), "clEnqueueMarkerWithWaitList");
    if (status == SAP_DRIVER_OK) status = sap_opencl_check(api()->flush(s->queue), "clFlush");
    if (!happened) return status;
    if (e->timed) return record_timed(e, happened);
    e->event = happened;
    return status;
}

static int query(const struct sap_opencl_event *e)
{
    int now = 0, status = in_child();
    if (status != SAP_DRIVER_OK || !e->event) return status;
    status = sap_opencl_check(api()->event_info(e->event, EVENT_STATUS, sizeof now, &now, NULL), "clGetEventInfo");
    if (status != SAP_DRIVER_OK) return status;
    if (now > 0) return SAP_DRIVER_PENDING;
    return now == 0 ? SAP_DRIVER_OK : sap_opencl_check(now, "a command that was under way");
}

static int event_query(struct sap_event *opaque_event) { return query(sap_opencl_event_of(opaque_event)); }

/*
 * Waits for an event. Sleeping costs more than short work takes; but on a CPU, spinning takes time from the
 * computation.
 */
static int event_wait(struct sap_event *opaque_event)
{
    const struct sap_opencl_event *const e = sap_opencl_event_of(opaque_event);
    const long long end = sap_clock_nanoseconds() + (e->dev->seen->is_cpu ? 0 : SPIN_NANOSECONDS);
    int status = SAP_DRIVER_PENDING;
    do {
        status = query(e);
    } while (status == SAP_DRIVER_PENDING && sap_clock_nanoseconds() < end);
    if (status != SAP_DRIVER_PENDING) return status;
    status = sap_opencl_check(api()->wait(1, &e->event), "clWaitForEvents");
    return status == SAP_DRIVER_OK ? query(e) : status;
}

static int end_of(const struct sap_opencl_event *e, uint64_t *when)
{
    *when = 0;
    if (!e->event || !e->timed) return sap_opencl_refuse(SAP_DRIVER_ERROR, "an event without a time");
    return sap_opencl_check(api()->event_profile(e->event, PROFILING_END, sizeof *when, when, NULL),
                            "clGetEventProfilingInfo");
}

static int event_milliseconds(struct sap_event *opaque_from, struct sap_event *opaque_to, float *ms)
{
    const struct sap_opencl_event *const from = sap_opencl_event_of(opaque_from);
    const struct sap_opencl_event *const to = sap_opencl_event_of(opaque_to);
    uint64_t first = 0, last = 0;
    int status = in_child();
    *ms = 0;
    if (status == SAP_DRIVER_OK) status = end_of(from, &first);
    if (status == SAP_DRIVER_OK) status = end_of(to, &last);
    if (status == SAP_DRIVER_OK && last > first) *ms = (float)((double)(last - first) * 1e-6);
    return status;
}

static const char *error_text(void) { return sap_opencl_error; }

const struct sap_driver sap_driver_opencl = {
    .name = "opencl",
    .count = sap_opencl_count,
    .describe = sap_opencl_describe,
    .properties = sap_opencl_properties,
    .open = sap_opencl_open,
    .close = sap_opencl_close,
    .enter = sap_opencl_enter,
    .leave = sap_opencl_leave,
    .unite = sap_opencl_unite,
    .together = sap_opencl_together,
    .memory_left = sap_opencl_memory_left,
    .allocate = sap_opencl_allocate,
    .allocate_pinned = sap_opencl_allocate_pinned,
    .release = sap_opencl_release,
    .copy_in = sap_opencl_copy_in,
    .copy_out = sap_opencl_copy_out,
    .copy = sap_opencl_copy,
    .copy_peer = sap_opencl_copy_peer,
    .fill = sap_opencl_fill,
    .pinned_to_device = sap_opencl_pinned_to_device,
    .pinned_to_host = sap_opencl_pinned_to_host,
    .stream_create = stream_create,
    .stream_create_urgent = stream_create, /* OpenCL 1.2 has no priorities */
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
    .module_load = sap_opencl_module_load,
    .module_unload = sap_opencl_module_unload,
    .function = sap_opencl_function,
    .occupancy = sap_opencl_occupancy,
    .launch = sap_opencl_launch,
    .error_text = error_text,
};
