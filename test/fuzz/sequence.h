/*
 * sequence.h - operations and lists of them: the data of a fuzzed program.
 *
 * An operation carries all numbers of its call, so that it can be copied, made smaller and printed without the random
 * numbers from which it was made.
 */
#ifndef FUZZ_SEQUENCE_H
#define FUZZ_SEQUENCE_H

#include <stdint.h>

#include "kinds.h"
#include "rng.h"

enum { OP_INTS = 10, OP_REALS = 4, OP_COLUMNS = 12 };

/* An array of `width` values per row: doubles, or ints. */
struct column {
    void *data; /* NULL: the call gets NULL */
    int is_int, width;
};

struct op {
    enum kind kind;
    int rows; /* of all columns */
    int i[OP_INTS];
    double d[OP_REALS];
    int rows_at; /* the number of i[] that says how many rows the call reads; -1: none */
    int group;   /* operations of one group lose rows together: 0: none */
    struct column column[OP_COLUMNS];
};

struct sequence {
    uint64_t seed;
    int interface; /* its number in interfaces[] */
    int n, room;
    struct op *op;
};

void sequence_clear(struct sequence *s);
void sequence_copy(struct sequence *to, const struct sequence *from);
/* Appends all operations of another sequence. */
void sequence_append(struct sequence *to, const struct sequence *from);
void sequence_remove(struct sequence *s, int first, int n);

/* A new operation at the end, all zero, without rows_at; valid until the next call. */
struct op *sequence_add(struct sequence *s, enum kind kind);

/* Memory for a column of an operation whose `rows` is set. */
double *op_reals(struct op *op, int k, int width);
int *op_whole(struct op *op, int k, int width);

/* Removes rows first .. first + n - 1 from all columns, and n from the count that the call reads. */
void op_remove_rows(struct op *op, int first, int n);

/* The text of a kind's call, as in kinds.h, and its name. */
const char *kind_text(enum kind kind);
const char *kind_name(enum kind kind);

#endif
