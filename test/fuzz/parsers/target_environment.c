/* target_environment.c - environment variables: settings lie in their ranges; case and blanks do not matter. */
#include "targets.h"

#include "api/g6/npipes.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/variable_check.h"
#include "driver/opencl/opencl_driver.h"
#include "engine/options.h"
#include "variables.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { ENTRIES = 40, ROOM = 4096 };

/* 1: the value is neither a path nor a name, so that its case and the blanks around it do not matter. */
static int is_plain(int variable)
{
    const enum sap_variable_type type = sap_variables[variable].type;
    return type != SAP_TYPE_PATH && type != SAP_TYPE_TEXT && variable != SAP_VAR_DEVICES;
}

/* An environment of its own: setenv would keep every value for ever. */
struct surroundings {
    char *entry[ENTRIES + 1];
    int n;
    size_t used;
    char text[2 * ROOM];
};

/* What the library makes of it. */
struct outcome {
    struct sap_settings settings;
    struct sap_tree_variables tree;
    int status, method, tree_status, npipes, verbosity, list_status, n, list[SAP_DEVICES_MAX], cache;
};

static void add(struct surroundings *s, int name, const char *value, size_t n, int disguised)
{
    const size_t before = s->used;
    if (s->n == ENTRIES || before + strlen(sap_variables[name].name) + n + 8 > sizeof s->text || memchr(value, 0, n))
        return;
    s->entry[s->n++] = s->text + before;
    s->used += (size_t)sprintf(s->text + before, "%s=%s", sap_variables[name].name, disguised ? " \t" : "");
    for (size_t k = 0; k < n; k++) {
        const int c = (unsigned char)value[k];
        s->text[s->used++] = (char)(disguised && c < 0x80 ? (isupper(c) ? tolower(c) : toupper(c)) : c);
    }
    if (disguised) s->text[s->used++] = ' ';
    s->text[s->used++] = 0;
}

/* A line of the input is a letter and a value. */
static void set_up(struct surroundings *s, const char *text, size_t size, int disguised)
{
    const char *const end = text + size;
    *s = (struct surroundings){.n = 0};
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        const int name = (unsigned char)*text < 'A' ? -1 : ((unsigned char)*text - 'A') % SAP_VARIABLES;
        if (name >= 0) add(s, name, text + 1, (size_t)(stop - text) - 1, disguised && is_plain(name));
        text = stop + (stop < end);
    }
}

static int heard;

static void hear(void *user, int level, const char *text)
{
    (void)user;
    heard += level == SAPPORO_LOG_ERROR;
    for (; *text; text++) parser_require((unsigned char)*text >= ' ' && *text != 0x7F, "a message is one line");
}

static void expect_one_line(const char *text)
{
    parser_require(*text && strlen(text) < SAP_WRONG_ROOM, "an error has a message");
    for (; *text; text++) parser_require((unsigned char)*text >= ' ' && *text != 0x7F, "an error is one line");
}

static void ask(struct surroundings *s, struct outcome *out)
{
    struct sap_notes notes = {0};
    char wrong[SAP_WRONG_ROOM] = "";
    char **const before = environ;
    memset(out, 0, sizeof *out);
    environ = s->entry;
    sap_npipes_known = 0;
    sap_messages.verbosity = -1;
    sap_messages.complained = 0;
    sap_variable_check_again();
    sapporo_set_log(hear, NULL);
    out->verbosity = sap_verbosity();
    sap_messages.verbosity = 1;
    heard = 0;
    out->status = sap_settings_read(&out->settings, NULL, &notes);
    parser_require(heard == (out->status != SAPPORO_OK), "one error is told, or none");
    if (out->status != SAPPORO_OK) expect_one_line(notes.error);
    out->method = sap_settings_method(wrong);
    if (out->method < 0) expect_one_line(wrong);
    out->tree_status = sap_settings_tree(&out->tree, wrong);
    if (out->tree_status != SAPPORO_OK) expect_one_line(wrong);
    out->npipes = sap_npipes();
    out->list_status = (int)sap_env_list(&sap_variables[SAP_VAR_GPU_LIST], out->list, SAP_DEVICES_MAX, &out->n, wrong);
    if (out->list_status == SAP_READ_BAD) expect_one_line(wrong);
    out->cache = sap_opencl_cache_wanted();
    sapporo_set_log(NULL, NULL);
    environ = before;
}

