/* options.c - reads the settings of a context; options.h has the precedence. */
#define _POSIX_C_SOURCE 200809L
#include "engine/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/log.h"
#include "base/structs.h"
#include "base/team.h"
#include "base/variable_check.h"
#include "engine/config.h"
#include "engine/units.h"
#include "variables.h"

/* ---- words and numbers ------------------------------------------------------- */

const char *const sap_precision_names[] = {[SAPPORO_SP] = "sp", [SAPPORO_DS] = "ds", [SAPPORO_DP] = "dp"};

/* Reads a variable whose value is a word; *found is NULL if it is not set. */
static int word_variable(struct sap_notes *notes, const struct sap_variable_row *variable,
                         const struct sap_word **found)
{
    char wrong[SAP_WRONG_ROOM];
    *found = NULL;
    if (sap_env_word(variable, found, wrong) != SAP_READ_BAD) return SAPPORO_OK;
    return sap_error(notes, SAPPORO_ERR_ARGUMENT, "%s", wrong);
}

/* ---- devices: lists, SAPPORO_DEVICES --------------------------------------------- */

/* Adds a device to the list unless the list has it already. */
static void add_device(struct sap_settings *out, int device)
{
    for (int k = 0; k < out->ndevices; k++)
        if (out->devices[k] == device) return;
    if (out->ndevices < SAP_DEVICES_MAX) out->devices[out->ndevices++] = device;
}

/* Sets the devices for a number n <= 0 from GRAPE clients and files: 0 means all devices, -n any n devices. */
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

static int devices_from_variable(struct sap_settings *out, const char *text, size_t n, struct sap_notes *notes)
{
    static const char in_lists[] = "0123456789,;:+- \t";
    int list[SAP_DEVICES_MAX];
    out->devices_given = 1;
    if (sap_parse_word(sap_variables[SAP_VAR_DEVICES].words, text, n) != NULL) {
        out->ndevices = -1;
    } else if (strspn(text, in_lists) >= n) {
        const int found = sap_parse_list(text, n, list, SAP_DEVICES_MAX);
        if (found < 0)
            return sap_error(notes, SAPPORO_ERR_ARGUMENT,
                             "SAPPORO_DEVICES is '%.*s'; it may be device numbers as in '0,2' (at most %d), uuids, "
                             "names, or all",
                             n < 80 ? (int)n : 80, text, SAP_DEVICES_MAX);
        for (int k = 0; k < found; k++) add_device(out, list[k]);
    } else if (n < sizeof out->device_names) {
        memcpy(out->device_names, text, n); /* the settings are initialised to zero */
    } else {
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "SAPPORO_DEVICES is longer than %d characters",
                         (int)sizeof out->device_names - 1);
    }
    return SAPPORO_OK;
}

const char *sap_device_word(const char *names, size_t *length)
{
    static const char between[] = ", \t\n\v\f\r", *const blanks = between + 1;
    const char *const word = names + strspn(names, between);
    *length = strcspn(word, ",");
    while (*length > 0 && strchr(blanks, word[*length - 1])) --*length;
    return *length > 0 ? word : NULL;
}

/* ---- devices: configuration files, default ------------------------------------------- */

/* A configuration file in the working directory. */
struct config_file {
    const char *name;
    enum sap_complaint complaint;
    int has_capacity; /* the file starts with a particle capacity, which is not used */
};

static void take_config(struct sap_settings *out, const struct config_file *config, const struct sap_file *file)
{
    struct sap_config found;
    if (!sap_config_parse(file->bytes, file->size, config->has_capacity, &found)) {
        if (sap_complain_first(config->complaint))
            sap_log(SAPPORO_LOG_WARNING, "%s, line %d: %s; the file is ignored", config->name, found.line, found.wrong);
        return;
    }
    if (found.n <= 0) devices_without_list(out, found.n);
    for (int k = 0; k < found.n; k++) add_device(out, found.device[k]);
    out->devices_given = 1;
    sap_log(SAPPORO_LOG_INFO, "devices are those of %s", config->name);
}

/* Reads the devices from a configuration file; 0: there is no such file.  A bad file gives a warning and is ignored. */
static int devices_from_config(struct sap_settings *out, const struct config_file *config)
{
    struct sap_file file;
    const enum sap_file_status status = sap_file_read(config->name, SAP_CONFIG_MOST, &file);
    if (status == SAP_FILE_MISSING) return 0;
    if (status == SAP_FILE_READ)
        take_config(out, config, &file);
    else if (sap_complain_first(config->complaint))
        sap_log(SAPPORO_LOG_WARNING, "%s: %s; the file is ignored", config->name, file.why);
    free(file.bytes);
    return 1;
}

/* The rank among the MPI processes of this machine; -1: no launcher has set a variable for it. */
static int local_rank(void)
{
    char wrong[SAP_WRONG_ROOM];
    int rank;
    for (int k = SAP_VAR_RANK_OPENMPI; k <= SAP_VAR_RANK_PALS; k++)
        if (sap_env_number(&sap_variables[k], &rank, wrong) == SAP_READ_GOOD) return rank;
    return -1;
}

