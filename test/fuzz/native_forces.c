/* native_forces.c - the native interface: a model of forces, their lists, and neighbour forces. */
#include <stddef.h>

#include "native.h"

struct model_job native_jobs[CALL_JOBS];

void native_forget(struct model_job *j)
{
    answer_free(j->answer);
    memset(j, 0, sizeof *j);
}

/* ---- forces --------------------------------------------------------------------------- */

static int bad_softening(const double *eps2, int n)
{
    for (int k = 0; k < n; k++)
        if (!(eps2[k] >= 0 && isfinite(eps2[k]))) return 1;
    return 0;
}

static int check_pairs(const struct model_context *c, const struct op *op)
{
    const int given = op->i[5], want = op->i[6], pairs = op->i[7] & 1, by_mass = op->i[7] >> 1 & 1;
    if (!pairs) return given & GIVEN_DTR || by_mass ? SAPPORO_ERR_ARGUMENT : SAPPORO_OK;
    if (c->order != 4) return SAPPORO_ERR_UNSUPPORTED;
    if (given & GIVEN_INDEX || want & SAPPORO_WANT_NEAREST) return SAPPORO_ERR_ARGUMENT;
    return given & GIVEN_EPS2 || c->is_soft ? SAPPORO_ERR_UNSUPPORTED : SAPPORO_OK;
}

static int check_softening(const struct model_context *c, int softening)
{
    if (softening > SAPPORO_SOFTENING_SPLINE_MEAN) return SAPPORO_ERR_ARGUMENT;
    return softening && c->order != 2 ? SAPPORO_ERR_UNSUPPORTED : SAPPORO_OK;
}

static int expected_of_begin(const struct model_context *c, const struct op *op)
{
    const int nj = op->i[2], ni = op->i[3], b = op->i[4], given = op->i[5];
    if (!c->is_open) return SAPPORO_ERR_CLOSED;
    if (nj < 0 || ni < 0 || (ni > 0 && !(given & GIVEN_X))) return SAPPORO_ERR_ARGUMENT;
    if (!(op->d[0] >= 0 && isfinite(op->d[0]))) return SAPPORO_ERR_ARGUMENT;
    if (c->order != 2 && !isfinite(c->time)) return SAPPORO_ERR_NOT_FINITE;
    const int pairs = check_pairs(c, op);
    if (pairs) return pairs;
    const int softening = check_softening(c, op->i[7] >> 2);
    if (softening) return softening;
    if (given & GIVEN_EPS2 && bad_softening(batch[b].eps2, ni)) return SAPPORO_ERR_ARGUMENT;
    for (int i = 0; i < ni && given & GIVEN_DTR; i++)
        if (!isfinite(batch[b].dtr[i])) return SAPPORO_ERR_ARGUMENT;
    return c->lost.n > 0 && c->lost.at[0].address < nj ? SAPPORO_ERR_MEMORY : SAPPORO_OK;
}

static struct answer *answer_of_begin(const struct model_context *c, const struct op *op)
{
    struct batch *const b = &batch[op->i[4]];
    const int given = op->i[5];
    const struct force f = {.precision = c->precision,
                            .pairs = op->i[7] & 1          ? PAIRS_OUTSIDE
                                     : given & GIVEN_INDEX ? PAIRS_SKIP_OWN
                                                           : PAIRS_ALL,
                            .nj = op->i[2],
                            .ni = op->i[3],
                            .by_mass = op->i[7] >> 1 & 1,
                            .spline = op->i[7] >> 2,
                            .time = c->order == 2 ? 0 : c->time,
                            .eps2 = op->d[0],
                            .index = given & GIVEN_INDEX ? b->index : NULL,
                            .x = b->x,
                            .v = given & GIVEN_V ? b->v : NULL,
                            .a = given & GIVEN_A ? b->a : NULL,
                            .jerk = given & GIVEN_JERK ? b->jerk : NULL,
                            .h2 = given & GIVEN_H2 ? b->h2 : NULL,
                            .eps2_i = given & GIVEN_EPS2 ? b->eps2 : NULL,
                            .dtr = given & GIVEN_DTR ? b->dtr : NULL};
    return answer_new(&c->store, &f);
}

