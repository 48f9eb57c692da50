/*
 * atomic_file.c - see atomic_file.h.
 */
#define _POSIX_C_SOURCE 200809L
#include "atomic_file.h"

#include "base/saving.h"
#include "base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The second file.  Signals of a file that must not grow are held from its beginning to its end. */
typedef struct atomic_part {
    struct sap_saving saving;
    struct sap_signals signals;
} atomic_part;

static void forget(atomic_file *file)
{
    free(file->path);
    free(file->part);
    memset(file, 0, sizeof *file);
}

static const char *reason(int error)
{
    if (error < 0) return "its name is empty or too long";
    return error == ENOTSUP ? "it is a device, a FIFO or a socket, which a file would replace" : strerror(error);
}

/* Opens the second file and a stream to it; 0, -1 for a wrong path, or errno. */
static int open_part(atomic_file *file)
{
    struct sap_saving *const saving = &file->part->saving;
    const int bad = sap_saving_open(saving, file->path);
    if (bad) return bad;
    const int copy = fcntl(saving->file, F_DUPFD_CLOEXEC, 3);
    file->stream = copy < 0 ? NULL : fdopen(copy, "wb");
    if (file->stream) return 0;
    const int error = errno;
    if (copy >= 0) close(copy);
    (void)sap_saving_close(saving, file->path, 0);
    return error;
}

int atomic_open(atomic_file *file, const char *path, message *why)
{
    const size_t length = strlen(path) + 1;
    file->stream = NULL;
    file->path = malloc(length);
    file->part = malloc(sizeof *file->part);
    if (file->path) memcpy(file->path, path, length);
    const int bad = file->path && file->part ? open_part(file) : ENOMEM;
    if (!bad) {
        sap_signals_hold(&file->part->signals);
        return 0;
    }
    forget(file);
    (void)complain(why, "cannot write %s: %s", path, reason(bad));
    return -1;
}

/* Closes the stream; returns errno of the first failure. */
static int close_stream(atomic_file *file)
{
    struct sap_saving *const saving = &file->part->saving;
    const int flawed = ferror(file->stream) || fflush(file->stream), unclosed = fclose(file->stream) != 0;
    const int error = errno;
    if (!flawed) return unclosed ? error : 0;
    sap_saving_put(saving, "", 1); /* fails as the stream did, and tells why */
    return saving->error ? saving->error : EIO;
}

/* Closes the stream and the second file; returns errno of the first failure. */
static int end(atomic_file *file, int keep)
{
    struct sap_saving *const saving = &file->part->saving;
    saving->error = close_stream(file);
    const int failed = sap_saving_close(saving, file->path, keep);
    sap_signals_release(&file->part->signals, EFBIG); /* an earlier write may have raised the signal */
    return failed;
}

int atomic_commit(atomic_file *file, message *why)
{
    const int failed = end(file, 1);
    if (failed) complain(why, "cannot write %s: %s", file->path, reason(failed));
    forget(file);
    return failed ? -1 : 0;
}

void atomic_abandon(atomic_file *file)
{
    (void)end(file, 0);
    forget(file);
}

const char *atomic_part_path(const atomic_file *file) { return file->part->saving.part; }

int atomic_check(const char *path, message *why)
{
    atomic_file file;
    if (atomic_open(&file, path, why)) return -1;
    atomic_abandon(&file);
    return 0;
}