/* ---- one function per setting ------------------------------------------------------------ */

static int read_order(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    out->order = options->order == 0 ? 4 : options->order;
    if (out->order != 2 && out->order != 4 && out->order != 6 && out->order != 8)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "order is %d; it may be 2, 4, 6 or 8", out->order);
    return SAPPORO_OK;
}

static int read_precision(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const struct sap_word *word = NULL;
    if ((int)options->precision < SAPPORO_PRECISION_DEFAULT || options->precision > SAPPORO_DP)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "precision is %d; it may be 0 to 3", (int)options->precision);
    out->precision = options->precision;
    if (out->precision != SAPPORO_PRECISION_DEFAULT) return SAPPORO_OK;
    int status = word_variable(notes, &sap_variables[SAP_VAR_PRECISION], &word);
    if (word != NULL)
        out->precision = (sapporo_precision)word->value;
    else
        out->precision = out->order > 4 ? SAPPORO_DP : SAPPORO_DS;
    out->mixed = word == NULL && out->precision == SAPPORO_DS;
    return status;
}

static int read_backend(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const struct sap_word *word = NULL;
    int status = SAPPORO_OK;
    if ((int)options->backend < SAPPORO_BACKEND_AUTO || options->backend > SAPPORO_BACKEND_HIP)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "backend is %d; it may be 0 to 4", (int)options->backend);
    out->backend = options->backend;
    if (out->backend == SAPPORO_BACKEND_AUTO) status = word_variable(notes, &sap_variables[SAP_VAR_BACKEND], &word);
    if (word != NULL) out->backend = (sapporo_backend)word->value;
    out->backend_given = out->backend != SAPPORO_BACKEND_AUTO;
    return status;
}

static int read_isa(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const struct sap_word *word = NULL;
    int status = SAPPORO_OK;
    if (options->cpu_isa != NULL && options->cpu_isa[0] != 0) {
        const struct sap_word *const isas = sap_variables[SAP_VAR_CPU_ISA].words;
        const size_t n = strlen(options->cpu_isa);
        char wrong[SAP_WRONG_ROOM];
        word = sap_parse_word(isas, options->cpu_isa, n);
        if (word == NULL) {
            sap_env_wrong_word(wrong, "cpu_isa", options->cpu_isa, n, isas);
            return sap_error(notes, SAPPORO_ERR_ARGUMENT, "%s", wrong);
        }
    } else {
        status = word_variable(notes, &sap_variables[SAP_VAR_CPU_ISA], &word);
    }
    if (word != NULL) strcpy(out->isa, word->text);
    return status;
}

static int read_threads(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    out->threads = options->threads;
    if (out->threads < 0)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "threads is %d; it may be 0, the default, to %d", out->threads,
                         (int)SAP_TEAM_MOST);
    if (out->threads > SAP_TEAM_MOST) {
        sap_warn_once(notes, SAP_WARN_THREADS, "threads is %d; the library uses at most %d", out->threads,
                      (int)SAP_TEAM_MOST);
        out->threads = SAP_TEAM_MOST;
    }
    return SAPPORO_OK;
}

static int read_root(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const struct sap_word *word = NULL;
    int status = SAPPORO_OK;
    if ((int)options->root < SAPPORO_ROOT_DEFAULT || options->root > SAPPORO_ROOT_FAST)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "root is %d; it may be 0 to 2", (int)options->root);
    out->root = options->root;
    if (out->root != SAPPORO_ROOT_DEFAULT) return SAPPORO_OK;
    status = word_variable(notes, &sap_variables[SAP_VAR_ROOT], &word);
    out->root = word != NULL ? (sapporo_root)word->value : SAPPORO_ROOT_FULL;
    return status;
}

static int read_gravity(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    if (sap_gravity(options->gravitational_constant, &out->gravity)) return SAPPORO_OK;
    return sap_error(notes, SAPPORO_ERR_ARGUMENT, "gravitational_constant is %g; " SAP_GRAVITY_RANGE,
                     options->gravitational_constant);
}

static int read_devices(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    static const struct config_file sapporo2 = {.name = "sapporo2.config", .complaint = SAP_COMPLAINT_SAPPORO2_CONFIG};
    static const struct config_file sapporo1 = {
        .name = "sapporo.config", .complaint = SAP_COMPLAINT_SAPPORO_CONFIG, .has_capacity = 1};
    const char *text;
    const size_t n = sap_env_text(&sap_variables[SAP_VAR_DEVICES], &text);
    const int rank = local_rank();
    out->preferred_device = rank >= 0 ? rank : options->preferred_device > 0 ? options->preferred_device : 0;
    if (options->ndevices != 0) return devices_from_options(out, options, notes);
    if (n > 0) return devices_from_variable(out, text, n, notes);
    if (sap_env_raised()) return SAPPORO_OK; /* the unprivileged user chose the working directory */
    if (!devices_from_config(out, &sapporo2)) devices_from_config(out, &sapporo1);
    return SAPPORO_OK;
}

