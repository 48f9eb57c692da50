/* snapshot_text.h - shared by the parts of the snapshot reader: the lines of a file and their numbers. */
#ifndef COMMON_SNAPSHOT_TEXT_H
#define COMMON_SNAPSHOT_TEXT_H

#include "snapshot.h"

typedef struct text_line {
    char *text; /* without line end and comment; never empty */
    int number; /* in the file, from 1 */
} text_line;

typedef struct text_lines {
    const char *name; /* name of the file, for messages */
    text_line *line;  /* lines that are not empty */
    int n;
    int last;                                        /* number of the last line of the file */
    double time;                                     /* time from a comment; 0 if there is none */
    char units[BODIES_REMARK], parts[BODIES_REMARK]; /* from comments; "" if there are none */
    message *about;
} text_lines;

enum { TOKENS_MAX = 16 }; /* more than any form has per line */

/* Splits the text into lines in place.  -1: memory is not sufficient, or the bytes are not text. */
int text_split(text_lines *lines, char *text, size_t length);
void text_free(text_lines *lines);

/* Returns the number of words of a line, separated by blanks, commas or semicolons. */
int text_words(const char *text);
/* Reads one whole word as a number; returns 0, or -1 if it is no number or not finite. */
int text_real(const char *word, double *value);
int text_integer(const char *word, int *value);
/* Cuts the line into words in place and returns their number; only the first TOKENS_MAX are stored. */
int text_cut(char *text, char *word[TOKENS_MAX]);

/*
 * Reads line k as exactly `count` numbers.  For messages, `what` names the numbers, and `who` is the number of the
 * particle, from 1 (0: none).  -1 with a message that names the line, or the end of the file.
 */
int text_reals(const text_lines *lines, int k, int count, const char *what, int who, double *value);
int text_count(const text_lines *lines, int k, const char *what, int who, int *value);
/* Fails with a message that names line k. */
int text_fail(const text_lines *lines, int k, const char *format, ...) MESSAGE_FORMAT(3);

int snapshot_parse_init(const text_lines *lines, bodies *set);
int snapshot_parse_pl(const text_lines *lines, bodies *set);
/* Parses the form with one particle per line, after `headers` lines. */
int snapshot_parse_lines(const text_lines *lines, int headers, bodies *set);
int snapshot_parse_csv(const text_lines *lines, bodies *set);

#endif