/* The same force at once and in parts has the same bits. */
static void run_twice(const struct op *op)
{
    struct model_context *const c = &native_contexts[op->i[1]];
    const unsigned wanted = (unsigned)op->d[1];
    const int too_much = (wanted & OUT_JERK && c->order < 4) || (wanted & OUT_SNAP && c->order < 6) ||
                         (wanted & OUT_CRACKLE && c->order < 8);
    if (expected_of_begin(c, op) != SAPPORO_OK || op->i[3] < 1 || too_much) return;
    struct answer *const a = answer_of_begin(c, op);
    c->changes++;
    make_call(op, op->i[3], 0);
    /* beyond the ranges, addresses without a particle show, and kernels of another shape look at more of them */
    const struct row *const r = rc >= 0 && rc < op->i[3] ? &a->row[rc] : NULL;
    if (r && op->i[7] & 1 && op->d[0] > 0 && is_known("same_place") &&
        (!(op->i[5] & GIVEN_H2) || !(batch[op->i[4]].h2[rc] > 0)))
        rc = -1;
    if (!r || (r->bounded[ACC] && r->bounded[POT] && !r->is_broken && !r->is_shown && !r->is_doubtful))
        check_int("rc", rc, -1);
    check_rows(a, op->i[3], wanted);
    answer_free(a);
}

static void run_begin(const struct op *op)
{
    struct model_job *const j = &native_jobs[op->i[0]];
    struct model_context *const c = &native_contexts[op->i[1]];
    if (j->answer || j->is_closed) return; /* sequences free jobs before; a reduced one may not */
    const int expected = expected_of_begin(c, op);
    make_call(op, 0, 0);
    check_int("rc", rc, expected);
    if (expected || rc) {
        if (job[op->i[0]]) check_fail("0", "a failed sapporo_force_begin leaves a job");
        return;
    }
    c->changes++;
    j->answer = answer_of_begin(c, op);
    j->context = op->i[1];
    j->outside = op->i[7] & 1;
    j->changes = c->changes;
    j->has_lists = op->i[6] & SAPPORO_WANT_LISTS || j->outside;
}

/* Threads that share a context: each gets its own rows. */
static void run_threads(const struct op *op)
{
    enum { THREADS = 4 };
    struct model_context *const c = &native_contexts[op->i[0]];
    const int nj = op->i[1], ni = op->i[2], given = op->i[4];
    const unsigned wanted = (unsigned)op->i[6];
    struct batch *const b = &batch[op->i[3]];
    const int good = c->is_open && nj >= 0 && op->d[0] >= 0 && isfinite(op->d[0]) &&
                     (c->order == 2 || isfinite(c->time)) && !(c->lost.n > 0 && c->lost.at[0].address < nj) &&
                     !(wanted & OUT_JERK && c->order < 4);
    struct answer *a = NULL;
    if (!good || ni < THREADS) return;
    const struct force f = {.precision = c->precision,
                            .pairs = given & GIVEN_INDEX ? PAIRS_SKIP_OWN : PAIRS_ALL,
                            .nj = nj,
                            .ni = ni,
                            .time = c->order == 2 ? 0 : c->time,
                            .eps2 = op->d[0],
                            .index = given & GIVEN_INDEX ? b->index : NULL,
                            .x = b->x,
                            .v = b->v,
                            .h2 = given & GIVEN_H2 ? b->h2 : NULL};
    a = answer_new(&c->store, &f);
    c->changes++;
    make_call(op, ni, 0);
    for (int k = 0; k < THREADS; k++) {
        char name[30];
        int expected = 0;
        for (int i = ni * k / THREADS; i < ni * (k + 1) / THREADS; i++) expected |= a->row[i].is_nan;
        (void)snprintf(name, sizeof name, "out.code[%d]", k);
        check_int(name, out.code[k], expected);
    }
    check_rows(a, ni, wanted);
    answer_free(a);
}

