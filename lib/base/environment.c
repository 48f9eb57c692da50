/* environment.c - the one reader of environment variables; see environment.h. */
#define _GNU_SOURCE /* getauxval's header; issetugid */
#include "base/environment.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h> /* strncasecmp */
#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "base/fpenv.h"

enum { SHOWN = 40 }; /* characters of a bad value that a message repeats */

static const char blanks[] = " \t\r\n\v\f";

static int is_blank(char c) { return c != 0 && strchr(blanks, c) != NULL; }
static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---------------------------------------------------------------- text */

const struct sap_word *sap_parse_word(const struct sap_word *words, const char *text, size_t n)
{
    for (; words->text != NULL; words++)
        if (strlen(words->text) == n && strncasecmp(words->text, text, n) == 0) return words;
    return NULL;
}

size_t sap_parse_count(const char *text, size_t n, int *value)
{
    long long sum = 0;
    size_t k = 0;
    for (; k < n && is_digit(text[k]); k++) {
        sum = 10 * sum + (text[k] - '0');
        if (sum > INT_MAX) return 0;
    }
    if (k > 0) *value = (int)sum;
    return k;
}

/* Appends the digits from text[k] on to *value; returns the position after them. */
static size_t digits(const char *text, size_t n, size_t k, double *value, int *count)
{
    for (; k < n && is_digit(text[k]); k++, ++*count) *value = *value * 10 + (text[k] - '0');
    return k;
}

static double power_of_ten(int power)
{
    double value = 1;
    while (power-- > 0) value *= 10;
    return value;
}

/* Does not use strtod, which depends on the decimal point of the caller's locale. */
int sap_parse_real(const char *text, size_t n, double *value)
{
    double sum = 0, exponent = 0;
    int whole = 0, after = 0, power = 0, negative = 0;
    size_t k = digits(text, n, 0, &sum, &whole);
    if (k < n && text[k] == '.') k = digits(text, n, k + 1, &sum, &after);
    if (whole + after == 0 || whole + after > 40) return 0;
    if (k < n && (text[k] == 'e' || text[k] == 'E')) {
        k++;
        negative = k < n && text[k] == '-';
        if (k < n && (text[k] == '-' || text[k] == '+')) k++;
        k = digits(text, n, k, &exponent, &power);
        if (power < 1 || power > 2) return 0;
    }
    if (k < n) return 0;
    const int scale = (negative ? -(int)exponent : (int)exponent) - after;
    *value = scale < 0 ? sum / power_of_ten(-scale) : sum * power_of_ten(scale);
    return 1;
}

int sap_parse_list(const char *text, size_t n, int *list, int room)
{
    size_t k = 0;
    int count = 0;
    while (k < n && is_blank(text[k])) k++;
    for (;;) {
        const size_t length = count < room ? sap_parse_count(text + k, n - k, &list[count]) : 0;
        if (length == 0) return -1;
        count++;
        k += length;
        const size_t behind = k;
        while (k < n && is_blank(text[k])) k++;
        if (k == n) return count;
        if (text[k] == ',') {
            for (k++; k < n && is_blank(text[k]);) k++;
        } else if (k == behind) {
            return -1;
        }
    }
}

/* ---------------------------------------------------------------- variables */

int sap_env_raised(void)
{
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__)
    return issetugid();
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

/* The unchanged value; NULL: not set, or a variable for tests in a process with raised privileges. */
static const char *value_of(const struct sap_variable_row *variable)
{
    return variable->audience == SAPPORO_FOR_TESTS && sap_env_raised() ? NULL : getenv(variable->name);
}

int sap_env_is_set(const struct sap_variable_row *variable) { return value_of(variable) != NULL; }

size_t sap_env_text(const struct sap_variable_row *variable, const char **text)
{
    const char *const value = value_of(variable);
    *text = value != NULL ? value + strspn(value, blanks) : "";
    size_t n = strlen(*text);
    while (n > 0 && is_blank((*text)[n - 1])) n--;
    return n;
}

const char *sap_env_path(const struct sap_variable_row *variable)
{
    const char *const value = sap_env_raised() ? NULL : value_of(variable);
    return value != NULL && *value != 0 ? value : NULL;
}

/* Writes "NAME is 'text'; it may be " without control characters; returns the length. */
static size_t begin_wrong(char *wrong, const char *name, const char *text, size_t n)
{
    const int shown = n < SHOWN ? (int)n : SHOWN;
    const int length = snprintf(wrong, SAP_WRONG_ROOM, "%.60s is '%.*s'; it may be ", name, shown, text);
    for (; *wrong; wrong++)
        if ((unsigned char)*wrong < ' ' || *wrong == 0x7F) *wrong = '?';
    return length > 0 ? (size_t)length : 0;
}

