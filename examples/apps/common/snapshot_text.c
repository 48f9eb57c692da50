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

/* Reads the comments that tell the time, the units and the components; other comments are skipped. */
static void read_comment(text_lines *lines, char *comment)
{
    char *text;
    double value;
    if ((text = behind_key(comment, "units"))) snprintf(lines->units, sizeof lines->units, "%s", text);
    if ((text = behind_key(comment, "parts"))) snprintf(lines->parts, sizeof lines->parts, "%s", text);
    text = behind_key(comment, "time");
    if (!text) return;
    text[strcspn(text, " \t")] = 0;
    if (!text_real(text, &value)) lines->time = value;
}

static int add_text(text_lines *lines, int *room, char *text)
{
    char *comment = strchr(text, '#');
    if (comment) {
        *comment = 0;
        text[strcspn(text, "\r")] = 0;
        comment[1 + strcspn(comment + 1, "\r")] = 0;
        if (lines->n == 0) read_comment(lines, trimmed(comment + 1));
    }
    text = trimmed(text);
    return *text ? add_line(lines, room, text, lines->last) : 0;
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
        if (add_text(lines, &room, text)) return complain(lines->about, "%s: out of memory", lines->name);
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

int text_real(const char *word, double *value)
{
    char plain[64], *end;
    size_t length = strlen(word);
    if (!length || length >= sizeof plain || strspn(word, "+-.0123456789eEdD") != length) return -1;
    for (size_t k = 0; k <= length; k++) plain[k] = word[k] == 'd' || word[k] == 'D' ? 'e' : word[k];
    *value = strtod(plain, &end);
    return *end || end == plain || !isfinite(*value) ? -1 : 0;
}

int text_integer(const char *word, int *value)
{
    char *end;
    if (!*word || strspn(word, "+-0123456789") != strlen(word)) return -1;
    errno = 0;
    long long number = strtoll(word, &end, 10);
    if (*end || end == word || errno || number < INT_MIN || number > INT_MAX) return -1;
    *value = (int)number;
    return 0;
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
    return complain(lines->about, "%s:%d: the file ends here, before the %s", lines->name, lines->last, described);
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

int text_count(const text_lines *lines, int k, const char *what, int who, int *value)
{
    char described[96], *word[TOKENS_MAX];
    if (require_line(lines, k, what, who)) return -1;
    describe(described, sizeof described, what, who);
    int found = text_cut(lines->line[k].text, word);
    if (found != 1) return text_fail(lines, k, "1 number expected (%s), %d found", described, found);
    if (text_integer(word[0], value))
        return text_fail(lines, k, "'%.40s' is not a whole number (%s)", word[0], described);
    return 0;
}
