/*
 * variable_table.h - the form of the table of environment variables: one row per variable.
 *
 * The rows are in lib/variables.c, beside the folders: this folder does not know what the variables are for.  Readers
 * (environment.h) take a row.
 */
#ifndef SAP_VARIABLE_TABLE_H
#define SAP_VARIABLE_TABLE_H

#include <stddef.h>

#include "sapporo_types.h"

/* A word and its value; a table of words ends with {NULL, 0}. */
struct sap_word {
    const char *text;
    int value;
};

enum sap_variable_type {
    SAP_TYPE_WORD,
    SAP_TYPE_COUNT,   /* an integer from `least` to `most` */
    SAP_TYPE_FIRST,   /* an integer from `least` to `most`, or a list separated by commas whose first number counts */
    SAP_TYPE_REAL,    /* a number above 0, at most 1e30 */
    SAP_TYPE_DEVICES, /* device numbers */
    SAP_TYPE_PATH,
    SAP_TYPE_TEXT, /* only whether the variable is set matters */
    SAP_TYPES
};

/* The effect of an invalid value. */
enum sap_variable_bad {
    SAP_BAD_NONE,  /* every value is valid */
    SAP_BAD_OPEN,  /* opening a context fails */
    SAP_BAD_USE,   /* the call that needs the variable fails, because no option of the caller can replace it */
    SAP_BAD_WARNED /* the value is ignored, with one warning per process */
};

/*
 * A row of the table.  A variable for tests counts as not set in a process with raised privileges.  Its texts put
 * everything that a user can type into back quotes.
 */
struct sap_variable_row {
    const char *name;
    enum sap_variable_type type;
    enum sap_variable_bad bad;
    enum sapporo_audience audience;
    const struct sap_word *words; /* allowed words; for devices and paths the words with a special meaning, or NULL */
    int least, most;              /* range of integers */
    const char *values;           /* text of the allowed values; NULL: it follows from words, range and type */
    const char *usual;            /* the default */
    const char *about;            /* one line of documentation */
};

/* The table, and the rows that this folder reads. */
struct sap_variable_table {
    const struct sap_variable_row *row; /* [n] */
    int n;
    const struct sap_variable_row *verbose;      /* which messages exist */
    const struct sap_variable_row *threads;      /* number of threads */
    const struct sap_variable_row *thread_limit; /* most threads of the process */
    const struct sap_variable_row *places;       /* [nplaces]: whether threads may use all places of OpenMP */
    int nplaces;
};

/* Defined in lib/variables.c. */
extern const struct sap_variable_table sap_variable_table;

/* "word", "whole number", "number", "device numbers", "path" or "text". */
const char *sap_variable_type(const struct sap_variable_row *variable);

/* Writes the allowed values, such as "`sp`, `ds` or `dp`" or "0 to 9". */
void sap_variable_values(const struct sap_variable_row *variable, char *text, size_t room);

#endif
