/*
 * snapshot_csv.c - the form with column names, in its first line or in a comment.
 */
#include "snapshot_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PETAR_LEAST = 9 }; /* columns; the forms without names have 7 or 8 */

typedef struct layout {
    char separator;    /* ' ' stands for any number of blanks */
    int fields;        /* columns of the file */
    int from[COLUMNS]; /* the file's column for each of our columns, -1: none */
} layout;

/* Returns the next field, without the blanks and quotes around it; NULL at the end of the line. */
static char *next_field(char **rest, char separator)
{
    char *field = *rest, *end;
    if (!field) return NULL;
    if (separator == ' ') {
        field += strspn(field, " \t");
        end = field + strcspn(field, " \t");
        char *next = end + strspn(end, " \t");
        *rest = *next ? next : NULL;
    } else {
        end = strchr(field, separator);
        if (end)
            *rest = end + 1;
        else {
            end = field + strlen(field);
            *rest = NULL;
        }
    }
    *end = 0;
    field += strspn(field, " \t\"'");
    size_t length = strlen(field);
    while (length && strchr(" \t\"'", field[length - 1])) length--;
    field[length] = 0;
    return field;
}

static char find_separator(const char *text)
{
    static const char candidates[] = ",;\t";
    for (const char *c = candidates; *c; c++)
        if (strchr(text, *c)) return *c;
    return ' ';
}

/* Notes that the next field of the file has this column, -1: none of ours.  Returns -1 if another one has it. */
static int add_field(layout *csv, int column)
{
    if (column >= 0 && csv->from[column] >= 0) return -1;
    if (column >= 0) csv->from[column] = csv->fields;
    csv->fields++;
    return 0;
}

/* Fails, with the number of a line, if a column is missing that a particle needs. */
static int require_columns(const text_lines *lines, int number, const layout *csv)
{
    for (int c = COLUMN_MASS; c < COLUMNS; c++)
        if (csv->from[c] < 0)
            return complain(lines->about, "%s:%d: no column is named %s (needed: mass x y z vx vy vz; id may be there)",
                            lines->name, number, snapshot_column_name(c));
    return 0;
}

static int fail_twice(const text_lines *lines, int number, int column)
{
    return complain(lines->about, "%s:%d: there are two columns for %s", lines->name, number,
                    snapshot_column_name(column));
}

static void begin_layout(layout *csv, char separator)
{
    csv->separator = separator;
    csv->fields = 0;
    for (int c = 0; c < COLUMNS; c++) csv->from[c] = -1;
}

/* Reads the names in the first line. */
static int read_names(const text_lines *lines, layout *csv)
{
    char *rest = lines->line[0].text, *name;
    begin_layout(csv, find_separator(rest));
    while ((name = next_field(&rest, csv->separator)) != NULL) {
        const int column = snapshot_column(name);
        if (add_field(csv, column)) return fail_twice(lines, lines->line[0].number, column);
    }
    return require_columns(lines, lines->line[0].number, csv);
}

/* Reads the names in a comment; particles begin in line *headers. */
static int read_comment_names(const text_lines *lines, layout *csv, int *headers)
{
    column_names list = {.rest = lines->names};
    int fields, only_known, column;
    if (snapshot_names_fit(lines, headers, &fields, &only_known)) return -1;
    const char separator = find_separator(lines->line[*headers].text);
    begin_layout(csv, separator == '\t' ? ' ' : separator); /* several tabs are one, as in the comment */
    while (snapshot_next_column(&list, &column)) {
        if (column < 0 && only_known) continue;
        if (add_field(csv, column)) return fail_twice(lines, lines->names_number, column);
    }
    return require_columns(lines, lines->names_number, csv);
}

/* Reads an id, which a file of numbers may write as a real number: 1.0e+00. */
static int read_id(const text_lines *lines, int k, const char *word, long long *id)
{
    double value;
    const int verdict = text_id(word, id);
    if (!verdict) return 0;
    if (verdict != TEXT_LARGE && !text_real(word, &value) && value == floor(value) && fabs(value) <= 0x1p53) {
        *id = (long long)value;
        return 0;
    }
    return text_fail_id(lines, k, word, verdict);
}

