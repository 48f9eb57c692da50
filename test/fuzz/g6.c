/* g6.c - the GRAPE-6 interface: a model of clusters and of forces begun (spec sections 3 and 4). */
#include <stddef.h>

#include "calls.h"
#include "interface.h"

enum { CLUSTERS = 16, QUEUE = 64 };

/* A force that was begun. */
struct begun {
    int ni;
    const void *index, *x; /* its key */
    double eps2;
    struct answer *answer; /* NULL: it could not be begun */
};

struct cluster {
    int is_open, id;
    double time;
    struct store store;
    int nbegun;
    struct begun begun[QUEUE];
    struct answer *last; /* delivered last */
    int last_ni;
    int is_open_question; /* several threads delivered forces: which was last is not known */
    int is_stale;         /* lists of `last` may be gone: particles or forces came after it */
};

static struct cluster clusters[CLUSTERS];

/* ---- clusters ------------------------------------------------------------------ */

static struct cluster *find_exact(int id)
{
    for (int k = 0; k < CLUSTERS; k++)
        if (clusters[k].is_open && clusters[k].id == id) return &clusters[k];
    return NULL;
}

/* The cluster that a call means: the only open one serves all ids. */
static struct cluster *find_meant(int id)
{
    struct cluster *only = find_exact(id);
    int open = 0;
    if (only) return only;
    for (int k = 0; k < CLUSTERS; k++)
        if (clusters[k].is_open) open++, only = &clusters[k];
    return open == 1 ? only : NULL;
}

static void drop_queue(struct cluster *c)
{
    while (c->nbegun > 0) answer_free(c->begun[--c->nbegun].answer);
}

static void drop_last(struct cluster *c)
{
    answer_free(c->last);
    c->last = NULL;
    c->last_ni = 0;
}

static void model_close(struct cluster *c)
{
    drop_queue(c);
    drop_last(c);
    store_clear(&c->store);
    memset(c, 0, sizeof *c);
}

static void run_open(const struct op *op)
{
    make_call(op, 0, 0);
    check_int("rc", rc, 0);
    if (find_exact(op->i[0])) return;
    for (int k = 0; k < CLUSTERS; k++) {
        if (clusters[k].is_open) continue;
        clusters[k].is_open = 1;
        clusters[k].id = op->i[0];
        clusters[k].store.order = 4;
        return;
    }
}

static void run_close(const struct op *op)
{
    struct cluster *const c = find_exact(op->i[0]);
    make_call(op, 0, 0);
    check_int("rc", rc, 0);
    if (c) model_close(c);
}

static void run_reset(const struct op *op)
{
    struct cluster *const c = find_meant(op->i[0]);
    make_call(op, 0, 0);
    check_int("rc", rc, c ? 0 : -1);
    if (c) drop_queue(c);
}

static void run_time(const struct op *op)
{
    struct cluster *const c = find_meant(op->i[0]);
    make_call(op, 0, 0);
    check_int("rc", rc, c && isfinite(op->d[0]) ? 0 : -1);
    if (c) c->time = op->d[0];
}

/* ---- particles ------------------------------------------------------------------- */

/* Stores in the model; what the call returns. */
static int model_set(struct cluster *c, struct particle *p, const double *x)
{
    if (!c || !x || p->address < 0 || p->address >= 1 << 30) return -1;
    store_put(&c->store, p);
    c->is_stale = 1;
    return store_find(&c->store, p->address)->is_bad ? -1 : 0;
}

static void take_term(struct particle *p, int k, const double *from)
{
    if (from) memcpy(p->term[k], from, sizeof p->term[k]);
}

static void run_set(const struct op *op)
{
    struct particle p = {.address = op->i[1], .index = op->i[2], .time = op->d[0], .mass = op->d[2]};
    for (int k = 0; k < 5; k++) take_term(&p, 4 - k, op->column[k].data);
    const int expected = model_set(find_meant(op->i[0]), &p, op->column[4].data);
    make_call(op, 0, 0);
    check_int("rc", rc, expected);
}

static void run_set_mx(const struct op *op)
{
    struct cluster *const c = find_meant(op->i[0]);
    struct particle p = {.address = op->i[1], .index = op->i[2], .time = c ? c->time : 0, .mass = op->d[0]};
    take_term(&p, 0, op->column[0].data);
    const int expected = model_set(c, &p, op->column[0].data);
    make_call(op, 0, 0);
    check_int("rc", rc, expected);
}

static void run_load(const struct op *op)
{
    struct cluster *const c = find_meant(op->i[0]);
    make_call(op, op->rows, 0);
    for (int k = 0; k < op->rows; k++) {
        struct particle p = {.address = ((int *)op->column[0].data)[k], .index = ((int *)op->column[1].data)[k]};
        p.time = ((double *)op->column[2].data)[k];
        p.mass = ((double *)op->column[3].data)[k];
        for (int d = 0; d < 5; d++)
            if (op->column[4 + d].data) take_term(&p, 4 - d, (double *)op->column[4 + d].data + 3 * (ptrdiff_t)k);
        char name[30];
        const int expected = model_set(c, &p, p.term[0]);
        if (out.code[k] == expected) continue;
        (void)snprintf(name, sizeof name, "out.code[%d]", k);
        check_int(name, out.code[k], expected);
    }
}

