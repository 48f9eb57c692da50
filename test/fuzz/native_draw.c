/* native_draw.c - sequences of calls of the native interface; native.c tells what they must give. */
#include <stddef.h>

#include "calls.h"
#include "interface.h"

struct plan {
    struct sequence *s;
    struct scene scene;
    rng *random;
    int h, order, nj, jobs, group;
    int outside; /* forces without neighbours, rather than all */
    int soft;    /* particles with softening of their own */
};

static struct op *add(struct plan *p, enum kind kind, int a, int b)
{
    struct op *const op = sequence_add(p->s, kind);
    op->i[0] = a;
    op->i[1] = b;
    return op;
}

static void add_load(struct plan *p)
{
    static const int firsts[] = {-1, 1 << 30, (1 << 30) - 1, INT_MAX, INT_MIN};
    rng *const r = p->random;
    struct op *const op = add(p, OP_LOAD, p->h, one_in(r, 50) ? firsts[draw(r, 5)] : one_in(r, 8) ? draw(r, 60) : 0);
    const int n = draw_nj(r), all = one_in(r, 2);
    op->i[2] = op->rows = n;
    op->rows_at = 2;
    for (int d = 0; d < 5; d++) {
        if (d > 0 && (d > p->scene.moves || (!all && one_in(r, 3)))) continue;
        double *const x = op_reals(op, d, 3);
        for (int k = 0; k < n; k++)
            if (d == 0)
                scene_position(&p->scene, x + 3 * (ptrdiff_t)k);
            else
                scene_derivative(&p->scene, d, x + 3 * (ptrdiff_t)k);
    }
    double *const mass = one_in(r, 20) ? NULL : op_reals(op, 5, 1), *const time =
                                                                        one_in(r, 2) ? op_reals(op, 6, 1) : NULL;
    int *const index = one_in(r, 3) ? NULL : op_whole(op, 7, 1);
    double *const eps2 = p->soft ? op_reals(op, 8, 1) : NULL;
    for (int k = 0; k < n; k++) {
        if (mass) mass[k] = scene_mass(&p->scene);
        if (time) time[k] = scene_time(&p->scene);
        if (index) index[k] = draw_index(r, k);
        if (eps2) eps2[k] = one_in(r, 3) ? 0 : scene_eps2(&p->scene);
    }
    p->nj = op->i[1] >= 0 && op->i[1] < 100 ? op->i[1] + n : n;
}

static void add_set(struct plan *p)
{
    static const int odd[] = {-1, INT_MIN, INT_MAX, (1 << 30) - 1, 1 << 30, 100000};
    rng *const r = p->random;
    struct op *const op = add(p, OP_SET, p->h, one_in(r, 30) ? odd[draw(r, 6)] : draw(r, p->nj + 2));
    op->rows = 1;
    op->i[2] = draw_index(r, op->i[1] & 1023);
    op->d[0] = scene_mass(&p->scene);
    op->d[1] = scene_time(&p->scene);
    op->d[2] = p->soft && one_in(r, 2) ? scene_eps2(&p->scene) : 0;
    double *const x = op_reals(op, 0, 24);
    scene_position(&p->scene, x);
    for (int d = 1; d < 8; d++) scene_derivative(&p->scene, d, x + 3 * d);
    if (one_in(r, 4)) x[draw(r, 24)] = odd_number(r);
}

static int draw_force_nj(struct plan *p)
{
    static const int odd[] = {0, -1, 1000000000, INT_MAX, INT_MIN};
    rng *const r = p->random;
    if (one_in(r, 40)) return odd[draw(r, 5)];
    return one_in(r, 4) ? draw(r, p->nj + 5) : p->nj;
}

