/*
 * restart.c - see restart.h.
 */
#define _POSIX_C_SOURCE 200809L
#include "restart.h"
#include "atomic_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct header {
    char magic[8];
    uint64_t order; /* shows a machine with another order of bytes */
    char program[48];
    uint64_t pieces, size; /* of the whole file */
} header;

typedef struct piece_header {
    char name[16];
    uint64_t size;
} piece_header;

static const char MAGIC[8] = "SAPRUN1\n";
static const uint64_t ORDER = UINT64_C(0x0102030405060708);

/* Returns the check sum FNV-1a, one word at a time; it detects damage, not malice. */
static uint64_t checksum(uint64_t sum, const void *data, size_t size)
{
    const unsigned char *byte = data;
    const uint64_t prime = UINT64_C(0x100000001b3);
    for (; size >= 8; size -= 8, byte += 8) {
        uint64_t word;
        memcpy(&word, byte, 8);
        sum = (sum ^ word) * prime;
        sum ^= sum >> 29;
    }
    for (; size; size--) sum = (sum ^ *byte++) * prime;
    return sum;
}

static const uint64_t CHECKSUM_START = UINT64_C(0xcbf29ce484222325);

static void put(FILE *stream, const void *data, size_t size, uint64_t *sum)
{
    *sum = checksum(*sum, data, size);
    fwrite(data, 1, size, stream); /* ferror reports an error, and the commit checks it */
}

int restart_print(FILE *stream, const char *program, const restart_piece *pieces, int n)
{
    header top = {.order = ORDER, .pieces = (uint64_t)n};
    uint64_t sum = CHECKSUM_START;
    memcpy(top.magic, MAGIC, sizeof top.magic);
    snprintf(top.program, sizeof top.program, "%s", program);
    top.size = sizeof top + sizeof sum;
    for (int k = 0; k < n; k++) top.size += sizeof(piece_header) + pieces[k].size;
    put(stream, &top, sizeof top, &sum);
    for (int k = 0; k < n; k++) {
        piece_header piece = {.size = pieces[k].size};
        snprintf(piece.name, sizeof piece.name, "%s", pieces[k].name);
        put(stream, &piece, sizeof piece, &sum);
        put(stream, pieces[k].data, pieces[k].size, &sum);
    }
    return fwrite(&sum, 1, sizeof sum, stream) == sizeof sum ? 0 : -1;
}

int restart_write(const char *path, const char *program, const restart_piece *pieces, int n, message *why)
{
    atomic_file file;
    if (atomic_open(&file, path, why)) return -1;
    restart_print(file.stream, program, pieces, n); /* ferror reports errors, and the commit checks it */
    return atomic_commit(&file, why);
}

/* Checks the first bytes of a file of `size` bytes. */
static int check_header(const char *path, const char *program, const header *top, size_t size, message *why)
{
    char written_by[sizeof top->program];
    if (size < sizeof *top + sizeof(uint64_t) || memcmp(top->magic, MAGIC, sizeof MAGIC) != 0)
        return complain(why, "%s: this is not a restart file", path);
    memcpy(written_by, top->program, sizeof written_by);
    written_by[sizeof written_by - 1] = 0;
    if (top->order != ORDER) return complain(why, "%s: written on a machine with another order of bytes", path);
    if (strcmp(written_by, program) != 0)
        return complain(why, "%s: written by '%s', but this is '%s'", path, written_by, program);
    if (top->size != size) return complain(why, "%s: damaged: its length is not what it says", path);
    return 0;
}

/* Reads a file of `size` bytes whose header is good. */
static int take_rest(const char *path, FILE *stream, const header *top, restart_file *file, message *why)
{
    const size_t size = (size_t)top->size;
    file->content = malloc(size);
    if (!file->content) return complain(why, "%s: out of memory", path);
    memcpy(file->content, top, sizeof *top);
    if (fread(file->content + sizeof *top, 1, size - sizeof *top, stream) != size - sizeof *top)
        return complain(why, "%s: cannot be read to its end", path);
    file->size = size;
    return 0;
}

