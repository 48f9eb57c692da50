/* g5.c - the GRAPE-5 interface: its sequences, and a model of its devices (spec section 6). */
#include <stddef.h>

#include "calls.h"
#include "interface.h"

enum { DEVICES = 8, PLAIN = 0, SYMMETRIC = 1 };

/* i-particles that were set for the next run. */
struct pipes {
    int ni, failed, fresh, own; /* own: each has its softening; fresh: there was no run since */
    double common;
    vec3 x[CALL_ROWS];
    double eps2[CALL_ROWS];
};

struct device {
    int n;
    struct store memory[2];
    struct store half[2]; /* particles that have a position (index 1) or a mass (2) alone: they take no part yet */
    struct store lost[2]; /* addresses whose load failed: forces that need them fail */
    struct pipes pipes;
    struct answer *answer; /* of the last run; NULL: it failed, or there was none */
};

static struct device devices[DEVICES];
static double eps2_of_all;

static struct device *find(int id) { return id >= 0 && id < DEVICES ? &devices[id] : NULL; }

static sapporo_precision precision(void) { return *setting.precision ? precision_of(2) : SAPPORO_SP; }

/* ---- settings --------------------------------------------------------------------- */

static void drop(struct device *d)
{
    answer_free(d->answer);
    d->answer = NULL;
}

static void run_open(const struct op *op)
{
    struct device *const d = find(op->i[0]);
    make_call(op, 0, 0);
    check_int("rc", rc, d ? 0 : -1);
    if (!d || op->kind == OP_G5_OPEN) return;
    drop(d);
    d->pipes.ni = 0;
}

static int is_softening(double eps2) { return eps2 >= 0 && isfinite(eps2); }

static int are_softening(const double *eps2, int n)
{
    for (int i = 0; i < n; i++)
        if (!is_softening(eps2[i])) return 0;
    return 1;
}

static void run_eps(const struct op *op)
{
    make_call(op, 0, 0);
    eps2_of_all = op->kind == OP_G5_EPS ? op->d[0] * op->d[0] : op->d[0];
    check_int("rc", rc, is_softening(eps2_of_all) ? 0 : -1);
}

static void run_set_n(const struct op *op)
{
    struct device *const d = find(op->i[0]);
    make_call(op, 0, 0);
    check_int("rc", rc, d && op->i[1] >= 0 ? 0 : -1);
    if (d) d->n = op->i[1];
}

/* ---- j-particles -------------------------------------------------------------------- */

/* Arrays begin at address 0.  Returns what the call returns. */
static int model_load(struct device *d, const struct op *op)
{
    const int adr = op->i[1], nj = op->i[2], memory = op->kind == OP_G5_SET_XMJ0 || op->kind == OP_G5_SET_XMEPS2J;
    const double *const x = op->kind == OP_G5_SET_MJ ? NULL : op->column[0].data;
    const double *const m = op->kind == OP_G5_SET_XJ ? NULL : op->column[1].data;
    const double *const eps2 = memory ? op->column[2].data : NULL;
    int status = 0;
    if (adr < 0 || nj < 0 || adr > (1 << 30) - nj) return -1;
    if (nj == 0) return 0;
    d->memory[memory].order = 2;
    d->lost[memory].order = 2;
    for (int k = adr; k < adr + nj; k++) {
        const struct particle *const there = store_find(&d->memory[memory], k);
        const struct particle *const half = store_find(&d->half[memory], k);
        struct particle p = {.address = k, .index = k};
        const int is_half = !there && !(x && m) && (!half || half->index == (x ? 1 : 2));
        if (!there && half && !(x && m)) p = *half, p.index = k;
        if (there && !(x && m)) p = *there;
        if (x) memcpy(p.term[0], x + 3 * (ptrdiff_t)k, sizeof p.term[0]);
        if (m) p.mass = m[k];
        p.eps2 = eps2 ? eps2[k] : p.eps2;
        if (!(p.eps2 >= 0 && isfinite(p.eps2))) {
            for (; k < adr + nj; k++) { /* this one, and all that follow */
                store_remove(&d->memory[memory], k);
                store_put(&d->lost[memory], &(struct particle){.address = k});
            }
            return -1;
        }
        store_remove(&d->lost[memory], k);
        if (is_half) p.index = x ? 1 : 2;
        d->half[memory].order = 2;
        store_put(is_half ? &d->half[memory] : &d->memory[memory], &p);
        if (x && !(isfinite(x[3 * k]) && isfinite(x[3 * k + 1]) && isfinite(x[3 * k + 2]))) status = -1;
        if (m && !isfinite(m[k])) status = -1;
    }
    return status;
}

