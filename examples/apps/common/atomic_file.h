/*
 * atomic_file.h - files that are written completely or not at all.
 *
 * A program can be killed, or the machine can stop, in the middle of a write.  So the text goes to a second file beside
 * the intended one, is forced to the disk, and then takes the name of the intended file in one step.
 */
#ifndef COMMON_ATOMIC_FILE_H
#define COMMON_ATOMIC_FILE_H

#include "message.h"

#include <stdio.h>

typedef struct atomic_file {
    FILE *stream; /* the caller writes to this stream */
    char *path;
    char *temporary;
} atomic_file;

int atomic_open(atomic_file *file, const char *path, message *why);
/* Ends the write: `path` then holds the new content.  After a failure it holds the old content. */
int atomic_commit(atomic_file *file, message *why);
/* Returns 0 if a file of this name can be written, -1 with a message if not; leaves no file behind. */
int atomic_check(const char *path, message *why);

#endif
