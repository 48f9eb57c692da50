/*
 * options.c - see options.h.
 */
#include "options.h"
#include "nearest_name.h"
#include "number.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads a finite number or fraction; *value changes only if the verdict is NUMBER_OK. */
static number_verdict fraction(const char *text, const char *end, double *value)
{
    double above = 0, below = 1;
    const char *slash = memchr(text, '/', (size_t)(end - text));
    number_verdict verdict = number_real(text, (size_t)((slash ? slash : end) - text), &above);
    if (!verdict && slash) verdict = number_real(slash + 1, (size_t)(end - slash - 1), &below);
    if (!verdict && below == 0) verdict = NUMBER_WRONG;
    if (!verdict && !isfinite(above / below)) verdict = NUMBER_LARGE;
    if (!verdict) *value = above / below;
    return verdict;
}

static int wrong(const option_rule *rule, const char *text, const char *wanted, message *why)
{
    return complain(why, "--%s wants %s, not '%.60s'", rule->name, wanted, text);
}

/* Reads a whole number; a number that is too large is told apart from text that is no number. */
static int whole(const option_rule *rule, const char *text, long long least, long long most, long long *value,
                 message *why)
{
    char wanted[80] = "a whole number";
    const number_verdict verdict = number_whole(text, least, most, value);
    if (verdict == NUMBER_OK) return 0;
    if (verdict == NUMBER_LARGE)
        return complain(why, "--%s %.60s is too large: at most %lld is possible", rule->name, text, most);
    if (least > 0) snprintf(wanted, sizeof wanted, "a whole number from %lld up, such as 4096, 1e6 or 64k", least);
    return wrong(rule, text, wanted, why);
}

static int set_count(const option_rule *rule, const char *text, message *why)
{
    long long number;
    if (whole(rule, text, 1, INT_MAX, &number, why)) return -1;
    *(int *)rule->target = (int)number;
    return 0;
}

static int set_real(const option_rule *rule, const char *text, message *why)
{
    const number_verdict verdict = fraction(text, text + strlen(text), rule->target);
    if (verdict == NUMBER_LARGE)
        return complain(why, "--%s %.60s is too large: at most 1.7e308 is possible", rule->name, text);
    return verdict ? wrong(rule, text, "a number", why) : 0;
}

static int set_range(const option_rule *rule, const char *text, message *why)
{
    double *range = rule->target;
    const char *colon = strchr(text, ':');
    if (!colon || fraction(text, colon, &range[0]) || fraction(colon + 1, text + strlen(text), &range[1]))
        return wrong(rule, text, "two numbers, LOW:HIGH", why);
    return 0;
}

static int set_choice(const option_rule *rule, const char *text, message *why)
{
    char list[160] = "one of";
    for (int k = 0; rule->choices[k]; k++) {
        if (!strcmp(text, rule->choices[k])) {
            *(int *)rule->target = k;
            return 0;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, " %s", rule->choices[k]);
    }
    return wrong(rule, text, list, why);
}

static int set_value(const option_rule *rule, const char *text, message *why)
{
    switch (rule->kind) {
    case OPTION_COUNT:
        return set_count(rule, text, why);
    case OPTION_RANGE:
        return set_range(rule, text, why);
    case OPTION_CHOICE:
        return set_choice(rule, text, why);
    case OPTION_INTEGER:
        return whole(rule, text, LLONG_MIN, LLONG_MAX, rule->target, why);
    case OPTION_REAL:
        return set_real(rule, text, why);
    case OPTION_TEXT:
        *(const char **)rule->target = text;
        return 0;
    case OPTION_FLAG:
    case OPTION_TITLE:
        break;
    }
    return 0;
}

static option_rule *find(option_rule *rules, int n, const char *name, size_t length)
{
    for (int k = 0; k < n; k++)
        if (rules[k].kind != OPTION_TITLE && strlen(rules[k].name) == length && !strncmp(rules[k].name, name, length))
            return &rules[k];
    return NULL;
}

option_rule *options_find(option_rule *rules, int n, const char *name) { return find(rules, n, name, strlen(name)); }

static option_rule *find_letter(option_rule *rules, int n, char letter)
{
    for (int k = 0; k < n; k++)
        if (rules[k].kind != OPTION_TITLE && letter && rules[k].letter == letter) return &rules[k];
    return NULL;
}

/* Fails for an option that does not exist, and names the one that may be meant. */
static int fail_unknown(const option_rule *rules, int n, const char *text, message *why)
{
    const option_rule *best = NULL;
    int smallest = NAME_FAR;
    const char *const name = text + 1 + (text[1] == '-');
    for (int k = 0; k < n; k++) {
        const int distance =
            rules[k].kind == OPTION_TITLE ? NAME_FAR : name_distance(name, strcspn(name, "="), rules[k].name);
        if (distance >= smallest) continue;
        smallest = distance;
        best = &rules[k];
    }
    if (best)
        return complain(why, "there is no option '%.60s'; did you mean --%s?  (--help lists all)", text, best->name);
    return complain(why, "there is no option '%.60s' (--help lists them)", text);
}

/* Parses the option at argv[*k], and its value, which may be the next argument. */
static int parse_one(option_rule *rules, int n, int argc, char **argv, int *k, message *why)
{
    char *text = argv[*k], *value = NULL;
    option_rule *rule;
    if (text[1] == '-') {
        size_t length = strcspn(text + 2, "=");
        rule = find(rules, n, text + 2, length);
        if (text[2 + length]) value = text + 2 + length + 1;
    } else {
        rule = find_letter(rules, n, text[1]);
        if (text[2]) value = text + 2;
    }
    if (!rule) return fail_unknown(rules, n, text, why);
    rule->given = 1;
    if (rule->kind == OPTION_FLAG) {
        if (value) return complain(why, "--%s takes no value", rule->name);
        *(int *)rule->target = 1;
        return 0;
    }
    if (!value && ++*k == argc) return complain(why, "--%s needs a value: %s", rule->name, rule->argument);
    return set_value(rule, value ? value : argv[*k], why);
}

int options_parse(option_rule *rules, int n, int argc, char **argv, const char **operand, message *why)
{
    int only_operands = 0;
    *operand = NULL;
    for (int k = 1; k < argc; k++) {
        if (!only_operands && !strcmp(argv[k], "--")) {
            only_operands = 1;
        } else if (!only_operands && argv[k][0] == '-' && argv[k][1]) {
            if (parse_one(rules, n, argc, argv, &k, why)) return -1;
        } else {
            if (*operand) return complain(why, "one file at a time: '%.60s' and '%.60s'", *operand, argv[k]);
            *operand = argv[k];
        }
    }
    return 0;
}

void options_help(const option_rule *rules, int n, FILE *stream)
{
    for (int k = 0; k < n; k++) {
        const option_rule *rule = &rules[k];
        char left[64], letter[8] = "    ";
        if (rule->kind == OPTION_TITLE) {
            fprintf(stream, "\n%s\n", rule->name);
            continue;
        }
        if (rule->letter) snprintf(letter, sizeof letter, "-%c, ", rule->letter);
        snprintf(left, sizeof left, "%s--%s %s", letter, rule->name, rule->argument ? rule->argument : "");
        fprintf(stream, "  %-28s %s\n", left, rule->help);
    }
}
