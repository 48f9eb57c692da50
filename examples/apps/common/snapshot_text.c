/*
 * snapshot_text.c - see snapshot_text.h.
 */
#include "snapshot_text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char SEPARATORS[] = " \t,;";

enum { HEADERS_MAX = 3 }; /* lines before the particles */

static int add_line(text_lines *lines, int *room, char *text, int number)
{
    if (lines->n == *room) {
        if (*room > INT_MAX / 2) return -1;
        int larger = *room ? 2 * *room : 1024;
        text_line *moved = realloc(lines->line, (size_t)larger * sizeof *moved);
        if (!moved) return -1;
        lines->line = moved;
        *room = larger;
    }
    lines->line[lines->n++] = (text_line){text, number};
    return 0;
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1])) length--;
    text[length] = 0;
    return text;
}

/* Returns the text behind the key of a comment such as `# time 0.25`, or `# time: 0.25`; NULL: another comment. */
static char *behind_key(char *comment, const char *key)
{
    char *word = comment + strspn(comment, " \t#");
    if (strncmp(word, key, strlen(key)) != 0) return NULL;
    word += strlen(key);
    const size_t gap = strspn(word, " \t=:");
    return gap ? word + gap : NULL;
}

/* Reads a comment that tells the time; another text behind the word `time` is none.  -1: a time with a comma. */
static int read_time(text_lines *lines, char *text)
{
    double value;
    text[strcspn(text, " \t")] = 0;
    if (!text_real(text, &value)) lines->time = value;
    if (!strchr(text, ',') || text[strspn(text, "+-.,0123456789eEdD")]) return 0;
    return complain(lines->about, "%s:%d: the time '%.40s' has a comma: write 1.5 for 1,5", lines->name, lines->last,
                    text);
}

/* Reads a comment that tells the gravitational constant: nothing but a positive number is one. */
static void read_constant(text_lines *lines, const char *text)
{
    double value;
    if (text && !text_real(text, &value) && value > 0) lines->G = value;
}

/* Reads a comment that tells the units, by a text or with the names of the columns.  Units of several are one list. */
static void read_units(text_lines *lines, char *comment)
{
    char named[BODIES_REMARK];
    const char *text = behind_key(comment, "units");
    if (!text) text = behind_key(comment, "Units");
    if (!text && snapshot_named_units(comment, named)) text = named;
    if (!text && lines->names && lines->last > lines->names_number && snapshot_unit_line(lines->names, comment, named))
        text = named;
    if (!text) return;
    const size_t used = strlen(lines->units);
    snprintf(lines->units + used, sizeof lines->units - used, "%s%s", used ? ", " : "", text);
    lines->units_number = lines->last;
}

/*
 * Reads the comments that tell the time, G, the units and the components; other comments are skipped.  whole: nothing
 * is before the comment in its line.
 */
static int read_comment(text_lines *lines, char *comment, int whole)
{
    char *text;
    if (whole && snapshot_names_columns(comment)) {
        lines->names = comment;
        lines->names_number = lines->last;
        lines->names_at = lines->n;
    }
    if (lines->n > 0) return 0;
    read_units(lines, comment);
    if ((text = behind_key(comment, "parts"))) snprintf(lines->parts, sizeof lines->parts, "%s", text);
    read_constant(lines, behind_key(comment, "G"));
    if (behind_key(comment, "AMUSE CSV"))
        return complain(lines->about, "%s:%d: the form amuse-txt is not read: let AMUSE write csv", lines->name,
                        lines->last);
    text = behind_key(comment, "time");
    return text ? read_time(lines, text) : 0;
}

/* Adds a line; -1, with a message: memory is not sufficient, or a comment is wrong. */
static int add_text(text_lines *lines, int *room, char *text)
{
    char *comment = strchr(text, '#');
    if (comment) {
        *comment = 0;
        text[strcspn(text, "\r")] = 0;
        comment[1 + strcspn(comment + 1, "\r")] = 0;
    }
    text = trimmed(text);
    if (comment && lines->n <= HEADERS_MAX && read_comment(lines, trimmed(comment + 1), !*text)) return -1;
    if (!*text || !add_line(lines, room, text, lines->last)) return 0;
    return complain(lines->about, "%s: out of memory", lines->name);
}

int text_split(text_lines *lines, char *text, size_t length)
{
    int room = 0;
    char *end = text + length;
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        text += 3; /* the byte order mark that some editors write first */
    while (text < end) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end; /* the buffer has space for the final 0 */
        *stop = 0;
        if (lines->last == INT_MAX) return complain(lines->about, "%s: too many lines", lines->name);
        lines->last++;
        if (memchr(text, 0, (size_t)(stop - text)))
            return complain(lines->about, "%s:%d: this is not a text file", lines->name, lines->last);
        if (add_text(lines, &room, text)) return -1;
        text = stop + 1;
    }
    return 0;
}

void text_free(text_lines *lines)
{
    free(lines->line);
    lines->line = NULL;
    lines->n = 0;
}

int text_words(const char *text)
{
    int n = 0;
    for (text += strspn(text, SEPARATORS); *text; n++) {
        text += strcspn(text, SEPARATORS);
        text += strspn(text, SEPARATORS);
    }
    return n;
}

int text_cut(char *text, char *word[TOKENS_MAX])
{
    int n = 0;
    for (text += strspn(text, SEPARATORS); *text; n++) {
        if (n < TOKENS_MAX) word[n] = text;
        text += strcspn(text, SEPARATORS);
        size_t gap = strspn(text, SEPARATORS);
        if (gap) *text = 0;
        text += gap;
    }
    return n;
}

