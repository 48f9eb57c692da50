/* context.c - opens and closes contexts, and answers queries about them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/finite.h"
#include "base/fpenv.h"
#include "base/log.h"
#include "base/static_program.h"
#include "base/structs.h"
#include "base/team.h"
#include "context/call.h"
#include "context/context_private.h"
#include "context/object.h"
#include "context/partial.h"

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

/* Describes device `number` of a backend (AUTO: of all engines in order); fails if there is no such device. */
static int describe(sapporo_backend backend, int number, sapporo_device *device)
{
    for (int k = 0; sap_engines[k] && number >= 0; k++) {
        const struct sap_engine *engine = sap_engines[k];
        if (backend != SAPPORO_BACKEND_AUTO && backend != engine->backend) continue;
        const int n = engine->count();
        if (number < n) return engine->describe(number, device);
        number -= n;
    }
    return SAPPORO_ERR_ARGUMENT;
}

int sapporo_device_describe(sapporo_backend backend, int number, sapporo_device *device)
{
    static const sapporo_device none = {.number = -1};
    sapporo_device whole = {.size = 0};
    if (!device || device->size < sizeof device->size) return SAPPORO_ERR_ARGUMENT;
    const int status = describe(backend, number, &whole);
    if (status < 0) whole = none;
    sap_struct_return(device, &whole, sizeof whole);
    return status;
}

/* ----------------------------------------------------------------- opening */

static int open_parts(sapporo *c, const sapporo_options *options)
{
    int status = sap_settings_read(&c->settings, options, &c->notes);
    const char *const file = sap_library_file();
    sap_log(SAPPORO_LOG_INFO, "libsapporo %s, from %s%s", SAPPORO_VERSION, file[0] ? file : "the program",
            sap_team_is_openmp() ? ", with the threads of OpenMP" : "");
    return status ? status : sap_context_open_engine(c);
}

int sap_context_is_mixed(sapporo *handle)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, handle);
    return sap_call_end(&call, c ? c->mixed : 0);
}

const struct sap_engine *sap_context_engine(sapporo *handle, int nj, struct sap_device_set **devices)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, handle);
    if (!c->chosen) sap_context_choose(c, nj);
    const struct sap_engine *const engine = c->engine;
    *devices = c->devices;
    sap_call_leave(&call);
    return engine;
}

static void free_parts(sapporo *c)
{
    sap_jobs_free_all(c);
    sap_batches_free_all(c);
    sap_context_close_engine(c);
    sap_jstore_free(&c->host);
    free(c->staged);
}

static void make_lock(void *object) { sap_lock_start(&((sapporo *)object)->busy); }

/* Clears a locked context, unlocks it and keeps its memory for another context. */
static void retire_context(sapporo *c)
{
    const size_t from = offsetof(sapporo, notes);
    sap_handle_withdraw(&c->self);
    free_parts(c);
    atomic_store(&c->kind, NULL);
    sap_object_keep(&c->self, &c->busy, (char *)c + from, sizeof *c - from);
}

int sapporo_open(const sapporo_options *options, sapporo **context)
{
    if (!context) return SAPPORO_ERR_ARGUMENT;
    *context = NULL;
    sapporo *const c = sap_handle_object(SAP_HANDLE_CONTEXT, sizeof *c, make_lock);
    if (!c) {
        (void)snprintf(sap_open_error, sizeof sap_open_error, "a context needs a handle and %zu bytes of memory: %s",
                       sizeof *c, sap_handle_lack(SAP_HANDLE_CONTEXT));
        return SAPPORO_ERR_MEMORY;
    }
    const int cancel = sap_cancel_forbid(); /* reading files is a cancellation point */
    sap_lock(&c->busy);
    const int status = open_parts(c, options);
    (void)snprintf(sap_open_error, sizeof sap_open_error, "%s", status ? sap_error_text(&c->notes) : "");
    if (status) {
        retire_context(c);
    } else {
        *context = sap_handle_give(&c->self);
        sap_unlock(&c->busy);
    }
    sap_cancel_allow(cancel);
    return status;
}

void sapporo_close(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (c) retire_context(c);
}

