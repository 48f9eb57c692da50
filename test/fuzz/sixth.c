/* sixth.c - the sixth-order interface of libsapporo6th: its sequences, and a model (spec 8.1). */
#include <stddef.h>

#include "calls.h"
#include "interface.h"

static struct store moving, still; /* the same particles; those of `still` have the time 0 */
static double now;
static int stands; /* no_predict_all came last */

/* There is no order 6 in single precision: nothing can be opened. */
static int refused(void) { return strcmp(setting.precision, "sp") == 0; }

static struct store *current(void) { return stands ? &still : &moving; }

static void run_set(const struct op *op)
{
    moving.order = still.order = 6;
    make_call(op, 0, 0);
    for (int k = 0; k < op->i[0]; k++) {
        struct particle p = {.address = ((int *)op->column[0].data)[k], .index = ((int *)op->column[1].data)[k]};
        p.mass = ((double *)op->column[2].data)[k];
        p.time = ((double *)op->column[3].data)[k];
        for (int d = 0; d < 6; d++)
            memcpy(p.term[d], (double *)op->column[4 + d].data + 3 * (ptrdiff_t)k, sizeof p.term[d]);
        if (p.address < 0 || p.address >= 1 << 30 || refused()) continue;
        store_put(&moving, &p);
        p.time = 0;
        store_put(&still, &p);
    }
}

static void run_predict(const struct op *op)
{
    make_call(op, 0, 0);
    stands = !op->i[1];
    if (!stands) now = op->d[0];
}

static void run_get(const struct op *op)
{
    const struct store *const s = current();
    const struct particle *const p = stands || isfinite(now) ? store_find(s, op->i[0]) : NULL;
    double to[3][3];
    make_call(op, 3, 0);
    check_int("out.nearest[0]", out.nearest[0], p ? p->index : -1);
    if (p) predict_double(s, p, stands ? 0 : now, 3, to);
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++) {
            char name[30];
            (void)snprintf(name, sizeof name, "out.acc[%d][%d]", k, c);
            if (!p || isnan(to[k][c]))
                check_nan(name, out.acc[k][c]);
            else
                check_double(name, out.acc[k][c], to[k][c], 0);
        }
}

/* Nearest distances of this interface are softened. */
static void soften(struct answer *a, const struct batch *b)
{
    for (int i = 0; i < a->ni; i++) a->row[i].r2 += b->eps2[i];
}

static void run_force(const struct op *op)
{
    const int ni = op->i[0], nj = op->i[1];
    struct batch *const b = &batch[op->i[2]];
    struct answer *a = NULL;
    int good = ni > 0 && nj >= 0 && !refused() && (stands || isfinite(now));
    for (int i = 0; i < ni; i++) good &= b->eps2[i] >= 0 && isfinite(b->eps2[i]);
    if (good) {
        const struct force f = {.precision = precision_of(6),
                                .pairs = PAIRS_SKIP_OWN,
                                .nj = nj,
                                .ni = ni,
                                .time = stands ? 0 : now,
                                .index = b->index,
                                .x = b->x,
                                .v = b->v,
                                .a = b->a,
                                .eps2_i = b->eps2};
        moving.order = still.order = 6;
        a = answer_new(current(), &f);
        soften(a, b);
    }
    make_call(op, ni > 0 ? ni : 0, 0);
    for (int i = 0; i < ni; i++) /* the crackle becomes zero */
        for (int c = 0; c < 3; c++) {
            char name[40];
            (void)snprintf(name, sizeof name, "out.crackle[%d][%d]", i, c);
            if (a)
                check_double(name, out.crackle[i][c], 0, 0);
            else
                check_nan(name, out.crackle[i][c]);
            out.crackle[i][c] = CALL_POISON;
        }
    check_rows(a, ni > 0 ? ni : 0, HAS_ACC | HAS_JERK | HAS_SNAP | HAS_POT | HAS_POSITIVE_POT | HAS_NEAREST | HAS_R2);
    answer_free(a);
}

