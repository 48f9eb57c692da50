/* config.c - parses sapporo2.config and sapporo.config; see config.h. */
#include "engine/config.h"

#include <limits.h>
#include <string.h>

/* The rest of the text that is not parsed yet. */
struct cursor {
    const char *at, *end;
    struct sap_config *found;
};

static int malformed(struct cursor *c, const char *what)
{
    c->found->wrong = what;
    return 0;
}

/* Reads the integer at the start of a line; returns 0 if there is none or it exceeds a long long. */
static int take_number(const char *at, const char *end, long long *n)
{
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    const int negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    const char *const first = at;
    long long sum = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (sum > (LLONG_MAX - 9) / 10) return 0;
        sum = 10 * sum + (*at - '0');
    }
    *n = negative ? -sum : sum;
    return at > first;
}

/* Reads the integer of the next line and skips the rest of the line, which is a comment. */
static int next_number(struct cursor *c, long long *n)
{
    c->found->line++;
    if (c->at == c->end) return malformed(c, "a line is missing");
    const char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
    if (!stop) stop = c->end;
    const int good = take_number(c->at, stop, n);
    c->at = stop < c->end ? stop + 1 : stop;
    return good ? 1 : malformed(c, "there is no number");
}

int sap_config_parse(const char *text, size_t size, int has_capacity, struct sap_config *found)
{
    struct cursor c = {.at = text, .end = text + size, .found = found};
    long long n, device;
    *found = (struct sap_config){.n = 0};
    if (has_capacity && !next_number(&c, &n)) return 0;
    if (!next_number(&c, &n)) return 0;
    if (n > SAP_DEVICES_MAX) return malformed(&c, "too many devices");
    for (int k = 0; k < n; k++) {
        if (!next_number(&c, &device)) return 0;
        if (device < 0 || device > INT_MAX) return malformed(&c, "this is no device number");
        found->device[k] = (int)device;
    }
    found->n = n < -SAP_DEVICES_MAX ? -SAP_DEVICES_MAX : (int)n;
    return 1;
}