sapporo *sap_context_of(const sapporo *handle) { return sap_handle_find(SAP_HANDLE_CONTEXT, handle); }

void sap_context_rename(struct sap_context_name *name, sapporo *handle)
{
    atomic_store_explicit(&name->inside, sap_context_of(handle), memory_order_release);
    atomic_store_explicit(&name->handle, handle, memory_order_release);
}

/* ---------------------------------------------------------------- messages */

const char *sapporo_last_error(const sapporo *context)
{
    if (!context) return sap_open_error;
    const sapporo *const c = sap_context_of(context);
    return c ? sap_error_text(&c->notes) : sapporo_status_text(SAPPORO_ERR_CLOSED);
}

void sapporo_clear_error(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!context) sap_open_error[0] = '\0';
    if (c) sap_error_clear(&c->notes);
    sap_call_leave(&call);
}

/* The notes of a context that is locked already; for NULL the notes of the process, which it locks. */
static struct sap_notes *hold_notes(sapporo *c)
{
    if (c) return &c->notes;
    sap_lock(&sap_messages.notes_lock);
    return &sap_messages.notes;
}

/* Ends a call that has used hold_notes. */
static void release_notes(struct sap_public_call *call, const sapporo *c)
{
    if (!c) sap_unlock(&sap_messages.notes_lock);
    sap_call_leave(call);
}

void sap_context_warn_once(sapporo *context, enum sap_warning which, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    sap_warn_once(hold_notes(c), which, "%s", text);
    release_notes(&call, c);
}

int sap_context_error(sapporo *context, int status, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    sap_error(hold_notes(c), status, "%s", text);
    release_notes(&call, c);
    return status;
}

/* ----------------------------------------------------------------- queries */

/* Queries lock the context, because the first force may change the engine. */

const char *sapporo_kind(const sapporo *context)
{
    const sapporo *const c = sap_context_of(context);
    const char *const text = c ? atomic_load(&c->kind) : NULL;
    return text ? text : "";
}

sapporo_backend sapporo_get_backend(const sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    return (sapporo_backend)sap_call_end(&call, (int)(c ? c->engine->backend : SAPPORO_BACKEND_AUTO));
}

sapporo_precision sapporo_get_precision(const sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    return (sapporo_precision)sap_call_end(&call, (int)(c ? c->settings.precision : SAPPORO_PRECISION_DEFAULT));
}

int sapporo_get_threads(const sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    return sap_call_end(&call, c ? c->engine->threads(c->devices) : 0);
}

size_t sapporo_memory_needed(const sapporo *context, int nj, size_t *device_bytes)
{
    if (device_bytes) *device_bytes = 0;
    if (nj <= 0) return 0;
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return 0;
    const size_t segments = ((size_t)nj + SAP_SEGMENT - 1) / SAP_SEGMENT;
    size_t bytes = segments * sap_jstore_segment_bytes((c->host.full ? c->host.full : SAP_DERIVATIVES) - 1);
    bytes += c->engine->store->memory(c->devices, nj, device_bytes);
    if (c->mixed) { /* particles in double take at most twice the memory */
        size_t few = 0;
        bytes += 2 * c->engine->store->memory(c->devices, nj < SAP_FEW_J ? nj : (int)SAP_FEW_J, &few);
        if (device_bytes) *device_bytes += 2 * few;
    }
    sap_call_leave(&call);
    return bytes;
}

double sap_context_time(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    const double time = c ? c->time : NAN;
    sap_call_leave(&call);
    return time;
}

int sap_context_check_time(sapporo *c, const char *caller)
{
    if (finite_number(c->time)) return SAPPORO_OK;
    const sap_fpenv callers = sap_fp_enter(); /* to print such a number may trap */
    sap_fail(c, SAPPORO_ERR_NOT_FINITE,
             "%s: the time is %g: it is to be finite; predicting forces fail until sapporo_set_time sets one", caller,
             c->time);
    sap_fp_leave(callers);
    return SAPPORO_ERR_NOT_FINITE;
}

int sapporo_set_time(sapporo *context, double time)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    c->time = time; /* also if it is none: then forces fail, since those of the old time would look right */
    const int status = sap_context_check_time(c, "sapporo_set_time");
    return sap_call_end(&call, status);
}