static int is_stale(const struct model_job *j) { return native_contexts[j->context].changes != j->changes; }

static void run_end(const struct op *op)
{
    struct model_job *const j = &native_jobs[op->i[0]];
    const int ni = op->i[1], order = j->answer ? j->answer->order : 0;
    const unsigned wanted = (unsigned)op->i[2];
    if (!j->answer) {
        make_call(op, ni > 0 ? ni : 0, 0);
        check_int("rc", rc, j->is_closed ? SAPPORO_ERR_CLOSED : SAPPORO_ERR_ARGUMENT);
        check_rows(NULL, ni > 0 ? ni : 0, wanted);
        return;
    }
    int expected = j->answer->bad > 0 ? SAPPORO_PARTIAL : SAPPORO_OK;
    if (ni < 0 || ni > j->answer->ni)
        expected = SAPPORO_ERR_ARGUMENT;
    else if ((j->outside && wanted & (OUT_NEAREST | OUT_R2)) || (wanted & OUT_JERK && order < 4) ||
             (wanted & OUT_SNAP && order < 6) || (wanted & OUT_CRACKLE && order < 8))
        expected = SAPPORO_ERR_UNSUPPORTED;
    make_call(op, ni > 0 ? ni : 0, 0);
    if (rc == SAPPORO_ERR_GONE && j->is_delivered && is_stale(j) && wanted & (OUT_NEAREST | OUT_R2)) expected = rc;
    check_int("rc", rc, expected);
    check_rows(expected < 0 ? NULL : j->answer, ni > 0 ? ni : 0, wanted);
    j->is_delivered |= expected >= 0;
}

/* ---- lists ------------------------------------------------------------------------------ */

static void run_neighbours(const struct op *op)
{
    const struct model_job *const j = &native_jobs[op->i[0]];
    const int i = op->i[1], room = op->i[2] > 0 ? op->i[2] : 0;
    make_call(op, 1, room);
    if (!j->answer || i < 0 || i >= j->answer->ni) {
        check_int("rc", rc, j->is_closed ? SAPPORO_ERR_CLOSED : SAPPORO_ERR_ARGUMENT);
        check_int("out.n[0]", out.n[0], 0);
        check_list(0, 0, NULL, room);
        return;
    }
    const struct row *const r = &j->answer->row[i];
    const int written = r->n < room ? r->n : room;
    if (rc == SAPPORO_ERR_GONE && is_stale(j) && out.n[0] == 0) return;
    if (r->any_list) return;
    check_int("rc", rc, r->n > room ? SAPPORO_TRUNCATED : SAPPORO_OK);
    check_int("out.n[0]", out.n[0], written);
    check_int("out.total[0]", out.total[0], r->n);
    check_list(0, written, r->list, room);
}

static void run_lists(const struct op *op)
{
    const struct model_job *const j = &native_jobs[op->i[0]];
    const int ni = op->i[1], room = op->i[2], pitch = op->i[3];
    int longer = 0, any = 0;
    make_call(op, ni, ni * pitch);
    if (!j->answer || ni < 0 || ni > j->answer->ni || room < 0 || pitch < room) {
        check_int("rc", rc, j->is_closed ? SAPPORO_ERR_CLOSED : SAPPORO_ERR_ARGUMENT);
        for (int i = 0; i < ni && i < CALL_ROWS; i++) check_int("out.n[i]", out.n[i], 0);
        return;
    }
    if (rc == SAPPORO_ERR_GONE && is_stale(j)) return;
    for (int i = 0; i < ni && !check_failed(); i++) {
        const struct row *const r = &j->answer->row[i];
        char name[30];
        longer |= r->n > room;
        any |= r->any_list;
        if (r->any_list) continue;
        (void)snprintf(name, sizeof name, "out.n[%d]", i);
        check_int(name, out.n[i], r->n);
        check_list(i * pitch, r->n <= room ? r->n : 0, r->list, (i + 1) * pitch);
    }
    if (!any) check_int("rc", rc, longer ? SAPPORO_TRUNCATED : SAPPORO_OK);
}

