/* context.c - opening, closing, and what a context tells about itself. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context_private.h"
#include "process.h"

const struct sap_engine *const sap_engines[] = {&sap_engine_cuda, &sap_engine_opencl, &sap_engine_cpu, NULL};

static const char *const backend_names[] = {[SAPPORO_BACKEND_AUTO] = "auto",
                                            [SAPPORO_BACKEND_CUDA] = "cuda",
                                            [SAPPORO_BACKEND_OPENCL] = "opencl",
                                            [SAPPORO_BACKEND_CPU] = "cpu"};

/* ---------------------------------------------------------------- versions */

const char *sapporo_version(void) { return SAPPORO_VERSION; }

int sapporo_arith_version(void) { return SAP_ARITH_VERSION; }

/* ----------------------------------------------------------------- devices */

int sapporo_device_count(sapporo_backend backend)
{
    int n = 0;
    for (int k = 0; sap_engines[k]; k++)
        if (backend == SAPPORO_BACKEND_AUTO || backend == sap_engines[k]->backend) n += sap_engines[k]->count();
    return n;
}

int sapporo_device_describe(sapporo_backend backend, int number, sapporo_device *device)
{
    sapporo_device whole;
    if (!device || device->size < sizeof device->size) return SAPPORO_ERR_ARGUMENT;
    for (int k = 0; sap_engines[k]; k++) {
        const struct sap_engine *engine = sap_engines[k];
        if (backend != SAPPORO_BACKEND_AUTO && backend != engine->backend) continue;
        const int n = engine->count();
        if (number >= 0 && number < n) {
            memset(&whole, 0, sizeof whole);
            const int status = engine->describe(number, &whole);
            whole.size = device->size < sizeof whole ? device->size : sizeof whole;
            memcpy(device, &whole, whole.size);
            return status;
        }
        number -= n;
    }
    return SAPPORO_ERR_ARGUMENT;
}

/* ----------------------------------------------------------------- opening */

/* Names devices that were asked for and do not exist; the others are used. */
static void report_devices(const sapporo *c)
{
    const struct sap_settings *s = &c->settings;
    const int count = c->engine->count();
    for (int k = 0; k < s->ndevices && s->devices_given && !s->devices_any; k++)
        if (s->devices[k] < 0 || s->devices[k] >= count)
            sap_log(SAPPORO_LOG_WARNING, "device %d does not exist: the %s engine has %d", s->devices[k],
                    c->engine->name, count);
}

/* Opens the first engine that may be used and has a device. */
static int choose_engine(sapporo *c)
{
    char why[200] = "no such engine in this build";
    int status = SAPPORO_ERR_UNSUPPORTED;
    for (int k = 0; sap_engines[k]; k++) {
        const struct sap_engine *engine = sap_engines[k];
        if (c->settings.backend != SAPPORO_BACKEND_AUTO && c->settings.backend != engine->backend) continue;
        const int named = c->settings.backend_given || !engine->automatic;
        if ((named ? engine->count() : engine->automatic()) == 0) {
            (void)snprintf(why, sizeof why, "%s", engine->absent ? engine->absent() : "it has no device");
            status = SAPPORO_ERR_DEVICE;
            sap_log(SAPPORO_LOG_INFO, "%s is not used: %s", engine->name, why);
            continue;
        }
        status = engine->open(&c->settings, &c->devices, why, sizeof why);
        if (status == SAPPORO_OK) {
            c->engine = engine;
            report_devices(c);
            return status;
        }
        /* a device that fails is passed over only where the choice was left to us */
        if (c->settings.backend_given) break;
        if (sap_engines[k + 1]) sap_log(SAPPORO_LOG_WARNING, "%s is not used: %s", engine->name, why);
    }
    return sap_fail(c, status, "cannot open backend '%s': %s", backend_names[c->settings.backend], why);
}

/* What follows from the engine, once it is open with a store. */
static void note_engine(sapporo *c)
{
    c->sends = c->engine->store->put != NULL;
    c->engine->kind(c->devices, c->kind, sizeof c->kind);
    sap_log(SAPPORO_LOG_INFO, "open: %s, %d threads", c->kind, c->engine->threads(c->devices));
}

