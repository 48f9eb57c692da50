/*
 * info.c - sapporo info: shows what this machine has, what the library would choose, and why.
 *
 * All facts come from the library: the tool opens even a backend that has no device, and the error says why it cannot
 * be used.
 */
#define _POSIX_C_SOURCE 200809L

#include "client.h"
#include "info_variables.h"
#include "options.h"
#include "tool.h"
#include "util.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NSIZES = 2 };
static const int SIZES[NSIZES] = {65536, 1000000}; /* numbers of particles whose memory is shown */

/* The result of opening a context with a given precision. */
typedef struct choice {
    sapporo_precision asked, got;
    sapporo_backend backend;
    int threads;
    char kind[128];
    char error[256];                     /* "" if the context was opened */
    size_t host[NSIZES], device[NSIZES]; /* bytes */
} choice;

/* Texts in which the library explains its choices. */
typedef struct messages {
    int n;
    char text[16][256];
} messages;

static void keep_message(void *user, int level, const char *text)
{
    messages *kept = user;
    if (level > SAPPORO_LOG_INFO) return;
    for (int k = 0; k < kept->n; k++)
        if (strcmp(kept->text[k], text) == 0) return;
    if (kept->n < (int)(sizeof kept->text / sizeof kept->text[0]))
        snprintf(kept->text[kept->n++], sizeof kept->text[0], "%s", text);
}

static choice try_precision(sapporo_precision precision)
{
    choice found = {.asked = precision};
    const settings what = {.precision = precision};
    client *probe = CLIENT_NATIVE.open(&what);
    snprintf(found.error, sizeof found.error, "%s", CLIENT_NATIVE.error(probe));
    if (found.error[0] == '\0') {
        const sapporo *context = client_native_context(probe);
        found.got = sapporo_get_precision(context);
        found.backend = sapporo_get_backend(context);
        found.threads = sapporo_get_threads(context);
        snprintf(found.kind, sizeof found.kind, "%s", sapporo_kind(context));
        for (int k = 0; k < NSIZES; k++) found.host[k] = sapporo_memory_needed(context, SIZES[k], &found.device[k]);
    }
    CLIENT_NATIVE.close(probe);
    return found;
}

/* Writes why a backend has no devices.  Variables of users are hidden. */
static void why_absent(sapporo_backend backend, char *why, size_t room)
{
    const settings what = {.backend = backend};
    char kind[8];
    settings_kind(&what, kind, sizeof kind, why, room);
    if (why[0] == '\0') snprintf(why, room, "no device is counted, yet it opens");
}

/* Returns 1 if the CPU engine runs this instruction path on this machine.  Variables of users are hidden. */
static int isa_runs(const char *isa)
{
    const settings what = {.backend = SAPPORO_BACKEND_CPU, .isa = isa};
    char kind[128], why[256];
    settings_kind(&what, kind, sizeof kind, why, sizeof why);
    return why[0] == '\0';
}

/* ---- why ------------------------------------------------------------------------ */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Writes the reason of a choice, in the order in which the library decides; `rest` decides if no variable does. */
static void reason(char *out, size_t room, const char *name, const char *rest)
{
    const char *value = variable(name);
    if (value != NULL)
        snprintf(out, room, "%s=%s", name, value);
    else
        snprintf(out, room, "%s (%s is not set)", rest, name);
}

typedef struct reasons {
    char backend[256], precision[256], isa[256], threads[256];
} reasons;

static reasons find_reasons(const choice *usual)
{
    reasons why = {.backend = ""};
    const int cuda = sapporo_device_count(SAPPORO_BACKEND_CUDA), hip = sapporo_device_count(SAPPORO_BACKEND_HIP),
              opencl = sapporo_device_count(SAPPORO_BACKEND_OPENCL);
    char text[160];
    snprintf(text, sizeof text, "the first of CUDA (%d devices), HIP (%d), OpenCL (%d), CPU that has a device", cuda,
             hip, opencl);
    reason(why.backend, sizeof why.backend, "SAPPORO_BACKEND", text);
    reason(why.precision, sizeof why.precision, "SAPPORO_PRECISION",
           "the default of the GRAPE-6 and native interfaces");
    reason(why.isa, sizeof why.isa, "SAPPORO_CPU_ISA", "the widest path that this CPU and system run");
    reason(why.threads, sizeof why.threads, "OMP_NUM_THREADS", "all cores that the process is granted");
    if (usual->backend != SAPPORO_BACKEND_CPU) why.isa[0] = why.threads[0] = '\0';
    return why;
}

