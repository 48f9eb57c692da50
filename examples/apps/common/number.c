/*
 * number.c - see number.h.
 */
#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the factor of the letter at the end of a number; 0 if the rest of the text is something else. */
static double factor_of(const char *rest)
{
    if (rest[0] == '\0') return 1;
    if (rest[1] != '\0') return 0;
    switch (rest[0]) {
    case 'k':
    case 'K':
        return 1e3;
    case 'M':
        return 1e6;
    case 'G':
        return 1e9;
    default:
        return 0;
    }
}

/* Returns 1 if the text has only characters of decimal numbers, so that strtod reads no "inf", "nan" or "0x10". */
static int is_decimal(const char *text)
{
    return strpbrk(text, "0123456789") != NULL && text[strspn(text, "+-.0123456789eE")] == '\0';
}

number_verdict number_whole(const char *text, long long least, long long most, long long *value)
{
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0) { /* with a point, an exponent or a letter, or too long */
        char digits[64];
        const size_t length = strlen(text), letter = length > 0 && strchr("kKMG", text[length - 1]) != NULL;
        if (length >= sizeof digits) return NUMBER_WRONG;
        memcpy(digits, text, length - letter);
        digits[length - letter] = '\0';
        if (!is_decimal(digits)) return NUMBER_WRONG;
        double real = strtod(digits, &end);
        if (*end != '\0') return NUMBER_WRONG;
        real *= factor_of(text + length - letter);
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
