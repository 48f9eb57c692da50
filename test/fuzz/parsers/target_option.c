/* target_option.c - command lines of the examples: numbers that are accepted are finite and in their range. */
#include "targets.h"

#include "../../../examples/apps/common/options.h" /* lib/ has a file of this name too */

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS = 12, CHOICES = 3 };

static const char *const choices[CHOICES + 1] = {"one", "two", "three", NULL};

struct targets {
    int flag, count, choice;
    long long integer;
    double real, range[2];
    const char *text;
};

/* The lines of a text become arguments; returns how many, the program's name included. */
static int split(char *text, char *arguments[ARGUMENTS + 1])
{
    static char name[] = "program";
    int n = 0;
    arguments[n++] = name;
    while (text && n < ARGUMENTS) {
        char *const end = strchr(text, '\n');
        if (end) *end = 0;
        arguments[n++] = text;
        text = end ? end + 1 : NULL;
    }
    arguments[n] = NULL;
    return n;
}

static void check_values(const struct targets *t)
{
    parser_require(t->flag == 0 || t->flag == 1, "a flag is 0 or 1");
    parser_require(t->count >= 1, "a count is positive");
    parser_require(t->choice >= 0 && t->choice < CHOICES, "a choice is in the list");
    parser_require(isfinite(t->real), "a number is finite");
    parser_require(isfinite(t->range[0]) && isfinite(t->range[1]), "a range is finite");
    parser_require(t->text != NULL, "a text is there");
}

void parse_option(const unsigned char *bytes, size_t size)
{
    char *arguments[ARGUMENTS + 1];
    const char *operand = NULL;
    message why;
    struct targets t = {.count = 1, .real = 1, .range = {0, 1}, .text = ""};
    option_rule rules[] = {
        {.kind = OPTION_TITLE, .name = "options"},
        {.kind = OPTION_FLAG, .letter = 'f', .name = "flag", .target = &t.flag},
        {.kind = OPTION_COUNT, .letter = 'n', .name = "count", .target = &t.count, .argument = "N"},
        {.kind = OPTION_INTEGER, .letter = 'i', .name = "integer", .target = &t.integer, .argument = "I"},
        {.kind = OPTION_REAL, .letter = 'r', .name = "real", .target = &t.real, .argument = "R"},
        {.kind = OPTION_RANGE, .letter = 'g', .name = "range", .target = t.range, .argument = "A:B"},
        {.kind = OPTION_CHOICE, .name = "choice", .target = &t.choice, .argument = "WORD", .choices = choices},
        {.kind = OPTION_TEXT, .name = "text", .target = &t.text, .argument = "TEXT"},
    };
    char *const text = malloc(size + 1);
    parser_require(text != NULL, "memory for a copy");
    if (size > 0) memcpy(text, bytes, size);
    text[size] = 0;
    const int n = split(text, arguments);
    const int status = options_parse(rules, (int)(sizeof rules / sizeof *rules), n, arguments, &operand, &why);
    parser_require(status == 0 || status == -1, "a command line is right or wrong");
    if (status == 0)
        check_values(&t);
    else
        parser_require(why.text[0] != 0, "a refusal has a reason");
    free(text);
}
