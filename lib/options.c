/* options.c - reads what a context shall be like; see options.h for who has the first word. */
#define _POSIX_C_SOURCE 200809L
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h> /* strcasecmp */

#include "process.h"
#include "structs.h"

/* ---- words and numbers ------------------------------------------------------- */

struct word {
    const char *text;
    int value;
};

const char *const sap_precision_names[] = {[SAPPORO_SP] = "sp", [SAPPORO_DS] = "ds", [SAPPORO_DP] = "dp"};

static const struct word precisions[] = {{"sp", SAPPORO_SP}, {"ds", SAPPORO_DS}, {"dp", SAPPORO_DP}, {NULL, 0}};
static const struct word backends[] = {{"auto", SAPPORO_BACKEND_AUTO},
                                       {"cuda", SAPPORO_BACKEND_CUDA},
                                       {"opencl", SAPPORO_BACKEND_OPENCL},
                                       {"cpu", SAPPORO_BACKEND_CPU},
                                       {NULL, 0}};
static const struct word isas[] = {{"scalar", 0}, {"sse2", 1}, {"avx2", 2}, {"avx512", 3}, {NULL, 0}};
static const struct word roots[] = {{"full", SAPPORO_ROOT_FULL}, {"fast", SAPPORO_ROOT_FAST}, {NULL, 0}};
static const struct word methods[] = {{"direct", 0}, {"tree", 1}, {NULL, 0}};

static const struct word *find_word(const struct word *words, const char *text)
{
    while (words->text != NULL && strcasecmp(words->text, text) != 0) words++;
    return words->text != NULL ? words : NULL;
}

/* The value of a variable; NULL if it is unset or empty. */
static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && *text != 0 ? text : NULL;
}

/* "ds, dp, sp": what may stand where find_word found nothing. */
static int bad_word(struct sap_notes *notes, const char *name, const char *text, const struct word *words)
{
    char list[80] = "";
    for (; words->text != NULL; words++) {
        strncat(list, words->text, sizeof list - strlen(list) - 1);
        if (words[1].text != NULL) strncat(list, words[2].text != NULL ? ", " : " or ", sizeof list - strlen(list) - 1);
    }
    return sap_error(notes, SAPPORO_ERR_ARGUMENT, "%s is '%.40s'; it may be %s", name, text, list);
}

/* A variable that holds one of some words; *found is NULL if it is not set. */
static int word_variable(struct sap_notes *notes, const char *name, const struct word *words, const struct word **found)
{
    const char *text = variable(name);
    *found = text != NULL ? find_word(words, text) : NULL;
    return text != NULL && *found == NULL ? bad_word(notes, name, text, words) : SAPPORO_OK;
}

/* A number >= 0 at the start of a text; -1: there is none, or it does not fit. */
static int number(const char *text, const char **end)
{
    char *stop;
    errno = 0;
    long n = strtol(text, &stop, 10);
    *end = stop;
    return stop == text || errno != 0 || n < 0 || n > INT_MAX ? -1 : (int)n;
}

/* ---- devices: lists, SAPPORO_DEVICES --------------------------------------------- */

/* Adds a device to the list, once; 0: the list is full. */
static int add_device(struct sap_settings *out, int device)
{
    for (int k = 0; k < out->ndevices; k++)
        if (out->devices[k] == device) return 1;
    if (out->ndevices == SAP_DEVICES_MAX) return 0;
    out->devices[out->ndevices++] = device;
    return 1;
}

/* What GRAPE clients and files mean by a number of devices that is not positive: 0 all, -n any n. */
static void devices_without_list(struct sap_settings *out, long n)
{
    out->devices_given = 1;
    if (n == 0) {
        out->ndevices = -1;
        return;
    }
    out->devices_any = 1;
    for (int k = 0; k < SAP_DEVICES_MAX && n + k < 0; k++) add_device(out, k);
}

static int devices_from_options(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    if (options->ndevices > SAP_ANY_DEVICES && options->ndevices <= SAP_ANY_DEVICES + SAP_DEVICES_MAX) {
        devices_without_list(out, (long)SAP_ANY_DEVICES - options->ndevices);
        return SAPPORO_OK;
    }
    if (options->ndevices < -1 || options->ndevices > SAP_DEVICES_MAX)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "ndevices is %d; it may be -1 (all) to %d", options->ndevices,
                         SAP_DEVICES_MAX);
    if (options->ndevices > 0 && options->devices == NULL)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "ndevices is %d, but devices is NULL", options->ndevices);
    out->devices_given = 1;
    if (options->ndevices < 0) out->ndevices = -1;
    for (int k = 0; k < options->ndevices; k++) {
        if (options->devices[k] < 0)
            return sap_error(notes, SAPPORO_ERR_ARGUMENT, "devices[%d] is %d; devices are numbered from 0", k,
                             options->devices[k]);
        add_device(out, options->devices[k]);
    }
    return SAPPORO_OK;
}

