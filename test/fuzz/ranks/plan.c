/* plan.c - see plan.h. */
#include "plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int draw(rng *r, int n)
{
    const uint64_t drawn = rng_next(r);
    return n > 0 ? (int)(drawn % (uint64_t)n) : 0;
}

int one_in(rng *r, int n) { return draw(r, n) == 0; }

void call_random(rng *r, const struct call *c, uint64_t stream) { rng_seed(r, c->model, 60 + stream); }

void draw_position(rng *r, int is_lattice, double x[3])
{
    rng_direction(r, pow(rng_uniform(r), 1.5) * 2, x);
    for (int c = 0; c < 3 && is_lattice; c++) x[c] = draw(r, 7) - 3;
}

void draw_owners(rng *r, int n, int *owner)
{
    const int way = draw(r, 5), one = draw(r, ranks), without = draw(r, ranks);
    for (int k = 0; k < n; k++) {
        owner[k] = draw(r, ranks);
        if (way == 0) owner[k] = one;
        if (way == 1 && owner[k] == without) owner[k] = (without + 1) % ranks;
        if (way == 2) owner[k] = k * ranks / n;
    }
}

/* ---- options -------------------------------------------------------------------------------- */

static void draw_sums(struct plan *p, rng *r)
{
    static const struct {
        int order;
        sapporo_precision precision;
    } kinds[] = {{4, SAPPORO_DS}, {4, SAPPORO_DP}, {4, SAPPORO_SP}, {2, SAPPORO_SP}, {2, SAPPORO_DS},
                 {2, SAPPORO_DP}, {6, SAPPORO_DS}, {6, SAPPORO_DP}, {8, SAPPORO_DP}};
    const int kind = draw(r, (int)(sizeof kinds / sizeof *kinds));
    p->order = kinds[kind].order;
    p->precision = kinds[kind].precision;
    p->way = (sapporo_mpi_way)draw(r, 3);
    p->rows = one_in(r, 2) ? 0 : 1 + draw(r, 30);
    p->sources = one_in(r, 2) ? 0 : 1;
}

/* Accuracies at which every cell is opened, and those of usual errors. */
static void draw_tree(struct plan *p, rng *r)
{
    static const double strict[] = {1e-3, 1e-3, 1e-14, 1e-14}, usual[] = {0.3, 0.3, 1e-3, 1e-4};
    static const double eps2[] = {1e-2, 1e-3, 1.0 / 64, 1};
    sapporo_tree_options *const o = &p->tree;
    *o = (sapporo_tree_options){.size = sizeof *o, .backend = tested_backend(), .threads = 1};
    o->kind = one_in(r, 3) ? SAPPORO_TREE_KDTREE : SAPPORO_TREE_OCTREE;
    o->mac = (sapporo_tree_mac)draw(r, 4);
    p->strict = one_in(r, 2);
    o->accuracy = p->strict ? strict[o->mac] : usual[o->mac];
    o->order = draw(r, 3);
    o->eps2 = eps2[draw(r, 4)];
    o->leaf_size = one_in(r, 2) ? 1 + draw(r, 16) : 0;
    o->group_size = one_in(r, 2) ? 1 + draw(r, 32) : 0;
    o->precision = one_in(r, 4) ? SAPPORO_SP : SAPPORO_DP;
}

/* Levels follow from accelerations, so with usual errors of trees all particles have one step. */
static void draw_stepper(struct plan *p, rng *r)
{
    sapporo_stepper_options *const o = &p->stepper;
    *o = (sapporo_stepper_options){.size = sizeof *o};
    o->method = one_in(r, 2) ? SAPPORO_STEP_DIRECT : SAPPORO_STEP_TREE;
    const int is_exact = o->method == SAPPORO_STEP_DIRECT || (p->strict && p->tree.precision == SAPPORO_DP);
    o->scheme = is_exact && !one_in(r, 3) ? SAPPORO_STEPS_BLOCK : SAPPORO_STEPS_SHARED;
    o->dt = ldexp(1, -4 - draw(r, 3));
    o->levels = 1 + draw(r, 4);
    o->rebuild = one_in(r, 2) ? 0 : 1 + draw(r, 3);
}

/* Splines in a third of the plans.  Numbers of their own leave those of the other draws. */
static void draw_softening(struct plan *p)
{
    rng random;
    rng_seed(&random, p->seed, 53);
    if (one_in(&random, 3)) p->tree.softening = (sapporo_softening)(1 + draw(&random, 2));
    p->lengths = !one_in(&random, 3);
}

/*
 * Hermite schemes in half of the plans with direct sums; most of them keep neighbours or stop at close pairs.  Numbers
 * of their own, again.
 */
