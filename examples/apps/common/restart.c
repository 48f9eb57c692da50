/*
 * restart.c - see restart.h.
 */
#include "restart.h"
#include "atomic_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int take_in(const char *path, restart_file *file, message *why)
{
    FILE *stream = fopen(path, "rb");
    if (!stream) return complain(why, "%s: %s", path, strerror(errno));
    long size = fseek(stream, 0, SEEK_END) ? -1 : ftell(stream);
    int status = -1;
    if (size < 0 || fseek(stream, 0, SEEK_SET))
        complain(why, "%s: %s", path, strerror(errno));
    else if (!(file->content = malloc((size_t)size + 1)))
        complain(why, "%s: out of memory", path);
    else if (fread(file->content, 1, (size_t)size, stream) != (size_t)size)
        complain(why, "%s: cannot be read to its end", path);
    else {
        file->size = (size_t)size;
        status = 0;
    }
    fclose(stream);
    return status;
}

static int check(const char *path, const char *program, const restart_file *file, message *why)
{
    header top;
    uint64_t sum;
    if (file->size < sizeof top + sizeof sum || memcmp(file->content, MAGIC, sizeof MAGIC) != 0)
        return complain(why, "%s: this is not a restart file", path);
    memcpy(&top, file->content, sizeof top);
    top.program[sizeof top.program - 1] = 0;
    if (top.order != ORDER) return complain(why, "%s: written on a machine with another order of bytes", path);
    if (strcmp(top.program, program) != 0)
        return complain(why, "%s: written by '%s', but this is '%s'", path, top.program, program);
    if (top.size != file->size) return complain(why, "%s: damaged: its length is not what it says", path);
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
    if (!take_in(path, file, why)) return restart_parse(path, program, file->content, file->size, file, why);
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
