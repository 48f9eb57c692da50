/* saving.c - writes files that replace others when they are complete (saving.h). */
#define _POSIX_C_SOURCE 200809L
#include "base/saving.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

uint64_t sap_check_add(uint64_t sum, const void *from, size_t n)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    const unsigned char *const at = from;
    for (size_t k = 0; k < n; k++) sum = (sum ^ at[k]) * prime;
    return sum;
}

int sap_saving_open(struct sap_saving *o, const char *path)
{
    const int length = path ? snprintf(o->part, sizeof o->part, "%s.%ld.part", path, (long)getpid()) : -1;
    o->error = 0;
    o->sum = SAP_CHECK_START;
    o->file = -1;
    if (!path || path[0] == '\0' || length < 0 || length >= (int)sizeof o->part) return -1;
    o->file = open(o->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return o->file < 0 ? errno : 0;
}

void sap_saving_put(struct sap_saving *o, const void *from, size_t n)
{
    const char *at = from;
    o->sum = sap_check_add(o->sum, from, n);
    while (n > 0 && !o->error) {
        const ssize_t done = write(o->file, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) o->error = errno;
        if (done <= 0) break;
        at += done;
        n -= (size_t)done;
    }
    if (n > 0 && !o->error) o->error = ENOSPC;
}

void sap_saving_seal(struct sap_saving *o)
{
    const uint64_t sum = o->sum;
    sap_saving_put(o, &sum, sizeof sum);
    if (!o->error && fsync(o->file) != 0) o->error = errno;
}

int sap_saving_close(struct sap_saving *o, const char *path, int keep)
{
    if (close(o->file) != 0 && !o->error) o->error = errno;
    if (!o->error && keep && rename(o->part, path) != 0) o->error = errno;
    if (o->error || !keep) (void)unlink(o->part);
    return o->error;
}
