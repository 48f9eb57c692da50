/* print.h - a sequence as a program in C. */
#ifndef FUZZ_PRINT_H
#define FUZZ_PRINT_H

#include <stdio.h>

#include "worker.h"

/* Writes a program that makes the calls of the sequence, and ends with status 1 if the failure is still there. */
void print_program(FILE *to, const struct job *job, const struct sequence *s, const struct result *result);

#endif
