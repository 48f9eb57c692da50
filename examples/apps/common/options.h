/* options.h - command lines: parses and checks options by a table, and prints the table as help. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include "message.h"

#include <stdio.h>

typedef enum option_kind {
    OPTION_FLAG,    /* int: 1 if given */
    OPTION_COUNT,   /* int >= 1; any number may be 1e6, 64k or 1M */
    OPTION_INTEGER, /* long long, written likewise */
    OPTION_REAL,    /* double; 1/256 is understood */
    OPTION_RANGE,   /* double[2]: LOW:HIGH */
    OPTION_CHOICE,  /* int: position in `choices` */
    OPTION_TEXT,    /* const char *, from argv */
    OPTION_TITLE    /* no option: a line of the help text */
} option_kind;

typedef struct option_rule {
    option_kind kind;
    char letter;      /* 0: only the long name */
    const char *name; /* without the dashes; for OPTION_TITLE, the line */
    void *target;
    const char *argument; /* name of the value in the help */
    const char *help;
    const char *const *choices; /* choices of OPTION_CHOICE; NULL ends the list */
    int continued;              /* 1: may be given when a run is continued */
    int given;                  /* set by the parser */
} option_rule;

/*
 * Parses a command line into the targets.  *operand is the one argument that is no option, or NULL.  -1 with a message.
 */
int options_parse(option_rule *rules, int n, int argc, char **argv, const char **operand, message *why);
void options_help(const option_rule *rules, int n, FILE *stream);
/* Returns the rule of a long name; NULL if there is none. */
option_rule *options_find(option_rule *rules, int n, const char *name);

#endif
