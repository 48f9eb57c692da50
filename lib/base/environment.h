/*
 * environment.h - the one reader of environment variables.
 *
 * Callers give the row of a variable (variable_table.h).  Upper and lower case
 * of words are equal, and blanks around a value do not count.  A variable that
 * is empty or blank counts as not set.  For an invalid value the reader writes a
 * text with the allowed values; the caller makes an error or a warning of the
 * text.  The libraries beside libsapporo contain this file too, so it needs no
 * other file of the library.
 *
 * getenv is as safe between threads as the caller's own use of setenv.
 */
#ifndef SAP_ENVIRONMENT_H
#define SAP_ENVIRONMENT_H

#include <stddef.h>

#include "base/variable_table.h"

enum sap_reading {
    SAP_READ_UNSET, /* not set, empty or blank */
    SAP_READ_GOOD,
    SAP_READ_BAD /* `wrong` holds a message */
};

/* Size in bytes of the buffer for a message about a bad value. */
enum { SAP_WRONG_ROOM = 256 };

/* ---- text of known length, which need not end with a 0 ---- */

/* The entry of the table that equals the text in upper or lower case, or NULL. */
const struct sap_word *sap_parse_word(const struct sap_word *words, const char *text, size_t n);

/* A decimal number >= 0 at the start of the text; returns its length, or 0 if there is none or it exceeds INT_MAX. */
size_t sap_parse_count(const char *text, size_t n, int *value);

/*
 * Reads a text that is a decimal number >= 0, such as 12, .5 or 2.5e-3, in any locale; returns 0 for any other text.
 * Numbers of up to 15 digits with a scale of at most 10^22 are rounded correctly.
 */
int sap_parse_real(const char *text, size_t n, double *value);

/* Reads numbers separated by blanks or commas; returns how many, or -1 for any other text. */
int sap_parse_list(const char *text, size_t n, int *list, int room);

/* ---- variables ---- */

/* 1 if the process has privileges that its caller lacks, for example in a set-user-ID program. */
int sap_env_raised(void);

/* 1 if the variable is set, even to an empty value. */
int sap_env_is_set(const struct sap_variable_row *variable);

/*
 * Sets *text to the value without the blanks around it and returns its length; 0 if the variable is not set, empty or
 * blank.  Variables for tests count as not set in a process with raised privileges.
 */
size_t sap_env_text(const struct sap_variable_row *variable, const char **text);

/*
 * The whole value as a path; NULL if the variable is not set or empty.  Always NULL in a process with raised privileges
 * (sap_env_raised), because its caller must not choose which files the library reads or writes.
 */
const char *sap_env_path(const struct sap_variable_row *variable);

/*
 * Readers by type.  `wrong` has SAP_WRONG_ROOM bytes in all functions below, and is written only for SAP_READ_BAD;
 * results are written only for SAP_READ_GOOD.
 */
enum sap_reading sap_env_word(const struct sap_variable_row *variable, const struct sap_word **found, char *wrong);

/* An integer within the range of the table. */
enum sap_reading sap_env_number(const struct sap_variable_row *variable, int *value, char *wrong);

/* A number > 0, at most 1e30. */
enum sap_reading sap_env_real(const struct sap_variable_row *variable, double *value, char *wrong);

/* Device numbers in the given order; *n receives their number.  Repeated numbers are kept. */
enum sap_reading sap_env_list(const struct sap_variable_row *variable, int *list, int room, int *n, char *wrong);

/* Checks whether the value is valid for its type.  Paths, texts and SAPPORO_DEVICES are never bad here. */
enum sap_reading sap_env_check(const struct sap_variable_row *variable, char *wrong);

/* Writes "NAME is 'text'; it may be sp, ds or dp" to `wrong`. */
void sap_env_wrong_word(char *wrong, const char *name, const char *text, size_t n, const struct sap_word *words);

#endif