/*
 * Writes a number as C does: with e for d, and in 1.0-100, which Fortran writes for exponents of three digits, before
 * the exponent.
 */
static void write_plain(char *plain, const char *word, size_t length)
{
    const size_t sign = length > 4 ? length - 4 : 0;
    const int bare = sign > 0 && strchr("+-", word[sign]) && strchr(".0123456789", word[sign - 1]) &&
                     memchr(word, '.', sign) && strspn(word + sign + 1, "0123456789") >= 3;
    for (size_t k = 0; k < length; k++) {
        if (bare && k == sign) *plain++ = 'e';
        *plain++ = word[k] == 'd' || word[k] == 'D' ? 'e' : word[k];
    }
    *plain = 0;
}

/* Reads the first `length` characters as one number of any length. */
static int read_real(const char *word, size_t length, double *value)
{
    char room[80], *end;
    if (!length || strspn(word, "+-.0123456789eEdD") < length) return -1;
    char *const plain = length + 2 <= sizeof room ? room : malloc(length + 2);
    if (!plain) return -1;
    write_plain(plain, word, length);
    *value = strtod(plain, &end);
    const int bad = *end || end == plain || !isfinite(*value);
    if (plain != room) free(plain);
    return bad ? -1 : 0;
}

int text_real(const char *word, double *value) { return read_real(word, strlen(word), value); }

int text_begins_with_real(const char *text)
{
    double value;
    return !read_real(text, strcspn(text, SEPARATORS), &value);
}

int text_id(const char *word, long long *id)
{
    char *end;
    if (!*word || strspn(word, "+-0123456789") != strlen(word)) return -1;
    errno = 0;
    const long long number = strtoll(word, &end, 10);
    if (*end || end == word) return -1;
    if (errno) return TEXT_LARGE;
    *id = number;
    return 0;
}

int text_integer(const char *word, int *value)
{
    long long number;
    if (text_id(word, &number) || number < INT_MIN || number > INT_MAX) return -1;
    *value = (int)number;
    return 0;
}

int text_has_decimal_comma(const char *text)
{
    static const char digits[] = "0123456789";
    int tight = 0, without = 0;
    for (text += strspn(text, SEPARATORS); *text;) {
        text += strcspn(text, SEPARATORS);
        const size_t gap = strspn(text, SEPARATORS);
        const int comma = memchr(text, ',', gap) != NULL;
        if (!text[gap]) break;
        tight |= comma && gap == 1 && strchr(digits, text[-1]) && strchr(digits, text[1]);
        without |= !comma;
        text += gap;
    }
    return tight && without;
}

int text_fail(const text_lines *lines, int k, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return complain(lines->about, "%s:%d: %s", lines->name, lines->line[k].number, what);
}

int text_fail_id(const text_lines *lines, int k, const char *word, int verdict)
{
    if (verdict == TEXT_LARGE)
        return text_fail(lines, k, "the id %.40s is too large: ids are whole numbers from -2^63 to 2^63 - 1", word);
    return text_fail(lines, k, "'%.40s' is not a whole number (id)", word);
}

int text_fail_comma(const text_lines *lines, int k)
{
    return text_fail(lines, k,
                     "some numbers are separated by a comma, others are not: write 1.5 for 1,5, and one kind "
                     "of separator");
}

static void describe(char *text, size_t room, const char *what, int who)
{
    if (who > 0)
        snprintf(text, room, "%s of particle %d", what, who);
    else
        snprintf(text, room, "%s", what);
}

static int require_line(const text_lines *lines, int k, const char *what, int who)
{
    char described[96];
    if (k < lines->n) return 0;
    describe(described, sizeof described, what, who);
    (void)complain(lines->about, "%s:%d: the file ends here, before the %s", lines->name, lines->last, described);
    return -1;
}

int text_reals(const text_lines *lines, int k, int count, const char *what, int who, double *value)
{
    char described[96], *word[TOKENS_MAX];
    if (require_line(lines, k, what, who)) return -1;
    describe(described, sizeof described, what, who);
    int found = text_cut(lines->line[k].text, word);
    if (found != count)
        return text_fail(lines, k, "%d number%s expected (%s), %d found", count, count > 1 ? "s" : "", described,
                         found);
    for (int c = 0; c < count; c++)
        if (text_real(word[c], &value[c]))
            return text_fail(lines, k, "'%.40s' is not a finite number (%s)", word[c], described);
    return 0;
}

/* Reads line k as one word. */
static int read_word(const text_lines *lines, int k, const char *what, int who, char *described, size_t room,
                     char **word)
{
    char *words[TOKENS_MAX] = {NULL};
    if (require_line(lines, k, what, who)) return -1;
    describe(described, room, what, who);
    const int found = text_cut(lines->line[k].text, words);
    *word = words[0];
    if (found == 1) return 0;
    (void)text_fail(lines, k, "1 number expected (%s), %d found", described, found);
    return -1;
}

int text_count(const text_lines *lines, int k, const char *what, int who, int *value)
{
    char described[96], *word;
    if (read_word(lines, k, what, who, described, sizeof described, &word)) return -1;
    if (text_integer(word, value)) return text_fail(lines, k, "'%.40s' is not a whole number (%s)", word, described);
    return 0;
}

int text_index(const text_lines *lines, int k, int who, long long *id)
{
    char described[96], *word;
    if (read_word(lines, k, "index", who, described, sizeof described, &word)) return -1;
    const int verdict = text_id(word, id);
    if (verdict == TEXT_LARGE) return text_fail_id(lines, k, word, verdict);
    return verdict ? text_fail(lines, k, "'%.40s' is not a whole number (%s)", word, described) : 0;
}
