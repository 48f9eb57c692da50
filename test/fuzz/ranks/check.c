/* check.c - see check.h. */
#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static char found[CHECK_TEXT];

void check_begin(void) { found[0] = '\0'; }

const char *check_text(void) { return found; }

void wrong(const char *format, ...)
{
    va_list args;
    if (*found) return;
    va_start(args, format);
    (void)vsnprintf(found, sizeof found, format, args);
    va_end(args);
}

int is_common(int number)
{
    const int both[2] = {number, -number};
    int least[2];
    ranks_combine(both, least, 2, MPI_MIN);
    return least[0] == -least[1];
}

int is_common_double(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    const int low = is_common((int)(bits & 0x3fffffff)), high = is_common((int)(bits >> 34));
    return low && high;
}

int most_of(int number)
{
    int most;
    ranks_combine(&number, &most, 1, MPI_MAX);
    return most;
}

static int number_of(const char *text)
{
    unsigned number = 7;
    for (; *text; text++) number = number * 31 + (unsigned char)*text;
    return (int)(number >> 2);
}

void check_status(const char *call, int status, int expected, const char *text, const char *words)
{
    const int common = is_common(status), told = is_common(status < 0 ? number_of(text) : 0);
    if (!common) wrong("%s: status %d here, another one on other ranks: %s", call, status, text);
    if (!told) wrong("%s: the text differs between ranks: %s", call, text);
    if (status != expected) wrong("%s: status %d, should be %d: %s", call, status, expected, status < 0 ? text : "");
    if (status < 0 && !*text) wrong("%s: status %d without a text", call, status);
    if (status < 0 && words && !strstr(text, words)) wrong("%s: no word of %s: %s", call, words, text);
}

/* Whether a text has a word, with no letter of a longer name behind it. */
static int has_name(const char *text, const char *name)
{
    const char *const at = strstr(text, name);
    return at && (at[strlen(name)] != '_' || has_name(at + 1, name));
}

void check_different(int status, const char *text, const char *a, const char *b)
{
    if (!is_common(status)) wrong("%s and %s: statuses differ, %d here: %s", a, b, status, text ? text : "");
    if (status != SAPPORO_MPI_ERR_DIFFERENT) wrong("%s and %s: status %d: %s", a, b, status, text ? text : "");
    if (text && (!has_name(text, a) || !has_name(text, b))) wrong("%s and %s are not named: %s", a, b, text);
}

int is_same(double a, double b) { return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0; }

int are_same(const double *a, const double *b, int n)
{
    for (int k = 0; k < n; k++)
        if (!is_same(a[k], b[k])) return 0;
    return 1;
}

static const double untouched = -0x1.2345p77;

void poison(double *to, int n)
{
    for (int k = 0; k < n; k++) to[k] = untouched;
}

int is_poison(double x) { return is_same(x, untouched); }

int are_spoilt(const double *x, int n)
{
    for (int k = 0; k < n; k++)
        if (isfinite(x[k]) && !is_poison(x[k])) return 0;
    return 1;
}