static void add_fill_more(struct plan *p, int to_batch, int n)
{
    rng *const r = p->random;
    struct op *const op = add(p, OP_FILL_MORE, to_batch, n);
    op->rows = n;
    op->rows_at = 1;
    op->group = p->group;
    double *const a = op_reals(op, 0, 3), *const jerk = op_reals(op, 1, 3);
    double *const eps2 = op_reals(op, 2, 1), *const dtr = op_reals(op, 3, 1);
    for (int i = 0; i < n; i++) {
        scene_derivative(&p->scene, 2, a + 3 * (ptrdiff_t)i);
        scene_derivative(&p->scene, 3, jerk + 3 * (ptrdiff_t)i);
        eps2[i] = one_in(r, 2000) ? odd_number(r) : one_in(r, 3) ? 0 : 0.25 * draw(r, 8);
        dtr[i] = one_in(r, 4000) ? odd_number(r) : 0.125 * draw(r, 4);
    }
}

static int given_of(struct plan *p)
{
    rng *const r = p->random;
    int given = GIVEN_X | GIVEN_V | GIVEN_H2 | GIVEN_A | GIVEN_JERK | GIVEN_INDEX;
    if (one_in(r, 4)) given &= ~(1 << (1 + draw(r, 5)));
    if (one_in(r, 100)) given &= ~GIVEN_X;
    if (p->outside) given &= ~GIVEN_INDEX;
    if ((p->soft && !p->outside) || one_in(r, 60)) given |= GIVEN_EPS2;
    if ((p->outside && one_in(r, 2)) || one_in(r, 100)) given |= GIVEN_DTR;
    return given;
}

static int wanted_of(struct plan *p)
{
    rng *const r = p->random;
    int wanted = OUT_ACC | OUT_POT;
    if (p->order >= 4) wanted |= OUT_JERK;
    if (p->order >= 6) wanted |= OUT_SNAP;
    if (p->order >= 8) wanted |= OUT_CRACKLE;
    if (!p->outside && !one_in(r, 3)) wanted |= OUT_NEAREST | OUT_R2;
    if (one_in(r, 25)) wanted ^= 1 << draw(r, 7);
    return wanted;
}

static void add_end(struct plan *p, int at, int ni)
{
    struct op *const op = add(p, OP_END, at, one_in(p->random, 30) ? ni + 1 - draw(p->random, ni + 3) : ni);
    op->i[2] = wanted_of(p);
    op->rows_at = 1;
    op->group = p->group;
}

static void add_lists(struct plan *p, int at, int ni)
{
    rng *const r = p->random;
    if (one_in(r, 2)) {
        struct op *const op = add(p, OP_NEIGHBOURS, at, one_in(r, 10) ? draw(r, 4) - 2 + ni : draw(r, ni));
        op->i[2] = one_in(r, 4) ? draw(r, 5) : 300;
        return;
    }
    struct op *const op = add(p, OP_LISTS, at, ni < 200 ? ni : 200);
    op->i[2] = one_in(r, 3) ? draw(r, 10) : 300;
    op->i[3] = op->i[2] + (one_in(r, 30) ? -1 : draw(r, 3));
    if (op->i[3] < 0) op->i[3] = 0;
}

/* Kinds of pairs, as native_request takes them: regular forces, h2 by mass, softening. */
static int draw_pairs(struct plan *p)
{
    const int softening = p->order == 2 ? draw(p->random, 3) : 0;
    return (p->outside ? 1 + 2 * draw(p->random, 2) : 0) | softening << 2;
}

static void add_force(struct plan *p)
{
    rng *const r = p->random;
    const int ni = one_in(r, 60) ? draw(r, 2) - 1 : limit_ni(draw_ni(r), p->nj), b = draw(r, CALL_BATCHES);
    const int at = draw(r, CALL_JOBS), rows = ni > 1 ? ni : 1;
    p->group++;
    p->outside = p->order == 4 ? one_in(r, 3) : one_in(r, 60);
    add_fill(p->s, &p->scene, b, rows, p->group);
    add_fill_more(p, b, rows);
    add(p, OP_FREE, at, 0);
    struct op *const op = add(p, OP_BEGIN, at, p->h);
    op->i[2] = draw_force_nj(p);
    op->i[3] = ni;
    op->i[4] = b;
    op->i[5] = given_of(p);
    op->i[6] = p->outside ? (one_in(r, 60) ? 1 : 2 * draw(r, 2)) : draw(r, 4);
    op->i[7] = draw_pairs(p) | (one_in(r, 100) ? 2 : 0) | (one_in(r, 100) ? 4 * draw(r, 4) : 0);
    op->d[0] = scene_eps2(&p->scene);
    op->rows_at = 3;
    op->group = p->group;
    if (one_in(r, 8)) add_set(p);
    if (one_in(r, 20)) add(p, OP_TIME, p->h, 0)->d[0] = scene_now(&p->scene);
    if (one_in(r, 10)) return;
    for (int k = 0; k < 1 + one_in(r, 8); k++) add_end(p, at, ni);
    if (ni > 0 && one_in(r, 2)) add_lists(p, at, ni);
}