void sap_env_wrong_word(char *wrong, const char *name, const char *text, size_t n, const struct sap_word *words)
{
    size_t at = begin_wrong(wrong, name, text, n);
    for (; words->text != NULL && at < SAP_WRONG_ROOM; words++) {
        const char *const next = words[1].text == NULL ? "" : words[2].text == NULL ? " or " : ", ";
        at += (size_t)snprintf(wrong + at, SAP_WRONG_ROOM - at, "%s%s", words->text, next);
    }
}

/* Appends the allowed values to a message of `at` characters. */
static void end_wrong(char *wrong, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void end_wrong(char *wrong, size_t at, const char *format, ...)
{
    va_list args;
    if (at >= SAP_WRONG_ROOM) return;
    va_start(args, format);
    (void)vsnprintf(wrong + at, SAP_WRONG_ROOM - at, format, args);
    va_end(args);
}

enum sap_reading sap_env_word(const struct sap_variable_row *variable, const struct sap_word **found, char *wrong)
{
    const char *text;
    const size_t n = sap_env_text(variable, &text);
    if (n == 0) return SAP_READ_UNSET;
    const struct sap_word *const word = sap_parse_word(variable->words, text, n);
    if (word == NULL) {
        sap_env_wrong_word(wrong, variable->name, text, n, variable->words);
        return SAP_READ_BAD;
    }
    *found = word;
    return SAP_READ_GOOD;
}

/* The length of the text that counts: of the first number for SAP_TYPE_FIRST ("4" in "4,2"), else of the whole text. */
static size_t counting(enum sap_variable_type type, const char *text, size_t n)
{
    const char *const comma = type == SAP_TYPE_FIRST ? memchr(text, ',', n) : NULL;
    if (comma != NULL) n = (size_t)(comma - text);
    while (n > 0 && is_blank(text[n - 1])) n--;
    return n;
}

enum sap_reading sap_env_number(const struct sap_variable_row *variable, int *value, char *wrong)
{
    const char *text;
    const size_t n = sap_env_text(variable, &text), length = counting(variable->type, text, n);
    int found = 0;
    if (n == 0) return SAP_READ_UNSET;
    if (length > 0 && sap_parse_count(text, length, &found) == length && found >= variable->least &&
        found <= variable->most) {
        *value = found;
        return SAP_READ_GOOD;
    }
    const size_t at = begin_wrong(wrong, variable->name, text, n);
    if (variable->most == INT_MAX)
        end_wrong(wrong, at, "a whole number of at least %d", variable->least);
    else
        end_wrong(wrong, at, "%d to %d", variable->least, variable->most);
    return SAP_READ_BAD;
}

enum sap_reading sap_env_real(const struct sap_variable_row *variable, double *value, char *wrong)
{
    const char *text;
    const size_t n = sap_env_text(variable, &text);
    double found = 0;
    if (n == 0) return SAP_READ_UNSET;
    const sap_fpenv caller = sap_fp_enter();
    const int good = sap_parse_real(text, n, &found) && found > 0 && found <= 1e30;
    sap_fp_leave(caller);
    if (good) {
        *value = found;
        return SAP_READ_GOOD;
    }
    end_wrong(wrong, begin_wrong(wrong, variable->name, text, n), "a number > 0 and at most 1e30, such as 0.7");
    return SAP_READ_BAD;
}

enum sap_reading sap_env_list(const struct sap_variable_row *variable, int *list, int room, int *n, char *wrong)
{
    const char *text;
    const size_t length = sap_env_text(variable, &text);
    if (length == 0) return SAP_READ_UNSET;
    const int found = sap_parse_list(text, length, list, room);
    if (found > 0) {
        *n = found;
        return SAP_READ_GOOD;
    }
    end_wrong(wrong, begin_wrong(wrong, variable->name, text, length), "device numbers as in '0 2', at most %d", room);
    return SAP_READ_BAD;
}

enum sap_reading sap_env_check(const struct sap_variable_row *variable, char *wrong)
{
    const struct sap_word *word;
    const char *text;
    int value;
    double real;
    switch (variable->type) {
    case SAP_TYPE_WORD:
        return sap_env_word(variable, &word, wrong);
    case SAP_TYPE_COUNT:
    case SAP_TYPE_FIRST:
        return sap_env_number(variable, &value, wrong);
    case SAP_TYPE_REAL:
        return sap_env_real(variable, &real, wrong);
    default:
        return sap_env_text(variable, &text) > 0 ? SAP_READ_GOOD : SAP_READ_UNSET;
    }
}
