/*
 * targets.h - one function per kind of input: it parses any bytes with the parser of the library or the examples, and
 * checks what the parser promises.
 *
 * libFuzzer calls these functions (fuzzer.c), and so does test_parsers.c.
 */
#ifndef PARSER_TARGETS_H
#define PARSER_TARGETS_H

#include <stddef.h>

typedef void parser_check(const unsigned char *bytes, size_t size);

parser_check parse_snapshot;    /* the four forms of snapshots: what is accepted can be written and read back */
parser_check parse_restart;     /* restart files of the examples; the first two bytes say where a file is damaged */
parser_check parse_option;      /* command lines of the examples, one argument per line */
parser_check parse_tune;        /* the tuning file; the first byte chooses precision and order */
parser_check parse_config;      /* sapporo2.config and sapporo.config */
parser_check parse_cache;       /* files of the cache of compiled programs; the first byte is the length of the key */
parser_check parse_environment; /* variables, one per line: a letter that chooses the variable, then its value */
parser_check parse_number;      /* numbers and lists of numbers */

/* Ends the program with a message: the input breaks a promise. */
_Noreturn void parser_broken(const char *promise);

static inline void parser_require(int condition, const char *promise)
{
    if (!condition) parser_broken(promise);
}

#endif