static void add_twice(struct plan *p)
{
    rng *const r = p->random;
    const int ni = limit_ni(draw_ni(r), 2 * p->nj), b = draw(r, CALL_BATCHES), rows = ni > 1 ? ni : 1;
    p->group++;
    p->outside = p->order == 4 && one_in(r, 3);
    add_fill(p->s, &p->scene, b, rows, p->group);
    add_fill_more(p, b, rows);
    struct op *const op = add(p, OP_TWICE, 1 + draw(r, rows), p->h);
    op->i[2] = draw_force_nj(p);
    op->i[3] = rows;
    op->i[4] = b;
    op->i[5] = given_of(p) | GIVEN_X;
    op->i[6] = p->outside ? 2 * draw(r, 2) : draw(r, 4);
    op->i[7] = draw_pairs(p);
    op->d[0] = scene_eps2(&p->scene);
    op->d[1] = OUT_ACC | OUT_POT | (p->order >= 4 ? OUT_JERK : 0) | (p->order >= 6 ? OUT_SNAP : 0) |
               (p->order >= 8 ? OUT_CRACKLE : 0) | (p->outside ? 0 : OUT_NEAREST | OUT_R2);
    op->rows_at = 3;
    op->group = p->group;
}

static void add_threads(struct plan *p)
{
    rng *const r = p->random;
    const int ni = 4 + draw(r, 60), b = draw(r, CALL_BATCHES);
    p->group++;
    add_fill(p->s, &p->scene, b, ni, p->group);
    struct op *const op = add(p, OP_THREADS, p->h, p->nj);
    op->i[2] = ni;
    op->i[3] = b;
    op->i[4] = GIVEN_X | GIVEN_V | GIVEN_H2 | (one_in(r, 3) ? 0 : GIVEN_INDEX);
    op->i[5] = draw(r, 4);
    op->i[6] = OUT_ACC | OUT_POT | (p->order >= 4 ? OUT_JERK : 0) | (one_in(r, 2) ? OUT_NEAREST | OUT_R2 : 0);
    op->d[0] = scene_eps2(&p->scene);
    op->rows_at = 2;
    op->group = p->group;
}

static void add_neighbour_force(struct plan *p)
{
    rng *const r = p->random;
    struct op *const op = add(p, OP_NEIGHBOUR_FORCE, p->h, 1 + draw(r, 60));
    op->rows = op->i[1];
    op->rows_at = 1;
    op->i[2] = wanted_of(p);
    op->d[0] = scene_eps2(&p->scene);
    int *const address = op_whole(op, 0, 1), *const length = op_whole(op, 1, 1),
               *const members = op_whole(op, 2, CALL_MEMBERS);
    const int odd = one_in(r, 6);
    for (int i = 0; i < op->rows; i++) {
        address[i] = odd && one_in(r, 20) ? draw(r, 9) - 4 : draw(r, p->nj);
        length[i] = odd && one_in(r, 30) ? -1 : draw(r, CALL_MEMBERS + 1);
        for (int k = 0; k < length[i]; k++)
            members[i * CALL_MEMBERS + k] = odd && one_in(r, 100) ? INT_MIN + draw(r, 3) : draw(r, p->nj);
    }
}

