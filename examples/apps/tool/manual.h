/* manual.h - the manual pages sapporo(1) and sapporo(7), written from the tables that the programs themselves use. */
#ifndef TOOL_MANUAL_H
#define TOOL_MANUAL_H

#include "options.h"

/* Prints a text for man(1): special characters are escaped, words between back quotes are bold. */
void manual_text(const char *text);

/* Prints the section of one subcommand: its summary and each option of its table. */
void manual_command(const char *command, const char *summary, const option_spec *table);

/* Print sapporo(1) up to and without the sections of the subcommands, and what follows these sections. */
void manual_tool_begin(void);
void manual_tool_end(void);

/* Prints sapporo(7), the page of the library. */
void manual_library(void);

#endif
