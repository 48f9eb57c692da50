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

/*
 * Hides the variables of users from the library until show_variables: what a machine has does not depend on them, and a
 * value that is not valid would make every backend fail to open.
 */
void hide_variables(void);
void show_variables(void);

/* The tables of docs/settings.md. */
void print_variables_markdown(void);

#endif
