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

/* Skips separators and what is in brackets, such as a unit. */
static const char *skip(const char *text)
{
    for (;;) {
        text += strspn(text, BETWEEN);
        if (*text != '(' && *text != '[') return text;
        text += strcspn(text, *text == '(' ? ")" : "]");
        if (*text) text++;
    }
}

char *snapshot_next_name(const char **rest, char word[NAME_ROOM])
{
    const char *const text = skip(*rest);
    const size_t length = strcspn(text, " \t,;|:=\"'([");
    const size_t kept = length < NAME_ROOM ? length : NAME_ROOM - 1; /* names are shorter */
    memcpy(word, text, kept);
    word[kept] = 0;
    *rest = text + length;
    return length ? word : NULL;
}

/* What a comment says. */
typedef struct names {
    int words, known;   /* all words; names of columns */
    int count[COLUMNS]; /* how often each column is named */
} names;

static void count_names(const char *comment, names *n)
{
    char word[NAME_ROOM];
    memset(n, 0, sizeof *n);
    for (const char *rest = comment; snapshot_next_name(&rest, word); n->words++) {
        const int column = snapshot_column(word);
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

/* Adds a unit to a list, unless it is in it. */
static void add_unit(char units[BODIES_REMARK], const char *unit, size_t length)
{
    char term[BODIES_REMARK];
    snprintf(term, sizeof term, "%.*s", (int)length, unit);
    const char *const there = strstr(units, term);
    const size_t used = strlen(units), behind = there ? strcspn(there, ",") : 0;
    if (there && (there == units || there[-1] == ' ') && behind == strlen(term)) return;
    const size_t at = used ? used + 2 : 0, room = at < BODIES_REMARK - 1 ? BODIES_REMARK - 1 - at : 0;
    const size_t n = strlen(term) < room ? strlen(term) : room;
    if (room == 0) return;
    memcpy(units + used, ", ", at - used);
    memcpy(units + at, term, n);
    units[at + n] = '\0';
}

int snapshot_named_units(const char *comment, char units[BODIES_REMARK])
{
    char word[NAME_ROOM], found[BODIES_REMARK] = "";
    int only_quantities = 1;
    for (const char *rest = comment; snapshot_next_name(&rest, word);) only_quantities &= is_quantity(word);
    if (!only_quantities && !snapshot_names_columns(comment)) return 0;
    for (const char *at = comment + strcspn(comment, "(["); *at; at += strcspn(at, "([")) {
        const char *unit;
        size_t length;
        at = bracket(at, &unit, &length);
        if (length) add_unit(found, unit, length);
    }
    if (!found[0]) return 0;
    memcpy(units, found, BODIES_REMARK);
    return 1;
}

int snapshot_names_usual(const text_lines *lines)
{
    char word[NAME_ROOM];
    int next = -1;
    for (const char *rest = lines->names; snapshot_next_name(&rest, word);) {
        const int column = snapshot_column(word);
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