/* Numbers with commas or blanks between them; 0: something else. */
static int parse_list(struct sap_settings *out, const char *text)
{
    static const char blanks[] = " \t";
    for (;;) {
        const char *end;
        int device = number(text, &end);
        if (device < 0 || !add_device(out, device)) return 0;
        text = end + strspn(end, blanks);
        if (*text == 0) return 1;
        if (*text == ',')
            text++;
        else if (text == end)
            return 0;
    }
}

static int devices_from_variable(struct sap_settings *out, const char *text, struct sap_notes *notes)
{
    out->devices_given = 1;
    if (strcasecmp(text, "all") == 0) {
        out->ndevices = -1;
    } else if (strspn(text, "0123456789,;:+- \t") == strlen(text)) {
        if (!parse_list(out, text))
            return sap_error(notes, SAPPORO_ERR_ARGUMENT,
                             "SAPPORO_DEVICES is '%.80s'; it may be device numbers as in '0,2' (at most %d), uuids, "
                             "names, or all",
                             text, SAP_DEVICES_MAX);
    } else if (strlen(text) < sizeof out->device_names) {
        strcpy(out->device_names, text);
    } else {
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "SAPPORO_DEVICES is longer than %d characters",
                         (int)sizeof out->device_names - 1);
    }
    return SAPPORO_OK;
}

/* ---- devices: configuration files, default ------------------------------------------- */

struct config {
    const char *name;
    enum sap_complaint complaint;
    int capacity; /* the file starts with a particle capacity, which is of no use here */
    FILE *file;
    int line;
};

static int complain(struct config *config, const char *what)
{
    unsigned bit = 1u << config->complaint;
    if ((atomic_fetch_or(&sap_process.complained, bit) & bit) == 0)
        sap_log(SAPPORO_LOG_WARNING, "%s, line %d: %s; the file is ignored", config->name, config->line, what);
    return 0;
}

/* The integer at the start of the next line, whose rest is comment; 0: there is none. */
static int config_integer(struct config *config, long *n)
{
    char text[64], *end;
    int c;
    config->line++;
    if (fgets(text, sizeof text, config->file) == NULL) return complain(config, "a line is missing");
    if (strchr(text, '\n') == NULL)
        while ((c = getc(config->file)) != '\n' && c != EOF) continue;
    errno = 0;
    *n = strtol(text, &end, 10);
    return end != text && errno == 0 ? 1 : complain(config, "there is no number");
}

static int parse_config(struct sap_settings *out, struct config *config)
{
    long n, device;
    if (config->capacity && !config_integer(config, &n)) return 0;
    if (!config_integer(config, &n)) return 0;
    if (n > SAP_DEVICES_MAX) return complain(config, "too many devices");
    if (n <= 0) {
        devices_without_list(out, n);
        return 1;
    }
    while (n-- > 0) {
        if (!config_integer(config, &device)) return 0;
        if (device < 0 || device > INT_MAX) return complain(config, "this is no device number");
        add_device(out, (int)device);
    }
    out->devices_given = 1;
    return 1;
}

/* 0: there is no such file.  A malformed file counts as one that says nothing. */
static int devices_from_config(struct sap_settings *out, struct config *config)
{
    struct sap_settings found = *out;
    config->file = fopen(config->name, "re");
    if (config->file == NULL && errno == ENOENT) return 0;
    if (config->file == NULL) {
        complain(config, strerror(errno));
        return 1;
    }
    if (parse_config(&found, config)) {
        *out = found;
        sap_log(SAPPORO_LOG_INFO, "devices are those of %s", config->name);
    }
    fclose(config->file);
    return 1;
}

/* Rank among the processes of this machine; -1: not started by an MPI launcher that tells. */
static int local_rank(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "PMI_LOCAL_RANK",
        "PALS_LOCAL_RANKID"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const char *text = variable(names[k]), *end;
        int rank = text != NULL ? number(text, &end) : -1;
        if (rank >= 0 && *end == 0) return rank;
    }
    return -1;
}

/* ---- one function a setting -------------------------------------------------------------- */

static int read_order(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    out->order = options->order == 0 ? 4 : options->order;
    if (out->order != 2 && out->order != 4 && out->order != 6 && out->order != 8)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "order is %d; it may be 2, 4, 6 or 8", out->order);
    return SAPPORO_OK;
}

static int read_precision(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const struct word *word = NULL;
    if ((int)options->precision < SAPPORO_PRECISION_DEFAULT || options->precision > SAPPORO_DP)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "precision is %d; it may be 0 to 3", (int)options->precision);
    out->precision = options->precision;
    if (out->precision != SAPPORO_PRECISION_DEFAULT) return SAPPORO_OK;
    int status = word_variable(notes, "SAPPORO_PRECISION", precisions, &word);
    if (word != NULL)
        out->precision = (sapporo_precision)word->value;
    else
        out->precision = out->order > 4 ? SAPPORO_DP : SAPPORO_DS;
    return status;
}

static int read_backend(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const struct word *word = NULL;
    int status = SAPPORO_OK;
    if ((int)options->backend < SAPPORO_BACKEND_AUTO || options->backend > SAPPORO_BACKEND_CPU)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "backend is %d; it may be 0 to 3", (int)options->backend);
    out->backend = options->backend;
    if (out->backend == SAPPORO_BACKEND_AUTO) status = word_variable(notes, "SAPPORO_BACKEND", backends, &word);
    if (word != NULL) out->backend = (sapporo_backend)word->value;
    out->backend_given = out->backend != SAPPORO_BACKEND_AUTO;
    return status;
}

