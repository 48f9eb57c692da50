/*
 * completion.c - see completion.h.  `make install` writes the files with `sapporo --completion bash` and `zsh`.
 *
 * Values are completed where an option has words, or names a file or a folder.
 */
#include "completion.h"
#include <stdio.h>
#include <string.h>

completion_shell completion_shell_of(const char *name)
{
    if (strcmp(name, "bash") == 0) return COMPLETION_BASH;
    return strcmp(name, "zsh") == 0 ? COMPLETION_ZSH : COMPLETION_NONE;
}

static int is_switch(const option_spec *option) { return option->type == OPTION_ON || option->type == OPTION_OFF; }

static int has_words(const option_spec *option) { return option->type == OPTION_WORD || option->type == OPTION_WORDS; }

static int is_file(const option_spec *option)
{
    return option->type == OPTION_TEXT && strcmp(option->argument, "FILE") == 0;
}

static int is_folder(const option_spec *option)
{
    return option->type == OPTION_TEXT && strcmp(option->argument, "DIR") == 0;
}

/* Prints the choices "a|b|c" with blanks between them. */
static void print_choices(const char *choices)
{
    for (const char *c = choices; *c != '\0'; c++) putchar(*c == '|' ? ' ' : *c);
}

/* Prints a text inside single quotes, for zsh's descriptions: brackets and colons have a meaning there. */
static void print_described(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            fputs("'\\''", stdout);
            continue;
        }
        if (strchr("[]:\\", *c) != NULL) putchar('\\');
        putchar(*c);
    }
}

/* ---- bash -------------------------------------------------------------------------------- */

/* COMP_WORDS divides --option=value at the equals sign. */
static const char BASH_BEGIN[] =
    "# Completes command lines of sapporo in bash.  `sapporo --completion bash` writes this file.\n"
    "\n"
    "_sapporo()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} head='' list='' words=''\n"
    "    COMPREPLY=()\n"
    "    if [[ $word == = ]]; then\n"
    "        word=''\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        words='--help --version";
static const char BASH_MIDDLE[] = "'\n"
                                  "    else\n"
                                  "        case ${COMP_WORDS[1]} in\n";
static const char BASH_END[] = "        esac\n"
                               "    fi\n"
                               "    if [[ $list && $word == *,* ]]; then\n"
                               "        head=${word%,*},\n"
                               "        word=${word##*,}\n"
                               "    fi\n"
                               "    # shellcheck disable=SC2207 # words without blanks\n"
                               "    COMPREPLY=($(compgen -P \"$head\" -W \"$words\" -- \"$word\"))\n"
                               "}\n"
                               "complete -F _sapporo sapporo\n";

static void bash_values(const option_spec *option)
{
    printf("            %s) ", option->name);
    if (has_words(option)) {
        printf("%swords='", option->type == OPTION_WORDS ? "list=1 " : "");
        print_choices(option->argument);
        printf("' ;;\n");
    } else if (is_file(option) || is_folder(option))
        printf("compopt -o %s 2>/dev/null; return 0 ;;\n", is_file(option) ? "default" : "dirnames");
    else
        printf("return 0 ;;\n");
}

static void bash_command(const char *command, const option_spec *table)
{
    printf("        %s)\n            case $before in\n", command);
    for (const option_spec *option = table; option->name != NULL; option++)
        if (option->help != NULL && !is_switch(option)) bash_values(option);
    printf("            *) words='");
    for (const option_spec *option = table; option->name != NULL; option++)
        if (option->help != NULL) printf("%s ", option->name);
    printf("--help --version' ;;\n            esac\n            ;;\n");
}

/* ---- zsh --------------------------------------------------------------------------------- */

static const char ZSH_BEGIN[] =
    "#compdef sapporo\n"
    "# Completes command lines of sapporo in zsh.  `sapporo --completion zsh` writes this file.\n"
    "\n"
    "local curcontext=$curcontext state line\n"
    "local -a commands\n"
    "commands=(\n";
static const char ZSH_MIDDLE[] =
    ")\n"
    "_arguments -C '(- *)--help[this text]' '(- *)--version[the version of libsapporo]' \\\n"
    "    '1: :->command' '*:: :->option'\n"
    "case $state in\n"
    "command) _describe command commands ;;\n"
    "option)\n"
    "    case $line[1] in\n";
static const char ZSH_END[] = "    esac\n"
                              "    ;;\n"
                              "esac\n";

static void zsh_option(const option_spec *option)
{
    printf("            '%s%s[", option->name, is_switch(option) ? "" : "=");
    print_described(option->help);
    putchar(']');
    if (!is_switch(option)) {
        putchar(':');
        print_described(option->argument);
        putchar(':');
        if (has_words(option)) {
            printf(option->type == OPTION_WORDS ? "_sequence compadd - " : "(");
            print_choices(option->argument);
            printf(option->type == OPTION_WORDS ? "" : ")");
        } else
            printf("%s", is_file(option) ? "_files" : is_folder(option) ? "_files -/" : " ");
    }
    printf("' \\\n");
}

static void zsh_command(const char *command, const option_spec *table)
{
    printf("    %s)\n        _arguments \\\n", command);
    for (const option_spec *option = table; option->name != NULL; option++)
        if (option->help != NULL) zsh_option(option);
    printf("            '(- *)--help[this text]' '(- *)--version[the version of libsapporo]'\n        ;;\n");
}

/* ---- both -------------------------------------------------------------------------------- */

void completion_begin(completion_shell shell) { fputs(shell == COMPLETION_ZSH ? ZSH_BEGIN : BASH_BEGIN, stdout); }

void completion_word(completion_shell shell, const char *command, const char *summary)
{
    if (shell == COMPLETION_BASH) {
        printf(" %s", command);
        return;
    }
    printf("    '%s:", command);
    print_described(summary);
    printf("'\n");
}

void completion_middle(completion_shell shell) { fputs(shell == COMPLETION_ZSH ? ZSH_MIDDLE : BASH_MIDDLE, stdout); }

void completion_command(completion_shell shell, const char *command, const option_spec *table)
{
    if (shell == COMPLETION_BASH)
        bash_command(command, table);
    else
        zsh_command(command, table);
}

void completion_end(completion_shell shell) { fputs(shell == COMPLETION_ZSH ? ZSH_END : BASH_END, stdout); }
