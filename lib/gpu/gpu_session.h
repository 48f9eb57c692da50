/*
 * gpu_session.h - a session on an accelerator: a stream, memory for copies, times, and the bracket of calls.
 *
 * A tree has a session, and so has a stepper with direct sums; a stepper over a tree works in the session of its tree,
 * so that both share a stream. A session lives on the first device of its set. Only one thread uses it at a time.
 * Functions that return int return driver statuses unless their comment says otherwise.
 */
#ifndef SAP_GPU_SESSION_H
#define SAP_GPU_SESSION_H

#include <stddef.h>

#include "base/fpenv.h"
#include "driver/driver.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_memory.h"
#include "sapporo.h"

struct sap_primitives;

enum {
    SAP_SESSION_CHUNK = 131072, /* particles of four doubles that the pinned memory has room for */
    SAP_SESSION_MARKS = SAPPORO_PHASES + 1
};

/* Times of the phases of a build and of a force. */
struct sap_gpu_times {
    int events; /* events measure times; else the host's clock does */
    struct sap_event *mark[SAP_SESSION_MARKS];
    double clock[SAP_SESSION_MARKS];
};

struct sap_gpu_session {
    struct sap_gpu_set *set; /* not owned, nor are the driver and the device */
    const struct sap_driver *driver;
    struct sap_gpu_device *device;
    const char *owner; /* in messages: what the caller makes anew if the device is lost */
    struct sap_stream *stream;
    const struct sap_primitives *primitives; /* kept with the kernels of the device */
    struct sap_gpu_buffer chunk;             /* pinned; gpu_copies.c uses it in halves */
    struct sap_event *copied[2];             /* copies from and to these halves */
    int sending;                             /* this call has sent pieces that may still be in both */
    struct sap_gpu_buffer scratch;           /* device memory that a launch needs until it has finished */
    struct sap_gpu_times times;
    int urgent;                          /* its work goes before that of other sessions, where a driver can */
    sap_fpguard caller;                  /* floating-point environment of the caller, during a call */
    int broken;                          /* the device is lost */
    const struct sap_gpu_device *failed; /* another device, on which this call has failed; NULL: none */
    int host_full;                       /* this call failed to allocate host memory */
    char message[200];                   /* why the last call failed; "": nothing to add to its status */
};

/* ---- life ---- */

/* Fills in the members of a session that need no driver; all others are 0. `owner` outlives the session. */
void sap_session_init(struct sap_gpu_session *s, struct sap_gpu_set *set, const char *owner);

/*
 * Within a call: make stream and pinned memory, after a failure what is missing; make the events that measure times.
 * _pinned: bytes of that memory, where copies have up to `room` particles of four doubles; 0: copies are short.
 */
size_t sap_session_pinned(int room);
int sap_session_open(struct sap_gpu_session *s, int room);
int sap_session_open_times(struct sap_gpu_session *s);

/*
 * The bracket of frees. _stop enters the library's floating-point environment and waits until no work is in flight; it
 * works on a lost device, too. _close frees what _open has made, also after it has failed, and ends the bracket;
 * _release only ends it.
 */
void sap_session_stop(struct sap_gpu_session *s);
void sap_session_close(struct sap_gpu_session *s);
void sap_session_release(struct sap_gpu_session *s);

/* ---- the bracket of calls; sapporo_statuses ---- */

/*
 * _begin clears the message, enters the library's floating-point environment, and makes the context of the device
 * current. It refuses a device that is lost. If it fails, nothing is to be ended. _end translates the driver status of
 * the call and ends it; after a failure it waits for work in flight, and writes the message. _refuse ends a call that
 * has launched nothing, with a message of its own. Calls do not nest.
 */
int sap_session_begin(struct sap_gpu_session *s);
int sap_session_end(struct sap_gpu_session *s, int driver_status);
int sap_session_refuse(struct sap_gpu_session *s, int status, const char *why);

/* Writes the message of a failure outside of a call; returns status. */
int sap_session_fail(struct sap_gpu_session *s, int status, const char *why);

