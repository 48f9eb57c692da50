/* onecall.c - the calls of libcunbody1 and libharp3: their sequences, and a model.  Each force has particles of its
 * own. */
#include <stddef.h>

#include "calls.h"
#include "interface.h"

/* The force of the last begin; NULL: it failed. */
static struct {
    int is_there, ni, nj;
    struct answer *answer;
} started;

/* The force of an operation: sources in its columns, targets in a batch.  NULL: it fails. */
static struct answer *solve(const struct op *op)
{
    const int nj = op->i[0], ni = op->i[1];
    if (ni < 1 || nj < 0 || !(op->d[0] >= 0) || !isfinite(op->d[0])) return NULL;
    struct store s = {.order = 2};
    const double *const x = op->column[0].data, *const m = op->column[1].data;
    for (int k = 0; k < nj; k++) {
        struct particle p = {.address = k, .index = k, .mass = m[k]};
        memcpy(p.term[0], x + 3 * (ptrdiff_t)k, sizeof p.term[0]);
        store_put(&s, &p);
    }
    const struct force f = {
        .precision = precision_of(2), .pairs = PAIRS_ALL, .nj = nj, .ni = ni, .eps2 = op->d[0], .x = batch[op->i[2]].x};
    struct answer *const answer = answer_new(&s, &f);
    store_clear(&s);
    return answer;
}

static void run_begin(const struct op *op)
{
    if (op->i[0] > op->rows) return; /* a reduced sequence */
    answer_free(started.answer);
    started.answer = solve(op);
    started.is_there = 1;
    started.nj = op->i[0];
    started.ni = op->i[1];
    make_call(op, 0, 0);
}

static void run_force(const struct op *op)
{
    const int rows = op->i[1] > 0 ? op->i[1] : 0, is_end = op->kind == OP_CUNBODY_END;
    if (op->i[0] > op->rows) return; /* a reduced sequence */
    const int fits = is_end && started.is_there && started.ni == op->i[1] && started.nj == op->i[0];
    struct answer *const answer = fits ? started.answer : solve(op);
    if (is_end && !fits) answer_free(started.answer);
    if (is_end) memset(&started, 0, sizeof started);
    make_call(op, rows, 0);
    check_rows(answer, rows, op->kind == OP_HARP ? HAS_ACC | HAS_POT : HAS_ACC);
    answer_free(answer);
}

static void run(const struct op *op)
{
    switch (op->kind) {
    case OP_CUNBODY_BEGIN:
        run_begin(op);
        break;
    case OP_CUNBODY:
    case OP_CUNBODY_END:
    case OP_HARP:
        run_force(op);
        break;
    default:
        make_call(op, 0, 0);
    }
}

/* ---- sequences -------------------------------------------------------------------- */

struct plan {
    struct sequence *s;
    struct scene scene;
    rng *random;
    int nj, ni, b, group;
};

static struct op *add_force(struct plan *p, enum kind kind, int nj, double eps2)
{
    rng *const r = p->random;
    struct op *const op = sequence_add(p->s, kind);
    op->i[0] = op->rows = nj;
    op->rows_at = 0;
    op->i[1] = p->ni;
    op->i[2] = p->b;
    op->d[0] = one_in(r, 60) ? odd_number(r) : eps2;
    double *const x = op_reals(op, 0, 3), *const m = op_reals(op, 1, 1);
    for (int k = 0; k < nj; k++) {
        scene_position(&p->scene, x + 3 * (ptrdiff_t)k);
        m[k] = scene_mass(&p->scene);
    }
    if (one_in(r, 60)) op->i[1] = -draw(r, 2);
    return op;
}

static void generate(struct sequence *s, rng *r)
{
    struct plan p = {.s = s, .random = r};
    const int n = 1 + draw(r, 5);
    scene_draw(&p.scene, r);
    for (int k = 0; k < n; k++) {
        p.nj = draw_nj(r);
        p.ni = limit_ni(draw_ni(r), p.nj);
        if (p.ni < 1) p.ni = 1;
        p.b = draw(r, CALL_BATCHES);
        add_fill(s, &p.scene, p.b, p.ni, ++p.group);
        const double eps2 = scene_eps2(&p.scene);
        if (one_in(r, 3)) add_force(&p, OP_CUNBODY_BEGIN, p.nj, eps2);
        if (one_in(r, 3)) add_force(&p, OP_CUNBODY, p.nj, eps2);
        if (one_in(r, 3)) add_force(&p, OP_CUNBODY_END, one_in(r, 3) ? p.nj + 1 : p.nj, eps2);
        if (one_in(r, 2)) add_force(&p, OP_HARP, p.nj, eps2);
    }
}

const struct interface interface_onecall = {"onecall", generate, run};