/* ---- forces ------------------------------------------------------------------------ */

/* What a call is told: pointers are NULL where bits of i[4] are set. */
struct told {
    int nj, ni;
    struct batch *b;
    const void *index, *x, *v, *h2;
    double eps2;
};

static struct told told_of(const struct op *op)
{
    struct batch *const b = &batch[op->i[3]];
    return (struct told){.nj = op->i[1],
                         .ni = op->i[2],
                         .b = b,
                         .index = UNLESS(0, op->i[4], b->index),
                         .x = UNLESS(1, op->i[4], b->x),
                         .v = UNLESS(2, op->i[4], b->v),
                         .h2 = UNLESS(3, op->i[4], b->h2),
                         .eps2 = op->d[0]};
}

/* The answer to a force that is begun now; NULL: an argument is wrong. */
static struct answer *begin(struct cluster *c, const struct told *t)
{
    const int good =
        t->nj >= 0 && t->ni >= 0 && t->eps2 >= 0 && isfinite(t->eps2) && isfinite(c->time) && t->index && t->x && t->v;
    if (!good) return NULL;
    const struct force f = {.precision = precision_of(4),
                            .pairs = PAIRS_SKIP_OWN,
                            .nj = t->nj,
                            .ni = t->ni,
                            .time = c->time,
                            .eps2 = t->eps2,
                            .index = t->b->index,
                            .x = t->b->x,
                            .v = t->b->v,
                            .h2 = t->h2 ? t->b->h2 : NULL};
    c->is_stale = 1;
    return answer_new(&c->store, &f);
}

static void run_first(const struct op *op)
{
    struct cluster *const c = find_meant(op->i[0]);
    const struct told t = told_of(op);
    if (c && t.ni > 0) {
        if (c->nbegun == QUEUE) {
            answer_free(c->begun[0].answer);
            memmove(c->begun, c->begun + 1, (QUEUE - 1) * sizeof *c->begun);
            c->nbegun--;
        }
        c->begun[c->nbegun++] =
            (struct begun){.ni = t.ni, .index = t.index, .x = t.x, .eps2 = t.eps2, .answer = begin(c, &t)};
    }
    make_call(op, 0, 0);
}

/* How well a begun force answers: the same arrays come first, then the same number (spec 3.7, 3.8). */
static int rank_of(const struct begun *b, const struct told *t)
{
    if (b->index != t->index || b->x != t->x) return b->ni == t->ni ? 1 : 0;
    return b->ni == t->ni ? 4 : b->ni > t->ni ? 3 : 2;
}

/* Takes the begun force that a call means out of the queue; 0: there is none. */
static int take_begun(struct cluster *c, const struct told *t, struct begun *found)
{
    int best = 0, at = -1;
    for (int k = 0; k < c->nbegun; k++) {
        const int rank = rank_of(&c->begun[k], t);
        if (rank < best || rank == 0 || (rank == best && rank != 1)) continue;
        best = rank;
        at = k;
    }
    if (at < 0) return 0;
    *found = c->begun[at];
    memmove(c->begun + at, c->begun + at + 1, (size_t)(c->nbegun - at - 1) * sizeof *c->begun);
    c->nbegun--;
    return 1;
}

/* The answer that lasthalf delivers; NULL: it fails. */
static struct answer *collect(struct cluster *c, const struct told *t, double *eps2)
{
    struct begun b;
    drop_last(c);
    *eps2 = t->eps2;
    if (!take_begun(c, t, &b)) return begin(c, t);
    *eps2 = b.eps2;
    if (b.ni >= t->ni) return b.answer;
    answer_free(b.answer);
    return NULL;
}

static void check_distances(const struct answer *a, int ni, double eps2)
{
    for (int i = 0; i < ni; i++) {
        char condition[80];
        const double r2 = a && !a->row[i].is_nan ? a->row[i].r2 + eps2 : NAN;
        if (a && a->row[i].any_nearest) continue;
        const float expected = (float)sqrt(r2), got = out.distance[i];
        if ((isnan(expected) && isnan(got)) || expected == got) continue;
        (void)snprintf(condition, sizeof condition, "out.distance[%d] == %aF", i, (double)expected);
        check_fail(condition, "out.distance[%d] is %g, should be %g", i, (double)got, (double)expected);
    }
}

