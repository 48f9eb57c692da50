/* info_variables.h - the environment variables that the library reads, as the library itself describes them. */
#ifndef TOOL_INFO_VARIABLES_H
#define TOOL_INFO_VARIABLES_H

/*
 * `verbose` is the user's SAPPORO_VERBOSE, NULL if it is not set: the tool sets the variable for itself.
 * In the text, variables of users are always shown, others if they are set.
 */
void print_variables(const char *verbose);

/* The variables that are set, by name; then the description of each variable. */
void json_variables(const char *verbose);

/* The tables of README.md. */
void print_variables_markdown(void);

#endif
