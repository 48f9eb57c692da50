/* target_library.c - the library's parsers of files: tuning, configuration, cached programs; numbers. */
#include "targets.h"

#include "base/environment.h"
#include "base/log.h"
#include "driver/opencl/opencl_driver.h"
#include "engine/config.h"
#include "engine/tune.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy whose bounds the address sanitizer knows. */
static char *copy_of(const unsigned char *bytes, size_t size)
{
    char *const copy = calloc(1, size + (size == 0));
    parser_require(copy != NULL, "memory for a copy");
    if (size > 0) memcpy(copy, bytes, size);
    return copy;
}

/* ---------------------------------------------------------------- numbers */

static void check_real(const char *text, size_t size)
{
    char word[128];
    double value = 0;
    if (!sap_parse_real(text, size, &value)) return;
    parser_require(size < sizeof word, "a number is not longer than 40 digits, a point and an exponent");
    memcpy(word, text, size);
    word[size] = 0;
    const double right = strtod(word, NULL);
    parser_require(isfinite(value) && value >= 0, "a number is finite and not negative");
    parser_require(fabs(value - right) <= 1e-13 * right, "a number is what strtod reads");
    if (size <= 16 && !strpbrk(word, "eE")) parser_require(value == right, "a short number is rounded correctly");
}

static void check_list(const char *text, size_t size)
{
    enum { ROOM = 8 };
    int list[ROOM + 1], back[ROOM];
    char written[ROOM * 12];
    size_t at = 0;
    list[ROOM] = -7;
    const int n = sap_parse_list(text, size, list, ROOM);
    parser_require(n == -1 || (n >= 1 && n <= ROOM), "a list has 1 to 8 numbers");
    parser_require(list[ROOM] == -7, "a list stays within its bounds");
    for (int k = 0; k < n; k++) {
        parser_require(list[k] >= 0, "numbers of a list are not negative");
        at += (size_t)snprintf(written + at, sizeof written - at, k ? ",%d" : "%d", list[k]);
    }
    if (n < 0) return;
    parser_require(sap_parse_list(written, at, back, ROOM) == n && memcmp(back, list, (size_t)n * sizeof *list) == 0,
                   "a list survives a round trip");
}

void parse_number(const unsigned char *bytes, size_t size)
{
    char *const text = copy_of(bytes, size);
    int count = -7;
    const size_t length = sap_parse_count(text, size, &count);
    parser_require(length <= size && (length == 0 ? count == -7 : count >= 0), "a count is not negative");
    check_real(text, size);
    check_list(text, size);
    free(text);
}

/* ---------------------------------------------------------------- the tuning file */

enum { NUMBERS = 4 };

static const struct {
    const char *key;
    double least, most, usual;
} keys[NUMBERS] = {{"few_cost", 0.01, 100, 1.5},
                   {"full_warps", 1, 1e6, 2000},
                   {"cpu_below_nj", 0, 1e9, 0},
                   {"cpu_below_neighbour", 0, 1e15, 0}};

/* Parses with values of its own; returns what the parser returns. */
static int tune(const struct sap_settings *s, const char *text, size_t size, double value[NUMBERS])
{
    struct sap_tune_number number[NUMBERS];
    for (int k = 0; k < NUMBERS; k++) {
        value[k] = keys[k].usual;
        number[k] = (struct sap_tune_number){
            .key = keys[k].key, .value = &value[k], .least = keys[k].least, .most = keys[k].most};
    }
    return sap_tune_parse(s, "X 1", number, NUMBERS, text, size);
}

/* The values as a file gives the same values. */
static void check_tune_round_trip(const struct sap_settings *s, const double value[NUMBERS])
{
    char text[512];
    double back[NUMBERS];
    int at = snprintf(text, sizeof text, "sapporo tune 1\n[X 1]\n");
    for (int k = 0; k < NUMBERS; k++) {
        const char digit[2] = {(char)('0' + s->order), 0};
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s.%s %.15g\n", sap_precision_names[s->precision],
                       s->order == 4 ? "" : digit, keys[k].key, value[k]);
    }
    parser_require(tune(s, text, (size_t)at, back) == 1, "a file that is written is read");
    for (int k = 0; k < NUMBERS; k++)
        parser_require(fabs(back[k] - value[k]) <= 1e-14 * value[k], "a number survives a round trip");
}

static void ignore(void *user, int level, const char *text)
{
    (void)user, (void)level;
    for (; *text; text++) parser_require((unsigned char)*text >= ' ' && *text != 0x7F, "a message is one line");
}

