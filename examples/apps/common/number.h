/* number.h - reads whole numbers as people write them: 65536, 1e6, 64k, 1.5M. */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

typedef enum number_verdict {
    NUMBER_OK = 0,
    NUMBER_WRONG = 1, /* no whole number */
    NUMBER_SMALL = 2, /* below `least` */
    NUMBER_LARGE = 3  /* above `most` */
} number_verdict;

/*
 * Reads the whole text as one number: digits, or a decimal number with an exponent or one of the letters k, M and G
 * (thousand, million, 10^9) behind it.  *value changes only if the verdict is NUMBER_OK.
 */
number_verdict number_whole(const char *text, long long least, long long most, long long *value);

#endif
