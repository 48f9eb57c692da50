/* reduce.h - makes a system that fails smaller, and prints it as a program. */
#ifndef FUZZ_TREES_REDUCE_H
#define FUZZ_TREES_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "multiscale_proof.h"

/*
 * Removes targets and particles from a system while it fails, and writes what is left to `text`.  programs: a folder in
 * which the system is written as a program in C; NULL: it is not written.
 */
void reduce(struct multiscale *system, const struct proof_engine *engine, const char *programs, uint64_t seed,
            char *text, size_t room);

#endif