static void draw_hermite(struct plan *p)
{
    static const double close[] = {0.02, 0.1, 0.5};
    sapporo_stepper_options *const o = &p->stepper;
    rng random;
    rng_seed(&random, p->seed, 54);
    if (o->method != SAPPORO_STEP_DIRECT || one_in(&random, 2)) return;
    o->scheme = (sapporo_step_scheme)((int)SAPPORO_STEPS_HERMITE4 + draw(&random, 3));
    o->levels = one_in(&random, 2) ? 0 : 4 + draw(&random, 6);
    o->nearest = draw(&random, 2);
    if (!one_in(&random, 3)) o->close = close[draw(&random, 3)];
    o->iterations = draw(&random, 3);
    o->landing = draw(&random, 2);
    p->tree.softening = SAPPORO_SOFTENING_PLUMMER;
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* How often each call of an object is drawn: the first is that which opens it. */
static const int sums_shares[] = {1, 6, 1, 2, 10, 3}, tree_shares[] = {1, 4, 4, 4, 6, 6, 4, 3},
                 stepper_shares[] = {1, 3, 8, 3, 3, 3, 3, 3, 3, 3};
static const struct {
    enum call_kind first;
    int calls;
    const int *share;
} objects[] = {{SUMS_OPEN, 6, sums_shares}, {TREE_OPEN, 8, tree_shares}, {STEPPER_OPEN, 10, stepper_shares}};
enum { OBJECTS = sizeof objects / sizeof *objects };

static enum call_kind draw_kind(rng *r, int object)
{
    int all = 0, at;
    for (int k = 0; k < objects[object].calls; k++) all += objects[object].share[k];
    at = draw(r, all);
    for (int k = 0; k < objects[object].calls; k++) {
        at -= objects[object].share[k];
        if (at < 0) return (enum call_kind)((int)objects[object].first + k);
    }
    return objects[object].first;
}

static void draw_call(struct call *c, rng *r, enum call_kind kind)
{
    static const double times[] = {0, 0x1p-10, -0x1p-9, 0.25};
    *c = (struct call){.kind = kind, .model = rng_next(r)};
    c->mistake = one_in(r, 6) ? 1 + draw(r, 8) : 0;
    c->odd = draw(r, ranks);
    c->a = draw(r, 6);
    c->b = draw(r, 6);
    c->n = one_in(r, 4) ? PLAN_PARTICLES : 1 + draw(r, PLAN_PARTICLES);
    if (one_in(r, 12)) c->n = 1 + draw(r, 3);
    c->steps = one_in(r, 3) ? 0 : 1 + draw(r, 5);
    c->reach = draw(r, 8);
    c->time = kind == SUMS_TIME ? times[draw(r, 4)] : 2 * rng_uniform(r);
    if (kind == STEPPER_ADVANCE && one_in(r, 3)) c->time = 1 + draw(r, 2);
}

void plan_draw(struct plan *p, uint64_t seed)
{
    rng random, *const r = &random;
    int weight[OBJECTS], all = 0;
    memset(p, 0, sizeof *p);
    rng_seed(r, seed, 51);
    p->seed = seed;
    draw_sums(p, r);
    draw_tree(p, r);
    draw_stepper(p, r);
    draw_softening(p);
    draw_hermite(p);
    for (int k = 0; k < OBJECTS; k++) all += weight[k] = one_in(r, 2) ? 0 : 1 + draw(r, 4);
    if (all < 1) all = weight[seed % OBJECTS] = 1;
    p->n = 6 + draw(r, PLAN_CALLS - 5);
    for (int k = 0; k < p->n; k++) {
        int object = 0;
        for (int at = draw(r, all) - weight[0]; at >= 0 && object < OBJECTS - 1;) at -= weight[++object];
        draw_call(&p->call[k], r, draw_kind(r, object));
    }
}

void plan_cut(struct plan *p, const struct part *part)
{
    int n = 0;
    for (int k = 0; k < p->n; k++)
        if (part->calls >> k & 1) p->call[n++] = p->call[k];
    p->n = n;
    for (int k = 0; k < p->n; k++)
        if (p->call[k].n > part->particles) p->call[k].n = part->particles;
}

/* ---- text -------------------------------------------------------------------------------------- */

static void print_call(FILE *to, const struct call *c, int k)
{
    static const char *const names[CALL_KINDS] = {
        "sums open",     "sums set",           "sums clear",       "sums time",    "sums force",      "sums differ",
        "tree open",     "tree build",         "tree refresh",     "tree renew",   "tree force",      "tree active",
        "tree exchange", "tree differ",        "stepper open",     "stepper set",  "stepper advance", "stepper energy",
        "stepper pairs", "stepper potentials", "stepper exchange", "stepper save", "stepper restore", "stepper differ"};
    fprintf(to, "    %2d %-16s n %d, model %" PRIu64 ", odd %d", k, names[c->kind], c->n, c->model, c->odd);
    if (c->mistake) fprintf(to, ", mistake %d", c->mistake);
    fprintf(to, ", calls %d %d, steps %d, reach %d, time %g\n", c->a, c->b, c->steps, c->reach, c->time);
}

void plan_print(FILE *to, const struct plan *p)
{
    const sapporo_tree_options *const t = &p->tree;
    fprintf(to, "    sums: order %d, precision %d, way %d, rows %d, sources %d\n", p->order, (int)p->precision,
            (int)p->way, p->rows, p->sources);
    fprintf(
        to,
        "    tree: softening %d, kind %d, mac %d, accuracy %g, order %d, eps2 %g, leaf %d, group %d, precision %d\n",
        (int)t->softening, (int)t->kind, (int)t->mac, t->accuracy, t->order, t->eps2, t->leaf_size, t->group_size,
        (int)t->precision);
    fprintf(to, "    stepper: method %d, scheme %d, nearest %d, close %g, landing %d, iterations %d,",
            (int)p->stepper.method, (int)p->stepper.scheme, p->stepper.nearest, p->stepper.close, p->stepper.landing,
            p->stepper.iterations);
    fprintf(to, " dt %g, levels %d, rebuild %d, lengths %d\n", p->stepper.dt, p->stepper.levels, p->stepper.rebuild,
            p->lengths);
    for (int k = 0; k < p->n; k++) print_call(to, &p->call[k], k);
}
