/* gpu_session.c - sessions on accelerators: their life, the bracket of calls, launches and times. */
#include "gpu/gpu_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_status.h"

/* ---- life ------------------------------------------------------------------------------ */

void sap_session_init(struct sap_gpu_session *s, struct sap_gpu_set *set, const char *owner)
{
    *s = (struct sap_gpu_session){.set = set, .driver = set->driver, .device = &set->device[0], .owner = owner};
    /* NVIDIA's OpenCL gives all markers of a stream the same time */
    s->times.events = strcmp(s->driver->name, "opencl") != 0;
}

size_t sap_session_pinned(int room)
{
    enum { LARGEST = 32 << 20 }; /* larger halves are not faster */
    const size_t least = SAP_SESSION_CHUNK * 4 * sizeof(double), whole = (size_t)room * 4 * sizeof(double);
    return whole < least ? least : whole < LARGEST ? whole : LARGEST;
}

int sap_session_open(struct sap_gpu_session *s, int room)
{
    struct sap_dev *const dev = s->device->dev;
    if (!s->stream) TRY((s->urgent ? s->driver->stream_create_urgent : s->driver->stream_create)(dev, &s->stream));
    for (int k = 0; k < COUNT(s->copied); k++)
        if (!s->copied[k]) TRY(s->driver->event_create(dev, &s->copied[k]));
    return sap_gpu_reserve_pinned(s->driver, dev, &s->chunk, sap_session_pinned(room));
}

int sap_session_open_times(struct sap_gpu_session *s)
{
    for (int k = 0; k < COUNT(s->times.mark); k++)
        TRY(s->driver->event_create_timed(s->device->dev, &s->times.mark[k]));
    return SAP_DRIVER_OK;
}

void sap_session_stop(struct sap_gpu_session *s)
{
    s->caller = sap_fp_guard();
    if (s->stream) (void)s->driver->stream_finish(s->stream);
}

void sap_session_release(struct sap_gpu_session *s) { sap_fp_release(s->caller); }

void sap_session_close(struct sap_gpu_session *s)
{
    sap_gpu_free(s->driver, &s->chunk);
    sap_gpu_free(s->driver, &s->scratch);
    for (int k = 0; k < COUNT(s->times.mark); k++)
        if (s->times.mark[k]) s->driver->event_destroy(s->times.mark[k]);
    for (int k = 0; k < COUNT(s->copied); k++)
        if (s->copied[k]) s->driver->event_destroy(s->copied[k]);
    if (s->stream) s->driver->stream_destroy(s->stream);
    s->stream = NULL;
    sap_session_release(s);
}

/* ---- the bracket of calls --------------------------------------------------------------- */

int sap_session_fail(struct sap_gpu_session *s, int status, const char *why)
{
    (void)snprintf(s->message, sizeof s->message, "%s", why);
    return status;
}

/* Translates a driver status, with its message and consequences. */
static int take_status(struct sap_gpu_session *s, int status)
{
    const struct sap_gpu_device *const device = s->failed ? s->failed : s->device;
    const int host = s->host_full;
    s->host_full = 0;
    s->failed = NULL;
    if (status == SAP_DRIVER_OK) return SAPPORO_OK;
    if (host && status == SAP_DRIVER_MEMORY) return sap_session_fail(s, SAPPORO_ERR_MEMORY, "memory of the host");
    (void)snprintf(s->message, sizeof s->message, "device %d: %s", device->number, s->driver->error_text());
    /* work in flight reads pinned memory of the session and writes to the caller's arrays */
    if (s->stream) (void)s->driver->stream_finish(s->stream);
    if (status == SAP_DRIVER_LOST) {
        s->broken = 1;
        sap_gpu_lose(s->set, device);
    }
    return sap_gpu_status(status);
}

int sap_session_begin(struct sap_gpu_session *s)
{
    s->message[0] = '\0';
    s->sending = 0;
    if (s->broken) {
        (void)snprintf(s->message, sizeof s->message, "the device is gone: make the %s anew", s->owner);
        return SAPPORO_ERR_DEVICE;
    }
    s->caller = sap_fp_guard();
    const int status = take_status(s, s->driver->enter(s->device->dev));
    if (status) sap_session_release(s);
    return status;
}

int sap_session_end(struct sap_gpu_session *s, int driver_status)
{
    s->driver->leave(s->device->dev);
    const int status = take_status(s, driver_status);
    sap_session_release(s);
    return status;
}

int sap_session_refuse(struct sap_gpu_session *s, int status, const char *why)
{
    (void)sap_session_end(s, SAP_DRIVER_OK);
    return sap_session_fail(s, status, why);
}

int sap_session_lend(const struct sap_gpu_session *s) { return sap_gpu_status(s->driver->enter(s->device->dev)); }

void sap_session_take_back(const struct sap_gpu_session *s) { s->driver->leave(s->device->dev); }

/* ---- launches --------------------------------------------------------------------------- */

static int launch(const struct sap_gpu_session *s, struct sap_function *f, int groups, int threads,
                  const struct sap_argument *a, int arguments, int early)
{
    const struct sap_launch l = {.groups = {(unsigned)groups, 1, 1},
                                 .threads = (unsigned)threads,
                                 .argument = a,
                                 .arguments = arguments,
                                 .early = early};
    return groups == 0 ? (int)SAP_DRIVER_OK : s->driver->launch(s->stream, f, &l);
}

/* Groups with a thread for each of n elements. */
static int groups_of(int n, int threads) { return n / threads + (n % threads > 0); }

int sap_session_launch(const struct sap_gpu_session *s, struct sap_function *f, int groups, int threads,
                       const struct sap_argument *a, int arguments)
{
    return launch(s, f, groups, threads, a, arguments, 0);
}

int sap_session_for_each(const struct sap_gpu_session *s, struct sap_function *f, int n, int threads,
                         const struct sap_argument *a, int arguments)
{
    return launch(s, f, groups_of(n, threads), threads, a, arguments, 0);
}

int sap_session_early(const struct sap_gpu_session *s, struct sap_function *f, int n, int threads,
                      const struct sap_argument *a, int arguments)
{
    return launch(s, f, groups_of(n, threads), threads, a, arguments, 1);
}

/* ---- times ------------------------------------------------------------------------------ */

int sap_session_mark(struct sap_gpu_session *s, int phase)
{
    struct sap_gpu_times *const t = &s->times;
    if (t->events) return s->driver->event_record(t->mark[phase], s->stream);
    TRY(s->driver->stream_finish(s->stream));
    t->clock[phase] = sap_clock_seconds();
    return SAP_DRIVER_OK;
}

int sap_session_take_seconds(struct sap_gpu_session *s, int from, int to, double *seconds)
{
    const struct sap_gpu_times *const t = &s->times;
    if (t->events) TRY(s->driver->event_wait(t->mark[to + 1]));
    for (int phase = from; phase <= to; phase++) {
        float ms = 0;
        if (t->events) TRY(s->driver->event_milliseconds(t->mark[phase], t->mark[phase + 1], &ms));
        seconds[phase] = t->events ? 1e-3 * (double)ms : t->clock[phase + 1] - t->clock[phase];
    }
    return SAP_DRIVER_OK;
}

/* ---- memory ----------------------------------------------------------------------------- */

int sap_session_reserve(const struct sap_gpu_session *s, struct sap_gpu_buffer *b, size_t bytes)
{
    return sap_gpu_reserve(s->driver, s->device->dev, b, bytes);
}

void *sap_session_host_memory(struct sap_gpu_session *s, size_t n, size_t each)
{
    void *const memory = calloc(n, each);
    s->host_full = !memory;
    return memory;
}
