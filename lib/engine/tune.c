/* tune.c - reads the tuning file; see tune.h. */
#define _POSIX_C_SOURCE 200809L
#include "engine/tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/fpenv.h"
#include "base/log.h"

enum { LINE = 512, NUMBERS = 32 };

static const char first_line[] = "sapporo tune 1";
static const char blanks[] = " \t\r";

/* The state of the parser and the numbers that it has found. */
struct reading {
    const char *name, *device;
    const struct sap_tune_number *number;
    int n;
    sapporo_precision precision;
    int order;
    int line, inside, found; /* inside: 0 before the first section, 1 in another device's section, 2 in this device's */
    int set[NUMBERS];
    double value[NUMBERS];
};

/* ---------------------------------------------------------------- messages */

static int unreadable(const char *name, const char *why)
{
    if (sap_complain_first(SAP_COMPLAINT_TUNE_FILE))
        sap_log(SAPPORO_LOG_WARNING, "tuning file %.200s: %s; the file is ignored", name, why);
    return 0;
}

static int malformed(const struct reading *r, const char *what)
{
    if (sap_complain_first(SAP_COMPLAINT_TUNE_FILE))
        sap_log(SAPPORO_LOG_WARNING, "tuning file %.200s, line %d: %s; the file is ignored", r->name, r->line, what);
    return 0;
}

static void unknown(const struct reading *r, const char *key)
{
    if (sap_complain_first(SAP_COMPLAINT_TUNE_KEY))
        sap_log(SAPPORO_LOG_WARNING,
                "tuning file %.200s, line %d: '%.60s' is not known to this version; it is passed over", r->name,
                r->line, key);
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

/* Reads the order that follows the precision in a key, as in `ds6.few_cost`; without one it is 4. */
static int order_of(const char **text)
{
    if (!**text || !strchr("268", **text)) return 4;
    return *(*text)++ - '0';
}

/* The index of a key in the table, or -1.  *other becomes 1 if the key is for another precision or order. */
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
    if (!sap_parse_real(text, strlen(text), &value)) return malformed(r, "there is no number behind the key");
    if (!(value >= r->number[k].least && value <= r->number[k].most)) return malformed(r, "the number is out of range");
    if (other) return 1;
    r->set[k] = 1;
    r->value[k] = value;
    return 1;
}

/* Parses a line without blanks at either end; returns 0 if it is malformed. */
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

/* Copies a line of n bytes without the blanks at its end; returns 0 if it is malformed. */
static int copy_line(struct reading *r, const char *from, size_t n, char line[LINE])
{
    r->line++;
    if (n >= LINE) return malformed(r, "the line is too long");
    if (memchr(from, 0, n)) return malformed(r, "there is a byte 0");
    memcpy(line, from, n);
    while (n > 0 && strchr(blanks, line[n - 1])) n--;
    line[n] = 0;
    return 1;
}

static int read_lines(struct reading *r, const char *text, size_t size)
{
    char line[LINE];
    const char *const end = text + size;
    if (size == 0) return malformed(r, "the file is empty");
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        if (!copy_line(r, text, (size_t)(stop - text), line)) return 0;
        if (!take_line(r, line + strspn(line, blanks))) return 0;
        text = stop + (stop < end);
    }
    return 1;
}

/* -------------------------------------------------------------------- file */

int sap_tune_parse(const struct sap_settings *s, const char *device, const struct sap_tune_number *number, int n,
                   const char *text, size_t size)
{
    struct reading r = {
        .name = s->tune, .device = device, .number = number, .n = n, .precision = s->precision, .order = s->order};
    if (n > NUMBERS) return 0;
    const sap_fpenv caller = sap_fp_enter();
    const int good = read_lines(&r, text, size);
    sap_fp_leave(caller);
    if (!good) return 0;
    for (int k = 0; k < n; k++)
        if (r.set[k]) *number[k].value = r.value[k];
    return r.found;
}

int sap_tune_read(const struct sap_settings *s, const char *device, const struct sap_tune_number *number, int n)
{
    struct sap_file file;
    if (!s->tune[0]) return 0;
    const enum sap_file_status status = sap_file_read(s->tune, SAP_TUNE_MOST, &file);
    if (status == SAP_FILE_MISSING && !s->tune_given) return 0; /* the default file need not exist */
    if (status == SAP_FILE_MISSING) return unreadable(s->tune, "there is no such file");
    if (status != SAP_FILE_READ) return unreadable(s->tune, file.why);
    const int found = sap_tune_parse(s, device, number, n, file.bytes, file.size);
    free(file.bytes);
    return found;
}
