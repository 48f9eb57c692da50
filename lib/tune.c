/* tune.c - reads the tuning file; see tune.h. */
#define _POSIX_C_SOURCE 200809L
#include "tune.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fpenv.h"
#include "process.h"

enum { LINE = 512, NUMBERS = 32 };

static const char first_line[] = "sapporo tune 1";
static const char blanks[] = " \t\r";
/* A file on its way, and what has been found in it. */
struct reading {
    const char *name, *device;
    const struct sap_tune_number *number;
    int n;
    sapporo_precision precision;
    int order;
    FILE *file;
    int line, inside, found; /* inside: 0 before the first section, 1 in another one's, 2 in ours */
    int set[NUMBERS];
    double value[NUMBERS];
};

/* ---------------------------------------------------------------- messages */

/* Says something once a process; returns 0. */
static int complain(const struct reading *r, enum sap_complaint which, const char *what, const char *word,
                    const char *rest)
{
    const unsigned bit = 1u << which;
    if ((atomic_fetch_or(&sap_process.complained, bit) & bit) == 0)
        sap_log(SAPPORO_LOG_WARNING, "tuning file %.200s, line %d: %s%.60s%s", r->name, r->line, what, word, rest);
    return 0;
}

static int malformed(const struct reading *r, const char *what)
{
    return complain(r, SAP_COMPLAINT_TUNE_FILE, what, "", "; the file is ignored");
}

static void unknown(const struct reading *r, const char *key)
{
    (void)complain(r, SAP_COMPLAINT_TUNE_KEY, "'", key, "' is not known to this version; it is passed over");
}

/* ----------------------------------------------------------------- numbers */

static const char *digits(const char *text, double *value, int *n)
{
    for (; *text >= '0' && *text <= '9'; text++, ++*n) *value = *value * 10 + (*text - '0');
    return text;
}

/* Not strtod, which takes the decimal point of the caller's locale. */
int sap_tune_parse_number(const char *text, double *value)
{
    double fraction = 0, exponent = 0;
    int whole = 0, after = 0, power = 0;
    *value = 0;
    text = digits(text, value, &whole);
    if (*text == '.') text = digits(text + 1, &fraction, &after);
    if (whole + after == 0 || whole + after > 40) return 0;
    if (*text == 'e' || *text == 'E') {
        const int negative = text[1] == '-';
        text = digits(text + 1 + (text[1] == '-' || text[1] == '+'), &exponent, &power);
        if (power < 1 || power > 2) return 0;
        if (negative) exponent = -exponent;
    }
    if (*text) return 0;
    for (int k = 0; k < after; k++) fraction /= 10;
    *value += fraction;
    for (; exponent > 0; exponent--) *value *= 10;
    for (; exponent < 0; exponent++) *value /= 10;
    return 1;
}

/* ------------------------------------------------------------------- lines */

static int open_section(struct reading *r, char *text)
{
    char *const end = text + strlen(text) - 1;
    if (*end != ']') return malformed(r, "no ] at the end");
    *end = 0;
    const int ours = strcmp(text + 1, r->device) == 0;
    if (ours && r->found) return malformed(r, "a second section of the same name");
    r->inside = ours ? 2 : 1;
    r->found |= ours;
    return 1;
}

/* Orders other than 4 stand behind the precision: `ds6.few_cost`. */
static int order_of(const char **text)
{
    if (!**text || !strchr("268", **text)) return 4;
    return *(*text)++ - '0';
}

/* The place of a key in the table; *other: it is that of another precision or order. */
static int find_key(const struct reading *r, const char *key, int *other)
{
    for (sapporo_precision p = SAPPORO_SP; p <= SAPPORO_DP; p++) {
        const size_t length = strlen(sap_precision_names[p]);
        if (strncmp(key, sap_precision_names[p], length) != 0) continue;
        const char *name = key + length;
        *other = order_of(&name) != r->order || p != r->precision;
        for (int k = 0; k < r->n && *name == '.'; k++)
            if (strcmp(name + 1, r->number[k].key) == 0) return k;
    }
    return -1;
}

static int set_number(struct reading *r, const char *key, const char *text)
{
    int other = 0;
    double value;
    const int k = find_key(r, key, &other);
    if (k < 0) {
        unknown(r, key);
        return 1;
    }
    if (!sap_tune_parse_number(text, &value)) return malformed(r, "there is no number behind the key");
    if (!(value >= r->number[k].least && value <= r->number[k].most)) return malformed(r, "the number is out of range");
    if (other) return 1;
    r->set[k] = 1;
    r->value[k] = value;
    return 1;
}

/* A line without its blanks at either end; 0: malformed. */
static int take_line(struct reading *r, char *text)
{
    if (r->line == 1) return strcmp(text, first_line) == 0 ? 1 : malformed(r, "it does not say 'sapporo tune 1'");
    if (*text == 0 || *text == '#') return 1;
    if (*text == '[') return open_section(r, text);
    const size_t key = strcspn(text, blanks);
    if (text[key] == 0) return malformed(r, "this is not a key and a number");
    if (r->inside == 0) return malformed(r, "a key before the first section");
    if (r->inside == 1) return 1;
    text[key] = 0;
    return set_number(r, text, text + key + 1 + strspn(text + key + 1, blanks));
}

static int read_lines(struct reading *r)
{
    char line[LINE];
    while (fgets(line, sizeof line, r->file)) {
        r->line++;
        size_t end = strlen(line);
        if (end == sizeof line - 1 && line[end - 1] != '\n') return malformed(r, "the line is too long");
        while (end > 0 && (line[end - 1] == '\n' || strchr(blanks, line[end - 1]))) line[--end] = 0;
        if (!take_line(r, line + strspn(line, blanks))) return 0;
    }
    if (ferror(r->file)) return malformed(r, strerror(errno));
    if (r->line == 0) return malformed(r, "the file is empty");
    return 1;
}

/* -------------------------------------------------------------------- file */

int sap_tune_read(const struct sap_settings *s, const char *device, const struct sap_tune_number *number, int n)
{
    struct reading r = {
        .name = s->tune, .device = device, .number = number, .n = n, .precision = s->precision, .order = s->order};
    if (!s->tune[0] || n > NUMBERS) return 0;
    r.file = fopen(s->tune, "re");
    if (!r.file && errno == ENOENT && !s->tune_given) return 0; /* nothing has ever been tuned here */
    if (!r.file) return malformed(&r, strerror(errno));
    const sap_fpenv caller = sap_fp_enter();
    const int good = read_lines(&r);
    sap_fp_leave(caller);
    fclose(r.file);
    if (!good) return 0;
    for (int k = 0; k < n; k++)
        if (r.set[k]) *number[k].value = r.value[k];
    return r.found;
}
