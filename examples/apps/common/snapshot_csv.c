/*
 * snapshot_csv.c - the form with column names.
 */
#include "snapshot_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ID, MASS, X, Y, Z, VX, VY, VZ, COLUMNS };

static const char *const NAME[COLUMNS] = {"id", "mass", "x", "y", "z", "vx", "vy", "vz"};
static const char *const OTHER_NAME[COLUMNS] = {"index", "m", "x", "y", "z", "vx", "vy", "vz"};

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

static int same_name(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == *b) {
        a++;
        b++;
    }
    return !*a && !*b;
}

static int find_column(const char *name)
{
    for (int c = 0; c < COLUMNS; c++)
        if (same_name(name, NAME[c]) || same_name(name, OTHER_NAME[c])) return c;
    return -1;
}

static int read_names(const text_lines *lines, layout *csv)
{
    char *rest = lines->line[0].text, *name;
    csv->separator = find_separator(rest);
    csv->fields = 0;
    for (int c = 0; c < COLUMNS; c++) csv->from[c] = -1;
    while ((name = next_field(&rest, csv->separator)) != NULL) {
        int column = find_column(name);
        if (column >= 0 && csv->from[column] >= 0)
            return text_fail(lines, 0, "there are two columns for %s", NAME[column]);
        if (column >= 0) csv->from[column] = csv->fields;
        csv->fields++;
    }
    for (int c = MASS; c < COLUMNS; c++)
        if (csv->from[c] < 0)
            return text_fail(lines, 0, "no column is named %s (needed: mass x y z vx vy vz; id may be there)", NAME[c]);
    return 0;
}

static int read_row(const text_lines *lines, const layout *csv, int k, char *field[], bodies *set)
{
    char *rest = lines->line[k].text, *next;
    int found = 0, who = k - 1;
    while ((next = next_field(&rest, csv->separator)) != NULL) {
        if (found < csv->fields) field[found] = next;
        found++;
    }
    if (found != csv->fields) return text_fail(lines, k, "%d columns expected, %d found", csv->fields, found);
    double value[COLUMNS];
    for (int c = MASS; c < COLUMNS; c++)
        if (text_real(field[csv->from[c]], &value[c]))
            return text_fail(lines, k, "'%.40s' is not a finite number (%s)", field[csv->from[c]], NAME[c]);
    if (value[MASS] < 0) return text_fail(lines, k, "the mass is negative");
    set->id[who] = who + 1;
    if (csv->from[ID] >= 0 && text_integer(field[csv->from[ID]], &set->id[who]))
        return text_fail(lines, k, "'%.40s' is not a whole number (id)", field[csv->from[ID]]);
    set->mass[who] = value[MASS];
    memcpy(set->x[who], value + X, sizeof set->x[who]);
    memcpy(set->v[who], value + VX, sizeof set->v[who]);
    return 0;
}

int snapshot_parse_csv(const text_lines *lines, bodies *set)
{
    layout csv;
    if (read_names(lines, &csv)) return -1;
    if (lines->n < 2)
        return complain(lines->about, "%s:%d: the file ends here, before the first particle", lines->name, lines->last);
    char **field = malloc((size_t)csv.fields * sizeof *field);
    if (!field || bodies_allocate(set, lines->n - 1)) {
        free(field);
        return complain(lines->about, "%s: out of memory for %d particles", lines->name, lines->n - 1);
    }
    set->time = lines->time;
    int status = 0;
    for (int k = 1; k < lines->n && !status; k++) status = read_row(lines, &csv, k, field, set);
    free(field);
    return status;
}
