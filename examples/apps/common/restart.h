/*
 * restart.h - files from which a program continues as if it had not been stopped.
 *
 * A file holds named pieces of memory, bit for bit, and a check sum.  It can be read on the kind of machine that wrote
 * it; other files are refused with a message.  A new file replaces an older one in one step (see atomic_file.h).
 */
#ifndef COMMON_RESTART_H
#define COMMON_RESTART_H

#include "message.h"

#include <stddef.h>
#include <stdio.h>

typedef struct restart_piece {
    const char *name; /* at most 15 characters */
    const void *data;
    size_t size;
} restart_piece;

typedef struct restart_file {
    const char *path; /* for messages */
    unsigned char *content;
    size_t size;
} restart_file;

/*
 * Writes a file.  `program` is the name and version of the pieces' content; only a file of the same program can be
 * read.
 */
int restart_write(const char *path, const char *program, const restart_piece *pieces, int n, message *why);

/* Writes the same content to a stream; -1: the end was not written.  Other errors show in ferror. */
int restart_print(FILE *stream, const char *program, const restart_piece *pieces, int n);

/* Reads the file and checks it; the caller frees it with restart_free. */
int restart_read(const char *path, const char *program, restart_file *file, message *why);
/* Checks `size` bytes allocated by malloc, which the restart_file then owns; on failure it frees them. */
int restart_parse(const char *path, const char *program, unsigned char *content, size_t size, restart_file *file,
                  message *why);
/* Returns 1 if there is a file that begins as one of this program does. */
int restart_is_of(const char *path, const char *program);
/* Copies a piece, which must have exactly this size. */
int restart_get(const restart_file *file, const char *name, void *data, size_t size, message *why);
void restart_free(restart_file *file);

#endif
