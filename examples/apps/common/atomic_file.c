/*
 * atomic_file.c - see atomic_file.h.
 */
#define _POSIX_C_SOURCE 200809L
#include "atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void forget(atomic_file *file)
{
    free(file->path);
    free(file->temporary);
    memset(file, 0, sizeof *file);
}

static char *joined(const char *first, const char *second)
{
    char *text = malloc(strlen(first) + strlen(second) + 1);
    if (!text) return NULL;
    strcpy(text, first);
    return strcat(text, second);
}

int atomic_open(atomic_file *file, const char *path, message *why)
{
    file->path = joined(path, "");
    file->temporary = joined(path, ".tmp");
    file->stream = file->path && file->temporary ? fopen(file->temporary, "wb") : NULL;
    if (file->stream) return 0;
    complain(why, "cannot write %s: %s", path, strerror(errno));
    forget(file);
    return -1;
}

/*
 * Forces the folder to the disk, because the new name is stored there; a power cut could otherwise restore the old
 * file.
 */
static void sync_folder(const char *path)
{
    char *folder = joined(path, "");
    if (!folder) return;
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = 0;
    int handle = open(slash ? folder : ".", O_RDONLY);
    if (handle >= 0) {
        fsync(handle);
        close(handle);
    }
    free(folder);
}

int atomic_commit(atomic_file *file, message *why)
{
    int bad = ferror(file->stream) || fflush(file->stream) || fsync(fileno(file->stream));
    int reason = errno;
    if (fclose(file->stream)) {
        reason = bad ? reason : errno;
        bad = 1;
    }
    if (!bad && rename(file->temporary, file->path)) {
        reason = errno;
        bad = 1;
    }
    if (bad) {
        complain(why, "cannot write %s: %s", file->path, strerror(reason));
        remove(file->temporary);
    } else
        sync_folder(file->path);
    forget(file);
    return bad ? -1 : 0;
}

int atomic_check(const char *path, message *why)
{
    atomic_file file;
    struct stat about;
    if (!stat(path, &about) && S_ISDIR(about.st_mode)) return complain(why, "cannot write %s: it is a folder", path);
    if (atomic_open(&file, path, why)) return -1;
    fclose(file.stream);
    remove(file.temporary);
    forget(&file);
    return 0;
}