static void run_last(const struct op *op)
{
    static const unsigned sums[3] = {HAS_ACC, HAS_JERK, HAS_POT};
    struct cluster *const c = find_meant(op->i[0]);
    const struct told t = told_of(op);
    const int rows = op->kind == OP_G6_LAST ? 3 : op->kind == OP_G6_LAST2 ? 4 : 5;
    struct answer *a = NULL;
    unsigned has = 0;
    double eps2 = 0;
    int missing = 0, expected = 0;
    for (int k = 0; k < rows; k++) missing |= op->i[4] >> (4 + k) & 1;
    for (int k = 0; k < 3; k++) has |= op->i[4] >> (4 + k) & 1 ? 0 : sums[k];
    if (rows >= 4 && !(op->i[4] >> 7 & 1)) has |= HAS_NEAREST;
    if (c && t.ni > 0) a = collect(c, &t, &eps2);
    if (!c)
        expected = -1;
    else if (t.ni > 0) /* what was begun counts: nj of this call does not */
        expected = !a || missing ? -1 : a->bad > 0;
    else
        expected = t.ni < 0 || t.nj < 0 ? -1 : 0;
    make_call(op, t.ni > 0 ? t.ni : 0, 0);
    check_int("rc", rc, expected);
    check_rows(a, t.ni > 0 ? t.ni : 0, has);
    if (rows == 5 && !(op->i[4] >> 8 & 1)) check_distances(a, t.ni, eps2);
    if (!c || t.ni <= 0) return;
    c->last = a;
    c->is_open_question = 0;
    c->last_ni = t.ni;
    c->is_stale = 0;
}

/* Threads that share a cluster: each gets its own rows. */
static void run_threads(const struct op *op)
{
    enum { THREADS = 4 };
    struct cluster *const c = find_meant(op->i[0]);
    const struct told t = told_of(op);
    if (t.ni < THREADS || (c && c->nbegun > 0)) return; /* what was begun before could answer instead */
    struct answer *const a = c ? begin(c, &t) : NULL;
    if (c) {
        drop_last(c);
        c->is_open_question = 1;
    }
    make_call(op, t.ni, 0);
    for (int k = 0; k < THREADS; k++) {
        char name[30];
        int expected = a ? 0 : -1;
        for (int i = t.ni * k / THREADS; a && i < t.ni * (k + 1) / THREADS; i++) expected |= a->row[i].is_nan;
        (void)snprintf(name, sizeof name, "out.code[%d]", k);
        check_int(name, out.code[k], expected);
    }
    check_rows(a, t.ni, HAS_ACC | HAS_JERK | HAS_POT | HAS_NEAREST);
    answer_free(a);
}

/* ---- lists ---------------------------------------------------------------------------- */

/* Compares what one call gave; 0: it may also say that the list is gone. */
static void check_one(const struct cluster *c, int pipe, int room, int code, int n, int at, int pitch)
{
    char name[2][40];
    const int known = c && c->last && pipe >= 0 && pipe<c->last_ni, most = room> 0 ? room : 0;
    const int length = known ? c->last->row[pipe].n : 0, written = length < most ? length : most;
    if (pitch > 0) {
        (void)snprintf(name[0], sizeof name[0], "out.code[%d]", pipe);
        (void)snprintf(name[1], sizeof name[1], "out.n[%d]", pipe);
    } else {
        (void)snprintf(name[0], sizeof name[0], "rc");
        (void)snprintf(name[1], sizeof name[1], "out.n[0]");
    }
    if (known && c->is_stale && code == -1 && n == 0) return;
    if (known && c->last->row[pipe].any_list) return;
    check_int(name[0], code, !known ? -1 : length > most);
    check_int(name[1], n, written);
    check_list(at, written, known ? c->last->row[pipe].list : NULL, at + (pitch > 0 ? pitch : most));
}

static void run_lists(const struct op *op)
{
    const struct cluster *const c = find_meant(op->i[0]);
    const int ni = op->i[1], room = op->i[2], pitch = op->i[3];
    make_call(op, ni, ni * pitch);
    if (c && c->is_open_question) return;
    if (!(c && c->last && c->is_stale && rc != 0)) check_int("rc", rc, c && c->last ? 0 : -1);
    for (int i = 0; i < ni; i++) check_one(c, i, room, out.code[i], out.n[i], i * pitch, pitch);
}

static void run_list(const struct op *op)
{
    const struct cluster *const c = find_meant(op->i[0]);
    make_call(op, 1, op->i[2] > 0 ? op->i[2] : 0);
    if (!(c && c->is_open_question)) check_one(c, op->i[1], op->i[2], rc, out.n[0], 0, 0);
}

static void run(const struct op *op)
{
    switch (op->kind) {
    case OP_G6_OPEN:
        run_open(op);
        break;
    case OP_G6_CLOSE:
        run_close(op);
        break;
    case OP_G6_RESET:
    case OP_G6_REINITIALIZE:
        run_reset(op);
        break;
    case OP_G6_TIME:
        run_time(op);
        break;
    case OP_G6_SET:
        run_set(op);
        break;
    case OP_G6_SET_MX:
        run_set_mx(op);
        break;
    case OP_G6_LOAD:
        run_load(op);
        break;
    case OP_G6_FIRST:
        run_first(op);
        break;
    case OP_G6_LAST:
    case OP_G6_LAST2:
    case OP_G6_LAST2P:
        run_last(op);
        break;
    case OP_G6_THREADS:
        run_threads(op);
        break;
    case OP_G6_LISTS:
        run_lists(op);
        break;
    case OP_G6_LIST:
        run_list(op);
        break;
    default:
        make_call(op, 0, 0);
    }
}

const struct interface interface_g6 = {"g6", g6_generate, run};
