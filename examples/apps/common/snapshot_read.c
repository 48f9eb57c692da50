/* snapshot_read.c - reads a file, finds its form, and makes the ids unique. */
#include "snapshot_hdf5.h"
#include "snapshot_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *snapshot_form_name(snapshot_form form)
{
    static const char *const name[] = {"init", "pl", "lines", "csv", "hdf5"};
    return name[form];
}

const char *snapshot_form_ending(snapshot_form form)
{
    return form == SNAPSHOT_HDF5 ? "hdf5" : form == SNAPSHOT_CSV ? "csv" : "txt";
}

static int words(const text_lines *lines, int k) { return k < lines->n ? text_words(lines->line[k].text) : 0; }

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
    if (text_has_decimal_comma(lines->line[k].text)) return text_fail_comma(lines, k);
    return text_fail(lines, k,
                     "no form of snapshot known here goes on with %d word%s in this line (a particle has 7 or 8)",
                     words(lines, k), words(lines, k) == 1 ? "" : "s");
}

/* Whether one of the first lines is as long as that of a particle: of the forms without names, init and pl have none.
 */
static int has_rows(const text_lines *lines)
{
    for (int k = 0; k <= 3; k++)
        if (words(lines, k) > 3) return 1;
    return 0;
}

/* A file whose comment names the columns has the form lines if they are the usual ones. */
static int recognise_named(const text_lines *lines, snapshot_form *form, int *headers)
{
    int fields, only_known;
    *form = SNAPSHOT_CSV;
    if (snapshot_names_fit(lines, headers, &fields, &only_known)) return -1;
    if (snapshot_names_usual(lines) && (fields == 7 || fields == 8)) *form = SNAPSHOT_LINES;
    return 0;
}

/* Fails if a comment names all columns in another order than the forms that have one number per line. */
static int names_other_order(const text_lines *lines)
{
    column_names list = {.rest = lines->names};
    int known = 0, column;
    while (snapshot_next_column(&list, &column)) known += column >= 0;
    if (known < 7 || snapshot_names_usual(lines)) return 0;
    complain(lines->about, "%s:%d: this comment names columns in another order than id mass x y z vx vy vz",
             lines->name, lines->names_number);
    return 1;
}

static int recognise(const text_lines *lines, snapshot_form *form, int *headers)
{
    if (lines->n == 0)
        return complain(lines->about, "%s:%d: there are no data in this file", lines->name,
                        lines->last ? lines->last : 1);
    *form = SNAPSHOT_CSV;
    if (!text_begins_with_real(lines->line[0].text)) return 0;
    *headers = headers_of_lines(lines);
    if (lines->names && (*headers >= 0 || has_rows(lines))) return recognise_named(lines, form, headers);
    *form = SNAPSHOT_LINES;
    if (*headers >= 0 || snapshot_is_petar(lines)) return 0;
    if (lines->names && names_other_order(lines)) return -1;
    int singles = 0;
    while (words(lines, singles) == 1) singles++;
    if (singles < 4 && singles < lines->n) return unknown_form(lines, singles);
    *form = has_form_pl(lines, singles) ? SNAPSHOT_PL : SNAPSHOT_INIT;
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    const long long left = *(const long long *)a, right = *(const long long *)b;
    return (left > right) - (left < right);
}

/*
 * Makes ids unique.  Some writers give every particle the index 1, but GRAPE takes equal indices for the same particle.
 */
static int make_ids_unique(const char *name, bodies *set, message *about)
{
    long long *sorted = malloc((size_t)set->n * sizeof *sorted), which = 0;
    int repeated = 0;
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
    note(about, "%s: more than one particle has the id %lld; they are numbered 1 to %d now", name, which, set->n);
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
        if (*form == SNAPSHOT_CSV)
            status = text_begins_with_real(lines.line[0].text) ? snapshot_parse_named(&lines, set)
                                                               : snapshot_parse_csv(&lines, set);
        if (*form == SNAPSHOT_LINES)
            status = headers >= 0 ? snapshot_parse_lines(&lines, headers, set) : snapshot_parse_petar(&lines, set);
        if (*form == SNAPSHOT_PL) status = snapshot_parse_pl(&lines, set);
        if (*form == SNAPSHOT_INIT) status = snapshot_parse_init(&lines, set);
        set->G = lines.G;
        memcpy(set->units, lines.units, sizeof set->units);
        set->units_line = lines.units_number;
        memcpy(set->parts, lines.parts, sizeof set->parts);
    }
    text_free(&lines);
    if (!status) status = make_ids_unique(name, set, about);
    if (status) bodies_free(set);
    return status;
}

/* Fails at the line of the first byte that no text has; the text begins in line `line`. */
static int fail_binary(const char *name, const char *text, const char *byte, message *about)
{
    int line = 1;
    if (!strncmp(text, "\x89HDF", 4))
        return complain(about, "%s: this is HDF5, which is read from a file and not from a pipe", name);
    for (; text < byte; text++) line += *text == '\n';
    return complain(about, "%s:%d: this is not a text file", name, line);
}

/*
 * Reads the whole stream, with space for a final 0, or until it is no text: a device or a file of another kind may have
 * no end.  -1, with a message: it cannot be read.
 */
static int take_in(FILE *stream, const char *name, char **text, size_t *length, message *about)
{
    size_t room = 1 << 16, got;
    *length = 0;
    *text = malloc(room);
    errno = 0;
    while (*text && (got = fread(*text + *length, 1, room - *length - 1, stream)) > 0) {
        const char *const byte = memchr(*text + *length, 0, got);
        if (byte) return fail_binary(name, *text, byte, about);
        *length += got;
        if (room - *length > 1) continue;
        room *= 2;
        char *larger = realloc(*text, room);
        if (!larger) free(*text);
        *text = larger;
    }
    if (!*text) return complain(about, "%s: out of memory", name);
    return ferror(stream) ? complain(about, "%s: %s", name, strerror(errno)) : 0;
}

static int read_hdf5(const char *path, bodies *set, snapshot_form *form, message *about)
{
    *form = SNAPSHOT_HDF5;
    if (snapshot_hdf5_read(path, set, about)) return -1;
    if (!make_ids_unique(path, set, about)) return 0;
    bodies_free(set);
    return -1;
}

int snapshot_read(const char *path, bodies *set, snapshot_form *form, message *about)
{
    const int from_pipe = !strcmp(path, "-");
    const char *name = from_pipe ? "standard input" : path;
    size_t length;
    char *text;
    memset(set, 0, sizeof *set);
    if (!from_pipe && snapshot_hdf5_is(path)) return read_hdf5(path, set, form, about);
    FILE *stream = from_pipe ? stdin : fopen(path, "rb");
    if (!stream) return complain(about, "%s: %s", name, strerror(errno));
    int status = take_in(stream, name, &text, &length, about);
    if (!from_pipe) fclose(stream);
    if (!status) status = snapshot_parse(name, text, length, set, form, about);
    free(text);
    return status;
}