static void run_load(const struct op *op)
{
    struct device *const d = find(op->i[0]);
    if (op->i[1] >= 0 && op->i[1] + op->i[2] > op->rows) return; /* a reduced sequence */
    const int expected = d ? model_load(d, op) : -1;
    make_call(op, 0, 0);
    check_int("rc", rc, expected);
}

/* ---- i-particles ------------------------------------------------------------------------ */

static void run_set_xi(const struct op *op)
{
    struct device *const d = find(op->i[0]);
    const struct batch *const b = &batch[op->i[2]];
    const int ni = op->i[1], good = ni >= 0 && (op->kind != OP_G5_SET_XI0 || are_softening(b->eps2, ni));
    make_call(op, 0, 0);
    check_int("rc", rc, d && good ? 0 : -1);
    if (!d) return;
    d->pipes.failed = !good;
    d->pipes.fresh = 1;
    d->pipes.ni = 0;
    if (!good) return;
    d->pipes.ni = ni;
    memcpy(d->pipes.x, b->x, (size_t)ni * sizeof *b->x);
    d->pipes.own = op->kind == OP_G5_SET_XI0;
    d->pipes.common = d->pipes.own ? 0 : eps2_of_all;
    if (d->pipes.own) memcpy(d->pipes.eps2, b->eps2, (size_t)ni * sizeof *b->eps2);
}

static void run_set_eps2(const struct op *op)
{
    struct device *const d = find(op->i[0]);
    const int ni = op->i[1], fits = d && ni >= 0 && ni <= d->pipes.ni;
    const int good = fits && are_softening(batch[op->i[2]].eps2, ni);
    make_call(op, 0, 0);
    check_int("rc", rc, good ? 0 : -1);
    if (d && !good) d->pipes.failed = 1;
    if (!fits) return;
    for (int i = 0; i < d->pipes.ni && !d->pipes.own; i++) d->pipes.eps2[i] = d->pipes.common;
    memcpy(d->pipes.eps2, batch[op->i[2]].eps2, (size_t)ni * sizeof(double));
    d->pipes.own = 1;
    d->pipes.common = 0;
}

/* ---- forces ------------------------------------------------------------------------------- */

/* NULL: the force fails. */
static struct answer *begin(struct device *d, int memory, int ni, vec3 *x, double common, const double *eps2)
{
    const int lost = d->lost[memory].n > 0 && d->lost[memory].at[0].address < d->n;
    if (d->n < 0 || lost || !is_softening(common)) return NULL;
    if (eps2 && !are_softening(eps2, ni)) return NULL;
    const struct force f = {
        .precision = precision(), .pairs = PAIRS_ALL, .nj = d->n, .ni = ni, .eps2 = common, .x = x, .eps2_i = eps2};
    d->memory[memory].order = 2;
    return answer_new(&d->memory[memory], &f);
}

static void run_run(const struct op *op)
{
    struct device *const d = find(op->i[0]);
    int good = 0;
    if (d) {
        struct pipes *const p = &d->pipes;
        drop(d);
        p->fresh = 0;
        if (!p->failed && p->ni > 0)
            d->answer = begin(d, op->kind != OP_G5_RUN, p->ni, p->x, p->common, p->own ? p->eps2 : NULL);
        good = d->answer || (p->ni == 0 && !p->failed);
    }
    make_call(op, 0, 0);
    check_int("rc", rc, good ? 0 : -1);
}

static void run_get(const struct op *op)
{
    const struct device *const d = find(op->i[0]);
    const int ni = op->i[1], rows = ni > 0 ? ni : 0;
    const struct answer *a = d && !d->pipes.fresh ? d->answer : NULL;
    if (a && ni > a->ni) a = NULL;
    make_call(op, rows, 0);
    check_int("rc", rc, !d || ni < 0 ? -1 : ni == 0 ? 0 : a ? a->bad > 0 : -1);
    check_rows(a, rows, HAS_ACC | HAS_POT | HAS_POSITIVE_POT);
}

