/* nbody6.c - the four NBODY6 libraries: their sequences, and a model (spec section 9). */
#include <stddef.h>

#include "calls.h"
#include "interface.h"

enum { IRR_MOST = 1024 };

/* What one of the libraries keeps. */
struct library {
    int is_open;   /* regular force */
    int is_failed; /* what was sent last could not be taken */
    int by_mass;   /* radii are weighted by mass; not of NB_PP, whose calls tell */
    int nj;
    struct store sent; /* all that has been sent, of earlier calls too */
    int irr_open, nmax, lmax;
    struct store irr;
    int list[IRR_MOST][CALL_MEMBERS]; /* [0]: length, -1: one that could not be kept */
};

static struct library libraries[NB_LIBRARIES];

/* ---- the regular force -------------------------------------------------------- */

static void run_open(const struct op *op)
{
    struct library *const l = &libraries[op->i[0]];
    make_call(op, 0, 0);
    if (l->is_open) return;
    l->is_open = 1;
    l->by_mass = op->i[2] == NB_MASS || (op->i[2] == NB_USUAL && op->i[0] == NB_NBODY7);
    l->nj = l->is_failed = 0;
    store_clear(&l->sent);
    l->sent.order = 4;
}

static void run_close(const struct op *op)
{
    struct library *const l = &libraries[op->i[0]];
    make_call(op, 0, 0);
    l->is_open = l->nj = 0;
    store_clear(&l->sent);
}

static void run_send(const struct op *op)
{
    struct library *const l = &libraries[op->i[0]];
    make_call(op, 0, 0);
    l->nj = 0;
    l->is_failed = op->i[1] < 0;
    if (!l->is_open || op->i[1] < 0) return;
    for (int k = 0; k < op->i[1]; k++) {
        struct particle p = {.address = k, .index = k, .mass = ((double *)op->column[0].data)[k]};
        memcpy(p.term[0], (double *)op->column[1].data + 3 * (ptrdiff_t)k, sizeof p.term[0]);
        memcpy(p.term[1], (double *)op->column[2].data + 3 * (ptrdiff_t)k, sizeof p.term[1]);
        store_put(&l->sent, &p);
    }
    l->nj = op->i[1];
}

static void check_regular_list(const struct row *r, int i, int lmax, int nnbmax)
{
    const int most = nnbmax < lmax - 1 ? nnbmax : lmax - 1, at = i * lmax;
    char name[30];
    if (r && r->any_list) return;
    const int n = r ? r->n : 0, fits = n <= (most > 0 ? most : 0);
    (void)snprintf(name, sizeof name, "out.list[%d]", at);
    check_int(name, out.list[at], fits ? n : -n);
    check_list(at + 1, r && fits ? n : 0, r ? r->list : NULL, at + lmax);
}

static void run_regf(const struct op *op)
{
    const struct library *const l = &libraries[op->i[0]];
    struct batch *const b = &batch[op->i[2]];
    const int ni = op->i[1], lmax = op->i[3], nnbmax = op->i[4];
    struct answer *a = NULL;
    int good = l->is_open && ni > 0 && lmax >= 1 && !l->is_failed;
    const double *const dtr = op->i[0] == NB_2010 ? NULL : b->dtr;
    for (int i = 0; i < ni && dtr; i++) good &= isfinite(dtr[i]);
    if (good) {
        const struct force f = {.precision = precision_of(4),
                                .pairs = PAIRS_OUTSIDE,
                                .nj = l->nj,
                                .ni = ni,
                                .by_mass = op->i[0] == NB_PP ? op->i[5] : l->by_mass,
                                .x = b->x,
                                .v = b->v,
                                .h2 = b->h2,
                                .dtr = dtr};
        a = answer_new(&l->sent, &f);
    }
    make_call(op, ni > 0 ? ni : 0, ni > 0 && lmax > 0 ? ni * lmax : 0);
    check_rows(a, ni > 0 ? ni : 0, HAS_ACC | HAS_JERK | HAS_POT | HAS_POSITIVE_POT);
    for (int i = 0; i < ni && lmax >= 1 && !check_failed(); i++)
        check_regular_list(a ? &a->row[i] : NULL, i, lmax, nnbmax);
    answer_free(a);
}