static int open_parts(sapporo *c, const sapporo_options *options)
{
    int status = sap_settings_read(&c->settings, options, &c->notes);
    if (!status) status = choose_engine(c);
    if (status) return status;
    c->host.full = c->settings.order == 6 ? 6 : c->settings.order == 8 ? SAP_DERIVATIVES_MOST : 0;
    status = c->engine->store->create(c->devices, &c->host, &c->store);
    if (status) return sap_engine_failed(c, status, "cannot make room for particles");
    note_engine(c);
    return SAPPORO_OK;
}

void sap_context_use_store(sapporo *c)
{
    if (c->store_used || c->engine == &sap_engine_cpu) return;
    c->store_used = 1;
    if (c->rows_used) sap_jstore_change_all(&c->host);
}

/* Puts an engine in the place of the context's, over the same particles; on failure all stays as it is. */
static int replace_engine(sapporo *c, const struct sap_engine *engine, char *why, size_t room)
{
    struct sap_device_set *devices = NULL;
    struct sap_store *store = NULL;
    int status = engine->open(&c->settings, &devices, why, room);
    if (status) return status;
    status = engine->store->create(devices, &c->host, &store);
    if (status) {
        (void)snprintf(why, room, "%s", sapporo_status_text(status));
        engine->close(devices);
        return status;
    }
    sap_jobs_free_all(c); /* spare ones: they hold memory of the engine that goes */
    c->engine->store->destroy(c->store);
    c->engine->close(c->devices);
    c->engine = engine;
    c->devices = devices;
    c->store = store;
    note_engine(c);
    return SAPPORO_OK;
}

void sap_context_choose(sapporo *c, int nj)
{
    char why[200] = "";
    c->chosen = 1;
    if (c->settings.backend_given || c->jobs || !c->engine->cpu_below) return;
    const int below = c->engine->cpu_below(c->devices);
    if (nj >= below) return;
    if (replace_engine(c, &sap_engine_cpu, why, sizeof why))
        sap_log(SAPPORO_LOG_WARNING, "the tuning file asks for the cpu engine, which is not used: %s", why);
    else
        sap_log(SAPPORO_LOG_INFO, "%s: the first force is on %d particles, and the tuning file says cpu_below_nj %d",
                c->kind, nj, below);
}

static void free_parts(sapporo *c)
{
    sap_jobs_free_all(c);
    if (c->store) c->engine->store->destroy(c->store);
    if (c->devices) c->engine->close(c->devices);
    if (c->multi) sap_engine_cpu.close(c->multi);
    sap_jstore_free(&c->host);
    free(c->staged);
    free(c->staged_rest);
}

/*
 * Memory of closed contexts is used again but never given back: a thread that stores a particle while another
 * closes the same cluster finds a closed context, not freed memory.
 */
static sapporo *new_context(void)
{
    sap_lock(&sap_process.closed_lock);
    sapporo *c = sap_process.closed;
    if (c) sap_process.closed = c->next_closed;
    sap_unlock(&sap_process.closed_lock);
    if (!c) {
        c = calloc(1, sizeof *c);
        if (c) atomic_flag_clear(&c->busy);
    }
    return c;
}

/* Empties a locked context, unlocks it and keeps its memory. */
static void retire_context(sapporo *c)
{
    free_parts(c);
    memset((char *)c + sizeof c->busy, 0, sizeof *c - sizeof c->busy);
    sap_lock(&sap_process.closed_lock);
    c->next_closed = sap_process.closed;
    sap_process.closed = c;
    sap_unlock(&sap_process.closed_lock);
    sap_unlock(&c->busy);
}

int sapporo_open(const sapporo_options *options, sapporo **context)
{
    if (!context) return SAPPORO_ERR_ARGUMENT;
    *context = NULL;
    sapporo *c = new_context();
    if (!c) {
        (void)snprintf(sap_open_error, sizeof sap_open_error, "%s", sapporo_status_text(SAPPORO_ERR_MEMORY));
        return SAPPORO_ERR_MEMORY;
    }
    sap_lock(&c->busy);
    const int status = open_parts(c, options);
    (void)snprintf(sap_open_error, sizeof sap_open_error, "%s", status ? c->notes.error : "");
    if (status) {
        retire_context(c);
        return status;
    }
    c->open = 1;
    sap_unlock(&c->busy);
    *context = c;
    return SAPPORO_OK;
}

