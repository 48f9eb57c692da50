/* g6_draw.c - sequences of calls of the GRAPE-6 interface; g6.c tells what they must give. */
#include <stddef.h>

#include "calls.h"
#include "interface.h"

/* What the operations of a sequence have in common. */
struct plan {
    struct sequence *s;
    struct scene scene;
    rng *random;
    int id, nj, ni, batch, group;
};

static const int ids[] = {0, 0, 0, 1, 2, 7, 300, -1, INT_MAX};

static void add_id(struct plan *p, enum kind kind, int id) { sequence_add(p->s, kind)->i[0] = id; }

static void add_load(struct plan *p)
{
    rng *const r = p->random;
    struct op *const op = sequence_add(p->s, OP_G6_LOAD);
    const int n = draw_nj(r), gaps = one_in(r, 6), first = one_in(r, 10) ? draw(r, 100) : 0;
    op->i[0] = p->id;
    op->i[1] = op->rows = n;
    op->rows_at = 1;
    int *const address = op_whole(op, 0, 1), *const index = op_whole(op, 1, 1);
    double *const time = op_reals(op, 2, 1), *const mass = op_reals(op, 3, 1);
    for (int k = 0; k < n; k++) {
        address[k] = first + (gaps ? draw(r, 2 * n) : k);
        index[k] = draw_index(r, k);
        time[k] = scene_time(&p->scene);
        mass[k] = scene_mass(&p->scene);
    }
    for (int d = 4; d >= 0; d--) {
        if (d > p->scene.moves && d > 0 && one_in(r, 2)) continue;
        double *const term = op_reals(op, 8 - d, 3);
        for (int k = 0; k < n; k++)
            if (d > 0)
                scene_derivative(&p->scene, d, term + 3 * (ptrdiff_t)k);
            else
                scene_position(&p->scene, term);
        if (d == 0)
            for (int k = 0; k < n; k++) scene_position(&p->scene, term + 3 * (ptrdiff_t)k);
    }
    p->nj = first + (gaps ? 2 * n : n);
}

/* One particle; now and then with a number that no particle should have. */
static void add_set(struct plan *p)
{
    static const int odd[] = {-1, INT_MIN, INT_MAX, (1 << 30) - 1, 1 << 30, 100000};
    rng *const r = p->random;
    struct op *const op = sequence_add(p->s, OP_G6_SET);
    op->rows = 1;
    op->i[0] = one_in(r, 20) ? ids[draw(r, 9)] : p->id;
    op->i[1] = one_in(r, 30) ? odd[draw(r, 6)] : draw(r, p->nj + 2);
    op->i[2] = draw_index(r, op->i[1] & 1023);
    op->d[0] = scene_time(&p->scene);
    op->d[1] = 0.125;
    op->d[2] = one_in(r, 10) ? -1 : scene_mass(&p->scene);
    for (int d = 0; d < 5; d++) {
        if (d > 0 && one_in(r, 8)) continue;
        double *const term = op_reals(op, 4 - d, 3);
        if (d == 0)
            scene_position(&p->scene, term);
        else
            scene_derivative(&p->scene, d, term);
        if (one_in(r, d == 0 ? 4 : 40)) term[draw(r, 3)] = odd_number(r);
    }
}

static void add_set_mx(struct plan *p)
{
    struct op *const op = sequence_add(p->s, OP_G6_SET_MX);
    op->rows = 1;
    op->i[0] = p->id;
    op->i[1] = draw(p->random, p->nj + 1);
    op->i[2] = draw_index(p->random, op->i[1]);
    op->d[0] = scene_mass(&p->scene);
    scene_position(&p->scene, op_reals(op, 0, 3));
}

static int draw_force_nj(struct plan *p)
{
    static const int odd[] = {0, -1, 1000000000, INT_MAX, INT_MIN};
    rng *const r = p->random;
    if (one_in(r, 40)) return odd[draw(r, 5)];
    return one_in(r, 4) ? draw(r, p->nj + 5) : p->nj;
}

static void set_force(struct plan *p, struct op *op, int nj, int ni)
{
    op->i[0] = p->id;
    op->i[1] = nj;
    op->i[2] = ni;
    op->i[3] = p->batch;
}

