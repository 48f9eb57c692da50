/*
 * options.c - reads a command line by a table.
 */
#include "options.h"
#include "completion.h"
#include "manual.h"
#include "nearest_name.h"
#include "number.h"
#include <limits.h>
#include <sapporo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAD = -1, TOO_LARGE = -2 }; /* of values */

static int takes_value(const option_spec *option) { return option->type != OPTION_ON && option->type != OPTION_OFF; }

static void print_help(const char *command, const char *summary, const option_spec *table)
{
    printf("usage: sapporo %s [options]\n\n%s\n\noptions:\n", command, summary);
    for (const option_spec *option = table; option->name != NULL; option++) {
        if (option->help == NULL) continue;
        char left[80];
        snprintf(left, sizeof left, "%s%s%s", option->name, takes_value(option) ? " " : "",
                 takes_value(option) ? option->argument : "");
        if (strlen(left) > 26)
            printf("  %s\n  %-26s  %s\n", left, "", option->help);
        else
            printf("  %-26s  %s\n", left, option->help);
    }
    printf("  %-26s  %s\n", "--help", "this text");
    printf("  %-26s  %s\n", "--version", "the version of libsapporo");
}

/* Reads a whole number, written as 65536, 1e6, 64k or 1M; returns BAD or TOO_LARGE for others. */
static int read_count(const char *text, int least, int *count)
{
    long long value = 0;
    const number_verdict verdict = number_whole(text, least, INT_MAX, &value);
    if (verdict != NUMBER_OK) return verdict == NUMBER_LARGE ? TOO_LARGE : BAD;
    *count = (int)value;
    return 0;
}

static int read_real(const char *text, double *real)
{
    double value = 0;
    const number_verdict verdict = number_real(text, strlen(text), &value);
    if (verdict != NUMBER_OK || value < 0) return verdict == NUMBER_LARGE && text[0] != '-' ? TOO_LARGE : BAD;
    *real = value;
    return 0;
}

/* 1 if `word` is one of "a|b|c". */
static int is_choice(const char *word, const char *choices)
{
    const size_t length = strlen(word);
    for (const char *start = choices; length > 0 && start != NULL;) {
        const char *bar = strchr(start, '|');
        const size_t room = bar != NULL ? (size_t)(bar - start) : strlen(start);
        if (room == length && strncmp(word, start, length) == 0) return 1;
        start = bar != NULL ? bar + 1 : NULL;
    }
    return 0;
}

static int add_word(word_list *list, const option_spec *option, const char *word)
{
    const size_t length = strlen(word);
    if (length >= WORD_ROOM || !is_choice(word, option->argument) || list->n == LIST_ROOM) return BAD;
    memcpy(list->word[list->n++], word, length + 1);
    return 0;
}

static int add_count(count_list *list, const option_spec *option, const char *text)
{
    if (list->n == LIST_ROOM) return BAD;
    const int status = read_count(text, option->least, &list->value[list->n]);
    list->n += status == 0;
    return status;
}

static int add_real(real_list *list, const char *text)
{
    if (list->n == LIST_ROOM) return BAD;
    const int status = read_real(text, &list->value[list->n]);
    list->n += status == 0;
    return status;
}

static int add_piece(const option_spec *option, const char *piece)
{
    if (option->type == OPTION_COUNTS) return add_count(option->target, option, piece);
    if (option->type == OPTION_REALS) return add_real(option->target, piece);
    return add_word(option->target, option, piece);
}

static void empty_list(const option_spec *option)
{
    if (option->type == OPTION_COUNTS)
        ((count_list *)option->target)->n = 0;
    else if (option->type == OPTION_REALS)
        ((real_list *)option->target)->n = 0;
    else
        ((word_list *)option->target)->n = 0;
}

/* Appends each item between commas to the list of the option. */
static int read_list(const option_spec *option, const char *text)
{
    empty_list(option);
    for (;;) {
        const size_t length = strcspn(text, ",");
        char piece[64];
        if (length >= sizeof piece) return BAD;
        memcpy(piece, text, length);
        piece[length] = '\0';
        const int status = add_piece(option, piece);
        if (status != 0) return status;
        if (text[length] == '\0') return 0;
        text += length + 1;
    }
}