static int read_isa(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const struct word *word = NULL;
    int status = SAPPORO_OK;
    if (options->cpu_isa != NULL && options->cpu_isa[0] != 0) {
        word = find_word(isas, options->cpu_isa);
        if (word == NULL) return bad_word(notes, "cpu_isa", options->cpu_isa, isas);
    } else {
        status = word_variable(notes, "SAPPORO_CPU_ISA", isas, &word);
    }
    if (word != NULL) strcpy(out->isa, word->text);
    return status;
}

static int read_threads(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    out->threads = options->threads;
    if (out->threads < 0) return sap_error(notes, SAPPORO_ERR_ARGUMENT, "threads is %d", out->threads);
    return SAPPORO_OK;
}

static int read_root(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const struct word *word = NULL;
    int status = SAPPORO_OK;
    if ((int)options->root < SAPPORO_ROOT_DEFAULT || options->root > SAPPORO_ROOT_FAST)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "root is %d; it may be 0 to 2", (int)options->root);
    out->root = options->root;
    if (out->root != SAPPORO_ROOT_DEFAULT) return SAPPORO_OK;
    status = word_variable(notes, "SAPPORO_ROOT", roots, &word);
    out->root = word != NULL ? (sapporo_root)word->value : SAPPORO_ROOT_FULL;
    return status;
}

static int read_devices(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    struct config sapporo2 = {.name = "sapporo2.config", .complaint = SAP_COMPLAINT_SAPPORO2_CONFIG};
    struct config sapporo1 = {.name = "sapporo.config", .complaint = SAP_COMPLAINT_SAPPORO_CONFIG, .capacity = 1};
    const char *text = variable("SAPPORO_DEVICES");
    int rank = local_rank();
    out->preferred_device = rank >= 0 ? rank : options->preferred_device > 0 ? options->preferred_device : 0;
    if (options->ndevices != 0) return devices_from_options(out, options, notes);
    if (text != NULL) return devices_from_variable(out, text, notes);
    if (!devices_from_config(out, &sapporo2)) devices_from_config(out, &sapporo1);
    return SAPPORO_OK;
}

/* The place of the tuning file that nobody named; "": there is none. */
static void default_tune(char *path, size_t room)
{
    const char *const config = variable("XDG_CONFIG_HOME"), *const home = variable("HOME");
    int length = 0;
    if (config != NULL && config[0] == '/') /* others are to be ignored, says its specification */
        length = snprintf(path, room, "%s/sapporo/tune", config);
    else if (home != NULL)
        length = snprintf(path, room, "%s/.config/sapporo/tune", home);
    if (length < 0 || (size_t)length >= room) path[0] = 0;
}

/* `frozen` is the default place: the library itself never chooses numbers anew, and `sapporo tune` writes none then. */
static int read_tune(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const char *const text = variable("SAPPORO_TUNE");
    (void)options;
    if (text != NULL && strcasecmp(text, "off") == 0) return SAPPORO_OK;
    if (text == NULL || strcasecmp(text, "frozen") == 0) {
        default_tune(out->tune, sizeof out->tune);
        return SAPPORO_OK;
    }
    if (strlen(text) >= sizeof out->tune)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "SAPPORO_TUNE is longer than %d characters",
                         (int)sizeof out->tune - 1);
    strcpy(out->tune, text);
    out->tune_given = 1;
    return SAPPORO_OK;
}

/* ---- all of them ------------------------------------------------------------------------------ */

/*
 * Copies options of any version.  A caller compiled earlier has a smaller struct; one compiled later has a larger
 * one, which is refused if it asks for something that this library does not know.
 */
static int copy_options(sapporo_options *to, const sapporo_options *from, struct sap_notes *notes)
{
    memset(to, 0, sizeof *to);
    if (from == NULL) return SAPPORO_OK;
    const int status = sap_struct_copy(to, sizeof *to, from, sizeof from->size);
    if (status == SAPPORO_ERR_ARGUMENT) return sap_error(notes, status, "size of sapporo_options is not set");
    if (status) return sap_error(notes, status, "sapporo_options of a newer version of the library");
    return SAPPORO_OK;
}

int sap_settings_read(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    static int (*const readers[])(struct sap_settings *, const sapporo_options *, struct sap_notes *) = {
        read_order, read_precision, read_backend, read_isa, read_threads, read_root, read_devices, read_tune};
    sapporo_options copy;
    int status = copy_options(&copy, options, notes);
    memset(out, 0, sizeof *out);
    for (size_t k = 0; k < sizeof readers / sizeof readers[0] && status == SAPPORO_OK; k++)
        status = readers[k](out, &copy, notes);
    return status;
}

int sap_settings_method(void)
{
    const char *text = variable("SAPPORO_METHOD");
    const struct word *word = text != NULL ? find_word(methods, text) : methods;
    return word != NULL ? word->value : -1;
}
