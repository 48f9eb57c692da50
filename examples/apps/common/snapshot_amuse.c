/*
 * snapshot_amuse.c - the line of units of AMUSE's tables: a comment below the names of columns, one unit per column.
 *
 * The forms csv and txt have MSun, parsec, km / s, 1.98892e+30 * kg, 1000.0 * m * s**-1, and of N-body units mass,
 * length, length * time**-1.  Commas separate columns in csv, blanks in txt.
 */
#include "number.h"
#include "snapshot_text.h"
#include "unit_words.h"

#include <stdio.h>
#include <string.h>

enum { TERM_ROOM = 64 };

static int is_operator(char c) { return c == '*' || c == '/'; }

/*
 * Copies the next term without blanks, its first TERM_ROOM - 1 characters, from *rest on.  A blank ends a term if
 * neither side has an operator.  Returns 0 at the end of the line.
 */
static int next_term(const char **rest, int by_comma, char term[TERM_ROOM])
{
    const char *at = *rest + strspn(*rest, " \t");
    int n = 0, begun = *at != 0;
    char last = '*';
    for (; *at && !(by_comma && *at == ','); at++) {
        if (*at == ' ' || *at == '\t') {
            const char *const next = at + strspn(at, " \t");
            if (!by_comma && *next && !is_operator(*next) && !is_operator(last)) break;
            continue;
        }
        last = *at;
        if (n < TERM_ROOM - 1) term[n++] = *at;
    }
    term[n] = 0;
    *rest = *at ? at + 1 : at;
    return begun;
}

/*
 * Writes a product such as 1000.0*m*s**-1 as a number and a word, 1000.0 m/s, and tells where the word begins.  -1: it
 * is no such product.
 */
static int plain_unit(const char *term, char plain[TERM_ROOM + 2], const char **word)
{
    char over[TERM_ROOM] = "", under[TERM_ROOM] = "";
    double factor;
    const size_t digits = strcspn(term, "*/");
    const int has_factor = term[digits] == '*' && !number_real(term, digits, &factor);
    for (const char *at = has_factor ? term + digits : term; *at;) {
        const int divides = *at == '/';
        if (is_operator(*at)) at++;
        const size_t length = strcspn(at, "*/");
        const int inverse = !strncmp(at + length, "**-1", 4);
        char *const to = divides != inverse ? under : over;
        if (!length || *to || (!inverse && !strncmp(at + length, "**", 2))) return -1;
        snprintf(to, TERM_ROOM, "%.*s", (int)length, at);
        at += length + (inverse ? 4 : 0);
    }
    const int shown = has_factor ? (int)digits : 0;
    const int written =
        snprintf(plain, TERM_ROOM + 2, "%.*s%s%s%s%s", shown, term, shown ? " " : "", over, *under ? "/" : "", under);
    if (written >= TERM_ROOM + 2) return -1; /* no unit of ours is as long */
    *word = plain + shown + (shown ? 1 : 0);
    return 0;
}

/* What the terms of our columns are. */
typedef struct terms {
    int known, nbody; /* units, and N-body units */
    char units[BODIES_REMARK];
} terms;

static void add_term(terms *t, const char *term)
{
    static const char *const NBODY[] = {"mass", "length", "length/time"};
    char plain[TERM_ROOM + 2];
    const char *word = plain;
    if (plain_unit(term, plain, &word)) snprintf(plain, sizeof plain, "%s", term);
    for (int k = 0; k < 3; k++) t->nbody += !strcmp(plain, NBODY[k]);
    t->known += unit_words_know(word);
    snapshot_add_unit(t->units, plain, strlen(plain));
}

int snapshot_unit_line(const char *names, const char *comment, char units[BODIES_REMARK])
{
    const int by_comma = strchr(names, ',') != NULL;
    terms t = {.known = 0};
    column_names list = {.rest = names};
    char term[TERM_ROOM];
    int column;
    while (snapshot_next_column(&list, &column)) {
        if (!next_term(&comment, by_comma, term)) return 0;
        if (column > COLUMN_ID) add_term(&t, term);
    }
    if (next_term(&comment, by_comma, term) || t.known + t.nbody == 0) return 0;
    if (t.nbody == COLUMNS - COLUMN_MASS)
        snprintf(units, BODIES_REMARK, "N-body: G = 1");
    else
        memcpy(units, t.units, BODIES_REMARK);
    return 1;
}
