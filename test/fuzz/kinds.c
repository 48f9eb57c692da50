/* kinds.c - names and texts of all operations, and the data that their calls read and write. */
#define CALLS_DEFINE 1
#include "calls.h"

#include "sequence.h"

#define KIND_TEXT(name, ...) [OP_##name] = #__VA_ARGS__,
static const char *const texts[OP_KINDS] = {KINDS(KIND_TEXT)};

#define KIND_WORD(name, ...) [OP_##name] = #name,
static const char *const names[OP_KINDS] = {KINDS(KIND_WORD)};

const char *kind_text(enum kind kind) { return texts[kind]; }

const char *kind_name(enum kind kind) { return names[kind]; }
