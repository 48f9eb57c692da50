/*
 * info_variables.c - the environment variables that the library reads: as text, as JSON, as the tables of
 * docs/settings.md.
 *
 * The library describes its variables (sapporo_variable_describe); this file knows none of them but SAPPORO_VERBOSE.
 */
#define _POSIX_C_SOURCE 200809L

#include "info_variables.h"

#include "util.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* CUDA itself reads this variable, which decides which devices exist; the library does not read it. */
static const char CUDA_VISIBLE[] = "CUDA_VISIBLE_DEVICES";

/* Describes the variable of a number; returns 0 if there is none. */
static int describe(int number, sapporo_variable *variable)
{
    variable->size = sizeof *variable;
    return sapporo_variable_describe(number, variable) == SAPPORO_OK;
}

/* Returns the value of a variable as the user set it; NULL: it is not set. */
static const char *value_of(const char *name, const char *verbose)
{
    return strcmp(name, "SAPPORO_VERBOSE") == 0 ? verbose : getenv(name);
}

/* Returns 1 for paths of other software, which are set everywhere and may name the user. */
static int is_private(const sapporo_variable *v)
{
    return v->audience == SAPPORO_FOR_OTHERS && strcmp(v->type, "path") == 0;
}

/* Returns 1 if a name of n characters begins with SAPPORO_ but the library does not read it. */
static int is_unknown(const char *name, size_t n)
{
    sapporo_variable v;
    if (strncmp(name, "SAPPORO_", 8) != 0) return 0;
    for (int k = 0; describe(k, &v); k++)
        if (strlen(v.name) == n && strncmp(v.name, name, n) == 0) return 0;
    return 1;
}

/* ---- hiding ---------------------------------------------------------------------- */

/* Values of hidden variables by number; NULL: the variable was not set. */
static char *hidden[64];

void hide_variables(void)
{
    sapporo_variable v;
    for (int k = 0; k < (int)(sizeof hidden / sizeof hidden[0]) && describe(k, &v); k++) {
        const char *const value = v.audience == SAPPORO_FOR_USERS ? getenv(v.name) : NULL;
        hidden[k] = value != NULL ? strdup(value) : NULL;
        if (hidden[k] != NULL) unsetenv(v.name);
    }
}

void show_variables(void)
{
    sapporo_variable v;
    for (int k = 0; k < (int)(sizeof hidden / sizeof hidden[0]) && describe(k, &v); k++) {
        if (hidden[k] != NULL) setenv(v.name, hidden[k], 1);
        free(hidden[k]);
        hidden[k] = NULL;
    }
}

/* ---- text ------------------------------------------------------------------------ */

/* Prints a text without its back quotes. */
static void print_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text != '`') putchar(*text);
}

static void print_variable(const sapporo_variable *v, const char *value)
{
    printf("  %-26s %-14s ", v->name, value != NULL ? value : "default");
    print_plain(v->values);
    if (v->usual[0] != '\0') {
        printf(" (default: ");
        print_plain(v->usual);
        printf(")");
    }
    printf("\n  %26s ", "");
    print_plain(v->about);
    printf("%s\n", v->audience == SAPPORO_FOR_TESTS ? "; for tests" : "");
}

/* Prints unknown variables, because a misspelt variable has no effect. */
static void print_unknown(void)
{
    for (char **entry = environ; *entry != NULL; entry++) {
        const size_t n = strcspn(*entry, "=");
        if ((*entry)[n] != '=' || !is_unknown(*entry, n)) continue;
        printf("  %-26.*s %s   (not read by this version: no effect)\n", (int)n, *entry, *entry + n + 1);
    }
}

void print_variables(const char *verbose)
{
    sapporo_variable v;
    for (int k = 0; describe(k, &v); k++) {
        const char *value = value_of(v.name, verbose);
        if (v.audience == SAPPORO_FOR_USERS || (value != NULL && !is_private(&v))) print_variable(&v, value);
    }
    if (getenv(CUDA_VISIBLE) != NULL) printf("  %-26s %s   (read by CUDA)\n", CUDA_VISIBLE, getenv(CUDA_VISIBLE));
    print_unknown();
}

/* ---- JSON ------------------------------------------------------------------------ */

static void json_set(const char *verbose)
{
    sapporo_variable v;
    json_begin("environment", '{');
    for (int k = 0; describe(k, &v); k++) {
        const char *value = value_of(v.name, verbose);
        if (value != NULL && !is_private(&v)) json_text(v.name, value);
    }
    if (getenv(CUDA_VISIBLE) != NULL) json_text(CUDA_VISIBLE, getenv(CUDA_VISIBLE));
    for (char **entry = environ; *entry != NULL; entry++) {
        const size_t n = strcspn(*entry, "=");
        char name[64];
        if ((*entry)[n] != '=' || !is_unknown(*entry, n)) continue;
        snprintf(name, sizeof name, "%.*s", (int)n, *entry);
        json_text(name, *entry + n + 1);
    }
    json_end('}');
}

void json_variables(const char *verbose)
{
    static const char *const audience[] = {"users", "tests", "other software"};
    sapporo_variable v;
    json_set(verbose);
    json_begin("variables", '[');
    for (int k = 0; describe(k, &v); k++) {
        json_begin(NULL, '{');
        json_text("name", v.name);
        json_text("audience",
                  v.audience >= SAPPORO_FOR_USERS && v.audience <= SAPPORO_FOR_OTHERS ? audience[v.audience] : "");
        json_text("type", v.type);
        json_text("values", v.values);
        json_text("default", v.usual);
        json_text("about", v.about);
        json_end('}');
    }
    json_end(']');
}

/* ---- docs/settings.md ---------------------------------------------------------------- */

static void print_rows(int others)
{
    sapporo_variable v;
    for (int k = 0; describe(k, &v); k++)
        if ((v.audience == SAPPORO_FOR_OTHERS) == others)
            printf("| `%s` | %s | %s | %s%s |\n", v.name, v.values, v.usual, v.about,
                   v.audience == SAPPORO_FOR_TESTS ? "; for tests" : "");
}

void print_variables_markdown(void)
{
    printf("| variable | values | default | what it decides |\n| --- | --- | --- | --- |\n");
    print_rows(0);
    printf("\nVariables of other software, which the library reads too:\n\n");
    printf("| variable | values | default | what the library takes from it |\n| --- | --- | --- | --- |\n");
    print_rows(1);
}
