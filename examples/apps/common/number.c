/*
 * number.c - see number.h.
 */
#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the factor of a letter behind a number. */
static double factor_of(char letter) { return letter == 'G' ? 1e9 : letter == 'M' ? 1e6 : 1e3; }

/* Returns 1 if the text has only characters of decimal numbers, so that strtod reads no "inf", "nan" or "0x10". */
static int is_decimal(const char *text)
{
    return strpbrk(text, "0123456789") != NULL && text[strspn(text, "+-.0123456789eE")] == '\0';
}

number_verdict number_real(const char *text, size_t length, double *value)
{
    char digits[128], *end;
    if (length == 0 || length >= sizeof digits) return NUMBER_WRONG;
    const size_t letter = strchr("kKMG", text[length - 1]) != NULL;
    memcpy(digits, text, length - letter);
    digits[length - letter] = '\0';
    if (!is_decimal(digits)) return NUMBER_WRONG;
    const double real = strtod(digits, &end) * (letter ? factor_of(text[length - 1]) : 1);
    if (*end != '\0') return NUMBER_WRONG;
    if (!isfinite(real)) return NUMBER_LARGE;
    *value = real;
    return NUMBER_OK;
}

number_verdict number_whole(const char *text, long long least, long long most, long long *value)
{
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0) { /* with a point, an exponent or a letter, or too long */
        double real = 0;
        const number_verdict verdict = number_real(text, strlen(text), &real);
        if (verdict == NUMBER_WRONG) return verdict;
        if (verdict == NUMBER_LARGE) return text[0] == '-' ? NUMBER_SMALL : NUMBER_LARGE;
        if (real >= 0x1p62) return NUMBER_LARGE;
        if (real <= -0x1p62) return NUMBER_SMALL;
        if (real != floor(real)) return NUMBER_WRONG;
        whole = (long long)real;
    }
    if (whole < least) return NUMBER_SMALL;
    if (whole > most) return NUMBER_LARGE;
    *value = whole;
    return NUMBER_OK;
}
