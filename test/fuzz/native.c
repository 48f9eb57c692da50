/* native.c - the native interface: a model of contexts and their particles. */
#include "native.h"

#include <stddef.h>

struct model_context native_contexts[CALL_HANDLES];

/* What every call on a context that is not open returns; 0: it is open. */
static int closed(const struct model_context *c) { return c->is_open ? 0 : SAPPORO_ERR_CLOSED; }

/* ---- native_contexts --------------------------------------------------------------------- */

static void model_close(int h)
{
    for (int k = 0; k < CALL_JOBS; k++)
        if (native_jobs[k].answer && native_jobs[k].context == h) {
            native_forget(&native_jobs[k]);
            native_jobs[k].is_closed = 1;
        }
    store_clear(&native_contexts[h].store);
    store_clear(&native_contexts[h].lost);
    memset(&native_contexts[h], 0, sizeof native_contexts[h]);
}

static void run_close(const struct op *op)
{
    const int h = op->i[0];
    make_call(op, 0, 0);
    const int was = native_contexts[h].is_open || native_contexts[h].is_closed;
    model_close(h);
    native_contexts[h].is_closed = was && op->i[1];
}

static void run_open(const struct op *op)
{
    struct model_context *const c = &native_contexts[op->i[0]];
    const int order = op->i[1], given = op->i[2];
    sapporo_precision precision = (sapporo_precision)given;
    int expected = SAPPORO_OK;
    if (c->is_open) return; /* sequences close before; a reduced one may not */
    if (order != 0 && order != 2 && order != 4 && order != 6 && order != 8) expected = SAPPORO_ERR_ARGUMENT;
    if (given < 0 || given > 3 || op->i[3] < 0) expected = SAPPORO_ERR_ARGUMENT;
    if (given == 0) precision = precision_of(order);
    const int no_sp = order > 4 && (given == SAPPORO_SP || (given == 0 && strcmp(setting.precision, "sp") == 0));
    make_call(op, 0, 0);
    if (!expected && no_sp) expected = SAPPORO_ERR_UNSUPPORTED;
    check_int("rc", rc, expected);
    if (expected || rc) return;
    model_close(op->i[0]);
    c->is_open = 1;
    c->order = c->store.order = order ? order : 4;
    c->precision = precision;
}

static void run_clear(const struct op *op)
{
    struct model_context *const c = &native_contexts[op->i[0]];
    make_call(op, 0, 0);
    check_int("rc", rc, closed(c));
    if (!c->is_open) return;
    store_clear(&c->store);
    store_clear(&c->lost);
    c->is_soft = 0;
    c->changes++;
}

static void run_time(const struct op *op)
{
    struct model_context *const c = &native_contexts[op->i[0]];
    make_call(op, 0, 0);
    check_int("rc", rc, closed(c) || isfinite(op->d[0]) ? closed(c) : (int)SAPPORO_ERR_NOT_FINITE);
    if (c->is_open) c->time = op->d[0];
}

/* ---- particles ---------------------------------------------------------------------- */

/* Stores in the model; what the call returns. */
static int model_set(struct model_context *c, struct particle *p)
{
    static const double factor[5] = {1, 1, 2, 6, 18};
    if (p->address < 0 || p->address >= 1 << 30) return SAPPORO_ERR_ARGUMENT;
    if (!(p->eps2 >= 0 && isfinite(p->eps2))) return SAPPORO_ERR_ARGUMENT;
    for (int k = 0; k < 5 && c->order <= 4; k++)
        for (int axis = 0; axis < 3; axis++) p->term[k][axis] /= factor[k];
    store_put(&c->store, p);
    store_remove(&c->lost, p->address);
    c->is_soft |= p->eps2 > 0;
    c->changes++;
    return store_find(&c->store, p->address)->is_bad ? SAPPORO_ERR_NOT_FINITE : SAPPORO_OK;
}

static void run_set(const struct op *op)
{
    struct model_context *const c = &native_contexts[op->i[0]];
    struct particle p = {.address = op->i[1], .index = op->i[2], .mass = op->d[0], .time = op->d[1], .eps2 = op->d[2]};
    if (!op->column[0].data) return;
    memcpy(p.term, op->column[0].data, sizeof p.term);
    const int expected = c->is_open ? model_set(c, &p) : SAPPORO_ERR_CLOSED;
    make_call(op, 0, 0);
    check_int("rc", rc, expected);
}

