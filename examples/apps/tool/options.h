/* options.h - the command line of a subcommand, as a table that defines both the parser and the help. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

enum { LIST_ROOM = 32, WORD_ROOM = 16 };

typedef struct count_list {
    int n;
    int value[LIST_ROOM];
} count_list;

typedef struct real_list {
    int n;
    double value[LIST_ROOM];
} real_list;

typedef struct word_list {
    int n;
    char word[LIST_ROOM][WORD_ROOM];
} word_list;

typedef enum option_type {
    OPTION_ON = 0,     /* int, set to 1; takes no value */
    OPTION_OFF = 1,    /* int, set to 0; takes no value */
    OPTION_COUNT = 2,  /* int */
    OPTION_REAL = 3,   /* double >= 0 */
    OPTION_TEXT = 4,   /* const char *, any text */
    OPTION_WORD = 5,   /* word_list of one word, which is one of the choices */
    OPTION_COUNTS = 6, /* count_list, separated by commas */
    OPTION_WORDS = 7,  /* word_list, separated by commas, all of them among the choices */
    OPTION_REALS = 8   /* real_list, separated by commas, all >= 0 */
} option_type;

typedef struct option_spec {
    const char *name; /* with its dashes; NULL ends a table */
    option_type type;
    void *target;         /* destination of the value, see option_type */
    const char *argument; /* name of the value in the help; for words, the choices: "sp|ds|dp" */
    int least;            /* the smallest count allowed */
    const char *help;     /* NULL: not shown */
} option_spec;

/*
 * Reads the arguments after the subcommand's name, argv[0].  Returns 0 to go on, 1 if the help (--help), the section of
 * the manual page (--man) or the part of a completion (--completion SHELL) was asked for and printed, -1 after an
 * error, which has been printed to stderr.
 */
int options_parse(const char *summary, const option_spec *table, int argc, char **argv);

/* Whether a command line has an option. */
int options_given(const option_spec *option, int argc, char **argv);

#endif