void sapporo_close(sapporo *c)
{
    if (!c) return;
    sap_lock(&c->busy);
    if (c->open)
        retire_context(c);
    else
        sap_unlock(&c->busy);
}

/* ---------------------------------------------------------------- messages */

const char *sapporo_last_error(const sapporo *c) { return c ? c->notes.error : sap_open_error; }

void sapporo_clear_error(sapporo *c)
{
    if (c) {
        sap_lock(&c->busy);
        c->notes.error[0] = '\0';
        c->notes.status = SAPPORO_OK;
        sap_unlock(&c->busy);
    } else {
        sap_open_error[0] = '\0';
    }
}

int sap_engine_failed(sapporo *c, int status, const char *format, ...)
{
    char what[128];
    va_list args;
    const char *const words = c->engine->store->words && c->store ? c->engine->store->words(c->store) : "";
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return sap_error(&c->notes, status, "%s: %s%s%s", what, sapporo_status_text(status), words[0] ? ": " : "", words);
}

void sap_context_warn_once(sapporo *c, enum sap_warning which, const char *format, ...)
{
    char text[256];
    va_list args;
    atomic_flag *const lock = c ? &c->busy : &sap_process.notes_lock;
    struct sap_notes *const notes = c ? &c->notes : &sap_process.notes;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sap_lock(lock);
    sap_warn_once(notes, which, "%s", text);
    sap_unlock(lock);
}

int sap_context_error(sapporo *c, int status, const char *format, ...)
{
    char text[256];
    va_list args;
    atomic_flag *const lock = c ? &c->busy : &sap_process.notes_lock;
    struct sap_notes *const notes = c ? &c->notes : &sap_process.notes;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sap_lock(lock);
    sap_error(notes, status, "%s", text);
    sap_unlock(lock);
    return status;
}

/* ----------------------------------------------------------------- queries */

/* A lock is no part of what a context is: queries take it too, since the first force may change the engine. */
static void lock(const sapporo *c) { sap_lock(&((sapporo *)(uintptr_t)c)->busy); }
static void unlock(const sapporo *c) { sap_unlock(&((sapporo *)(uintptr_t)c)->busy); }

const char *sapporo_kind(const sapporo *c) { return c ? c->kind : ""; }

sapporo_backend sapporo_get_backend(const sapporo *c)
{
    if (!c) return SAPPORO_BACKEND_AUTO;
    lock(c);
    const sapporo_backend backend = c->open ? c->engine->backend : SAPPORO_BACKEND_AUTO;
    unlock(c);
    return backend;
}

sapporo_precision sapporo_get_precision(const sapporo *c)
{
    return c ? c->settings.precision : SAPPORO_PRECISION_DEFAULT;
}

int sapporo_get_threads(const sapporo *c)
{
    if (!c) return 0;
    lock(c);
    const int threads = c->open ? c->engine->threads(c->devices) : 0;
    unlock(c);
    return threads;
}

size_t sapporo_memory_needed(const sapporo *c, int nj, size_t *device_bytes)
{
    if (device_bytes) *device_bytes = 0;
    if (!c || nj <= 0) return 0;
    const size_t segments = ((size_t)nj + SAP_SEGMENT - 1) / SAP_SEGMENT;
    size_t bytes = segments * sap_jstore_segment_bytes((c->host.full ? c->host.full : SAP_DERIVATIVES) - 1);
    lock(c);
    if (c->open) bytes += c->engine->store->memory(c->devices, nj, device_bytes);
    unlock(c);
    return bytes;
}

double sap_context_time(sapporo *c)
{
    sap_lock(&c->busy);
    const double time = c->time;
    sap_unlock(&c->busy);
    return time;
}

int sapporo_set_time(sapporo *c, double time)
{
    if (!c) return SAPPORO_ERR_CLOSED;
    sap_lock(&c->busy);
    const int open = c->open;
    if (open) c->time = time;
    sap_unlock(&c->busy);
    return open ? SAPPORO_OK : SAPPORO_ERR_CLOSED;
}
