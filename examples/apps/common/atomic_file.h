/*
 * atomic_file.h - files that are there completely or not at all.
 *
 * A program can be killed, or the machine can stop, in the middle of a write.  So the text goes to a second
 * file beside the one meant, is forced to the disk, and then takes the name of the first in one step.
 */
#ifndef COMMON_ATOMIC_FILE_H
#define COMMON_ATOMIC_FILE_H

#include "message.h"

#include <stdio.h>

typedef struct atomic_file {
    FILE *stream; /* write here */
    char *path;
    char *temporary;
} atomic_file;

int atomic_open(atomic_file *file, const char *path, message *why);
/* Ends the write: from now on `path` holds what was written.  On failure it holds what it held before. */
int atomic_commit(atomic_file *file, message *why);

#endif