/* Writes the default path of the tuning file; "": there is none. */
static void default_tune(char *path, size_t room)
{
    const char *const config = sap_env_path(&sap_variables[SAP_VAR_CONFIG_HOME]), *const home = sap_env_path(
                                                                                      &sap_variables[SAP_VAR_HOME]);
    int length = 0;
    if (config != NULL && config[0] == '/') /* the XDG specification says to ignore relative paths */
        length = snprintf(path, room, "%s/sapporo/tune", config);
    else if (home != NULL)
        length = snprintf(path, room, "%s/.config/sapporo/tune", home);
    if (length < 0 || (size_t)length >= room) path[0] = 0;
}

/*
 * Reads the path of the tuning file.  `frozen` means the default path, and that nothing is measured: `sapporo tune`
 * writes no file, and steppers decide without a clock.  With raised privileges the library reads no tuning file.
 */
static int read_tune(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    const char *text, *const path = sap_env_path(&sap_variables[SAP_VAR_TUNE]);
    const size_t n = sap_env_text(&sap_variables[SAP_VAR_TUNE], &text);
    const struct sap_word *const word = sap_parse_word(sap_variables[SAP_VAR_TUNE].words, text, n);
    (void)options;
    out->tune_frozen = word != NULL && word->value == 1;
    if (sap_env_raised() || (word != NULL && word->value == 0)) return SAPPORO_OK;
    if (n == 0 || path == NULL || word != NULL) {
        default_tune(out->tune, sizeof out->tune);
        return SAPPORO_OK;
    }
    if (strlen(path) >= sizeof out->tune)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "SAPPORO_TUNE is longer than %d characters",
                         (int)sizeof out->tune - 1);
    strcpy(out->tune, path);
    out->tune_given = 1;
    return SAPPORO_OK;
}

/* Checks variables that other files of the library read, so that an invalid value fails when a context is opened. */
static int check_others(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    char wrong[SAP_WRONG_ROOM];
    (void)out, (void)options;
    for (int k = 0; k < SAP_VARIABLES; k++)
        if (sap_variables[k].bad == SAP_BAD_OPEN && sap_env_check(&sap_variables[k], wrong) == SAP_READ_BAD)
            return sap_error(notes, SAPPORO_ERR_ARGUMENT, "%s", wrong);
    return SAPPORO_OK;
}

/* ---- all of them ------------------------------------------------------------------------------ */

/*
 * Copies options of any version of the struct.  A caller compiled for an older version has a smaller struct.  A caller
 * compiled for a newer version has a larger one, which is refused if it uses a member that this library does not know.
 */
static int copy_options(sapporo_options *to, const sapporo_options *from, struct sap_notes *notes)
{
    memset(to, 0, sizeof *to);
    if (from == NULL) return SAPPORO_OK;
    const int status = sap_struct_copy(to, sizeof *to, from, sizeof from->size);
    return status ? sap_struct_error(notes, status, "sapporo_options", from) : SAPPORO_OK;
}

int sap_settings_read(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes)
{
    static int (*const readers[])(struct sap_settings *, const sapporo_options *, struct sap_notes *) = {
        read_order, read_precision, read_backend, read_isa,  read_threads,
        read_root,  read_gravity,   read_devices, read_tune, check_others};
    sapporo_options copy;
    sap_variable_check();
    int status = copy_options(&copy, options, notes);
    memset(out, 0, sizeof *out);
    for (size_t k = 0; k < sizeof readers / sizeof readers[0] && status == SAPPORO_OK; k++)
        status = readers[k](out, &copy, notes);
    return status;
}

int sap_settings_method(char *wrong)
{
    const struct sap_word *word = NULL;
    if (sap_env_word(&sap_variables[SAP_VAR_METHOD], &word, wrong) == SAP_READ_BAD) return SAPPORO_ERR_ARGUMENT;
    return word != NULL ? word->value : 0;
}

int sap_settings_precision_is_set(void)
{
    const char *text;
    return sap_env_text(&sap_variables[SAP_VAR_PRECISION], &text) > 0;
}

int sap_settings_tree(struct sap_tree_variables *out, char *wrong)
{
    const struct sap_word *kind = NULL, *mac = NULL;
    memset(out, 0, sizeof *out);
    if (sap_env_word(&sap_variables[SAP_VAR_TREE_KIND], &kind, wrong) == SAP_READ_BAD ||
        sap_env_word(&sap_variables[SAP_VAR_TREE_MAC], &mac, wrong) == SAP_READ_BAD ||
        sap_env_real(&sap_variables[SAP_VAR_TREE_ACCURACY], &out->accuracy, wrong) == SAP_READ_BAD ||
        sap_env_real(&sap_variables[SAP_VAR_TREE_ERROR], &out->error, wrong) == SAP_READ_BAD)
        return SAPPORO_ERR_ARGUMENT;
    if (kind != NULL) out->kind = (sapporo_tree_kind)kind->value;
    if (mac != NULL) out->mac = (sapporo_tree_mac)mac->value;
    return SAPPORO_OK;
}
