/* saving.c - writes files that replace others when they are complete (saving.h). */
#define _POSIX_C_SOURCE 200809L
#include "base/saving.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"

/* Files at most that have a descriptor from 0 to 2, and names that are tried at most. */
enum { STANDARD = 3, TRIES = 100 };

uint64_t sap_check_add(uint64_t sum, const void *from, size_t n)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    const unsigned char *const at = from;
    for (size_t k = 0; k < n; k++) sum = (sum ^ at[k]) * prime;
    return sum;
}

/* ---- open --------------------------------------------------------------------------------- */

/* 0 if the path may become a file: it is free, a file, or a link to be replaced; else errno. */
static int refuse_other(const char *path)
{
    struct stat about;
    if (lstat(path, &about) != 0 || S_ISREG(about.st_mode) || S_ISLNK(about.st_mode)) return 0;
    return S_ISDIR(about.st_mode) ? EISDIR : ENOTSUP;
}

/*
 * Writes a path that is unique over threads, processes and time: process numbers repeat in containers.  Its last part
 * is no longer than a file system allows.
 */
static void name_part(struct sap_saving *o, const char *path)
{
    static atomic_uint count;
    const int most = 255 - SAP_SAVING_ENDING;
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(o->part, sizeof o->part, "%.*s%.*s.%ld.%u.%llx.part", (int)(name - path), path, most, name,
                   (long)getpid(), atomic_fetch_add(&count, 1),
                   (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec);
}

/* Creates a file that does not exist, under a new name; returns the descriptor, or -1 and errno. */
static int create(struct sap_saving *o, const char *path, unsigned mode)
{
    int file = -1;
    for (int tries = 0; tries < TRIES && file < 0; tries++) {
        name_part(o, path);
        file = openat(o->folder, o->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode);
        if (file < 0 && errno != EEXIST) break;
    }
    return file;
}

/*
 * Creates the file with a descriptor above 2.  Files with lower ones are removed at once, and stay open until then:
 * what is printed meanwhile goes to no file.
 */
static int create_above(struct sap_saving *o, const char *path, unsigned mode)
{
    int low[STANDARD], n = 0, file;
    while ((file = create(o, path, mode)) >= 0 && file < STANDARD && n < STANDARD) {
        (void)unlinkat(o->folder, o->part, 0);
        low[n++] = file;
    }
    const int error = errno;
    while (n > 0) (void)close(low[--n]);
    errno = error;
    return file;
}

int sap_saving_open_at(struct sap_saving *o, int folder, const char *path, unsigned mode)
{
    o->folder = folder;
    o->file = -1;
    o->sum = SAP_CHECK_START;
    o->error = 0;
    o->part[0] = '\0';
    if (!path || path[0] == '\0' || strlen(path) >= sizeof o->part - SAP_SAVING_ENDING) return -1;
    (void)snprintf(o->part, sizeof o->part, "%s", path); /* for messages */
    o->file = create_above(o, path, mode);
    return o->file < 0 ? errno : 0;
}

int sap_saving_open(struct sap_saving *o, const char *path)
{
    const int other = path ? refuse_other(path) : 0;
    const int bad = sap_saving_open_at(o, AT_FDCWD, other ? "" : path, 0666);
    if (!other) return bad;
    (void)snprintf(o->part, sizeof o->part, "%s", path); /* for messages */
    return other;
}

/* ---- write -------------------------------------------------------------------------------- */

void sap_saving_put(struct sap_saving *o, const void *from, size_t n)
{
    const char *at = from;
    struct sap_signals signals;
    if (o->error) return;
    o->sum = sap_check_add(o->sum, from, n);
    sap_signals_hold(&signals);
    while (n > 0 && !o->error) {
        const ssize_t done = write(o->file, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) o->error = errno;
        if (done <= 0) break;
        at += done;
        n -= (size_t)done;
    }
    if (n > 0 && !o->error) o->error = ENOSPC;
    sap_signals_release(&signals, o->error);
}

void sap_saving_seal(struct sap_saving *o)
{
    const uint64_t sum = o->sum;
    sap_saving_put(o, &sum, sizeof sum);
}

/* ---- close -------------------------------------------------------------------------------- */

/*
 * Writes the folder of a file to the disk, which holds the new name.  Not all folders can be opened or written so; the
 * file has its name in any case.
 */
static void sync_folder(struct sap_saving *o)
{
    char *const slash = strrchr(o->part, '/');
    if (slash) slash[slash == o->part] = '\0';
    const int folder = openat(o->folder, slash ? o->part : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    (void)fsync(folder);
    (void)close(folder);
}

int sap_saving_close(struct sap_saving *o, const char *path, int keep)
{
    if (keep && !o->error && fsync(o->file) != 0) o->error = errno;
    if (close(o->file) != 0 && !o->error) o->error = errno;
    o->file = -1;
    if (!o->error && keep && renameat(o->folder, o->part, o->folder, path) != 0) o->error = errno;
    if (o->error || !keep)
        (void)unlinkat(o->folder, o->part, 0);
    else
        sync_folder(o);
    return o->error;
}
