/*
 * driver_opencl_cache.c - built programs on disk: compilers take seconds, and clients open often.
 *
 * A file is a header, the key and the binary.  What is not exactly as it was
 * written counts as not there; files appear under their name complete.
 */
#define _POSIX_C_SOURCE 200809L
#include "driver_opencl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_MOST = 1024 };

struct header {
    char magic[8];
    uint64_t key_size, size, check;
};

static const char magic[8] = "SAPOCL1";

/* FNV-1a, 64 bits. */
static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t k = 0; k < n; k++) h = (h ^ at[k]) * 0x100000001B3ULL;
    return h;
}

static uint64_t check_of(const char *key, size_t n, const unsigned char *binary, size_t size)
{
    return hash(hash(0xCBF29CE484222325ULL, key, n), binary, size);
}

/* The folder: SAPPORO_CACHE, else that of the desktop's standard; 0: there shall be none ("off" or nothing). */
static int folder(char *path, size_t room)
{
    const char *own = getenv("SAPPORO_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (own && (!*own || strcmp(own, "off") == 0)) return 0;
    if (own)
        n = snprintf(path, room, "%s", own);
    else if (cache && *cache == '/')
        n = snprintf(path, room, "%s/sapporo", cache);
    else if (home && *home)
        n = snprintf(path, room, "%s/.cache/sapporo", home);
    return n > 0 && (size_t)n + 64 < room;
}

static void make_folder(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    (void)mkdir(path, 0777);
}

/* The file of a key, behind its folder. */
static void append_name(char *path, size_t room, const char *key, size_t n)
{
    const size_t at = strlen(path);
    (void)snprintf(path + at, room - at, "/%016llx%016llx.bin", (unsigned long long)hash(0xCBF29CE484222325ULL, key, n),
                   (unsigned long long)hash(0x9E3779B97F4A7C15ULL, key, n));
}

int sap_opencl_cache_wanted(void)
{
    char path[PATH_MOST];
    return folder(path, sizeof path);
}

/* ---------------------------------------------------------------- reading */

static int same_key(FILE *file, const char *key, size_t n)
{
    char *there = malloc(n);
    const int same = there && fread(there, 1, n, file) == n && memcmp(there, key, n) == 0;
    free(there);
    return same;
}

/* The binary of an open file. */
static unsigned char *read_file(FILE *file, const char *key, size_t n, size_t *size)
{
    struct header h;
    struct stat about;
    if (fstat(fileno(file), &about) != 0 || fread(&h, sizeof h, 1, file) != 1) return NULL;
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.key_size != n) return NULL;
    if ((uint64_t)about.st_size != sizeof h + h.key_size + h.size || h.size == 0 || !same_key(file, key, n))
        return NULL;
    unsigned char *binary = malloc((size_t)h.size);
    *size = (size_t)h.size;
    if (binary && fread(binary, 1, *size, file) == *size && check_of(key, n, binary, *size) == h.check) return binary;
    free(binary);
    return NULL;
}

unsigned char *sap_opencl_cache_get(const char *key, size_t n, size_t *size)
{
    char path[PATH_MOST];
    if (!folder(path, sizeof path)) return NULL;
    append_name(path, sizeof path, key, n);
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    unsigned char *binary = read_file(file, key, n, size);
    (void)fclose(file);
    return binary;
}

/* ---------------------------------------------------------------- writing */

static int put_all(int file, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0) {
        const ssize_t done = write(file, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        at += done;
        n -= (size_t)done;
    }
    return 1;
}

static int write_file(const char *path, const struct header *h, const char *key, const unsigned char *binary)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return 0;
    const int good = put_all(file, h, sizeof *h) && put_all(file, key, (size_t)h->key_size) &&
                     put_all(file, binary, (size_t)h->size);
    return close(file) == 0 && good;
}

void sap_opencl_cache_put(const char *key, size_t n, const unsigned char *binary, size_t size)
{
    static atomic_uint count;
    char path[PATH_MOST], part[PATH_MOST + 64];
    struct header h = {.key_size = n, .size = size, .check = check_of(key, n, binary, size)};
    memcpy(h.magic, magic, sizeof magic);
    if (!folder(path, sizeof path)) return;
    make_folder(path);
    append_name(path, sizeof path, key, n);
    (void)snprintf(part, sizeof part, "%s.%ld.%u", path, (long)getpid(), atomic_fetch_add(&count, 1));
    if (!write_file(part, &h, key, binary) || rename(part, path) != 0) (void)unlink(part);
}
