/*
 * snapshot_text.h - between the parts of the snapshot reader: the lines of a file and their numbers.
 */
#ifndef COMMON_SNAPSHOT_TEXT_H
#define COMMON_SNAPSHOT_TEXT_H

#include "snapshot.h"

typedef struct text_line {
    char *text; /* without line end and comment; never empty */
    int number; /* in the file, from 1 */
} text_line;

typedef struct text_lines {
    const char *name; /* of the file, for messages */
    text_line *line;  /* those that are not empty */
    int n;
    int last;    /* number of the last line of the file */
    double time; /* from a comment; 0 if there was none */
    message *about;
} text_lines;

enum { TOKENS_MAX = 16 }; /* more than any of the forms has in a line */

/* Splits the text in place.  -1: no memory, or not a text. */
int text_split(text_lines *lines, char *text, size_t length);
void text_free(text_lines *lines);

/* Number of words of a line, separated by blanks, commas or semicolons. */
int text_words(const char *text);
/* Reads one whole word as a number; 0, or -1 if it is none or not finite. */
int text_real(const char *word, double *value);
int text_integer(const char *word, int *value);
/* Cuts the line into words in place and returns their number; only the first TOKENS_MAX are stored. */
int text_cut(char *text, char *word[TOKENS_MAX]);

/*
 * Reads line k as exactly `count` numbers.  `what` says for messages what they are, and `who` counts the particles
 * from 1 (0: not a particle's).  -1 with a message that names the line, or the end of the file.
 */
int text_reals(const text_lines *lines, int k, int count, const char *what, int who, double *value);
int text_count(const text_lines *lines, int k, const char *what, int who, int *value);
/* Fails, naming line k. */
int text_fail(const text_lines *lines, int k, const char *format, ...) MESSAGE_FORMAT(3);

int snapshot_parse_init(const text_lines *lines, bodies *set);
int snapshot_parse_pl(const text_lines *lines, bodies *set);
/* `headers` lines stand before the particles. */
int snapshot_parse_lines(const text_lines *lines, int headers, bodies *set);
int snapshot_parse_csv(const text_lines *lines, bodies *set);

#endif
