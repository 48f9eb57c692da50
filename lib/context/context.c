/* context.c - opens and closes contexts, and answers queries about them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/finite.h"
#include "base/fpenv.h"
#include "base/log.h"
#include "base/static_program.h"
#include "base/structs.h"
#include "context/call.h"
#include "context/context_private.h"
#include "context/object.h"

_Thread_local char sap_open_error[256];

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

/* Warns about each word of SAPPORO_DEVICES that is no number, uuid or name of a device of the engine. */
static void report_names(const struct sap_engine *engine, const char *names)
{
    const int count = engine->count();
    size_t length;
    for (const char *word = names; (word = sap_device_word(word, &length)) != NULL; word += length) {
        const size_t digits = strspn(word, "0123456789");
        const int exists = digits >= length ? digits < 6 && strtol(word, NULL, 10) < count
                                            : engine->is_name != NULL && engine->is_name(word, length);
        if (!exists)
            sap_log(SAPPORO_LOG_WARNING, "SAPPORO_DEVICES: there is no device '%.*s': the %s engine has %d",
                    (int)length, word, engine->name, count);
    }
}

/* Warns about each device that the settings name and that does not exist; existing devices are used. */
static void report_devices(const sapporo *c)
{
    const struct sap_settings *s = &c->settings;
    const int count = c->engine->count();
    if (s->ndevices == 0) report_names(c->engine, s->device_names);
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
        if (!sap_engine_has_device(engine, &c->settings)) {
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
        /* a device that fails is skipped only if the user named no backend */
        if (c->settings.backend_given) break;
        if (sap_engines[k + 1]) sap_log(SAPPORO_LOG_WARNING, "%s is not used: %s", engine->name, why);
    }
    return sap_fail(c, status, "cannot open backend '%s': %s", backend_names[c->settings.backend], why);
}

/* Records the properties of a newly opened engine in the context and logs its kind. */
static void note_engine(sapporo *c)
{
    c->sends = c->engine->store->put != NULL;
    char *const text = c->kinds[c->kinds[0][0] != '\0'];
    c->engine->kind(c->devices, text, sizeof c->kinds[0]);
    atomic_store(&c->kind, text);
    c->mixed = c->engine->mixed && c->engine->mixed(c->devices);
    sap_log(SAPPORO_LOG_INFO, "open: %s, %d threads", text, c->engine->threads(c->devices));
}

static int open_parts(sapporo *c, const sapporo_options *options)
{
    int status = sap_settings_read(&c->settings, options, &c->notes);
    const char *const file = sap_library_file();
    sap_log(SAPPORO_LOG_INFO, "libsapporo %s, from %s", SAPPORO_VERSION, file[0] ? file : "the program");
    if (!status) status = choose_engine(c);
    if (status) return status;
    c->host.full = c->settings.order == 6 ? 6 : c->settings.order == 8 ? SAP_DERIVATIVES_MOST : 0;
    c->staged_bytes = sap_staged_bytes(c->host.full);
    status = c->engine->store->create(c->devices, &c->host, &c->store);
    if (status) return sap_engine_failed(c, c->store, status, "cannot make room for particles");
    note_engine(c);
    return SAPPORO_OK;
}

void sap_context_use_store(sapporo *c, int few)
{
    if (c->engine == sap_fallback_engine()) return; /* it computes from `host` and takes no changes for a store */
    if (!c->store_used) {
        if (c->rows_used) sap_jstore_change_all(&c->host);
    } else if (few != c->few_active) {
        sap_jstore_change_below(&c->host, SAP_FEW_J); /* the other addresses belong to one store alone */
    }
    c->store_used = 1;
    c->few_active = few;
}

/* The settings with which devices for few particles are opened. */
static struct sap_settings few_settings(const sapporo *c)
{
    struct sap_settings s = c->settings;
    s.precision = SAPPORO_DP;
    s.mixed = 0;
    s.few = 1;
    return s;
}

