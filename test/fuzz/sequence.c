/* sequence.c - memory of operations. */
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (!memory) abort();
    return memory;
}

static size_t size_of(const struct op *op, const struct column *c)
{
    const size_t one = c->is_int ? sizeof(int) : sizeof(double);
    return (size_t)(op->rows > 0 ? op->rows : 1) * (size_t)c->width * one;
}

static void op_clear(struct op *op)
{
    for (int k = 0; k < OP_COLUMNS; k++) free(op->column[k].data);
}

static void op_copy(struct op *to, const struct op *from)
{
    *to = *from;
    for (int k = 0; k < OP_COLUMNS; k++) {
        if (!from->column[k].data) continue;
        const size_t size = size_of(from, &from->column[k]);
        to->column[k].data = memcpy(checked(malloc(size)), from->column[k].data, size);
    }
}

void sequence_clear(struct sequence *s)
{
    for (int k = 0; k < s->n; k++) op_clear(&s->op[k]);
    free(s->op);
    memset(s, 0, sizeof *s);
}

struct op *sequence_add(struct sequence *s, enum kind kind)
{
    if (s->n == s->room) {
        s->room = 2 * s->room + 16;
        s->op = checked(realloc(s->op, (size_t)s->room * sizeof *s->op));
    }
    struct op *const op = &s->op[s->n++];
    memset(op, 0, sizeof *op);
    op->kind = kind;
    op->rows_at = -1;
    return op;
}

void sequence_append(struct sequence *to, const struct sequence *from)
{
    for (int k = 0; k < from->n; k++) op_copy(sequence_add(to, from->op[k].kind), &from->op[k]);
}

void sequence_copy(struct sequence *to, const struct sequence *from)
{
    memset(to, 0, sizeof *to);
    to->seed = from->seed;
    to->interface = from->interface;
    sequence_append(to, from);
}

void sequence_remove(struct sequence *s, int first, int n)
{
    for (int k = first; k < first + n; k++) op_clear(&s->op[k]);
    memmove(s->op + first, s->op + first + n, (size_t)(s->n - first - n) * sizeof *s->op);
    s->n -= n;
}

static void *new_column(struct op *op, int k, int width, int is_int)
{
    struct column *const c = &op->column[k];
    c->is_int = is_int;
    c->width = width;
    c->data = checked(calloc(size_of(op, c), 1));
    return c->data;
}

double *op_reals(struct op *op, int k, int width) { return new_column(op, k, width, 0); }

int *op_whole(struct op *op, int k, int width) { return new_column(op, k, width, 1); }

void op_remove_rows(struct op *op, int first, int n)
{
    for (int k = 0; k < OP_COLUMNS; k++) {
        struct column *const c = &op->column[k];
        if (!c->data) continue;
        const size_t row = (size_t)c->width * (c->is_int ? sizeof(int) : sizeof(double));
        char *const at = c->data;
        memmove(at + (size_t)first * row, at + (size_t)(first + n) * row, (size_t)(op->rows - first - n) * row);
    }
    op->rows -= n;
    if (op->rows_at >= 0) op->i[op->rows_at] -= n;
}