/* ---- the potential --------------------------------------------------------------- */

static void run_pot(const struct op *op)
{
    const int n = op->i[3], pp = op->i[0] == NB_PP, first = pp ? op->i[1] - 1 : 0, ni = pp ? op->i[2] : n;
    double(*const x)[3] = op->column[1].data;
    struct store s = {.order = 2};
    struct answer *a = NULL;
    if (n > op->rows) return;
    for (int k = 0; k < n; k++) {
        struct particle p = {.address = k, .index = k, .mass = ((double *)op->column[0].data)[k]};
        memcpy(p.term[0], x[k], sizeof p.term[0]);
        store_put(&s, &p);
    }
    if (ni > 0 && first >= 0 && first <= n - ni) {
        const struct force f = {.precision = *setting.precision ? precision_of(2) : SAPPORO_DP,
                                .pairs = PAIRS_ALL,
                                .nj = n,
                                .ni = ni,
                                .x = x + first};
        a = answer_new(&s, &f);
    }
    make_call(op, ni > 0 ? ni : 0, 0);
    check_rows(a, ni > 0 ? ni : 0, HAS_POT | HAS_POSITIVE_POT);
    answer_free(a);
    store_clear(&s);
}

/* ---- the irregular force ------------------------------------------------------------ */

static void run_irr_open(const struct op *op)
{
    struct library *const l = &libraries[op->i[0]];
    make_call(op, 0, 0);
    if (l->irr_open || op->i[1] < 0 || op->i[2] < 0) return;
    l->irr_open = 1;
    l->nmax = op->i[1];
    l->lmax = op->i[2];
    l->irr.order = 4;
    memset(l->list, 0, sizeof l->list);
}

static void run_irr_close(const struct op *op)
{
    struct library *const l = &libraries[op->i[0]];
    make_call(op, 0, 0);
    l->irr_open = l->nmax = l->lmax = 0;
    store_clear(&l->irr);
}

static int is_number(const struct library *l, int number) { return l->irr_open && number >= 1 && number <= l->nmax; }

/* The library keeps full derivatives and divides again: jerk/6 times 6 costs a rounding. */
static void run_irr_set(const struct op *op)
{
    struct library *const l = &libraries[op->i[0]];
    make_call(op, 0, 0);
    for (int k = 0; k < op->i[1]; k++) {
        const int number = ((int *)op->column[0].data)[k];
        struct particle p = {.address = number - 1, .index = number - 1};
        if (!is_number(l, number)) continue;
        for (int d = 0; d < 4; d++)
            memcpy(p.term[d], (double *)op->column[1 + d].data + 3 * (ptrdiff_t)k, sizeof p.term[d]);
        for (int c = 0; c < 3; c++) p.term[3][c] = 6 * p.term[3][c] / 6, p.term[2][c] = 2 * p.term[2][c] / 2;
        p.mass = ((double *)op->column[5].data)[k];
        p.time = ((double *)op->column[6].data)[k];
        store_put(&l->irr, &p);
    }
}

static void run_irr_set_list(const struct op *op)
{
    struct library *const l = &libraries[op->i[0]];
    make_call(op, 0, 0);
    for (int k = 0; k < op->i[1]; k++) {
        const int number = ((int *)op->column[0].data)[k];
        const int *const given = (int *)op->column[1].data + (ptrdiff_t)k * CALL_MEMBERS;
        if (!is_number(l, number)) continue;
        int *const list = l->list[number - 1];
        list[0] = given[0] < 0 || given[0] > l->lmax ? -1 : given[0];
        for (int m = 1; m <= list[0]; m++) list[m] = given[m] - 1;
    }
}