static int is_known_isa(const char *isa)
{
    static const char *const known[] = {"", "scalar", "sse2", "avx2", "avx512", "neon"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(isa, known[k]) == 0) return 1;
    return 0;
}

static void check_settings(const struct sap_settings *s)
{
    parser_require(s->order == 4 && s->precision >= SAPPORO_SP && s->precision <= SAPPORO_DP, "precision");
    parser_require((int)s->backend >= 0 && s->backend <= SAPPORO_BACKEND_HIP, "backend");
    parser_require(s->root == SAPPORO_ROOT_FULL || s->root == SAPPORO_ROOT_FAST, "root");
    parser_require(is_known_isa(s->isa), "isa");
    parser_require(s->ndevices >= -1 && s->ndevices <= SAP_DEVICES_MAX, "number of devices");
    for (int k = 0; k < s->ndevices; k++) {
        parser_require(s->devices[k] >= 0, "device numbers");
        for (int l = 0; l < k; l++) parser_require(s->devices[l] != s->devices[k], "each device once");
    }
    parser_require(memchr(s->device_names, 0, sizeof s->device_names) && memchr(s->tune, 0, sizeof s->tune),
                   "texts end");
    parser_require(s->preferred_device >= 0, "preferred device");
}

static void check_rest(const struct outcome *o)
{
    parser_require((o->method >= 0 || o->method == SAPPORO_ERR_ARGUMENT) && o->method <= 1, "method");
    parser_require(o->npipes >= 1 && o->npipes <= 1000000, "pipes");
    parser_require(o->verbosity >= 0 && o->verbosity <= 9, "verbosity");
    if (o->tree_status == SAPPORO_OK)
        parser_require((int)o->tree.kind >= 0 && o->tree.kind <= SAPPORO_TREE_KDTREE && (int)o->tree.mac >= 0 &&
                           o->tree.mac <= SAPPORO_MAC_ACCELERATION && o->tree.accuracy >= 0 && o->tree.accuracy <= 1e30,
                       "tree");
    if (o->list_status == SAP_READ_GOOD) parser_require(o->n >= 1 && o->n <= SAP_DEVICES_MAX, "list");
    for (int k = 0; k < o->n; k++) parser_require(o->list[k] >= 0, "numbers of the list");
}

/* The outcomes are equal; only the texts of errors may differ. */
static void check_same(const struct outcome *a, const struct outcome *b)
{
    parser_require(a->status == b->status && a->method == b->method && a->tree_status == b->tree_status &&
                       a->npipes == b->npipes && a->verbosity == b->verbosity && a->list_status == b->list_status &&
                       a->n == b->n && memcmp(a->list, b->list, (size_t)a->n * sizeof *a->list) == 0,
                   "case and blanks do not matter");
    if (a->status == SAPPORO_OK)
        parser_require(memcmp(&a->settings, &b->settings, sizeof a->settings) == 0, "nor for settings");
    if (a->tree_status == SAPPORO_OK) parser_require(memcmp(&a->tree, &b->tree, sizeof a->tree) == 0, "nor for trees");
}

void parse_environment(const unsigned char *bytes, size_t size)
{
    static struct surroundings plain, disguised;
    static struct outcome of_plain, of_disguised;
    if (size > ROOM / 4) return;
    set_up(&plain, (const char *)bytes, size, 0);
    set_up(&disguised, (const char *)bytes, size, 1);
    ask(&plain, &of_plain);
    if (of_plain.status == SAPPORO_OK) check_settings(&of_plain.settings);
    check_rest(&of_plain);
    ask(&disguised, &of_disguised);
    check_same(&of_plain, &of_disguised);
}