/* Enclose calls of libraries of the device's vendor, which find the device current; a sapporo_status. */
int sap_session_lend(const struct sap_gpu_session *s);
void sap_session_take_back(const struct sap_gpu_session *s);

/* ---- launches ---- */

/* Launches `groups` groups of `threads` threads. */
int sap_session_launch(const struct sap_gpu_session *s, struct sap_function *f, int groups, int threads,
                       const struct sap_argument *a, int arguments);

/* Launches a thread for each of n > 0 elements, in groups of `threads`. */
int sap_session_for_each(const struct sap_gpu_session *s, struct sap_function *f, int n, int threads,
                         const struct sap_argument *a, int arguments);

/* The same for a kernel that begins with launches_barrier (kernels_cuda/dialect.h). */
int sap_session_early(const struct sap_gpu_session *s, struct sap_function *f, int n, int threads,
                      const struct sap_argument *a, int arguments);

/* ---- times ---- */

/* _mark ends the phases before `phase` at this point of the stream; _take_seconds reads the times of complete phases.
 */
int sap_session_mark(struct sap_gpu_session *s, int phase);
int sap_session_take_seconds(struct sap_gpu_session *s, int from, int to, double *seconds);

/* ---- memory and copies ---- */

/* Makes device memory at least so long. Its contents are lost. */
int sap_session_reserve(const struct sap_gpu_session *s, struct sap_gpu_buffer *b, size_t bytes);

/* Returns zeroed host memory for n elements, or NULL: the caller then returns SAP_DRIVER_MEMORY. */
void *sap_session_host_memory(struct sap_gpu_session *s, size_t n, size_t each);

/* The copies and fills of the driver in the stream of a session; _wait waits for all work in the stream. */
static inline int sap_session_copy_in(const struct sap_gpu_session *s, struct sap_mem *to, size_t at, const void *from,
                                      size_t bytes)
{
    return s->driver->copy_in(s->stream, to, at, from, bytes);
}

static inline int sap_session_copy_out(const struct sap_gpu_session *s, void *to, struct sap_mem *from, size_t at,
                                       size_t bytes)
{
    return s->driver->copy_out(s->stream, to, from, at, bytes);
}

static inline int sap_session_copy(const struct sap_gpu_session *s, struct sap_mem *to, size_t to_at,
                                   struct sap_mem *from, size_t from_at, size_t bytes)
{
    return s->driver->copy(s->stream, to, to_at, from, from_at, bytes);
}

static inline int sap_session_fill(const struct sap_gpu_session *s, struct sap_mem *mem, size_t at, unsigned char value,
                                   size_t bytes)
{
    return s->driver->fill(s->stream, mem, at, value, bytes);
}

static inline int sap_session_wait(const struct sap_gpu_session *s) { return s->driver->stream_finish(s->stream); }

/* Writes elements first ... first + n - 1 of an array to `to`. */
typedef void sap_session_source(void *argument, void *to, int first, int n);

/* Uploads n elements of `each` bytes that threads write to pinned memory by `fill`; waits (gpu_copies.c). */
int sap_session_upload(struct sap_gpu_session *s, const struct sap_gpu_buffer *to, size_t each, int n,
                       sap_session_source *fill, void *argument);

/*
 * Uploads a column of n elements of `each` bytes; waits.  _send does not: the caller waits before it uses the pinned
 * memory for anything but another column.
 */
int sap_session_upload_column(struct sap_gpu_session *s, const struct sap_gpu_buffer *to, const sapporo_column *from,
                              size_t each, int n);
int sap_session_send(struct sap_gpu_session *s, const struct sap_gpu_buffer *to, const sapporo_column *from,
                     size_t each, int n);

/* Copies bytes from `at` on to memory of the host; waits (gpu_copies.c). */
int sap_session_download(struct sap_gpu_session *s, void *to, const struct sap_gpu_buffer *from, size_t at,
                         size_t bytes);

/*
 * Writes to each page of host memory that a download will fill, if it is long; `to` may be NULL.  So the system finds
 * memory for new pages while the device computes, not while results wait.
 */
void sap_session_expect(void *to, size_t bytes);

#endif