/* Reads a file whose first bytes are those of a restart file: others may be of any size. */
static int take_in(const char *path, const char *program, restart_file *file, message *why)
{
    struct stat about;
    header top = {.order = 0};
    if (stat(path, &about)) return complain(why, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode)) return complain(why, "%s: this is no regular file", path);
    FILE *stream = fopen(path, "rb");
    if (!stream) return complain(why, "%s: %s", path, strerror(errno));
    const size_t got = fread(&top, 1, sizeof top, stream);
    int status = ferror(stream)
                     ? complain(why, "%s: %s", path, strerror(errno))
                     : check_header(path, program, &top, got < sizeof top ? got : (size_t)about.st_size, why);
    if (!status) status = take_rest(path, stream, &top, file, why);
    fclose(stream);
    return status;
}

int restart_is_of(const char *path, const char *program)
{
    struct stat about;
    header top;
    FILE *const stream = stat(path, &about) || !S_ISREG(about.st_mode) ? NULL : fopen(path, "rb");
    if (!stream) return 0;
    const int whole = fread(&top, sizeof top, 1, stream) == 1;
    fclose(stream);
    return whole && !memcmp(top.magic, MAGIC, sizeof MAGIC) && !strncmp(top.program, program, sizeof top.program);
}

static int check(const char *path, const char *program, const restart_file *file, message *why)
{
    header top;
    uint64_t sum;
    memset(&top, 0, sizeof top);
    memcpy(&top, file->content, file->size < sizeof top ? file->size : sizeof top);
    if (check_header(path, program, &top, file->size, why)) return -1;
    memcpy(&sum, file->content + file->size - sizeof sum, sizeof sum);
    /* The check sum is computed piece by piece, as it was written. */
    uint64_t found = checksum(CHECKSUM_START, file->content, sizeof top);
    size_t at = sizeof top, end = file->size - sizeof sum;
    for (uint64_t k = 0; k < top.pieces; k++) {
        piece_header piece;
        if (end - at < sizeof piece) return complain(why, "%s: damaged: a piece is missing", path);
        memcpy(&piece, file->content + at, sizeof piece);
        found = checksum(found, &piece, sizeof piece);
        at += sizeof piece;
        if (piece.size > end - at) return complain(why, "%s: damaged: a piece is cut off", path);
        found = checksum(found, file->content + at, (size_t)piece.size);
        at += (size_t)piece.size;
    }
    if (found != sum || at != end) return complain(why, "%s: damaged: its check sum is wrong", path);
    return 0;
}

int restart_parse(const char *path, const char *program, unsigned char *content, size_t size, restart_file *file,
                  message *why)
{
    *file = (restart_file){.path = path, .content = content, .size = size};
    if (!check(path, program, file, why)) return 0;
    restart_free(file);
    return -1;
}

int restart_read(const char *path, const char *program, restart_file *file, message *why)
{
    memset(file, 0, sizeof *file);
    if (!take_in(path, program, file, why)) return restart_parse(path, program, file->content, file->size, file, why);
    restart_free(file);
    return -1;
}

int restart_get(const restart_file *file, const char *name, void *data, size_t size, message *why)
{
    size_t at = sizeof(header), end = file->size - sizeof(uint64_t);
    while (end - at >= sizeof(piece_header)) {
        piece_header piece;
        memcpy(&piece, file->content + at, sizeof piece);
        at += sizeof piece;
        if (!strncmp(piece.name, name, sizeof piece.name)) {
            if (piece.size != size)
                return complain(why, "%s: the piece '%s' has %llu bytes, not %zu", file->path, name,
                                (unsigned long long)piece.size, size);
            memcpy(data, file->content + at, size);
            return 0;
        }
        at += (size_t)piece.size;
    }
    return complain(why, "%s: there is no piece '%s' in it", file->path, name);
}

void restart_free(restart_file *file)
{
    free(file->content);
    memset(file, 0, sizeof *file);
}
