/* completion.h - files by which bash and zsh complete command lines of the tool, from the tables that parse these. */
#ifndef TOOL_COMPLETION_H
#define TOOL_COMPLETION_H

#include "options.h"

typedef enum completion_shell {
    COMPLETION_NONE = 0, /* no shell of that name */
    COMPLETION_BASH = 1,
    COMPLETION_ZSH = 2
} completion_shell;

completion_shell completion_shell_of(const char *name);

/* Print the parts of a file in this order: the beginning, each command with its summary, ... */
void completion_begin(completion_shell shell);
void completion_word(completion_shell shell, const char *command, const char *summary);

/* ... what follows the commands, the options of each command, the end. */
void completion_middle(completion_shell shell);
void completion_command(completion_shell shell, const char *command, const option_spec *table);
void completion_end(completion_shell shell);

#endif
