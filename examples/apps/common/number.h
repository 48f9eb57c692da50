/* number.h - reads numbers as people write them: 65536, 0.25, 1e6, 64k, 1.5M. */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

#include <stddef.h>

typedef enum number_verdict {
    NUMBER_OK = 0,
    NUMBER_WRONG = 1, /* no number, or no whole number */
    NUMBER_SMALL = 2, /* below `least` */
    NUMBER_LARGE = 3  /* above `most`, or beyond the range of double */
} number_verdict;

/*
 * Reads the whole text as one number: digits, or a decimal number with an exponent or one of the letters k, M and G
 * (thousand, million, 10^9) behind it.  *value changes only if the verdict is NUMBER_OK.
 */
number_verdict number_whole(const char *text, long long least, long long most, long long *value);

/*
 * Reads the first `length` characters of the text as one decimal number, which may have an exponent or one of these
 * letters behind it.  *value changes only if the verdict is NUMBER_OK, and is finite then.
 */
number_verdict number_real(const char *text, size_t length, double *value);

#endif