static void add_lists(struct plan *p)
{
    rng *const r = p->random;
    if (one_in(r, 3)) {
        struct op *const op = sequence_add(p->s, OP_G6_LIST);
        op->i[0] = p->id;
        op->i[1] = one_in(r, 8) ? draw(r, 5) - 2 + p->ni : draw(r, p->ni);
        op->i[2] = one_in(r, 20) ? -draw(r, 2) : 1 + draw(r, 300);
        return;
    }
    struct op *const op = sequence_add(p->s, OP_G6_LISTS);
    const int pitch = one_in(r, 3) ? 1 + draw(r, 8) : 40;
    op->i[0] = p->id;
    op->i[1] = p->ni < CALL_LIST / 320 ? p->ni : CALL_LIST / 320;
    op->i[3] = p->ni <= 100 && !one_in(r, 3) ? 310 : pitch;
    op->i[2] = op->i[3];
}

/* The same force again: everything must have the same bits, as the model says by its bounds only. */
static void add_force(struct plan *p)
{
    static const enum kind lasts[] = {OP_G6_LAST, OP_G6_LAST2, OP_G6_LAST2, OP_G6_LAST2P};
    rng *const r = p->random;
    const double eps2 = scene_eps2(&p->scene);
    const int nj = draw_force_nj(p), split = one_in(r, 12), flags = one_in(r, 60) ? 1 << draw(r, 9) : 0;
    p->batch = draw(r, CALL_BATCHES);
    p->ni = limit_ni(draw_ni(r), p->nj);
    if (p->ni < 1) p->ni = 1;
    add_fill(p->s, &p->scene, p->batch, p->ni, 0);
    if (!one_in(r, 10)) {
        struct op *const op = sequence_add(p->s, OP_G6_FIRST);
        set_force(p, op, nj, one_in(r, 60) ? -1 : p->ni);
        op->i[4] = flags & 15;
        op->d[0] = eps2;
    }
    if (one_in(r, 12)) add_set(p); /* takes effect in the next force */
    if (one_in(r, 12)) return;
    struct op *const op = sequence_add(p->s, lasts[draw(r, 4)]);
    set_force(p, op, nj, split ? 1 + draw(r, p->ni + 1) : p->ni);
    op->i[4] = one_in(r, 2) ? flags : flags & 15;
    op->d[0] = eps2;
    if (op->i[2] < p->ni) p->ni = op->i[2];
    if (one_in(r, 2)) add_lists(p);
}

/* Nothing that was begun may be left, since threads would take it. */
static void add_threads(struct plan *p)
{
    const int ni = 4 + draw(p->random, 60), b = draw(p->random, CALL_BATCHES);
    p->group++;
    add_fill(p->s, &p->scene, b, ni, p->group);
    add_id(p, OP_G6_RESET, p->id);
    struct op *const op = sequence_add(p->s, OP_G6_THREADS);
    op->i[0] = p->id;
    op->i[1] = draw_force_nj(p);
    op->i[2] = ni;
    op->i[3] = b;
    op->d[0] = scene_eps2(&p->scene);
    op->rows_at = 2;
    op->group = p->group;
}

static void add_time(struct plan *p)
{
    struct op *const op = sequence_add(p->s, OP_G6_TIME);
    op->i[0] = p->id;
    op->d[0] = scene_now(&p->scene);
}

static void add_any(struct plan *p)
{
    switch (draw(p->random, 12)) {
    case 0:
    case 1:
        add_time(p);
        break;
    case 2:
    case 3:
        add_set(p);
        break;
    case 4:
        if (one_in(p->random, 2))
            add_threads(p);
        else
            add_set_mx(p);
        break;
    case 5:
        add_load(p);
        break;
    case 6:
        if (one_in(p->random, 4)) add_id(p, one_in(p->random, 2) ? OP_G6_RESET : OP_G6_REINITIALIZE, p->id);
        break;
    case 7:
        if (!one_in(p->random, setting.cheap ? 4 : 60)) break;
        p->id = ids[draw(p->random, 9)];
        add_id(p, one_in(p->random, 3) ? OP_G6_CLOSE : OP_G6_OPEN, p->id);
        break;
    default:
        add_force(p);
    }
}

/* Closes every cluster, so that a sequence depends on no other. */
static void add_fresh(struct plan *p)
{
    for (int k = 2; k < 9; k++) add_id(p, OP_G6_CLOSE, ids[k]);
    add_id(p, OP_G6_OPEN, p->id);
}

void g6_generate(struct sequence *s, rng *r)
{
    struct plan p = {.s = s, .random = r};
    const int n = 3 + draw(r, 10);
    scene_draw(&p.scene, r);
    p.id = setting.cheap ? ids[draw(r, 9)] : 0;
    if (one_in(r, setting.cheap ? 3 : 40))
        add_fresh(&p);
    else if (!one_in(r, 50))
        add_id(&p, OP_G6_OPEN, p.id);
    if (!one_in(r, 20)) add_load(&p);
    for (int k = 0; k < n; k++) add_any(&p);
}
