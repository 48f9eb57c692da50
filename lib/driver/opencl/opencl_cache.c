/*
 * opencl_cache.c - built programs on disk: compilers take seconds, and clients open often.
 *
 * A file is a header, the key and the binary. The folder and each file must belong to the effective user, and no other
 * user may write to them: this protects the binaries. The check sum finds damage, not forgery. A file that differs from
 * what was written counts as missing.
 */
#define _POSIX_C_SOURCE 200809L
#include "driver/opencl/opencl_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/log.h"
#include "base/saving.h"
#include "variables.h"

enum { PATH_MOST = 1024, NAME_MOST = 64, FOLDER_MODE = 0700, FILE_MODE = 0600 };

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

/* Writes the file name of a key. */
static void name_of(char name[NAME_MOST], const char *key, size_t n)
{
    (void)snprintf(name, NAME_MOST, "%016llx%016llx.bin", (unsigned long long)hash(0xCBF29CE484222325ULL, key, n),
                   (unsigned long long)hash(0x9E3779B97F4A7C15ULL, key, n));
}

/* ---------------------------------------------------------------- the folder */

/*
 * Writes the path of the folder: SAPPORO_CACHE, else the location of the XDG standard; 0: no folder ("off", blank, or
 * no home). With raised privileges sap_env_path gives no path, so there is no folder.
 */
static int folder(char *path, size_t room)
{
    const struct sap_word *const off = sap_variables[SAP_VAR_CACHE].words;
    const char *const own = sap_env_path(&sap_variables[SAP_VAR_CACHE]), *const cache = sap_env_path(
                                                                             &sap_variables[SAP_VAR_CACHE_HOME]);
    const char *const home = sap_env_path(&sap_variables[SAP_VAR_HOME]), *text;
    const size_t length = sap_env_text(&sap_variables[SAP_VAR_CACHE], &text);
    int n = 0;
    if (sap_env_is_set(&sap_variables[SAP_VAR_CACHE]) && (length == 0 || sap_parse_word(off, text, length))) return 0;
    if (own)
        n = snprintf(path, room, "%s", own);
    else if (cache && *cache == '/')
        n = snprintf(path, room, "%s/sapporo", cache);
    else if (home)
        n = snprintf(path, room, "%s/.cache/sapporo", home);
    return n > 0 && (size_t)n < room;
}

int sap_opencl_cache_wanted(void)
{
    char path[PATH_MOST];
    return folder(path, sizeof path);
}

/* Creates the folder and its parents, accessible for the user only. */
static void make_folder(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, FOLDER_MODE);
        *slash = '/';
    }
    (void)mkdir(path, FOLDER_MODE);
}

/* Opens the folder; -1: it is missing, or unsafe, which is reported once as a warning. */
static int open_folder(const char *path)
{
    struct stat about;
    const char *why;
    const int handle = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    if (handle < 0) return -1;
    why = fstat(handle, &about) == 0 ? sap_file_distrust(&about) : "its owner is unknown";
    if (!why) return handle;
    if (sap_complain_first(SAP_COMPLAINT_CACHE))
        sap_log(SAPPORO_LOG_WARNING,
                "cache folder %.200s: %s; compiled programs are neither read from it nor kept in it", path, why);
    (void)close(handle);
    return -1;
}

/* ---------------------------------------------------------------- reading */

const unsigned char *sap_opencl_cache_unpack(const void *bytes, size_t room, const char *key, size_t n, size_t *size)
{
    struct header h;
    if (room < sizeof h || room - sizeof h <= n) return NULL;
    memcpy(&h, bytes, sizeof h);
    const char *const there = (const char *)bytes + sizeof h;
    const unsigned char *const binary = (const unsigned char *)there + n;
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.key_size != n || h.size != room - sizeof h - n) return NULL;
    if (memcmp(there, key, n) != 0 || check_of(key, n, binary, (size_t)h.size) != h.check) return NULL;
    *size = (size_t)h.size;
    return binary;
}

/* Reads the file of a key: one array of bytes with the header, the key and the binary. */
static enum sap_file_status read_file(const char *key, size_t n, struct sap_file *file)
{
    char path[PATH_MOST], name[NAME_MOST];
    *file = (struct sap_file){.bytes = NULL};
    const int in = folder(path, sizeof path) ? open_folder(path) : -1;
    if (in < 0) return SAP_FILE_MISSING;
    name_of(name, key, n);
    const enum sap_file_status status = sap_file_read_own(in, name, SAP_CACHE_MOST, file);
    if (status == SAP_FILE_REFUSED && sap_complain_first(SAP_COMPLAINT_CACHE_FILE))
        sap_log(SAPPORO_LOG_WARNING, "cache file %.200s/%s: %s; the program is compiled instead", path, name,
                file->why);
    (void)close(in);
    return status;
}

unsigned char *sap_opencl_cache_get(const char *key, size_t n, size_t *size)
{
    struct sap_file file;
    if (read_file(key, n, &file) != SAP_FILE_READ) return NULL;
    const unsigned char *const binary = sap_opencl_cache_unpack(file.bytes, file.size, key, n, size);
    if (binary)
        memmove(file.bytes, binary, *size);
    else
        free(file.bytes);
    return binary ? (unsigned char *)file.bytes : NULL;
}

/* ---------------------------------------------------------------- writing */

unsigned char *sap_opencl_cache_pack(const char *key, size_t n, const unsigned char *binary, size_t size, size_t *room)
{
    struct header h = {.key_size = n, .size = size, .check = check_of(key, n, binary, size)};
    memcpy(h.magic, magic, sizeof magic);
    *room = sizeof h + n + size;
    unsigned char *const bytes = malloc(*room);
    if (!bytes) return NULL;
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + sizeof h, key, n);
    memcpy(bytes + sizeof h + n, binary, size);
    return bytes;
}

/* Writes a file of the folder. It gets its name when it is complete. */
static void write_file(int in, const char *name, const unsigned char *bytes, size_t room)
{
    struct sap_saving o;
    if (sap_saving_open_at(&o, in, name, FILE_MODE) != 0) return;
    if (fchmod(o.file, FILE_MODE) != 0) o.error = errno;
    sap_saving_put(&o, bytes, room);
    (void)sap_saving_close(&o, name, 1);
}

void sap_opencl_cache_put(const char *key, size_t n, const unsigned char *binary, size_t size)
{
    char path[PATH_MOST], name[NAME_MOST];
    size_t room = 0;
    if (!folder(path, sizeof path)) return;
    make_folder(path);
    const int in = open_folder(path);
    if (in < 0) return;
    unsigned char *const bytes = sap_opencl_cache_pack(key, n, binary, size, &room);
    name_of(name, key, n);
    if (bytes && room <= SAP_CACHE_MOST) write_file(in, name, bytes, room);
    free(bytes);
    (void)close(in);
}