/* Reads line k, which holds particle `who`. */
static int read_row(const text_lines *lines, const layout *csv, int k, int who, char *field[], bodies *set)
{
    char *rest = lines->line[k].text, *next;
    int found = 0;
    if (csv->separator == ',' && text_has_decimal_comma(rest)) return text_fail_comma(lines, k);
    while ((next = next_field(&rest, csv->separator)) != NULL) {
        if (found < csv->fields) field[found] = next;
        found++;
    }
    if (found != csv->fields) return text_fail(lines, k, "%d columns expected, %d found", csv->fields, found);
    double value[COLUMNS];
    for (int c = COLUMN_MASS; c < COLUMNS; c++)
        if (text_real(field[csv->from[c]], &value[c]))
            return text_fail(lines, k, "'%.40s' is not a finite number (%s)", field[csv->from[c]],
                             snapshot_column_name(c));
    if (value[COLUMN_MASS] < 0) return text_fail(lines, k, "the mass is negative");
    set->id[who] = who + 1;
    if (csv->from[COLUMN_ID] >= 0 && read_id(lines, k, field[csv->from[COLUMN_ID]], &set->id[who])) return -1;
    set->mass[who] = value[COLUMN_MASS];
    memcpy(set->x[who], value + COLUMN_X, sizeof set->x[who]);
    memcpy(set->v[who], value + COLUMN_VX, sizeof set->v[who]);
    return 0;
}

/* Reads the particles, which are the lines from `first` on. */
static int read_rows(const text_lines *lines, const layout *csv, int first, bodies *set)
{
    const int n = lines->n - first;
    char **field = malloc((size_t)csv->fields * sizeof *field);
    if (!field || bodies_allocate(set, n)) {
        free(field);
        return complain(lines->about, "%s: out of memory for %d particles", lines->name, n);
    }
    set->time = lines->time;
    int status = 0;
    for (int who = 0; who < n && !status; who++) status = read_row(lines, csv, first + who, who, field, set);
    free(field);
    return status;
}

int snapshot_parse_csv(const text_lines *lines, bodies *set)
{
    layout csv;
    if (read_names(lines, &csv)) return -1;
    if (lines->n < 2)
        return complain(lines->about, "%s:%d: the file ends here, before the first particle", lines->name, lines->last);
    return read_rows(lines, &csv, 1, set);
}

int snapshot_parse_named(const text_lines *lines, bodies *set)
{
    layout csv;
    int headers = 0;
    if (read_comment_names(lines, &csv, &headers) || read_rows(lines, &csv, headers, set)) return -1;
    return snapshot_read_headers(lines, headers, set->n, set);
}

int snapshot_is_petar(const text_lines *lines)
{
    char header[256], *word[TOKENS_MAX];
    int value[2];
    if (lines->n < 2 || text_words(lines->line[1].text) < PETAR_LEAST) return 0;
    snprintf(header, sizeof header, "%s", lines->line[0].text);
    const int words = text_cut(header, word);
    if (words != 3 && words != 9) return 0;
    for (int k = 0; k < 2; k++)
        if (text_integer(word[k], &value[k])) return 0;
    return value[1] == lines->n - 1;
}

int snapshot_parse_petar(const text_lines *lines, bodies *set)
{
    char *word[TOKENS_MAX];
    layout table;
    begin_layout(&table, ' ');
    table.fields = text_words(lines->line[1].text);
    for (int c = COLUMN_MASS; c < COLUMNS; c++) table.from[c] = c - COLUMN_MASS;
    if (read_rows(lines, &table, 1, set)) return -1;
    (void)text_cut(lines->line[0].text, word);
    if (!text_real(word[2], &set->time)) return 0;
    return text_fail(lines, 0, "'%.40s' is not a finite number (time)", word[2]);
}
