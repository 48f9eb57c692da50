/* target_restart.c - restart files: pieces that were written come back, and no damaged file is accepted. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "targets.h"

#include "restart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 3 };

static const char *const names[PIECES] = {"first", "second", "third"};

/* 1: the bytes are a restart file; *file owns a copy of them. */
static int parse(const void *bytes, size_t size, restart_file *file)
{
    message why;
    unsigned char *const copy = malloc(size + (size == 0));
    parser_require(copy != NULL, "memory for a copy");
    if (size > 0) memcpy(copy, bytes, size);
    if (restart_parse("file", "fuzzer", copy, size, file, &why) == 0) return 1;
    parser_require(!file->content, "a refused file leaves nothing");
    parser_require(strncmp(why.text, "file: ", 6) == 0, "a refusal names the file");
    for (const char *c = why.text; *c; c++)
        parser_require((unsigned char)*c >= ' ' && *c != 0x7F, "a message is one line");
    return 0;
}

/* Cuts the input into pieces, of lengths that its bytes decide. */
static void cut(const unsigned char *bytes, size_t size, restart_piece piece[PIECES])
{
    for (int k = 0; k < PIECES; k++) {
        const size_t n = k < PIECES - 1 && size > 0 ? bytes[0] % (size + 1) : size;
        piece[k] = (restart_piece){.name = names[k], .data = bytes, .size = n};
        bytes += n;
        size -= n;
    }
}

static void check_pieces(const restart_file *file, const restart_piece piece[PIECES])
{
    message why;
    for (int k = 0; k < PIECES; k++) {
        unsigned char *const back = malloc(piece[k].size + 1);
        parser_require(back != NULL, "memory for a piece");
        parser_require(restart_get(file, names[k], back, piece[k].size, &why) == 0,
                       "a piece that was written is there");
        parser_require(memcmp(back, piece[k].data, piece[k].size) == 0, "every byte survives");
        parser_require(restart_get(file, names[k], back, piece[k].size + 1, &why) == -1, "a piece has its size");
        parser_require(restart_get(file, "fourth", back, 0, &why) == -1, "no other piece is there");
        free(back);
    }
}

static void check_round_trip(const unsigned char *bytes, size_t size, unsigned place)
{
    char *text = NULL;
    size_t n = 0;
    restart_file file;
    restart_piece piece[PIECES];
    FILE *const stream = open_memstream(&text, &n);
    cut(bytes, size, piece);
    parser_require(stream && restart_print(stream, "fuzzer", piece, PIECES) == 0 && fclose(stream) == 0,
                   "pieces can be written");
    parser_require(parse(text, n, &file), "what is written can be read");
    check_pieces(&file, piece);
    restart_free(&file);
    parser_require(!parse(text, place % n, &file), "a file that was cut is refused");
    text[place % n] = (char)(text[place % n] ^ (1 << place % 7));
    parser_require(!parse(text, n, &file), "a file that was changed is refused");
    free(text);
}

void parse_restart(const unsigned char *bytes, size_t size)
{
    restart_file file;
    if (parse(bytes, size, &file)) restart_free(&file);
    if (size > 2) check_round_trip(bytes + 2, size - 2, bytes[0] | (unsigned)bytes[1] << 8);
}