int sap_context_open_few(sapporo *c)
{
    char why[200] = "";
    struct sap_few *const f = &c->few;
    const struct sap_settings settings = few_settings(c);
    if (f->store) return SAPPORO_OK;
    int status = f->devices ? SAPPORO_OK : c->engine->open(&settings, &f->devices, why, sizeof why);
    if (!status) status = c->engine->store->create(f->devices, &c->host, &f->store);
    if (!status) return SAPPORO_OK;
    return sap_fail(c, status, "forces of fewer than %d particles, which are dp unless a precision is named: %s",
                    (int)SAP_FEW_J, why[0] ? why : sapporo_status_text(status));
}

static void close_few(sapporo *c)
{
    if (c->few.store) c->engine->store->destroy(c->few.store);
    if (c->few.devices) c->engine->close(c->few.devices);
    if (c->few_fallback.devices) c->few_fallback.engine->close(c->few_fallback.devices);
    c->few = (struct sap_few){NULL, NULL};
    c->few_fallback = (struct sap_fallback){NULL, NULL};
    c->few_active = 0;
}

/* Replaces the context's engine and keeps the particles.  On failure it changes nothing. */
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
    sap_jobs_free_all(c); /* only spare jobs are left; they hold memory of the old engine */
    close_few(c);
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
    if (c->settings.backend_given || c->jobs || c->batches || !c->engine->cpu_below) return;
    const int below = c->engine->cpu_below(c->devices);
    if (nj >= below) return;
    if (replace_engine(c, sap_fallback_engine(), why, sizeof why))
        sap_log(SAPPORO_LOG_WARNING, "the tuning file asks for the cpu engine, which is not used: %s", why);
    else
        sap_log(SAPPORO_LOG_INFO, "%s: the first force is on %d particles, and the tuning file says cpu_below_nj %d",
                atomic_load(&c->kind), nj, below);
}

void sap_context_warn_wide(sapporo *c)
{
    if (c->wide)
        sap_warn_once(&c->notes, SAP_WARN_RANGE,
                      "coordinates beyond %.0e are near the end of single precision's range: use precision dp",
                      SAP_WIDE);
}

int sap_context_is_mixed(sapporo *handle)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, handle);
    if (!c) return 0;
    const int mixed = c->mixed;
    sap_call_leave(&call);
    return mixed;
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

static const struct sap_fallback *open_fallback(sapporo *c, struct sap_fallback *f, const struct sap_settings *settings,
                                                const char *caller)
{
    char why[200] = "";
    if (f->devices) return f;
    f->engine = sap_fallback_engine();
    const int status = f->engine->open(settings, &f->devices, why, sizeof why);
    if (!status) return f;
    sap_fail(c, status, "%s on the %s: %s", caller, f->engine->name, why);
    return NULL;
}

const struct sap_fallback *sap_context_fallback(sapporo *c, const char *caller)
{
    return open_fallback(c, &c->fallback, &c->settings, caller);
}

const struct sap_fallback *sap_context_few_fallback(sapporo *c, const char *caller)
{
    const struct sap_settings settings = few_settings(c);
    return open_fallback(c, &c->few_fallback, &settings, caller);
}

static void free_parts(sapporo *c)
{
    sap_jobs_free_all(c);
    sap_batches_free_all(c);
    close_few(c);
    if (c->store) c->engine->store->destroy(c->store);
    if (c->devices) c->engine->close(c->devices);
    if (c->fallback.devices) c->fallback.engine->close(c->fallback.devices);
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
    if (!c) return;
    sap_error_clear(&c->notes);
    sap_call_leave(&call);
}

int sap_engine_failed(sapporo *c, const struct sap_store *store, int status, const char *format, ...)
{
    char what[128];
    va_list args;
    const char *const words = c->engine->store->words && store ? c->engine->store->words(store) : "";
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return sap_error(&c->notes, status, "%s: %s%s%s", what, sapporo_status_text(status), words[0] ? ": " : "", words);
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
    if (!c) return SAPPORO_BACKEND_AUTO;
    const sapporo_backend backend = c->engine->backend;
    sap_call_leave(&call);
    return backend;
}

sapporo_precision sapporo_get_precision(const sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_PRECISION_DEFAULT;
    const sapporo_precision precision = c->settings.precision;
    sap_call_leave(&call);
    return precision;
}

int sapporo_get_threads(const sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return 0;
    const int threads = c->engine->threads(c->devices);
    sap_call_leave(&call);
    return threads;
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
    if (!c) return NAN;
    const double time = c->time;
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
