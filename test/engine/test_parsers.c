/*
 * test_parsers.c - runs the targets of `make fuzz-parsers` without libFuzzer: the corpus, damaged copies of it,
 * hand-made inputs.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../fuzz/parsers/targets.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 4096, DAMAGED = 1000, RANDOM = 2000 };

static const struct target {
    const char *name;
    parser_check *check;
} targets[] = {{"snapshot", parse_snapshot}, {"restart", parse_restart},        {"option", parse_option},
               {"tune", parse_tune},         {"config", parse_config},          {"cache", parse_cache},
               {"number", parse_number},     {"environment", parse_environment}};

enum { TARGETS = sizeof targets / sizeof *targets };

static uint64_t seed;

/* xorshift64 */
static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Changes some bytes, cuts, or repeats a part; returns the new size. */
static size_t damage(unsigned char *bytes, size_t size)
{
    static const char likely[] = "\n\n \t,.-+eED#[]=0019\r\"\0\xff";
    for (int changes = (int)(next() % 4) + 1; changes > 0 && size > 0; changes--)
        bytes[next() % size] = next() % 2 ? (unsigned char)next() : (unsigned char)likely[next() % sizeof likely];
    if (next() % 4 == 0 && size > 0) size = next() % size;
    if (next() % 4 == 0 && size > 0 && 2 * size < ROOM) {
        const size_t at = next() % size, n = size - at;
        memmove(bytes + size, bytes + at, n);
        size += n;
    }
    return size;
}

static void check_damaged(const struct target *t, const unsigned char *bytes, size_t size)
{
    unsigned char copy[ROOM];
    for (int k = 0; k < DAMAGED; k++) {
        memcpy(copy, bytes, size);
        t->check(copy, damage(copy, size));
    }
}

static size_t read_file(const char *path, unsigned char bytes[ROOM])
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n = fread(bytes, 1, ROOM, f);
    fclose(f);
    return n;
}

static size_t check_corpus(const struct target *t)
{
    char pattern[64];
    unsigned char bytes[ROOM];
    glob_t found;
    snprintf(pattern, sizeof pattern, "test/fuzz/corpus/%s/*", t->name);
    if (glob(pattern, 0, NULL, &found) != 0) return 0;
    const size_t n = found.gl_pathc;
    for (size_t k = 0; k < n; k++) {
        const size_t size = read_file(found.gl_pathv[k], bytes);
        t->check(bytes, size);
        check_damaged(t, bytes, size);
    }
    globfree(&found);
    return n;
}

static void corpus(void **state)
{
    (void)state;
    for (int k = 0; k < TARGETS; k++) assert_true(check_corpus(&targets[k]) >= 5);
}

static void random_bytes(void **state)
{
    unsigned char bytes[256];
    (void)state;
    for (int k = 0; k < TARGETS; k++)
        for (int round = 0; round < RANDOM; round++) {
            const size_t size = next() % sizeof bytes;
            for (size_t b = 0; b < size; b++) bytes[b] = (unsigned char)next();
            targets[k].check(bytes, size);
        }
}

/* No bytes, one byte of each value, long runs of one byte. */
static void runs(void **state)
{
    unsigned char bytes[ROOM];
    (void)state;
    for (int k = 0; k < TARGETS; k++)
        for (int value = 0; value < 256; value++) {
            memset(bytes, value, sizeof bytes);
            targets[k].check(bytes, 0);
            targets[k].check(bytes, 1);
            targets[k].check(bytes, 63);
            if (value % 16 == 0 || strchr("0159 \n\t,.-+e#[]AQ", value)) targets[k].check(bytes, sizeof bytes);
        }
}

static int begin(void **state)
{
    (void)state;
    seed = 88172645463325252U;
    alarm(300); /* a parser that does not end */
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test_setup(corpus, begin),
                                              cmocka_unit_test_setup(random_bytes, begin),
                                              cmocka_unit_test_setup(runs, begin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
