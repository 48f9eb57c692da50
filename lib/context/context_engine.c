/*
 * context_engine.c - the engines of a context: opens and closes them, and prepares their stores for a force.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context/context_private.h"

static const char *const backend_names[] = {[SAPPORO_BACKEND_AUTO] = "auto",
                                            [SAPPORO_BACKEND_CUDA] = "cuda",
                                            [SAPPORO_BACKEND_HIP] = "hip",
                                            [SAPPORO_BACKEND_OPENCL] = "opencl",
                                            [SAPPORO_BACKEND_CPU] = "cpu"};

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

/* ------------------------------------------------------------------ opening */

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

int sap_context_open_engine(sapporo *c)
{
    int status = choose_engine(c);
    if (status) return status;
    c->host.full = c->settings.order == 6 ? 6 : c->settings.order == 8 ? SAP_DERIVATIVES_MOST : 0;
    c->staged_bytes = sap_staged_bytes(c->host.full);
    status = c->engine->store->create(c->devices, &c->host, &c->store);
    if (status) return sap_engine_failed(c, c->store, status, "cannot make room for particles");
    note_engine(c);
    return SAPPORO_OK;
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

void sap_context_close_engine(sapporo *c)
{
    close_few(c);
    if (c->store) c->engine->store->destroy(c->store);
    if (c->devices) c->engine->close(c->devices);
    if (c->fallback.devices) c->fallback.engine->close(c->fallback.devices);
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

/* ------------------------------------------------------------------- stores */

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
