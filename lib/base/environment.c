/* environment.c - the one reader of environment variables; see environment.h. */
#define _GNU_SOURCE /* getauxval's header; issetugid */
#include "base/environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h> /* strncasecmp */
#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "base/fpenv.h"
#include "sapporo.h"

enum { SHOWN = 40 }; /* characters of a bad value that a message repeats */

static const char blanks[] = " \t\r\n\v\f";

const struct sap_word sap_backend_words[] = {{"auto", SAPPORO_BACKEND_AUTO},
                                             {"cuda", SAPPORO_BACKEND_CUDA},
                                             {"opencl", SAPPORO_BACKEND_OPENCL},
                                             {"cpu", SAPPORO_BACKEND_CPU},
                                             {NULL, 0}};
const struct sap_word sap_method_words[] = {{"direct", 0}, {"tree", 1}, {NULL, 0}};

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

/* Appends the digits at text[k] to *value; returns the place behind them. */
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

/* Not strtod, which takes the decimal point of the caller's locale. */
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

size_t sap_env_text(const char *name, const char **text)
{
    const char *value = getenv(name);
    *text = value != NULL ? value + strspn(value, blanks) : "";
    size_t n = strlen(*text);
    while (n > 0 && is_blank((*text)[n - 1])) n--;
    return n;
}

const char *sap_env_path(const char *name)
{
    const char *value = sap_env_raised() ? NULL : getenv(name);
    return value != NULL && *value != 0 ? value : NULL;
}

/* "NAME is 'text'; it may be ", without control characters; returns the length. */
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

enum sap_reading sap_env_word(const char *name, const struct sap_word *words, const struct sap_word **found,
                              char *wrong)
{
    const char *text;
    const size_t n = sap_env_text(name, &text);
    if (n == 0) return SAP_READ_UNSET;
    const struct sap_word *const word = sap_parse_word(words, text, n);
    if (word == NULL) {
        sap_env_wrong_word(wrong, name, text, n, words);
        return SAP_READ_BAD;
    }
    *found = word;
    return SAP_READ_GOOD;
}

static const struct {
    const char *name;
    int least, most;
    int for_tests;
} numbers[SAP_ENV_NUMBERS] = {
    [SAP_ENV_VERBOSE] = {.name = "SAPPORO_VERBOSE", .least = 0, .most = 9},
    [SAP_ENV_NPIPES] = {.name = "GRAPE_NPIPES", .least = 1, .most = 1000000},
    [SAP_ENV_OPENCL_VECTORS] = {.name = "SAPPORO_OPENCL_VECTORS", .least = 0, .most = 1, .for_tests = 1},
    [SAP_ENV_OPENCL_FP64] = {.name = "SAPPORO_OPENCL_FP64", .least = 0, .most = 1, .for_tests = 1},
    [SAP_ENV_OPENCL_SPLIT] = {.name = "SAPPORO_OPENCL_SPLIT", .least = 1, .most = 1024, .for_tests = 1},
};

const char *sap_env_number_name(enum sap_env_number which) { return numbers[which].name; }

enum sap_reading sap_env_number(enum sap_env_number which, int *value, char *wrong)
{
    const char *text;
    const size_t n = sap_env_text(numbers[which].name, &text);
    int found = 0;
    if (n == 0 || (numbers[which].for_tests && sap_env_raised())) return SAP_READ_UNSET;
    if (sap_parse_count(text, n, &found) == n && found >= numbers[which].least && found <= numbers[which].most) {
        *value = found;
        return SAP_READ_GOOD;
    }
    const size_t at = begin_wrong(wrong, numbers[which].name, text, n);
    if (at < SAP_WRONG_ROOM)
        (void)snprintf(wrong + at, SAP_WRONG_ROOM - at, "%d to %d", numbers[which].least, numbers[which].most);
    return SAP_READ_BAD;
}

enum sap_reading sap_env_real(const char *name, double *value, char *wrong)
{
    const char *text;
    const size_t n = sap_env_text(name, &text);
    double found = 0;
    if (n == 0) return SAP_READ_UNSET;
    const sap_fpenv caller = sap_fp_enter();
    const int good = sap_parse_real(text, n, &found) && found > 0 && found <= 1e30;
    sap_fp_leave(caller);
    if (good) {
        *value = found;
        return SAP_READ_GOOD;
    }
    const size_t at = begin_wrong(wrong, name, text, n);
    if (at < SAP_WRONG_ROOM)
        (void)snprintf(wrong + at, SAP_WRONG_ROOM - at, "a number > 0 and at most 1e30, such as 0.7");
    return SAP_READ_BAD;
}

enum sap_reading sap_env_list(const char *name, int *list, int room, int *n, char *wrong)
{
    const char *text;
    const size_t length = sap_env_text(name, &text);
    if (length == 0) return SAP_READ_UNSET;
    const int found = sap_parse_list(text, length, list, room);
    if (found > 0) {
        *n = found;
        return SAP_READ_GOOD;
    }
    const size_t at = begin_wrong(wrong, name, text, length);
    if (at < SAP_WRONG_ROOM)
        (void)snprintf(wrong + at, SAP_WRONG_ROOM - at, "device numbers as in '0 2', at most %d", room);
    return SAP_READ_BAD;
}
