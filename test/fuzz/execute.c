/*
 * execute.c - makes the call of an operation.
 *
 * This file is a shared object of its own, with the library that is tested.  Only children load it, after they are
 * forked: the library uses no devices and no threads in a process that was forked after the library was loaded.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "calls.h"
#include "calls_nbody6.h"

#include "sequence.h"

#define I(k) (op->i[k])
#define D(k) (op->d[k])
#define R(k) ((double *)op->column[k].data)
#define V(k) ((double(*)[3])op->column[k].data)
#define N(k) ((int *)op->column[k].data)
#define M(k) ((int(*)[CALL_MEMBERS])op->column[k].data)

#define KIND_CASE(name, ...)                                                                                           \
    case OP_##name:                                                                                                    \
        __VA_ARGS__;                                                                                                   \
        break;

void fuzz_execute(const struct op *op);
int fuzz_can_open(void);

int fuzz_can_open(void)
{
    sapporo *c = NULL;
    const int status = sapporo_open(NULL, &c);
    sapporo_close(c);
    return status == SAPPORO_OK;
}

void fuzz_execute(const struct op *op)
{
    switch (op->kind) {
        KINDS(KIND_CASE)
    case OP_KINDS:
        break;
    }
}

#undef I
#undef D
#undef R
#undef V
#undef N
#undef M
