/* digest.c - see digest.h. */
#define _POSIX_C_SOURCE 200809L
#include "digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 400 };

struct entry {
    uint64_t digest;
    int noted, known; /* by this run; of the file */
    char name[LINE];  /* `case | kind` */
};

struct digest_book {
    struct entry *entry;
    int n, room;
};

/* FNV-1a of Fowler, Noll and Vo, with 64 bits. */
void digest_bytes(uint64_t *digest, const void *bytes, size_t n)
{
    const unsigned char *const byte = bytes;
    uint64_t h = *digest ? *digest : UINT64_C(0xcbf29ce484222325);
    for (size_t k = 0; k < n; k++) h = (h ^ byte[k]) * UINT64_C(0x100000001b3);
    *digest = h;
}

/* All NaN are one: their signs and payloads are no part of a result. */
void digest_doubles(uint64_t *digest, const double *x, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const uint64_t nan = UINT64_C(0x7ff8000000000000);
        if (x[k] == x[k])
            digest_bytes(digest, &x[k], sizeof x[k]);
        else
            digest_bytes(digest, &nan, sizeof nan);
    }
}

static struct entry *find(struct digest_book *b, const char *name)
{
    for (int k = 0; k < b->n; k++)
        if (strcmp(b->entry[k].name, name) == 0) return &b->entry[k];
    if (b->n == b->room) {
        b->room = b->room ? 2 * b->room : 256;
        struct entry *const more = realloc(b->entry, (size_t)b->room * sizeof *more);
        if (!more) abort();
        b->entry = more;
    }
    struct entry *const e = &b->entry[b->n++];
    memset(e, 0, sizeof *e);
    snprintf(e->name, sizeof e->name, "%s", name);
    return e;
}

struct digest_book *digest_read(const char *path)
{
    struct digest_book *const b = calloc(1, sizeof *b);
    FILE *const f = fopen(path, "r");
    char line[LINE];
    if (!b) abort();
    while (f && fgets(line, sizeof line, f)) {
        char *end = line;
        const uint64_t digest = strtoull(line, &end, 16);
        if (line[0] == '#' || *end != ' ') continue;
        end[strcspn(end, "\n")] = 0;
        struct entry *const e = find(b, end + 1);
        e->digest = digest;
        e->known = 1;
    }
    if (f) fclose(f);
    return b;
}

int digest_note(struct digest_book *b, const char *name, const char *kind, uint64_t digest)
{
    char full[LINE];
    snprintf(full, sizeof full, "%s | %s", name, kind);
    struct entry *const e = find(b, full);
    const int differs = e->known && e->digest != digest;
    if (differs) printf("# %s: bits are %016" PRIx64 ", not %016" PRIx64 "\n", full, digest, e->digest);
    e->digest = digest;
    e->noted = 1;
    return differs;
}

void digest_counts(const struct digest_book *b, int *known, int *unknown)
{
    *known = *unknown = 0;
    for (int k = 0; k < b->n; k++)
        if (b->entry[k].noted) *(b->entry[k].known ? known : unknown) += 1;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

int digest_write(const struct digest_book *b, const char *path)
{
    FILE *const f = fopen(path, "w");
    if (!f) return -1;
    qsort(b->entry, (size_t)b->n, sizeof *b->entry, by_name);
    fputs("# Bits of results: a number of each case, and the kind of engine that it holds for.  Made by make digest.\n",
          f);
    for (int k = 0; k < b->n; k++) fprintf(f, "%016" PRIx64 " %s\n", b->entry[k].digest, b->entry[k].name);
    return fclose(f) ? -1 : 0;
}

void digest_free(struct digest_book *b)
{
    if (b) free(b->entry);
    free(b);
}
