/*
 * sapporo - the command-line tool of libsapporo.
 *
 *     sapporo info     shows this machine, and what the library would use
 *     sapporo check    tests whether forces are right, and have the same bits each time
 *     sapporo bench    measures how fast forces are
 *     sapporo tune     makes forces faster on this GPU
 *
 * It uses the public interfaces only (sapporo.h, sapporo_g6.h), so each part also shows how they are called.
 */
#include "completion.h"
#include "manual.h"
#include "nearest_name.h"
#include "standard_output.h"
#include "tool.h"
#include "util.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} COMMANDS[] = {
    {"info", info_main, "what is here, what would be chosen, and why"},
    {"check", check_main, "tests accuracy and reproducibility of this machine against an independent sum"},
    {"bench", bench_main, "measures the speed of forces and of the calls around them"},
    {"tune", tune_main, "measures the launch parameters of a GPU, and where the CPU is faster; writes the tuning file"},
};
enum { NCOMMANDS = sizeof COMMANDS / sizeof COMMANDS[0] };

static void print_help(FILE *file)
{
    fprintf(file, "usage: sapporo COMMAND [options]\n\ncommands:\n");
    for (int k = 0; k < NCOMMANDS; k++) fprintf(file, "  %-8s %s\n", COMMANDS[k].name, COMMANDS[k].summary);
    fprintf(file, "\nsapporo COMMAND --help lists the options of a command; sapporo --version the version.\n"
                  "sapporo --completion bash and zsh write the files by which shells complete command lines.\n");
}

/* Prints a manual page: sapporo(1), whose sections the subcommands print themselves, or sapporo(7). */
static int print_manual(const char *number)
{
    char man[] = "--man";
    if (strcmp(number, "7") == 0) {
        manual_library();
        return STATUS_OK;
    }
    if (strcmp(number, "1") != 0) {
        fprintf(stderr, "sapporo: there is no manual page of section '%s', only of 1 and 7\n", number);
        return STATUS_USAGE;
    }
    manual_tool_begin();
    for (int k = 0; k < NCOMMANDS; k++) {
        char name[16];
        snprintf(name, sizeof name, "%s", COMMANDS[k].name);
        COMMANDS[k].run(2, (char *[]){name, man, NULL});
    }
    manual_tool_end();
    return STATUS_OK;
}

/* Prints the file by which a shell completes command lines; the subcommands print their own options. */
static int print_completion(char *name)
{
    char completion[] = "--completion";
    const completion_shell shell = completion_shell_of(name);
    if (shell == COMPLETION_NONE) {
        fprintf(stderr, "sapporo: --completion takes bash or zsh, not '%s'\n", name);
        return STATUS_USAGE;
    }
    completion_begin(shell);
    for (int k = 0; k < NCOMMANDS; k++) completion_word(shell, COMMANDS[k].name, COMMANDS[k].summary);
    completion_middle(shell);
    for (int k = 0; k < NCOMMANDS; k++) {
        char command[16];
        snprintf(command, sizeof command, "%s", COMMANDS[k].name);
        COMMANDS[k].run(3, (char *[]){command, completion, name, NULL});
    }
    completion_end(shell);
    return STATUS_OK;
}

static int run_command(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return STATUS_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return STATUS_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sapporo %s\n", sapporo_version());
        return STATUS_OK;
    }
    if (strcmp(argv[1], "--man") == 0) return print_manual(argc > 2 ? argv[2] : "1");
    if (strcmp(argv[1], "--completion") == 0) return print_completion(argc > 2 ? argv[2] : (char[]){"nothing"});
    for (int k = 0; k < NCOMMANDS; k++)
        if (strcmp(argv[1], COMMANDS[k].name) == 0) return COMMANDS[k].run(argc - 1, argv + 1);
    const char *nearest = NULL;
    for (int k = 0; k < NCOMMANDS; k++)
        if (name_distance(argv[1], strlen(argv[1]), COMMANDS[k].name) < NAME_FAR) nearest = COMMANDS[k].name;
    fprintf(stderr, "sapporo: unknown %s '%s'%s%s%s; see sapporo --help\n", argv[1][0] == '-' ? "option" : "command",
            argv[1], nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return STATUS_USAGE;
}

int main(int argc, char **argv) { return standard_output_end("sapporo", run_command(argc, argv), STATUS_FAILED); }