/* ---- text ------------------------------------------------------------------------- */

static void print_device(sapporo_backend backend, int number)
{
    sapporo_device device = {.size = sizeof device};
    const int status = sapporo_device_describe(backend, number, &device);
    if (status < 0) {
        printf("  %-6s %d  %s\n", backend_name(backend), number, sapporo_status_text(status));
        return;
    }
    printf("  %-6s %d  %s, %d %s, %s", backend_name(backend), number, device.name, device.units,
           backend == SAPPORO_BACKEND_CPU ? "cores" : "units", device.has_fp64 ? "fp64" : "no fp64");
    if (device.memory > 0) printf(", %.1f GiB", (double)device.memory / 0x1p30);
    printf("; %s\n", device.detail);
}

static void print_devices(void)
{
    hide_variables();
    printf("\ndevices\n");
    for (int b = 0; b < BACKENDS_OF_DEVICES; b++) {
        const sapporo_backend backend = DEVICE_BACKENDS[b];
        const int n = sapporo_device_count(backend);
        for (int k = 0; k < n; k++) print_device(backend, k);
        if (n > 0) continue;
        char why[256];
        why_absent(backend, why, sizeof why);
        printf("  %-6s -  none; %s\n", backend_name(backend), why);
    }
    printf("  instruction paths of the CPU engine that run here:");
    for (int k = 0; CPU_ISAS[k] != NULL; k++)
        if (isa_runs(CPU_ISAS[k])) printf(" %s", CPU_ISAS[k]);
    printf("\n");
    show_variables();
}

static void print_choice(const choice *found)
{
    const char *asked = found->asked == SAPPORO_PRECISION_DEFAULT ? "not said" : precision_name(found->asked);
    if (found->error[0] != '\0') {
        printf("  %-9s  not possible; %s\n", asked, found->error);
        return;
    }
    printf("  %-9s  %-32s  %7d", asked, found->kind, found->threads);
    for (int k = 0; k < NSIZES; k++) {
        printf("  %8.1f MiB", (double)found->host[k] / 0x1p20);
        if (found->device[k] > 0) printf(" + %.1f MiB on the device", (double)found->device[k] / 0x1p20);
    }
    printf("\n");
}

static void print_why(const reasons *why, const messages *said)
{
    printf("\nwhy, when the program does not say\n");
    printf("  %-10s %s\n", "backend", why->backend);
    printf("  %-10s %s\n", "precision", why->precision);
    if (why->isa[0] != '\0') printf("  %-10s %s\n", "path", why->isa);
    if (why->threads[0] != '\0') printf("  %-10s %s\n", "threads", why->threads);
    for (int k = 0; k < said->n; k++)
        printf("  %s %s\n", k == 0 ? "the library says:" : "                 ", said->text[k]);
}

static void print_all(const choice found[4], const reasons *why, const messages *said, const char *verbose)
{
    printf("libsapporo %s (headers of %s), arithmetic version %d\n", sapporo_version(), SAPPORO_VERSION,
           sapporo_arith_version());
    print_devices();
    printf("\nenvironment\n");
    print_variables(verbose);
    printf("\nwhat a context of order 4 would use, and its memory for %d and %d particles\n", SIZES[0], SIZES[1]);
    printf("  %-9s  %-32s  %7s\n", "precision", "kind (what the bits depend on)", "threads");
    for (int k = 0; k < 4; k++) print_choice(&found[k]);
    print_why(why, said);
}

/* ---- JSON ------------------------------------------------------------------------- */

static void json_device(sapporo_backend backend, int number)
{
    sapporo_device device = {.size = sizeof device};
    const int status = sapporo_device_describe(backend, number, &device);
    json_begin(NULL, '{');
    json_text("backend", backend_name(backend));
    json_integer("number", number);
    if (status < 0) {
        json_text("error", sapporo_status_text(status));
    } else {
        json_text("name", device.name);
        json_text("detail", device.detail);
        json_integer("units", device.units);
        json_truth("fp64", device.has_fp64);
        json_integer("memory", device.memory);
    }
    json_end('}');
}