static void add_batch_force(struct plan *p)
{
    rng *const r = p->random;
    const int n = 1 + draw(r, 12), b = draw(r, 2), bj = 2 + draw(r, 2);
    add_fill(p->s, &p->scene, b, 12 * n, 0);
    add_fill_more(p, b, 12 * n);
    add_fill(p->s, &p->scene, bj, 60 * n < 720 ? 60 * n : 720, 0);
    add_fill_more(p, bj, 60 * n < 720 ? 60 * n : 720);
    struct op *const op = add(p, OP_BATCH_FORCE, p->h, n);
    op->rows = n;
    op->rows_at = 1;
    op->i[2] = b;
    op->i[3] = bj;
    op->i[4] = one_in(r, 20) ? wanted_of(p) : OUT_ACC | OUT_POT;
    if (one_in(r, 2)) op->i[4] |= BATCH_BEGUN;
    op->d[0] = scene_eps2(&p->scene);
    int *const ni = op_whole(op, 0, 1), *const nj = op_whole(op, 1, 1), *const by = op_whole(op, 2, 1);
    int *const members = op_whole(op, 3, CALL_MEMBERS);
    const int odd = one_in(r, 10);
    for (int k = 0; k < n; k++) {
        ni[k] = draw(r, 13);
        by[k] = p->nj > 0 && one_in(r, 2);
        nj[k] = draw(r, by[k] ? CALL_MEMBERS + 1 : 60);
        for (int m = 0; m < CALL_MEMBERS; m++)
            members[k * CALL_MEMBERS + m] = odd && one_in(r, 200) ? -1 - draw(r, 2) : draw(r, p->nj);
    }
}

static void add_get(struct plan *p)
{
    struct op *const op = add(p, OP_GET, p->h, draw(p->random, p->nj + 4) - 1);
    op->i[2] = draw(p->random, 2);
}

static void add_any(struct plan *p)
{
    switch (draw(p->random, 14)) {
    case 13:
        add_twice(p);
        break;
    case 12:
        add_threads(p);
        break;
    case 0:
        add(p, OP_TIME, p->h, 0)->d[0] = scene_now(&p->scene);
        break;
    case 1:
    case 2:
        add_set(p);
        break;
    case 3:
        add_get(p);
        if (one_in(p->random, setting.cheap ? 10 : 200)) add(p, OP_CLOSE, p->h, 1);
        break;
    case 4:
        if (one_in(p->random, 4)) add(p, OP_CLEAR, p->h, 0), p->nj = 0;
        add_load(p);
        break;
    case 5:
    case 6:
    case 7:
        if (p->order == 2 || one_in(p->random, 30)) {
            add_batch_force(p);
            break;
        }
        if (p->order == 4 || one_in(p->random, 30)) {
            add_neighbour_force(p);
            break;
        }
        add_force(p);
        break;
    default:
        add_force(p);
    }
}

/* Contexts of order 2, 4, 6, 8 have handles 0, 1, 2, 3: where opening takes long, they stay open. */
void native_generate(struct sequence *s, rng *r)
{
    struct plan p = {.s = s, .random = r};
    const int n = 2 + draw(r, 8), pick = draw(r, 8), at = pick < 3 ? 0 : pick < 6 ? 1 : pick - 4;
    const int fresh = one_in(r, setting.cheap ? 2 : 40);
    scene_draw(&p.scene, r);
    p.h = at;
    p.order = 2 * at + 2;
    p.soft = one_in(r, 4);
    if (fresh) {
        add(&p, OP_CLOSE, at, 0);
        struct op *const op = add(&p, OP_OPEN, at, one_in(r, 60) ? draw(r, 12) - 2 : p.order);
        op->i[2] = one_in(r, 3) ? draw(r, 4) : one_in(r, 60) ? 9 : 0;
        op->i[3] = draw(r, 4);
    }
    struct op *const op = add(&p, OP_OPEN, at, p.order); /* nothing, where it is open */
    op->i[3] = 1 + draw(r, 3);
    if (!fresh) {
        add(&p, OP_CLEAR, at, 0);
        add(&p, OP_TIME, at, 0);
    }
    add_load(&p);
    for (int k = 0; k < n; k++) add_any(&p);
}