void parse_tune(const unsigned char *bytes, size_t size)
{
    static const int orders[] = {2, 4, 6, 8};
    struct sap_settings s = {.tune = "file", .precision = SAPPORO_DS, .order = 4};
    double value[NUMBERS];
    if (size == 0) return;
    s.precision = (sapporo_precision)(SAPPORO_SP + bytes[0] % 3);
    s.order = orders[bytes[0] / 3 % 4];
    char *const text = copy_of(bytes + 1, size - 1);
    sapporo_set_log(ignore, NULL);
    sap_messages.complained = 0;
    const int found = tune(&s, text, size - 1, value);
    parser_require(found == 0 || found == 1, "a section is there or not");
    for (int k = 0; k < NUMBERS; k++) {
        parser_require(value[k] >= keys[k].least && value[k] <= keys[k].most, "a number lies in its range");
        if (!found || sap_messages.complained >> SAP_COMPLAINT_TUNE_FILE & 1)
            parser_require(value[k] == keys[k].usual, "a file that is refused changes nothing");
    }
    check_tune_round_trip(&s, value);
    free(text);
    sapporo_set_log(NULL, NULL);
}

/* ---------------------------------------------------------------- configuration files */

static void check_config_round_trip(const struct sap_config *c, int has_capacity)
{
    char text[SAP_DEVICES_MAX * 12 + 32];
    struct sap_config back;
    int at = snprintf(text, sizeof text, has_capacity ? "1024\n%d\n" : "%d\n", c->n);
    for (int k = 0; k < c->n; k++) at += snprintf(text + at, sizeof text - (size_t)at, "%d # one\n", c->device[k]);
    parser_require(sap_config_parse(text, (size_t)at, has_capacity, &back) == 1, "a file that is written is read");
    parser_require(back.n == c->n && memcmp(back.device, c->device, sizeof back.device) == 0,
                   "a configuration survives a round trip");
}

void parse_config(const unsigned char *bytes, size_t size)
{
    char *const text = copy_of(bytes, size);
    for (int has_capacity = 0; has_capacity < 2; has_capacity++) {
        struct sap_config c;
        const int good = sap_config_parse(text, size, has_capacity, &c);
        parser_require(good == (c.wrong == NULL), "what is refused has a reason");
        parser_require(c.line >= 1 && c.line <= SAP_DEVICES_MAX + 2, "a configuration has at most 66 lines");
        if (!good) continue;
        parser_require(c.n >= -SAP_DEVICES_MAX && c.n <= SAP_DEVICES_MAX, "at most 64 devices");
        for (int k = 0; k < c.n; k++) parser_require(c.device[k] >= 0, "device numbers are not negative");
        check_config_round_trip(&c, has_capacity);
    }
    free(text);
}

/* ---------------------------------------------------------------- cached programs */

/* Bytes that are accepted are those that packing writes. */
static void check_any(const char *key, size_t n, const char *content, size_t room)
{
    size_t size = 0, again = 0;
    const unsigned char *const binary = sap_opencl_cache_unpack(content, room, key, n, &size);
    if (!binary) return;
    parser_require(size > 0 && size <= room, "a binary lies within its file");
    unsigned char *const packed = sap_opencl_cache_pack(key, n, binary, size, &again);
    parser_require(packed && again == room && memcmp(packed, content, room) == 0, "one content for one binary");
    free(packed);
}

/* A file that was written is read; with one bit changed, cut, or for another key, it is not. */
static void check_damage(const char *key, size_t n, const unsigned char *binary, size_t size, unsigned place)
{
    size_t room = 0, back = 0;
    unsigned char *const packed = sap_opencl_cache_pack(key, n, binary, size, &room);
    parser_require(packed != NULL, "memory for a file");
    const unsigned char *found = sap_opencl_cache_unpack(packed, room, key, n, &back);
    parser_require(found && back == size && memcmp(found, binary, size) == 0, "a binary survives a round trip");
    parser_require(!sap_opencl_cache_unpack(packed, place % room, key, n, &back), "a file that was cut is refused");
    packed[place % room] ^= (unsigned char)(1U << place % 8);
    parser_require(!sap_opencl_cache_unpack(packed, room, key, n, &back), "a file that was changed is refused");
    free(packed);
}

void parse_cache(const unsigned char *bytes, size_t size)
{
    if (size < 4) return;
    const size_t n = bytes[0] % (size - 3);
    const unsigned place = bytes[1] | (unsigned)bytes[2] << 8;
    char *const key = copy_of(bytes + 3, n), *const rest = copy_of(bytes + 3 + n, size - 3 - n);
    check_any(key, n, rest, size - 3 - n);
    check_damage(key, n, (const unsigned char *)rest, size - 3 - n, place);
    free(key);
    free(rest);
}
