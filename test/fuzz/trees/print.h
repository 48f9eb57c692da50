/* print.h - prints a system as a program. */
#ifndef FUZZ_TREES_PRINT_H
#define FUZZ_TREES_PRINT_H

#include "multiscale_proof.h"

/* Writes a program in C that makes the calls and prints each row beside the exact one; 0: the file was not written. */
int print_system(const char *path, const struct multiscale *system, const struct proof_engine *engine,
                 const struct proof_verdict *verdict);

#endif