static void run_irr_force(const struct op *op)
{
    const struct library *const l = &libraries[op->i[0]];
    const int ni = op->i[1], *const number = op->column[0].data;
    int address[CALL_ROWS], length[CALL_ROWS];
    const int *list[CALL_ROWS];
    struct answer *a = NULL;
    for (int i = 0; i < ni; i++) {
        const int good = is_number(l, number[i]);
        address[i] = good ? number[i] - 1 : -1;
        length[i] = good ? l->list[number[i] - 1][0] : -1;
        list[i] = good ? l->list[number[i] - 1] + 1 : NULL;
    }
    if (l->irr_open && ni > 0 && isfinite(op->d[0])) {
        const struct neighbour_force f = {.precision = precision_of(4),
                                          .ni = ni,
                                          .time = op->d[0],
                                          .address = address,
                                          .length = length,
                                          .list = list};
        a = answer_of_lists(&l->irr, &f);
    }
    make_call(op, ni > 0 ? ni : 0, 0);
    check_rows(a, ni > 0 ? ni : 0, HAS_ACC | HAS_JERK | (op->i[0] == NB_PP ? HAS_NEAREST | HAS_COUNT_FROM_1 : 0));
    answer_free(a);
}

static void run(const struct op *op)
{
    switch (op->kind) {
    case OP_NB_OPEN:
        run_open(op);
        break;
    case OP_NB_CLOSE:
        run_close(op);
        break;
    case OP_NB_SEND:
        run_send(op);
        break;
    case OP_NB_REGF:
        run_regf(op);
        break;
    case OP_NB_POT:
        run_pot(op);
        break;
    case OP_IRR_OPEN:
        run_irr_open(op);
        break;
    case OP_IRR_CLOSE:
        run_irr_close(op);
        break;
    case OP_IRR_SET:
        run_irr_set(op);
        break;
    case OP_IRR_SET_LIST:
        run_irr_set_list(op);
        break;
    case OP_IRR_FORCE:
        run_irr_force(op);
        break;
    default:
        make_call(op, 0, 0);
    }
}

/* ---- sequences ------------------------------------------------------------------------- */

struct plan {
    struct sequence *s;
    struct scene scene;
    rng *random;
    int which, nj, group;
};

static struct op *add(struct plan *p, enum kind kind, int a, int b)
{
    struct op *const op = sequence_add(p->s, kind);
    op->i[0] = a;
    op->i[1] = b;
    return op;
}

/* Positions or a derivative of all rows. */
static void fill_vectors(struct plan *p, struct op *op, int column, int k)
{
    double *const x = op_reals(op, column, 3);
    for (int i = 0; i < op->rows; i++)
        if (k == 0)
            scene_position(&p->scene, x + 3 * (ptrdiff_t)i);
        else
            scene_derivative(&p->scene, k, x + 3 * (ptrdiff_t)i);
}

static void fill_masses(struct plan *p, struct op *op, int column)
{
    double *const m = op_reals(op, column, 1);
    for (int i = 0; i < op->rows; i++) m[i] = scene_mass(&p->scene);
}

/* Radii of libnbody6_gpu have a named kind: lists of a few odd stars may point to either. */
static void add_open(struct plan *p)
{
    const int kinds = p->which == NB_NBODY6 ? NB_USUAL : NB_USUAL + 1;
    add(p, OP_NB_OPEN, p->which, 1000)->i[2] = draw(p->random, kinds);
}

static void add_send(struct plan *p)
{
    struct op *const op = add(p, OP_NB_SEND, p->which, draw_nj(p->random));
    op->rows = op->i[1];
    op->rows_at = 1;
    fill_masses(p, op, 0);
    fill_vectors(p, op, 1, 0);
    fill_vectors(p, op, 2, 1);
    p->nj = op->i[1];
    if (one_in(p->random, 60)) op->i[1] = -1 - draw(p->random, 2);
}

static void add_regf(struct plan *p)
{
    rng *const r = p->random;
    int ni = limit_ni(draw_ni(r), p->nj);
    if (ni > 200) ni = 200;
    if (ni < 1) ni = 1;
    const int b = draw(r, CALL_BATCHES);
    p->group++;
    add_fill(p->s, &p->scene, b, ni, p->group);
    struct op *const more = add(p, OP_FILL_MORE, b, ni);
    more->rows = ni;
    more->rows_at = 1;
    more->group = p->group;
    double *const dtr = op_reals(more, 3, 1);
    const int ahead = one_in(r, 2);
    for (int i = 0; i < ni; i++) dtr[i] = one_in(r, 4000) ? odd_number(r) : ahead ? 0.125 * draw(r, 4) : 0;
    struct op *const op = add(p, OP_NB_REGF, p->which, one_in(r, 100) ? -draw(r, 2) : ni);
    op->i[2] = b;
    op->i[3] = one_in(r, 30) ? draw(r, 3) - 1 : one_in(r, 3) ? 1 + draw(r, 20) : 310;
    op->i[4] = one_in(r, 3) ? draw(r, 20) : 300;
    op->i[5] = one_in(r, 3);
    op->rows_at = 1;
    op->group = p->group;
}

