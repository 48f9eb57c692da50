/* tune.c - sapporo tune: measures launch parameters, and the nj below which the CPU is faster. */
#define _POSIX_C_SOURCE 200809L

#include "tune.h"
#include "options.h"
#include "tool.h"
#include "util.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct request {
    word_list backend, precision, orders;
    int device, quick;
    const char *output, *maps;
} request;

static int read_request(request *asked, int argc, char **argv)
{
    const option_spec table[] = {
        {"--backend", OPTION_WORD, &asked->backend, "auto|cuda|hip|opencl|cpu", 0, "auto: the first that has a GPU"},
        {"--device", OPTION_COUNT, &asked->device, "N", 0, "which of its devices; 0"},
        {"--precision", OPTION_WORDS, &asked->precision, "sp|ds|dp", 0, "all"},
        {"--orders", OPTION_WORDS, &asked->orders, "2|4|6|8", 0, "of the integrators served; 4.  6 and 8 have no sp"},
        {"--quick", OPTION_ON, &asked->quick, NULL, 0, "seconds instead of two minutes; coarser"},
        {"--output", OPTION_TEXT, &asked->output, "FILE", 0,
         "the tuning file; else the one that SAPPORO_TUNE names, or the default one"},
        {"--maps", OPTION_TEXT, &asked->maps, "DIR", 0, "also measures maps of times, and draws them"},
        {.name = NULL}};
    return options_parse("Measures the launch parameters of this GPU, and the number of particles below which the\n"
                         "CPU is faster, and writes them to the tuning file.",
                         table, argc, argv);
}

/* ---- what and where ------------------------------------------------------------------- */

static sapporo_backend choose_backend(const request *asked)
{
    const sapporo_backend named = backend_from_name(asked->backend.word[0]);
    if (named != SAPPORO_BACKEND_AUTO) return named;
    if (sapporo_device_count(SAPPORO_BACKEND_CUDA) > 0) return SAPPORO_BACKEND_CUDA;
    if (sapporo_device_count(SAPPORO_BACKEND_HIP) > 0) return SAPPORO_BACKEND_HIP;
    sapporo *usual = NULL; /* OpenCL's devices may be CPUs, which are tuned only if the user names the backend */
    if (sapporo_device_count(SAPPORO_BACKEND_OPENCL) > 0) (void)sapporo_open(NULL, &usual);
    const int opencl = sapporo_get_backend(usual) == SAPPORO_BACKEND_OPENCL;
    sapporo_close(usual);
    return opencl ? SAPPORO_BACKEND_OPENCL : SAPPORO_BACKEND_AUTO;
}

/* Prints why a backend cannot be used, in the library's words. */
static void print_absent(sapporo_backend backend, FILE *to)
{
    char kind[8], why[256];
    const settings what = {.backend = backend};
    snprintf(why, sizeof why, "its devices are CPUs"); /* opening them would compile kernels for seconds */
    if (sapporo_device_count(backend) == 0) settings_kind(&what, kind, sizeof kind, why, sizeof why);
    fprintf(to, "  %-6s  %s\n", backend_name(backend), why);
}

static void no_messages(void *user, int level, const char *text) { (void)user, (void)level, (void)text; }

/* Returns 1 if there is a GPU to tune; else the exit status is in *status. */
static int find_device(const request *asked, sapporo_backend backend, int *status)
{
    *status = STATUS_OK;
    if (backend == SAPPORO_BACKEND_AUTO && asked->device > 0) {
        fprintf(stderr, "sapporo tune: there is no device %d: this machine or this build has no GPU\n", asked->device);
        *status = STATUS_FAILED;
    } else if (backend == SAPPORO_BACKEND_CPU && asked->device == 0) {
        printf("Nothing to tune: the CPU engine plans each force by what it finds, and has no numbers in the file.\n");
    } else if (backend == SAPPORO_BACKEND_AUTO) {
        printf("Nothing to tune: this machine or this build has no GPU, and the CPU engine has nothing to tune.\n");
        print_absent(SAPPORO_BACKEND_CUDA, stdout);
        print_absent(SAPPORO_BACKEND_HIP, stdout);
        print_absent(SAPPORO_BACKEND_OPENCL, stdout);
    } else if (asked->device >= sapporo_device_count(backend)) {
        fprintf(stderr, "sapporo tune: there is no device %d of %s\n", asked->device, backend_name(backend));
        if (sapporo_device_count(backend) == 0) print_absent(backend, stderr);
        *status = STATUS_FAILED;
    } else {
        return 1;
    }
    return 0;
}

/* Returns 1 if a value is the word, in any case, with or without blanks around it. */
static int is_word(const char *value, const char *word)
{
    const size_t length = strlen(word);
    if (value == NULL) return 0;
    value += strspn(value, " \t\r\n");
    return strncasecmp(value, word, length) == 0 && value[length + strspn(value + length, " \t\r\n")] == '\0';
}

/* Finds the file to be written; "" for none. */
static void find_output(const request *asked, const char *variable, char *path, size_t room)
{
    const int word =
        variable == NULL || is_word(variable, "") || is_word(variable, "off") || is_word(variable, "frozen");
    if (asked->output != NULL)
        snprintf(path, room, "%s", asked->output);
    else if (is_word(variable, "frozen"))
        path[0] = '\0';
    else if (word)
        tune_default_place(path, room);
    else
        snprintf(path, room, "%s", variable);
}

/* ---- report ------------------------------------------------------------------------------ */

