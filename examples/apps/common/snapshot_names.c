/*
 * snapshot_names.c - a comment that names the columns, as numpy.savetxt writes it for `header`.
 *
 * Such a comment is no remark: the numbers below mean what it says, or the file is refused.
 */
#include "snapshot_text.h"

#include <ctype.h>
#include <string.h>

static const char *const NAME[COLUMNS] = {"id", "mass", "x", "y", "z", "vx", "vy", "vz"};
static const char *const OTHER_NAME[COLUMNS] = {"index", "m", "x", "y", "z", "vx", "vy", "vz"};
static const char BETWEEN[] = " \t,;|:=\"'";

static int same_name(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == *b) {
        a++;
        b++;
    }
    return !*a && !*b;
}

int snapshot_column(const char *name)
{
    for (int c = 0; c < COLUMNS; c++)
        if (same_name(name, NAME[c]) || same_name(name, OTHER_NAME[c])) return c;
    return -1;
}

const char *snapshot_column_name(int column) { return NAME[column]; }

/* Returns what is behind the bracket that begins at `text`. */
static const char *behind_bracket(const char *text)
{
    text += strcspn(text, *text == '(' ? ")" : "]");
    return *text ? text + 1 : text;
}

/* Skips separators and what is in brackets, such as a unit. */
static const char *skip(const char *text)
{
    for (;;) {
        text += strspn(text, BETWEEN);
        if (*text != '(' && *text != '[') return text;
        text = behind_bracket(text);
    }
}

/* Returns the end of the name at `text`.  A bracket before an underscore belongs to the name: Mass(t=0)_[Msun]. */
static const char *end_of_name(const char *text)
{
    for (;;) {
        text += strcspn(text, " \t,;|:=\"'([");
        if (*text != '(' || *behind_bracket(text) != '_') return text;
        text = behind_bracket(text);
    }
}

char *snapshot_next_name(const char **rest, char word[NAME_ROOM])
{
    const char *const text = skip(*rest), *const end = end_of_name(text);
    size_t length = (size_t)(end - text);
    if (length > 1 && *end == '[' && text[length - 1] == '_') length--; /* x_[pc] */
    const size_t kept = length < NAME_ROOM ? length : NAME_ROOM - 1;    /* names are shorter */
    memcpy(word, text, kept);
    word[kept] = 0;
    *rest = end;
    return length ? word : NULL;
}

int snapshot_next_column(column_names *list, int *column)
{
    char word[NAME_ROOM];
    if (!snapshot_next_name(&list->rest, word)) return 0;
    *column = snapshot_column(word);
    if (*column < 0) return 1;
    char *const first = &list->first[*column];
    if (!*first) *first = word[0];
    if (*first != word[0]) *column = -1;
    return 1;
}

/* What a comment says. */
typedef struct names {
    int words, known;   /* all words; names of columns */
    int count[COLUMNS]; /* how often each column is named */
} names;

static void count_names(const char *comment, names *n)
{
    column_names list = {.rest = comment};
    int column;
    memset(n, 0, sizeof *n);
    for (; snapshot_next_column(&list, &column); n->words++) {
        if (column < 0) continue;
        n->known++;
        n->count[column]++;
    }
}

int snapshot_names_columns(const char *comment)
{
    names n;
    count_names(comment, &n);
    if (n.known >= 3 && n.known == n.words) return 1;
    for (int c = COLUMN_MASS; c < COLUMNS; c++)
        if (n.count[c] != 1) return 0;
    return n.count[COLUMN_ID] <= 1;
}

/* Whether a word is a column or another name of what has a unit. */
static int is_quantity(const char *word)
{
    static const char *const other[] = {"r", "pos", "position", "v", "vel", "velocity", "t", "time"};
    int found = snapshot_column(word) >= 0;
    for (size_t k = 0; k < sizeof other / sizeof *other && !found; k++) found = same_name(word, other[k]);
    return found;
}

/*
 * Returns the end of the brackets that begin at `text`, and what is in them.  Round ones hold remarks, too: these have
 * blanks.  *length 0: no unit.
 */
static const char *bracket(const char *text, const char **unit, size_t *length)
{
    *unit = text + 1;
    *length = strcspn(*unit, *text == '(' ? ")" : "]");
    const char *const end = *unit + *length;
    if (*text == '(' && memchr(*unit, ' ', *length)) *length = 0;
    return *end ? end + 1 : end;
}

void snapshot_add_unit(char units[BODIES_REMARK], const char *unit, size_t length)
{
    for (const char *at = units; *at; at += strcspn(at, ","), at += strspn(at, ", "))
        if (strcspn(at, ",") == length && !strncmp(at, unit, length)) return;
    const size_t used = strlen(units);
    snprintf(units + used, BODIES_REMARK - used, "%s%.*s", used ? ", " : "", (int)length, unit);
}

/* Adds the units in brackets behind names of columns, or of all quantities, or in front of all names. */
static void add_units(const char *comment, int of_all, char units[BODIES_REMARK])
{
    column_names list = {.rest = comment};
    int column = 0;
    for (;;) {
        list.rest += strspn(list.rest, BETWEEN);
        if (*list.rest == '(' || *list.rest == '[') {
            const char *unit;
            size_t length;
            list.rest = bracket(list.rest, &unit, &length);
            if ((of_all || column >= 0) && length) snapshot_add_unit(units, unit, length);
        } else if (!snapshot_next_column(&list, &column))
            return;
    }
}

int snapshot_named_units(const char *comment, char units[BODIES_REMARK])
{
    char word[NAME_ROOM], found[BODIES_REMARK] = "";
    int only_quantities = 1;
    for (const char *rest = comment; snapshot_next_name(&rest, word);) only_quantities &= is_quantity(word);
    if (only_quantities || snapshot_names_columns(comment)) add_units(comment, only_quantities, found);
    if (!found[0]) return 0;
    memcpy(units, found, BODIES_REMARK);
    return 1;
}

int snapshot_names_usual(const text_lines *lines)
{
    column_names list = {.rest = lines->names};
    int next = -1, column;
    while (snapshot_next_column(&list, &column)) {
        if (column < 0) continue;
        if (next < 0 && column > COLUMN_MASS) return 0;
        if (next >= 0 && column != next) return 0;
        next = column + 1;
    }
    return next == COLUMNS;
}

int snapshot_names_fit(const text_lines *lines, int *headers, int *fields, int *only_known)
{
    names n;
    int width = 0;
    count_names(lines->names, &n);
    for (int k = lines->names_at; k <= 3 && k < lines->n; k++) {
        width = text_words(lines->line[k].text);
        if (width != n.words && width != n.known) continue;
        *headers = k;
        *fields = width;
        *only_known = width != n.words;
        return 0;
    }
    return complain(lines->about, "%s:%d: this comment names %d columns, but the lines below have %d", lines->name,
                    lines->names_number, n.words, width);
}