static int store(const option_spec *option, const char *value)
{
    switch (option->type) {
    case OPTION_ON:
        *(int *)option->target = 1;
        return 0;
    case OPTION_OFF:
        *(int *)option->target = 0;
        return 0;
    case OPTION_COUNT:
        return read_count(value, option->least, option->target);
    case OPTION_REAL:
        return read_real(value, option->target);
    case OPTION_TEXT:
        *(const char **)option->target = value;
        return 0;
    case OPTION_WORD:
        ((word_list *)option->target)->n = 0;
        return add_word(option->target, option, value);
    case OPTION_COUNTS:
    case OPTION_WORDS:
    case OPTION_REALS:
        return read_list(option, value);
    }
    return BAD;
}

/* Finds the option that an argument names, which may continue with "=value". */
static const option_spec *find(const option_spec *table, const char *argument, const char **value)
{
    const size_t length = strcspn(argument, "=");
    for (const option_spec *option = table; option->name != NULL; option++) {
        if (strlen(option->name) != length || strncmp(option->name, argument, length) != 0) continue;
        *value = argument[length] == '=' ? argument + length + 1 : NULL;
        return option;
    }
    return NULL;
}

static int complain(const char *command, const char *what, const char *argument, const char *rest)
{
    fprintf(stderr, "sapporo %s: %s '%s'%s; see sapporo %s --help\n", command, what, argument, rest, command);
    return -1;
}

/* Refuses an option that does not exist, and names the one that may be meant. */
static int refuse_option(const char *command, const option_spec *table, const char *argument)
{
    char rest[80] = "";
    int smallest = NAME_FAR;
    for (const option_spec *option = table; option->name != NULL; option++) {
        const int distance = name_distance(argument, strcspn(argument, "="), option->name);
        if (option->help == NULL || distance >= smallest) continue;
        smallest = distance;
        snprintf(rest, sizeof rest, "; did you mean %s?", option->name);
    }
    return complain(command, "unknown option", argument, rest);
}

static int refuse_value(const char *command, const option_spec *option, const char *value, int verdict)
{
    char rest[160];
    if (verdict == TOO_LARGE) {
        if (option->type == OPTION_REAL || option->type == OPTION_REALS)
            snprintf(rest, sizeof rest, " for %s, at most 1.7e308 is possible", option->name);
        else
            snprintf(rest, sizeof rest, " for %s, at most %d is possible", option->name, INT_MAX);
        return complain(command, "too large a value", value, rest);
    }
    if (option->type == OPTION_WORD || option->type == OPTION_WORDS)
        snprintf(rest, sizeof rest, " for %s, it takes %s", option->name, option->argument);
    else if (option->type == OPTION_COUNT || option->type == OPTION_COUNTS)
        snprintf(rest, sizeof rest, " for %s, it takes whole numbers from %d", option->name, option->least);
    else
        snprintf(rest, sizeof rest, " for %s", option->name);
    return complain(command, "bad value", value, rest);
}

int options_parse(const char *summary, const option_spec *table, int argc, char **argv)
{
    const char *command = argv[0];
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0) {
            print_help(command, summary, table);
            return 1;
        }
        if (strcmp(argv[k], "--version") == 0) {
            printf("sapporo %s\n", sapporo_version());
            return 1;
        }
        if (strcmp(argv[k], "--man") == 0) {
            manual_command(command, summary, table);
            return 1;
        }
        if (strcmp(argv[k], "--completion") == 0 && k + 1 < argc &&
            completion_shell_of(argv[k + 1]) != COMPLETION_NONE) {
            completion_command(completion_shell_of(argv[k + 1]), command, table);
            return 1;
        }
        const char *value = NULL;
        const option_spec *option = find(table, argv[k], &value);
        if (option == NULL) return refuse_option(command, table, argv[k]);
        if (!takes_value(option) && value != NULL) return complain(command, "no value is taken by", option->name, "");
        if (takes_value(option) && value == NULL) {
            if (++k == argc) return complain(command, "a value is missing after", option->name, "");
            value = argv[k];
        }
        const int verdict = store(option, value);
        if (verdict != 0) return refuse_value(command, option, value, verdict);
    }
    return 0;
}

int options_given(const option_spec *option, int argc, char **argv)
{
    for (int k = 1; k < argc; k++)
        if (strcspn(argv[k], "=") == strlen(option->name) && strncmp(argv[k], option->name, strlen(option->name)) == 0)
            return 1;
    return 0;
}
