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
    double G;                                        /* from a comment; 0 if there is none */
    const char *names;                               /* a comment that names the columns; NULL: none */
    int names_number, names_at;                      /* its line in the file; lines before it that are not empty */
    char units[BODIES_REMARK], parts[BODIES_REMARK]; /* from comments; "" if there are none */
    int units_number;                                /* the line of the units in the file; 0: none */
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
/* Whether the first word of a line is such a number. */
int text_begins_with_real(const char *text);
int text_integer(const char *word, int *value);
/* Reads an id, a whole number of 64 bits.  -1: it is none; TEXT_LARGE: it is too large. */
enum { TEXT_LARGE = -2 };
int text_id(const char *word, long long *id);
/* Fails with a message about the id in line k. */
int text_fail_id(const text_lines *lines, int k, const char *word, int verdict);
/*
 * Whether a line has a comma between two digits, as in 1,5, and numbers that no comma separates: then the comma may
 * belong to a number.
 */
int text_has_decimal_comma(const char *text);
/* Fails with a message about such a line. */
int text_fail_comma(const text_lines *lines, int k);
/* Cuts the line into words in place and returns their number; only the first TOKENS_MAX are stored. */
int text_cut(char *text, char *word[TOKENS_MAX]);

/*
 * Reads line k as exactly `count` numbers.  For messages, `what` names the numbers, and `who` is the number of the
 * particle, from 1 (0: none).  -1 with a message that names the line, or the end of the file.
 */
int text_reals(const text_lines *lines, int k, int count, const char *what, int who, double *value);
int text_count(const text_lines *lines, int k, const char *what, int who, int *value);
/* Reads line k as the id of particle `who`. */
int text_index(const text_lines *lines, int k, int who, long long *id);
/* Fails with a message that names line k. */
int text_fail(const text_lines *lines, int k, const char *format, ...) MESSAGE_FORMAT(3);

int snapshot_parse_init(const text_lines *lines, bodies *set);
int snapshot_parse_pl(const text_lines *lines, bodies *set);
/* Parses the form with one particle per line, after `headers` lines. */
int snapshot_parse_lines(const text_lines *lines, int headers, bodies *set);
int snapshot_parse_csv(const text_lines *lines, bodies *set);
/* PeTar's form: file id, N and time in the first line; columns from mass to vz, and others behind them. */
int snapshot_is_petar(const text_lines *lines);
int snapshot_parse_petar(const text_lines *lines, bodies *set);

/* Takes the number of particles and the time from the lines before the particles. */
int snapshot_read_headers(const text_lines *lines, int headers, int particles, bodies *set);

/* ---- names of columns in a comment (snapshot_names.c) ---- */

enum { COLUMN_ID, COLUMN_MASS, COLUMN_X, COLUMN_Y, COLUMN_Z, COLUMN_VX, COLUMN_VY, COLUMN_VZ, COLUMNS };

/* Returns the column of a name, without regard to case; -1: none. */
int snapshot_column(const char *name);
const char *snapshot_column_name(int column);

/* Returns the next word of a comment, copied to `word`, from *rest; NULL at its end.  What is in brackets is no word.
 */
enum { NAME_ROOM = 16 };
char *snapshot_next_name(const char **rest, char word[NAME_ROOM]);

/* The names of a comment that are left. */
typedef struct column_names {
    const char *rest;
    char first[COLUMNS]; /* how the name of each column begins; 0: not yet named */
} column_names;

/*
 * Reads the next name of a comment; *column is -1 if it is none of ours.  Of z and Z (metallicity) the first is ours.
 * Returns 0 at the end.
 */
int snapshot_next_column(column_names *list, int *column);

/*
 * Whether a comment names the columns: it has nothing but names of columns, at least three, or all that a particle
 * needs, each once.
 */
int snapshot_names_columns(const char *comment);

/*
 * Writes the units of a comment that names nothing but quantities or columns, such as "m[Msun] x[pc] v(km/s)", each
 * once: "Msun, pc, km/s".  Returns 0 if it has none.
 */
int snapshot_named_units(const char *comment, char units[BODIES_REMARK]);

/* Adds a unit to a list, unless it is in it. */
void snapshot_add_unit(char units[BODIES_REMARK], const char *unit, size_t length);

/*
 * Writes the units of our columns from the comment below `names`, as AMUSE writes it: one unit per name.  Returns 0 if
 * it is another comment.
 */
int snapshot_unit_line(const char *names, const char *comment, char units[BODIES_REMARK]);

/* Whether the names of the comment are those of the forms without names, in their order: [id] mass x y z vx vy vz. */
int snapshot_names_usual(const text_lines *lines);

/*
 * Finds the first particle of a file whose comment names the columns: *headers lines are before it.  `fields` is the
 * number of columns, `only_known` 1 if other words of the comment are no columns.  -1, with a message: the comment and
 * the lines do not agree.
 */
int snapshot_names_fit(const text_lines *lines, int *headers, int *fields, int *only_known);

/* Parses the lines of particles, whose columns a comment names. */
int snapshot_parse_named(const text_lines *lines, bodies *set);

#endif