static void run_free(const struct op *op)
{
    make_call(op, 0, 0);
    native_forget(&native_jobs[op->i[0]]);
}

/* ---- neighbour forces, batches -------------------------------------------------------------- */

static void run_neighbour_force(const struct op *op)
{
    struct model_context *const c = &native_contexts[op->i[0]];
    const int ni = op->i[1];
    const unsigned wanted = (unsigned)op->i[2];
    const int *const address = op->column[0].data, *const length = op->column[1].data,
                     *const members = op->column[2].data;
    const int *list[CALL_ROWS];
    struct answer *a = NULL;
    int expected = SAPPORO_OK;
    for (int i = 0; i < ni && members; i++) list[i] = members + (ptrdiff_t)i * CALL_MEMBERS;
    if (!c->is_open)
        expected = SAPPORO_ERR_CLOSED;
    else if (c->order != 4)
        expected = SAPPORO_ERR_UNSUPPORTED;
    else if (ni < 0 || (ni > 0 && !(address && length && members)) || !(op->d[0] >= 0 && isfinite(op->d[0])))
        expected = SAPPORO_ERR_ARGUMENT;
    else if (!isfinite(c->time))
        expected = SAPPORO_ERR_NOT_FINITE;
    else if (wanted & (OUT_SNAP | OUT_CRACKLE) || c->is_soft)
        expected = SAPPORO_ERR_UNSUPPORTED;
    make_call(op, ni > 0 ? ni : 0, 0);
    if (!expected) {
        const struct neighbour_force f = {.precision = c->precision,
                                          .ni = ni,
                                          .time = c->time,
                                          .eps2 = op->d[0],
                                          .address = address,
                                          .length = length,
                                          .list = list};
        a = answer_of_lists(&c->store, &f);
        expected = a->bad > 0 ? SAPPORO_PARTIAL : SAPPORO_OK;
    }
    check_int("rc", rc, expected);
    check_rows(a, ni > 0 ? ni : 0, wanted);
    answer_free(a);
}

/* The sources of one list as a store; 0: an address holds no particle. */
static int sources_of(const struct model_context *c, const struct op *op, int k, int from, struct store *s)
{
    const int nj = ((int *)op->column[1].data)[k], by_address = ((int *)op->column[2].data)[k];
    const int *const address = (int *)op->column[3].data + (ptrdiff_t)k * CALL_MEMBERS;
    const struct batch *const b = &batch[op->i[3]];
    s->order = 2;
    for (int j = 0; j < nj; j++) {
        struct particle p = {.address = j, .mass = b->h2[from + j], .eps2 = b->eps2[from + j]};
        if (by_address) {
            const struct particle *const there = store_find(&c->store, address[j]);
            if (!there) return 0;
            p = *there;
            p.address = j;
        } else {
            memcpy(p.term[0], b->x[from + j], sizeof p.term[0]);
        }
        store_put(s, &p);
    }
    return 1;
}