static void print_result(const tuner *self, const tune_result *r)
{
    printf("\n[%s] %s: %d trials\n", r->before.device, self->kind, r->trials);
    printf("  %-16s  %10s  %10s\n", "number", "before", "now");
    for (int k = 0; k < r->now.n; k++)
        printf("  %-16s  %10.4g  %10.4g%s\n", r->now.key[k], r->before.value[k], r->now.value[k],
               r->now.value[k] == r->before.value[k] ? "" : "  changed");
    if (r->sizes > 0 && r->gain > 0.0)
        printf("  forces of %d sizes take %.1f %% less time in the mean (best %.1f %%, worst %.1f %%)\n", r->sizes,
               100.0 * r->gain, 100.0 * r->best, 100.0 * r->worst);
    else
        printf("  no shapes were found that are faster by more than the noise\n");
    const int k = tune_find(&r->now, "cpu_below_nj");
    if (k >= 0 && r->now.value[k] > 0.0)
        printf("  below nj = %.0f the CPU is faster (%s)\n", r->now.value[k], r->cpu);
    else if (k >= 0)
        printf("  the CPU is never faster (%s)\n", r->cpu);
    fflush(stdout);
}

/* ---- one kind after the other --------------------------------------------------------------- */

static int fail(const tuner *self, const char *what)
{
    fprintf(stderr, "sapporo tune: %s%s: %s\n", self->kind, what, self->error);
    return STATUS_FAILED;
}

static int tune_kind(tuner *self, const request *asked, const char *variable, const char *output, int first)
{
    tune_result result;
    set_environment("SAPPORO_TUNE", variable); /* the setting of the user, not that of the last trial */
    if (tune_search(self, &result) != 0) return fail(self, "");
    print_result(self, &result);
    if (asked->maps != NULL && tune_maps(self, &result.now, asked->maps, first) != 0) return fail(self, ", maps");
    if (output[0] == '\0') return STATUS_OK;
    if (tune_file_write(output, self->kind, &result.now, self->error, sizeof self->error) == 0) return STATUS_OK;
    return fail(self, ", file");
}

static void prepare(tuner *self, const request *asked)
{
    const int n = asked->quick ? 16384 : 131072;
    self->quick = asked->quick;
    self->seconds = (asked->quick ? 9.0 : 100.0) / (asked->precision.n * asked->orders.n);
    self->what.ndevices = 1;
    self->what.device[0] = asked->device;
    self->cluster = model_plummer(n);
    model_add_derivatives(&self->cluster, DERIVATIVES_ALL);
    self->stars = model_targets(&self->cluster, 1, 0.0);
    self->out = forces_new(n, 1);
}

static int tune_all(tuner *self, const request *asked, const char *variable, const char *output)
{
    const int precisions = asked->precision.n;
    int status = STATUS_OK, first = 1;
    for (int k = 0; k < asked->orders.n * precisions && status == STATUS_OK; k++) {
        const char *precision = asked->precision.word[k % precisions], *order = asked->orders.word[k / precisions];
        self->what.precision = precision_from_name(precision);
        self->what.order = (int)strtol(order, NULL, 10);
        if (self->what.order > 4 && self->what.precision == SAPPORO_SP) continue;
        snprintf(self->kind, sizeof self->kind, "%s%s", precision, self->what.order == 4 ? "" : order);
        status = tune_kind(self, asked, variable, output, first);
        first = 0;
    }
    if (status != STATUS_OK) return status;
    if (asked->maps != NULL) tune_draw_maps(asked->maps);
    if (output[0] != '\0')
        printf("\nwritten to %s\n", output);
    else
        printf(
            "\nnothing was written: SAPPORO_TUNE is frozen, or there is no default place; --output FILE names one\n");
    if (is_word(variable, "off")) printf("SAPPORO_TUNE is off: it will not be read\n");
    return status;
}

static int run(tuner *self, const request *asked, const char *variable)
{
    char folder[TUNE_PATH], output[TUNE_PATH];
    const char *temporary = getenv("TMPDIR");
    find_output(asked, variable, output, sizeof output);
    if (output[0] != '\0' && tune_file_writable(output, self->error, sizeof self->error) != 0)
        return fail(self, "file");
    if (asked->maps != NULL && tune_folder_writable(asked->maps, self->error, sizeof self->error) != 0)
        return fail(self, "maps");
    snprintf(folder, sizeof folder, "%.900s/sapporo_tune.XXXXXX",
             temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL) {
        snprintf(self->error, sizeof self->error, "cannot make the folder %.200s", folder);
        return fail(self, ", trials");
    }
    snprintf(self->trial, sizeof self->trial, "%.1000s/trial", folder);
    prepare(self, asked);
    const int status = tune_all(self, asked, variable, output);
    forces_free(&self->out);
    targets_free(&self->stars);
    model_free(&self->cluster);
    remove(self->trial);
    rmdir(folder);
    return status;
}

int tune_main(int argc, char **argv)
{
    request asked = {.backend = {1, {"auto"}}, .precision = {3, {"sp", "ds", "dp"}}, .orders = {1, {"4"}}};
    int status = read_request(&asked, argc, argv);
    if (status != 0) return status > 0 ? STATUS_OK : STATUS_USAGE;
    set_environment("SAPPORO_VERBOSE",
                    "2"); /* must precede the first call that reads it; makes engines print their launch parameters */
    tuner *self = allocate(1, sizeof *self);
    sapporo_set_log(no_messages, NULL); /* find_device tells the same */
    self->what.backend = choose_backend(&asked);
    if (find_device(&asked, self->what.backend, &status)) {
        const char *set = getenv("SAPPORO_TUNE");
        char *variable = set != NULL && set[0] != '\0' ? strdup(set) : NULL;
        status = run(self, &asked, variable);
        free(variable);
    }
    sapporo_set_log(NULL, NULL);
    free(self);
    return status;
}
