/*
 * snapshot_writer.h - snapshots that are written by a thread of their own, one at a time, while the run goes on.
 *
 * The thread has a copy of the particles.  A file is complete or absent, as with snapshot_write.
 */
#ifndef COMMON_SNAPSHOT_WRITER_H
#define COMMON_SNAPSHOT_WRITER_H

#include "bodies.h"
#include "message.h"
#include "snapshot.h"

typedef struct snapshot_writer snapshot_writer;

/*
 * Begins to write a set, whose arrays and path are copied, or writes it where memory or threads are short.  The write
 * before must have ended.  *writer is NULL at first.  -1, with a message: it was written here, and failed.
 */
int snapshot_writer_begin(snapshot_writer **writer, const char *path, const bodies *set, snapshot_form form,
                          message *about);

/* Waits for the write that was begun, if there is one; writer may be NULL.  -1, with a message: it failed. */
int snapshot_writer_wait(snapshot_writer *writer, message *about);

/* Waits, and frees the memory of the copies. */
void snapshot_writer_free(snapshot_writer **writer);

#endif