static void json_devices(void)
{
    hide_variables();
    json_begin("devices", '[');
    for (int b = 0; b < BACKENDS_OF_DEVICES; b++)
        for (int k = 0; k < sapporo_device_count(DEVICE_BACKENDS[b]); k++) json_device(DEVICE_BACKENDS[b], k);
    json_end(']');
    json_begin("absent", '{');
    for (int b = 0; b < BACKENDS_OF_DEVICES; b++) {
        const sapporo_backend backend = DEVICE_BACKENDS[b];
        char why[256];
        if (sapporo_device_count(backend) > 0) continue;
        why_absent(backend, why, sizeof why);
        json_text(backend_name(backend), why);
    }
    json_end('}');
    json_begin("cpu_isas", '[');
    for (int k = 0; CPU_ISAS[k] != NULL; k++)
        if (isa_runs(CPU_ISAS[k])) json_text(NULL, CPU_ISAS[k]);
    json_end(']');
    show_variables();
}

static void json_choice(const choice *found)
{
    json_begin(NULL, '{');
    json_text("asked", precision_name(found->asked));
    if (found->error[0] != '\0') {
        json_text("error", found->error);
    } else {
        json_text("backend", backend_name(found->backend));
        json_text("precision", precision_name(found->got));
        json_text("kind", found->kind);
        json_integer("threads", found->threads);
        json_begin("memory", '[');
        for (int k = 0; k < NSIZES; k++) {
            json_begin(NULL, '{');
            json_integer("particles", SIZES[k]);
            json_integer("host", (long long)found->host[k]);
            json_integer("device", (long long)found->device[k]);
            json_end('}');
        }
        json_end(']');
    }
    json_end('}');
}

static void json_all(const choice found[4], const reasons *why, const messages *said, const char *verbose)
{
    json_begin(NULL, '{');
    json_text("version", sapporo_version());
    json_text("header_version", SAPPORO_VERSION);
    json_integer("arithmetic", sapporo_arith_version());
    json_devices();
    json_variables(verbose);
    json_begin("choices", '[');
    for (int k = 0; k < 4; k++) json_choice(&found[k]);
    json_end(']');
    json_begin("why", '{');
    json_text("backend", why->backend);
    json_text("precision", why->precision);
    json_text("path", why->isa);
    json_text("threads", why->threads);
    json_end('}');
    json_begin("messages", '[');
    for (int k = 0; k < said->n; k++) json_text(NULL, said->text[k]);
    json_end(']');
    json_end('}');
}

int info_main(int argc, char **argv)
{
    int json = 0, markdown = 0;
    const option_spec table[] = {
        {"--json", OPTION_ON, &json, NULL, 0, "one JSON object instead of text"},
        {"--markdown", OPTION_ON, &markdown, NULL, 0, "only the environment variables, as in docs/settings.md"},
        {.name = NULL}};
    const int status = options_parse("Shows what is here, what the library would use, and why.", table, argc, argv);
    if (status != 0) return status > 0 ? STATUS_OK : STATUS_USAGE;
    if (markdown) {
        print_variables_markdown();
        return STATUS_OK;
    }

    static messages said, ignored;
    const char *set = getenv("SAPPORO_VERBOSE");
    char *verbose = set != NULL ? strdup(set) : NULL;
    set_environment("SAPPORO_VERBOSE",
                    "2"); /* must precede the first call that reads it; makes the library explain its choices */
    choice found[4];
    sapporo_set_log(keep_message, &said);
    found[0] = try_precision(SAPPORO_PRECISION_DEFAULT);
    sapporo_set_log(keep_message, &ignored);
    for (int k = 1; k < 4; k++) found[k] = try_precision((sapporo_precision)k);
    const reasons why = find_reasons(&found[0]);
    if (json)
        json_all(found, &why, &said, verbose);
    else
        print_all(found, &why, &said, verbose);
    sapporo_set_log(NULL, NULL);
    free(verbose);
    return found[0].error[0] == '\0' ? STATUS_OK : STATUS_FAILED;
}