static int model_load(struct model_context *c, const struct op *op)
{
    const int first = op->i[1], n = op->i[2];
    int status = SAPPORO_OK;
    if (!op->column[0].data || n < 0 || first < 0 || first > (1 << 30) - n) return SAPPORO_ERR_ARGUMENT;
    for (int k = 0; k < n; k++) {
        struct particle p = {.address = first + k, .index = first + k};
        for (int d = 0; d < 5; d++)
            if (op->column[d].data)
                memcpy(p.term[d], (double *)op->column[d].data + 3 * (ptrdiff_t)k, sizeof p.term[d]);
        if (op->column[5].data) p.mass = ((double *)op->column[5].data)[k];
        if (op->column[6].data) p.time = ((double *)op->column[6].data)[k];
        if (op->column[7].data) p.index = ((int *)op->column[7].data)[k];
        if (op->column[8].data) p.eps2 = ((double *)op->column[8].data)[k];
        const int one = model_set(c, &p);
        if (one) status = one;
        if (!one || one == SAPPORO_ERR_NOT_FINITE) continue;
        for (; k < n; k++) { /* this one, and all that follow */
            store_remove(&c->store, first + k);
            store_put(&c->lost, &(struct particle){.address = first + k});
        }
    }
    return status;
}

static void run_load(const struct op *op)
{
    struct model_context *const c = &native_contexts[op->i[0]];
    const int expected = c->is_open ? model_load(c, op) : SAPPORO_ERR_CLOSED;
    make_call(op, 0, 0);
    check_int("rc", rc, expected);
}

/* Numbers as they come back: factors of orders 2 and 4 cost a rounding. */
static void check_given(const struct model_context *c, const struct particle *p)
{
    static const double factor[5] = {1, 1, 2, 6, 18};
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++)
        for (int axis = 0; axis < 3; axis++) {
            char name[40];
            const double x = p->term[k][axis] * (c->order <= 4 && k < 5 ? factor[k] : 1);
            if (x == out.acc[k][axis] || (isnan(x) && isnan(out.acc[k][axis]))) continue;
            (void)snprintf(name, sizeof name, "out.acc[%d][%d]", k, axis);
            check_double(name, out.acc[k][axis], x, 0);
        }
}

static void run_get(const struct op *op)
{
    const struct model_context *const c = &native_contexts[op->i[0]];
    const struct particle *const p = c->is_open ? store_find(&c->store, op->i[1]) : NULL;
    const int untimely = c->is_open && op->i[2] && c->order != 2 && !isfinite(c->time);
    make_call(op, SAPPORO_DERIVATIVES, 0);
    check_int("rc", rc,
              !c->is_open                              ? SAPPORO_ERR_CLOSED
              : untimely                               ? SAPPORO_ERR_NOT_FINITE
              : p                                      ? SAPPORO_OK
              : store_find(&c->lost, op->i[1]) != NULL ? SAPPORO_ERR_MEMORY
                                                       : SAPPORO_ERR_ARGUMENT);
    if (!p || untimely) {
        check_nan("out.acc[0][0]", out.acc[0][0]);
        check_nan("out.pot[0]", out.pot[0]);
        check_int("out.nearest[0]", out.nearest[0], -1);
        return;
    }
    check_int("out.nearest[0]", out.nearest[0], p->index);
    if (isfinite(p->mass)) check_double("out.pot[0]", out.pot[0], p->mass, 0);
    if (!op->i[2] || c->order == 2) {
        check_given(c, p);
        return;
    }
    double to[2][3];
    predict_double(&c->store, p, c->time, 2, to);
    for (int k = 0; k < 2; k++)
        for (int axis = 0; axis < 3; axis++)
            if (isfinite(to[k][axis]) && out.acc[k][axis] != to[k][axis])
                check_double(k ? "out.acc[1][0] /* or y, z */" : "out.acc[0][0] /* or y, z */", out.acc[k][axis],
                             to[k][axis], 0);
}

static void run(const struct op *op)
{
    switch (op->kind) {
    case OP_OPEN:
        run_open(op);
        break;
    case OP_CLOSE:
        run_close(op);
        break;
    case OP_CLEAR:
        run_clear(op);
        break;
    case OP_TIME:
        run_time(op);
        break;
    case OP_SET:
        run_set(op);
        break;
    case OP_LOAD:
        run_load(op);
        break;
    case OP_GET:
        run_get(op);
        break;
    default:
        native_run_force(op);
    }
}

const struct interface interface_native = {"native", native_generate, run};