static void run(const struct op *op)
{
    switch (op->kind) {
    case OP_SIXTH_SET:
        run_set(op);
        break;
    case OP_SIXTH_PREDICT:
        run_predict(op);
        break;
    case OP_SIXTH_GET:
        run_get(op);
        break;
    case OP_SIXTH_FORCE:
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
    int nj, group;
};

static void add_set(struct plan *p, int n)
{
    static const int odd[] = {-1, INT_MIN, 1 << 30, INT_MAX, 5000};
    rng *const r = p->random;
    struct op *const op = sequence_add(p->s, OP_SIXTH_SET);
    op->i[0] = op->rows = n;
    op->rows_at = 0;
    int *const address = op_whole(op, 0, 1), *const id = op_whole(op, 1, 1);
    double *const m = op_reals(op, 2, 1), *const t = op_reals(op, 3, 1);
    for (int d = 0; d < 6; d++) {
        double *const x = op_reals(op, 4 + d, 3);
        for (int k = 0; k < n; k++)
            if (d == 0)
                scene_position(&p->scene, x + 3 * (ptrdiff_t)k);
            else
                scene_derivative(&p->scene, d, x + 3 * (ptrdiff_t)k);
    }
    for (int k = 0; k < n; k++) {
        address[k] = n > 1 ? k : one_in(r, 20) ? odd[draw(r, 5)] : draw(r, p->nj + 2);
        id[k] = draw_index(r, address[k] & 1023);
        m[k] = scene_mass(&p->scene);
        t[k] = scene_time(&p->scene);
    }
    if (n > 1) p->nj = n;
}

static void add_predict(struct plan *p)
{
    struct op *const op = sequence_add(p->s, OP_SIXTH_PREDICT);
    op->d[0] = scene_now(&p->scene);
    op->i[0] = p->nj;
    op->i[1] = !one_in(p->random, 4);
}

static void add_force(struct plan *p)
{
    rng *const r = p->random;
    int ni = limit_ni(draw_ni(r), 2 * p->nj);
    if (ni < 1) ni = 1;
    const int b = draw(r, CALL_BATCHES);
    p->group++;
    add_fill(p->s, &p->scene, b, ni, p->group);
    struct op *const more = sequence_add(p->s, OP_FILL_MORE);
    more->i[0] = b;
    more->i[1] = more->rows = ni;
    more->rows_at = 1;
    more->group = p->group;
    double *const a = op_reals(more, 0, 3), *const eps2 = op_reals(more, 2, 1);
    for (int i = 0; i < ni; i++) {
        scene_derivative(&p->scene, 2, a + 3 * (ptrdiff_t)i);
        eps2[i] = one_in(r, 3000) ? odd_number(r) : one_in(r, 3) ? 0 : 0.25 * draw(r, 8);
    }
    struct op *const op = sequence_add(p->s, OP_SIXTH_FORCE);
    op->i[0] = one_in(r, 60) ? draw(r, 2) - 1 : ni;
    op->i[1] = one_in(r, 40) ? draw(r, 3) - 1 : one_in(r, 4) ? draw(r, p->nj + 5) : p->nj;
    op->i[2] = b;
    op->rows_at = 0;
    op->group = p->group;
}

static void generate(struct sequence *s, rng *r)
{
    struct plan p = {.s = s, .random = r};
    const int n = 2 + draw(r, 6);
    scene_draw(&p.scene, r);
    add_set(&p, 2 + draw_nj(r) / 2);
    for (int k = 0; k < n; k++) switch (draw(r, 8)) {
        case 0:
            add_set(&p, 1);
            break;
        case 1:
        case 2:
            add_predict(&p);
            break;
        case 3: {
            struct op *const op = sequence_add(s, OP_SIXTH_GET);
            op->i[0] = draw(r, p.nj + 4) - 1;
            break;
        }
        default:
            add_force(&p);
        }
}

const struct interface interface_sixth = {"sixth", generate, run};