/* All lists in one answer; NULL: one of them is wrong. */
static struct answer *answer_of_batch(const struct model_context *c, const struct op *op, int total)
{
    const int *const ni = op->column[0].data, *const nj = op->column[1].data, *const by = op->column[2].data;
    struct batch *const b = &batch[op->i[2]];
    struct answer *const all = calloc(1, sizeof *all);
    int i = 0, j = 0, good = 1, wide = store_is_wide(&c->store, c->precision); /* of the units of all lists */
    if (!all || !(all->row = calloc((size_t)total + 1, sizeof *all->row))) abort();
    all->ni = total;
    all->order = 2;
    for (int k = 0; k < op->i[1] && good; k++) {
        struct store s = {0};
        good = !bad_softening(b->eps2 + i, ni[k]) && (by[k] || !bad_softening(batch[op->i[3]].eps2 + j, nj[k])) &&
               sources_of(c, op, k, j, &s);
        if (good) {
            const struct force f = {.precision = c->precision,
                                    .nj = nj[k],
                                    .ni = ni[k],
                                    .eps2 = op->d[0],
                                    .x = b->x + i,
                                    .eps2_i = b->eps2 + i};
            struct answer *const one = answer_new(&s, &f);
            wide |= store_is_wide(&s, c->precision);
            memcpy(all->row + i, one->row, (size_t)ni[k] * sizeof *one->row);
            all->bad += one->bad;
            free(one->row);
            free(one);
        }
        store_clear(&s);
        i += ni[k];
        j += by[k] ? 0 : nj[k];
    }
    for (int k = 0; k < total && wide; k++) memset(all->row[k].bounded, 0, sizeof all->row[k].bounded);
    if (good) return all;
    answer_free(all);
    return NULL;
}

static void run_batch_force(const struct op *op)
{
    struct model_context *const c = &native_contexts[op->i[0]];
    const unsigned wanted = (unsigned)op->i[4] & ~(unsigned)BATCH_BEGUN;
    struct answer *a = NULL;
    int total = 0, expected = SAPPORO_OK;
    if (op->i[1] > op->rows) return;
    for (int k = 0; k < op->i[1]; k++) total += ((int *)op->column[0].data)[k];
    if (!c->is_open)
        expected = SAPPORO_ERR_CLOSED;
    else if (op->i[1] < 0)
        expected = SAPPORO_ERR_ARGUMENT;
    else if (c->order != 2)
        expected = SAPPORO_ERR_UNSUPPORTED;
    else if (op->i[1] > 0 && !(op->d[0] >= 0 && isfinite(op->d[0])))
        expected = SAPPORO_ERR_ARGUMENT;
    else if (!(a = answer_of_batch(c, op, total)))
        expected = SAPPORO_ERR_ARGUMENT;
    else if (wanted & ~(unsigned)(OUT_ACC | OUT_POT) && op->i[1] > 0)
        expected = SAPPORO_ERR_UNSUPPORTED;
    make_call(op, total, 0);
    if (a && !expected) expected = a->bad > 0 ? SAPPORO_PARTIAL : SAPPORO_OK;
    /* of two things that are wrong either may be told */
    if (!(expected == SAPPORO_ERR_ARGUMENT && c->lost.n > 0 && rc == SAPPORO_ERR_MEMORY) &&
        !(expected < 0 && (rc == SAPPORO_ERR_ARGUMENT || rc == SAPPORO_ERR_UNSUPPORTED)))
        check_int("rc", rc, expected);
    if (op->i[1] >= 0) check_rows(expected < 0 ? NULL : a, total, wanted);
    answer_free(a);
}

void native_run_force(const struct op *op)
{
    switch (op->kind) {
    case OP_BEGIN:
        run_begin(op);
        break;
    case OP_END:
        run_end(op);
        break;
    case OP_THREADS:
        run_threads(op);
        break;
    case OP_TWICE:
        run_twice(op);
        break;
    case OP_NEIGHBOURS:
        run_neighbours(op);
        break;
    case OP_LISTS:
        run_lists(op);
        break;
    case OP_FREE:
        run_free(op);
        break;
    case OP_NEIGHBOUR_FORCE:
        run_neighbour_force(op);
        break;
    case OP_BATCH_FORCE:
        run_batch_force(op);
        break;
    default:
        make_call(op, 0, 0);
    }
}
