/*
 * atomic_file.h - files that are written completely or not at all.
 *
 * A program can be killed, or the machine can stop, in the middle of a write.  So the text goes to a second file beside
 * the intended one, is forced to the disk, and then takes the name of the intended file in one step.  The library's own
 * files are written by the same functions (lib/base/saving.h), which tell what else is sure: names that no other
 * process uses, no file on the standard streams, an error and no signal where a file must not grow.
 */
#ifndef COMMON_ATOMIC_FILE_H
#define COMMON_ATOMIC_FILE_H

#include "message.h"

#include <stdio.h>

typedef struct atomic_file {
    FILE *stream; /* the caller writes to this stream */
    char *path;
    struct atomic_part *part;
} atomic_file;

/* Begins a write, which the same thread must end by atomic_commit or atomic_abandon. */
int atomic_open(atomic_file *file, const char *path, message *why);
/* Ends the write: `path` then holds the new content.  After a failure it holds the old content. */
int atomic_commit(atomic_file *file, message *why);
/* Ends the write: `path` keeps the old content. */
void atomic_abandon(atomic_file *file);
/* Returns the path of the second file, to which another program may write; valid until the write ends. */
const char *atomic_part_path(const atomic_file *file);
/* Returns 0 if a file of this name can be written, -1 with a message if not; leaves no file behind. */
int atomic_check(const char *path, message *why);

#endif
