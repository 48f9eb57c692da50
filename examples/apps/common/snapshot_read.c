/* snapshot_read.c - reads a file, finds its form, and makes the ids unique. */
#include "snapshot_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *snapshot_form_name(snapshot_form form)
{
    static const char *const name[] = {"init", "pl", "lines", "csv"};
    return name[form];
}

static int words(const text_lines *lines, int k) { return k < lines->n ? text_words(lines->line[k].text) : 0; }

static int begins_with_number(const char *text)
{
    char word[64];
    double value;
    size_t length = strcspn(text, " \t,;");
    if (length >= sizeof word) return 0;
    memcpy(word, text, length);
    word[length] = 0;
    return !text_real(word, &value);
}

/* Returns the number of lines before the particles if the file has one particle per line, or -1. */
static int headers_of_lines(const text_lines *lines)
{
    for (int k = 0; k <= 3; k++) {
        int width = words(lines, k);
        if (width == 7 || width == 8) return k;
        if (width < 1 || width > 3) return -1;
    }
    return -1;
}

static int line_is(const text_lines *lines, int k, int value)
{
    int found;
    return k < lines->n && !text_integer(lines->line[k].text, &found) && found == value;
}

/*
 * Returns 1 for the form pl.  init and pl both begin with single numbers: four in init, three and one per mass in pl.
 * So only a pl file of one particle, and files cut off after four lines, look alike; for these the dimension decides.
 */
static int has_form_pl(const text_lines *lines, int singles)
{
    if (singles != 4) return singles > 4;
    if (!line_is(lines, 1, 3)) return 0;
    return lines->n == 4 || (line_is(lines, 0, 1) && lines->n <= 6);
}

static int unknown_form(const text_lines *lines, int k)
{
    while (k < 3 && k + 1 < lines->n && words(lines, k) < 4) k++; /* up to three short lines may be headers */
    return text_fail(lines, k,
                     "no form of snapshot known here goes on with %d word%s in this line (a particle has 7 or 8)",
                     words(lines, k), words(lines, k) == 1 ? "" : "s");
}

static int recognise(const text_lines *lines, snapshot_form *form, int *headers)
{
    if (lines->n == 0)
        return complain(lines->about, "%s:%d: there are no data in this file", lines->name,
                        lines->last ? lines->last : 1);
    *form = SNAPSHOT_CSV;
    if (!begins_with_number(lines->line[0].text)) return 0;
    *form = SNAPSHOT_LINES;
    *headers = headers_of_lines(lines);
    if (*headers >= 0) return 0;
    int singles = 0;
    while (words(lines, singles) == 1) singles++;
    if (singles < 4 && singles < lines->n) return unknown_form(lines, singles);
    *form = has_form_pl(lines, singles) ? SNAPSHOT_PL : SNAPSHOT_INIT;
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/*
 * Makes ids unique.  Some writers give every particle the index 1, but GRAPE takes equal indices for the same particle.
 */
static int make_ids_unique(const char *name, bodies *set, message *about)
{
    int *sorted = malloc((size_t)set->n * sizeof *sorted), repeated = 0, which = 0;
    if (!sorted) return complain(about, "%s: out of memory for %d particles", name, set->n);
    memcpy(sorted, set->id, (size_t)set->n * sizeof *sorted);
    qsort(sorted, (size_t)set->n, sizeof *sorted, compare_ids);
    for (int k = 1; k < set->n && !repeated; k++)
        if (sorted[k] == sorted[k - 1]) {
            repeated = 1;
            which = sorted[k];
        }
    free(sorted);
    if (!repeated) return 0;
    for (int k = 0; k < set->n; k++) set->id[k] = k + 1;
    note(about, "%s: more than one particle has the id %d; they are numbered 1 to %d now", name, which, set->n);
    return 0;
}

int snapshot_parse(const char *name, char *text, size_t length, bodies *set, snapshot_form *form, message *about)
{
    text_lines lines = {.name = name, .about = about};
    int headers = 0;
    memset(set, 0, sizeof *set);
    about->text[0] = 0;
    int status = text_split(&lines, text, length);
    if (!status) status = recognise(&lines, form, &headers);
    if (!status) {
        if (*form == SNAPSHOT_CSV) status = snapshot_parse_csv(&lines, set);
        if (*form == SNAPSHOT_LINES) status = snapshot_parse_lines(&lines, headers, set);
        if (*form == SNAPSHOT_PL) status = snapshot_parse_pl(&lines, set);
        if (*form == SNAPSHOT_INIT) status = snapshot_parse_init(&lines, set);
        memcpy(set->units, lines.units, sizeof set->units);
        memcpy(set->parts, lines.parts, sizeof set->parts);
    }
    text_free(&lines);
    if (!status) status = make_ids_unique(name, set, about);
    if (status) bodies_free(set);
    return status;
}

/* Reads the whole stream, with space for a final 0; returns NULL if memory is not sufficient. */
static char *take_in(FILE *stream, size_t *length)
{
    size_t room = 1 << 16, got;
    char *text = malloc(room);
    *length = 0;
    while (text && (got = fread(text + *length, 1, room - *length - 1, stream)) > 0) {
        *length += got;
        if (room - *length > 1) continue;
        room *= 2;
        char *larger = realloc(text, room);
        if (!larger) free(text);
        text = larger;
    }
    return text;
}

int snapshot_read(const char *path, bodies *set, snapshot_form *form, message *about)
{
    int from_pipe = !strcmp(path, "-");
    const char *name = from_pipe ? "standard input" : path;
    memset(set, 0, sizeof *set);
    FILE *stream = from_pipe ? stdin : fopen(path, "rb");
    if (!stream) return complain(about, "%s: %s", name, strerror(errno));
    size_t length;
    errno = 0;
    char *text = take_in(stream, &length);
    int bad = ferror(stream), reason = errno;
    if (!from_pipe) fclose(stream);
    if (!text) return complain(about, "%s: out of memory", name);
    int status =
        bad ? complain(about, "%s: %s", name, strerror(reason)) : snapshot_parse(name, text, length, set, form, about);
    free(text);
    return status;
}