static void add_pot(struct plan *p)
{
    rng *const r = p->random;
    const int n = 1 + draw(r, 150), first = draw(r, n), odd = one_in(r, 20);
    struct op *const op = add(p, OP_NB_POT, p->which, 1 + first);
    op->rows = n;
    op->rows_at = 3;
    op->i[2] = odd ? n + draw(r, 3) - 1 : 1 + draw(r, n - first);
    op->i[3] = n;
    fill_masses(p, op, 0);
    fill_vectors(p, op, 1, 0);
}

static int draw_number(struct plan *p, int n)
{
    return one_in(p->random, 200) ? draw(p->random, 6) - 3 : 1 + draw(p->random, n);
}

static void add_irregular(struct plan *p)
{
    static const int odd_times = 8;
    rng *const r = p->random;
    const int n = 1 + draw(r, 120), lmax = one_in(r, 20) ? draw(r, CALL_MEMBERS) : CALL_MEMBERS - 1;
    if (one_in(r, setting.cheap ? 4 : 60)) add(p, OP_IRR_CLOSE, p->which, 0);
    add(p, OP_IRR_OPEN, p->which, 130)->i[2] = lmax;
    struct op *const set = add(p, OP_IRR_SET, p->which, n);
    set->rows = n;
    set->rows_at = 1;
    int *const number = op_whole(set, 0, 1);
    for (int d = 0; d < 4; d++) fill_vectors(p, set, 1 + d, d);
    fill_masses(p, set, 5);
    double *const time = op_reals(set, 6, 1);
    for (int k = 0; k < n; k++) {
        number[k] = one_in(r, 300) ? draw(r, 400) - 200 : k + 1;
        time[k] = scene_time(&p->scene);
    }
    struct op *const list = add(p, OP_IRR_SET_LIST, p->which, n);
    list->rows = n;
    list->rows_at = 1;
    int *const of = op_whole(list, 0, 1), *const members = op_whole(list, 1, CALL_MEMBERS);
    for (int k = 0; k < n; k++) {
        of[k] = draw_number(p, n);
        members[k * CALL_MEMBERS] = one_in(r, 200) ? -1 : draw(r, CALL_MEMBERS);
        for (int m = 1; m < CALL_MEMBERS; m++) members[k * CALL_MEMBERS + m] = draw_number(p, n);
    }
    for (int k = 0; k < 2; k++) {
        struct op *const op = add(p, OP_IRR_FORCE, p->which, 1 + draw(r, 60));
        op->rows = op->i[1];
        op->rows_at = 1;
        op->d[0] = one_in(r, odd_times) ? scene_now(&p->scene) : 0.5;
        int *const who = op_whole(op, 0, 1);
        for (int i = 0; i < op->rows; i++) who[i] = draw_number(p, n);
        if (one_in(r, 2)) break;
    }
}

static void generate(struct sequence *s, rng *r)
{
    struct plan p = {.s = s, .random = r, .which = draw(r, NB_LIBRARIES)};
    const int n = 2 + draw(r, 6);
    scene_draw(&p.scene, r);
    if (one_in(r, setting.cheap ? 3 : 40)) add(&p, OP_NB_CLOSE, p.which, 0);
    if (!one_in(r, 60)) add_open(&p);
    add_send(&p);
    for (int k = 0; k < n; k++) switch (draw(r, 8)) {
        case 0:
            add_send(&p);
            break;
        case 1:
            add_pot(&p);
            break;
        case 2:
            add_irregular(&p);
            break;
        default:
            add_regf(&p);
        }
}

const struct interface interface_nbody6 = {"nbody6", generate, run};
