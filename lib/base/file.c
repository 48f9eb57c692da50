/* file.c - reads small files that another user may have put there; see file.h. */
#define _POSIX_C_SOURCE 200809L
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum sap_file_status refuse(struct sap_file *file, const char *why)
{
    (void)snprintf(file->why, sizeof file->why, "%s", why);
    return SAP_FILE_REFUSED;
}

static enum sap_file_status lack_memory(struct sap_file *file)
{
    (void)refuse(file, "out of memory");
    return SAP_FILE_NO_MEMORY;
}

static enum sap_file_status refuse_error(struct sap_file *file, int error)
{
    if (error == ENOENT || error == ENOTDIR) return SAP_FILE_MISSING;
    if (error == ELOOP) return refuse(file, "a symbolic link that is not followed");
    if (strerror_r(error, file->why, sizeof file->why) != 0)
        (void)snprintf(file->why, sizeof file->why, "error %d", error);
    return SAP_FILE_REFUSED;
}

const char *sap_file_distrust(const struct stat *about)
{
    if (about->st_uid != geteuid()) return "it belongs to another user";
    if (about->st_mode & (S_IWGRP | S_IWOTH)) return "its group or others can write to it";
    return NULL;
}

/* Decides from the result of fstat or fstatat whether the file may be read. */
static enum sap_file_status judge(const struct stat *about, size_t most, int own, struct sap_file *file)
{
    const char *const distrust = own ? sap_file_distrust(about) : NULL;
    if (own && S_ISLNK(about->st_mode)) return refuse_error(file, ELOOP);
    if (!S_ISREG(about->st_mode)) return refuse(file, "not a regular file");
    if (distrust) return refuse(file, distrust);
    if (about->st_size < 0 || (unsigned long long)about->st_size > most) {
        (void)snprintf(file->why, sizeof file->why, "%lld bytes long; at most %zu are read", (long long)about->st_size,
                       most);
        return SAP_FILE_REFUSED;
    }
    return SAP_FILE_READ;
}

/* Reads `room` bytes, or fewer if the file ends; -1: an error. */
static long long read_all(int handle, char *bytes, size_t room)
{
    size_t n = 0;
    while (n < room) {
        const ssize_t got = read(handle, bytes + n, room - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        n += (size_t)got;
    }
    return (long long)n;
}

/* Reads the head of a file and checks it. */
static enum sap_file_status check_head(int handle, const struct sap_file_head *head, size_t length,
                                       struct sap_file *file)
{
    char *const bytes = malloc(head->size);
    if (!bytes) return lack_memory(file);
    const long long n = length < head->size ? 0 : read_all(handle, bytes, head->size);
    const int error = errno;
    const char *const why = n == (long long)head->size ? head->check(head->user, bytes, length) : "it is too short";
    free(bytes);
    if (n < 0) return refuse_error(file, error);
    if (why) return refuse(file, why);
    return lseek(handle, 0, SEEK_SET) == 0 ? SAP_FILE_READ : refuse_error(file, errno);
}

/* head: NULL if the file needs none. */
static enum sap_file_status take_in(int handle, size_t most, int own, const struct sap_file_head *head,
                                    struct sap_file *file)
{
    struct stat about;
    if (fstat(handle, &about) != 0) return refuse_error(file, errno);
    enum sap_file_status status = judge(&about, most, own, file);
    const size_t room = (size_t)about.st_size;
    if (status == SAP_FILE_READ && head) status = check_head(handle, head, room, file);
    if (status != SAP_FILE_READ) return status;
    char *const bytes = malloc(room + 1);
    if (!bytes) return lack_memory(file);
    const long long n = read_all(handle, bytes, room);
    if (n < 0) {
        const int error = errno;
        free(bytes);
        return refuse_error(file, error);
    }
    bytes[n] = 0;
    file->bytes = bytes;
    file->size = (size_t)n;
    return SAP_FILE_READ;
}

/* Checks the file before and after it is opened, because opening some devices has side effects. */
static enum sap_file_status read_at(int folder, const char *path, size_t most, int own,
                                    const struct sap_file_head *head, struct sap_file *file)
{
    struct stat about;
    *file = (struct sap_file){.bytes = NULL};
    if (fstatat(folder, path, &about, own ? AT_SYMLINK_NOFOLLOW : 0) != 0) return refuse_error(file, errno);
    enum sap_file_status status = judge(&about, most, own, file);
    if (status != SAP_FILE_READ) return status;
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (own ? O_NOFOLLOW : 0);
    const int handle = openat(folder, path, flags);
    if (handle < 0) return refuse_error(file, errno);
    status = take_in(handle, most, own, head, file);
    (void)close(handle);
    return status;
}

enum sap_file_status sap_file_read(const char *path, size_t most, struct sap_file *file)
{
    return read_at(AT_FDCWD, path, most, 0, NULL, file);
}

enum sap_file_status sap_file_read_headed(const char *path, const struct sap_file_head *head, struct sap_file *file)
{
    return read_at(AT_FDCWD, path, SIZE_MAX / 2, 0, head, file);
}

enum sap_file_status sap_file_read_own(int folder, const char *name, size_t most, struct sap_file *file)
{
    return read_at(folder, name, most, 1, NULL, file);
}