static void run_calculate(const struct op *op)
{
    struct device *const d = find(op->i[0]);
    const int ni = op->i[1], rows = ni > 0 ? ni : 0, memory = op->kind != OP_G5_CALCULATE;
    const int missing = memory ? 0 : op->i[4] & (1 << 4 | 1 << 6);
    struct batch *const b = &batch[op->i[2]];
    static double squares[CALL_ROWS];
    const double *const eps2 = op->kind == OP_G5_XEPS ? squares : b->eps2;
    for (int i = 0; i < rows; i++) squares[i] = b->eps2[i] * b->eps2[i];
    struct answer *a = NULL;
    unsigned has = HAS_POSITIVE_POT | (missing & 1 << 4 ? 0 : HAS_ACC) | (missing & 1 << 6 ? 0 : HAS_POT);
    if (d && ni > 0) a = begin(d, memory, ni, b->x, memory ? 0 : eps2_of_all, memory ? eps2 : NULL);
    make_call(op, rows, 0);
    check_int("rc", rc, !d || ni < 0 ? -1 : ni == 0 ? 0 : !a || missing ? -1 : a->bad > 0);
    check_rows(a, rows, has);
    answer_free(a);
}

static void run(const struct op *op)
{
    switch (op->kind) {
    case OP_G5_OPEN:
    case OP_G5_CLOSE:
        run_open(op);
        break;
    case OP_G5_EPS:
    case OP_G5_EPS2:
        run_eps(op);
        break;
    case OP_G5_SET_N:
        run_set_n(op);
        break;
    case OP_G5_SET_XMJ:
    case OP_G5_SET_XJ:
    case OP_G5_SET_MJ:
    case OP_G5_SET_XMJ0:
    case OP_G5_SET_XMEPS2J:
        run_load(op);
        break;
    case OP_G5_SET_XI:
    case OP_G5_SET_XI0:
        run_set_xi(op);
        break;
    case OP_G5_SET_EPS2:
        run_set_eps2(op);
        break;
    case OP_G5_RUN:
    case OP_G5_RUN0:
    case OP_G5_RUN_SYMMETRIZED:
        run_run(op);
        break;
    case OP_G5_GET:
        run_get(op);
        break;
    case OP_G5_CALCULATE:
    case OP_G5_CALCULATE0:
    case OP_G5_XEPS:
        run_calculate(op);
        break;
    default:
        make_call(op, 0, 0);
    }
}

/* ---- sequences ------------------------------------------------------------------------------- */

struct plan {
    struct sequence *s;
    struct scene scene;
    rng *random;
    int id, nj, ni, group;
};

static struct op *add(struct plan *p, enum kind kind, int a) { return g5_add(p->s, p->random, kind, p->id, a); }

/* Takes, on device 0 now and then, the name that ASURA has for a call of the other memory. */
static void rename_some(struct plan *p, struct op *op)
{
    if (op->i[0] != 0 || !one_in(p->random, 2)) return;
    if (op->kind == OP_G5_SET_XMJ0) op->kind = OP_G5_SET_XMEPS2J;
    if (op->kind == OP_G5_RUN0) op->kind = OP_G5_RUN_SYMMETRIZED;
    if (op->kind == OP_G5_CALCULATE0) op->kind = OP_G5_XEPS;
}

static void add_load(struct plan *p)
{
    static const enum kind kinds[] = {OP_G5_SET_XMJ, OP_G5_SET_XMJ, OP_G5_SET_XMJ0, OP_G5_SET_XJ, OP_G5_SET_MJ};
    rng *const r = p->random;
    const int first = one_in(r, 6) ? draw(r, 40) : 0, n = draw_nj(r);
    struct op *const op = add(p, one_in(r, 3) ? kinds[draw(r, 5)] : OP_G5_SET_XMJ, first);
    op->rows = first + n;
    op->rows_at = 2;
    op->i[2] = n;
    double *const x = op_reals(op, 0, 3), *const m = op_reals(op, 1, 1), *const eps2 = op_reals(op, 2, 1);
    for (int k = 0; k < op->rows; k++) {
        scene_position(&p->scene, x + 3 * (ptrdiff_t)k);
        m[k] = scene_mass(&p->scene);
        eps2[k] = one_in(r, 2000) ? odd_number(r) : 0.25 * draw(r, 5);
    }
    p->nj = first + n;
    if (one_in(r, 60)) op->i[one_in(r, 2) ? 1 : 2] = -1;
    rename_some(p, op);
}

