/*
 * tool.h - the subcommands.  Each gets its own name as argv[0] and returns the exit status of the tool.
 */
#ifndef TOOL_H
#define TOOL_H

int info_main(int argc, char **argv);
int check_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int tune_main(int argc, char **argv);

#endif