static void add_n(struct plan *p)
{
    static const int odd[] = {-1, INT_MAX, 1000000000, 0};
    rng *const r = p->random;
    add(p, OP_G5_SET_N, one_in(r, 30) ? odd[draw(r, 4)] : one_in(r, 4) ? draw(r, p->nj + 3) : p->nj);
}

static void add_eps(struct plan *p)
{
    struct op *const op = sequence_add(p->s, one_in(p->random, 2) ? OP_G5_EPS : OP_G5_EPS2);
    op->d[0] = scene_eps2(&p->scene);
}

static void add_targets(struct plan *p, int b)
{
    rng *const r = p->random;
    p->group++;
    p->ni = limit_ni(draw_ni(r), p->nj);
    if (p->ni < 1) p->ni = 1;
    add_fill(p->s, &p->scene, b, p->ni, p->group);
    struct op *const op = sequence_add(p->s, OP_FILL_MORE);
    op->i[0] = b;
    op->i[1] = op->rows = p->ni;
    op->rows_at = 1;
    op->group = p->group;
    double *const eps2 = op_reals(op, 2, 1);
    for (int i = 0; i < p->ni; i++) eps2[i] = one_in(r, 3000) ? odd_number(r) : 0.25 * draw(r, 5);
}

static struct op *add_on_targets(struct plan *p, enum kind kind, int b)
{
    struct op *const op = add(p, kind, one_in(p->random, 40) ? p->ni + draw(p->random, 3) - 1 : p->ni);
    if (one_in(p->random, 100)) op->i[1] = -draw(p->random, 2);
    op->i[2] = b;
    op->rows_at = 1;
    op->group = p->group;
    return op;
}

static void add_force(struct plan *p)
{
    rng *const r = p->random;
    const int b = draw(r, CALL_BATCHES);
    add_targets(p, b);
    if (one_in(r, 2)) {
        struct op *const op = add_on_targets(p, one_in(r, 4) ? OP_G5_CALCULATE0 : OP_G5_CALCULATE, b);
        if (one_in(r, 60)) op->i[4] = one_in(r, 2) ? 1 << 4 : 1 << 6;
        rename_some(p, op);
        return;
    }
    if (!one_in(r, 20)) add_on_targets(p, one_in(r, 4) ? OP_G5_SET_XI0 : OP_G5_SET_XI, b);
    if (one_in(r, 5)) add_on_targets(p, OP_G5_SET_EPS2, b);
    if (!one_in(r, 20)) rename_some(p, add(p, one_in(r, 4) ? OP_G5_RUN0 : OP_G5_RUN, 0));
    for (int k = 0; k < 1 + one_in(r, 6); k++) add_on_targets(p, OP_G5_GET, b);
}

static void generate(struct sequence *s, rng *r)
{
    struct plan p = {.s = s, .random = r, .id = draw(r, setting.cheap ? 6 : 2)};
    const int n = 2 + draw(r, 8);
    scene_draw(&p.scene, r);
    if (one_in(r, 3)) add(&p, OP_G5_OPEN, 0);
    add_eps(&p);
    add_load(&p);
    add_n(&p);
    for (int k = 0; k < n; k++) switch (draw(r, 10)) {
        case 0:
            add_eps(&p);
            break;
        case 1:
            add_n(&p);
            break;
        case 2:
            add_load(&p);
            break;
        case 3:
            if (one_in(r, 3)) add(&p, one_in(r, 2) ? OP_G5_CLOSE : OP_G5_OPEN, 0);
            break;
        default:
            add_force(&p);
        }
}

const struct interface interface_g5 = {"g5", generate, run};
