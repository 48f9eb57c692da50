/* plan.c - see plan.h. */
#include "plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rng.h"

const struct part whole_plan = {.calls = ~UINT64_C(0), .rows = PLAN_ROWS, .tries = PLAN_TRIES};

static int draw(rng *r, int n) { return (int)(rng_next(r) % (uint64_t)n); }
static int one_in(rng *r, int n) { return draw(r, n) == 0; }

/* ---- options -------------------------------------------------------------------------------- */

static void draw_tree(sapporo_tree_options *o, rng *r, sapporo_backend backend)
{
    static const double eps2[] = {1e-2, 1e-4, 1.0 / 64, 1};
    *o = (sapporo_tree_options){.size = sizeof *o, .backend = backend, .threads = one_in(r, 8) ? 2 : 1};
    o->kind = one_in(r, 3) ? SAPPORO_TREE_KDTREE : SAPPORO_TREE_OCTREE;
    o->mac = (sapporo_tree_mac)draw(r, 4);
    o->order = draw(r, 3);
    o->eps2 = eps2[draw(r, 4)];
    o->leaf_size = one_in(r, 2) ? 1 + draw(r, 16) : 0;
    o->group_size = one_in(r, 2) ? 1 + draw(r, 32) : 0;
    o->precision = (sapporo_precision)draw(r, 4);
    o->cpu_isa = backend == SAPPORO_BACKEND_CPU && one_in(r, 3) ? "scalar" : NULL;
    o->gravitational_constant = one_in(r, 3) ? 0.25 + rng_uniform(r) : 0;
}

static void draw_fields(struct plan *p, rng *r)
{
    p->options.nfields = one_in(r, 3) ? 1 + draw(r, PLAN_FIELDS) : 0;
    for (int k = 0; k < PLAN_FIELDS; k++) {
        sapporo_field *const f = &p->field[k];
        f->kind = (sapporo_field_kind)(SAPPORO_FIELD_POINT + draw(r, 6));
        f->strength = rng_uniform(r);
        f->a = 0.5 + rng_uniform(r);
        f->b = 0.5 + rng_uniform(r);
        for (int c = 0; c < 3; c++) f->centre[c] = 4 * rng_gauss(r);
    }
}

/* Times of builds by the clock would make other bits in each run, so no plan has these. */
static void draw_options(struct plan *p, rng *r)
{
    sapporo_stepper_options *const o = &p->options;
    *o = (sapporo_stepper_options){.size = sizeof *o};
    o->method = one_in(r, 3) ? SAPPORO_STEP_DIRECT : SAPPORO_STEP_TREE;
    o->scheme = one_in(r, 3) ? SAPPORO_STEPS_SHARED : SAPPORO_STEPS_BLOCK;
    o->criterion = (sapporo_step_criterion)draw(r, 3);
    o->dt = ldexp(1, -3 - draw(r, 5));
    o->eta = one_in(r, 2) ? 0 : 0.005 + 0.1 * rng_uniform(r);
    o->levels = 1 + draw(r, 5);
    o->rebuild = one_in(r, 2) ? 0 : 1 + draw(r, 4);
    draw_fields(p, r);
}

/* A generator of its own leaves all else of a seed as it is without lengths. */
static void draw_softening(struct plan *p)
{
    rng random;
    rng_seed(&random, p->seed, 43);
    p->tree.softening = one_in(&random, 3) ? (sapporo_softening)(1 + draw(&random, 2)) : SAPPORO_SOFTENING_PLUMMER;
}

/* Some plans of direct sums have a Hermite scheme; also by a generator of its own. */
static void draw_hermite(struct plan *p)
{
    sapporo_stepper_options *const o = &p->options;
    rng random;
    rng_seed(&random, p->seed, 45);
    if (o->method != SAPPORO_STEP_DIRECT || p->tree.softening || !one_in(&random, 3)) return;
    o->scheme = (sapporo_step_scheme)(SAPPORO_STEPS_HERMITE4 + draw(&random, 3));
    o->criterion = one_in(&random, 2) ? SAPPORO_STEP_CRITERION_DEFAULT : SAPPORO_STEP_BY_AARSETH;
    o->eta = one_in(&random, 2) ? 0 : 0.05 + rng_uniform(&random);
    o->eta_start = one_in(&random, 2) ? 0 : 0.01 + 0.1 * rng_uniform(&random);
    o->nearest = one_in(&random, 3);
    o->iterations = one_in(&random, 3) ? draw(&random, 4) : 0;
    o->close = one_in(&random, 3) ? 0.5 * rng_uniform(&random) : 0;
}

/* ---- calls ------------------------------------------------------------------------------------ */

static enum call_kind draw_kind(rng *r)
{
    static const enum call_kind kinds[] = {
        CALL_ADVANCE, CALL_ADVANCE, CALL_ADVANCE, CALL_ADVANCE, CALL_ADVANCE, CALL_GET, CALL_GET, CALL_ENERGY,
        CALL_ENERGY,  CALL_SAVE,    CALL_SAVE,    CALL_RESTORE, CALL_RESTORE, CALL_SET, CALL_SET, CALL_CREATE};
    return kinds[draw(r, (int)(sizeof kinds / sizeof *kinds))];
}

/* Some later calls that set particles change them instead; a generator of its own leaves all else of a seed as it is.
 */
static enum call_kind draw_change(uint64_t model)
{
    static const enum call_kind kinds[] = {CALL_SET, CALL_ADD, CALL_REMOVE};
    rng random;
    rng_seed(&random, model, 46);
    return kinds[draw(&random, 3)];
}

static void draw_faults(struct call *c, rng *r)
{
    c->tries = one_in(r, 4) ? 0 : one_in(r, 4) ? 1 + draw(r, PLAN_TRIES) : 1;
    for (int k = 0; k < PLAN_TRIES; k++) {
        c->fault[k].where = rng_uniform(r);
        c->fault[k].stays = one_in(r, 3);
    }
}

static void draw_call(struct call *c, rng *r, const struct plan *p, enum call_kind kind)
{
    static const double starts[] = {0, 0, 1, -3.5, 1024};
    *c = (struct call){.kind = kind, .model = rng_next(r)};
    c->mistake = one_in(r, 12) ? 1 + draw(r, 3) : 0;
    c->n = one_in(r, 4) ? p->room : 1 + draw(r, p->room);
    c->steps = one_in(r, 3) ? 0 : 1 + draw(r, 6);
    c->time = kind == CALL_SET ? starts[draw(r, 5)] : one_in(r, 3) ? draw(r, 3) : 3 * rng_uniform(r);
    c->when = (sapporo_step_when)draw(r, 3);
    if (kind == CALL_GET && c->when == SAPPORO_STEP_AT_TIME) c->time /= 3;
    c->wanted = one_in(r, 2) ? WANT_ALL : (unsigned)draw(r, WANT_ALL + 1);
    draw_faults(c, r);
}

void plan_draw(struct plan *p, uint64_t seed, sapporo_backend backend)
{
    rng random, *const r = &random;
    memset(p, 0, sizeof *p);
    rng_seed(r, seed, 41);
    p->seed = seed;
    draw_tree(&p->tree, r, backend);
    draw_options(p, r);
    draw_softening(p);
    draw_hermite(p);
    p->room = one_in(r, 4) ? PLAN_ROWS : 1 + draw(r, PLAN_ROWS);
    p->n = 4 + draw(r, PLAN_CALLS - 3);
    for (int k = 0; k < p->n; k++) {
        struct call *const c = &p->call[k];
        draw_call(c, r, p, k == 0 ? CALL_CREATE : k == 1 && !one_in(r, 20) ? CALL_SET : draw_kind(r));
        if (c->kind == CALL_SET && k > 1) c->kind = draw_change(c->model);
    }
}

void plan_cut(struct plan *p, const struct part *part)
{
    int n = 0;
    for (int k = 0; k < p->n; k++)
        if (part->calls >> k & 1) p->call[n++] = p->call[k];
    p->n = n;
    for (int k = 0; k < p->n; k++) {
        struct call *const c = &p->call[k];
        if (c->tries > part->tries) c->tries = part->tries;
        if (c->n > part->rows) c->n = part->rows;
    }
    if (p->room > part->rows) p->room = part->rows;
}

/* ---- particles --------------------------------------------------------------------------------- */

/* A cluster, or points of a lattice, of which some coincide; some particles are massless. */
void plan_model(const struct call *c, struct model *m)
{
    rng random, *const r = &random;
    rng_seed(r, c->model, 42);
    const int is_lattice = one_in(r, 4), massless = one_in(r, 2) ? 0 : one_in(r, 8) ? 1 : 2 + draw(r, 6);
    for (int i = 0; i < PLAN_ROWS; i++) {
        rng_direction(r, pow(rng_uniform(r), 1.5) * 2, m->x[i]);
        rng_direction(r, 0.5 * rng_uniform(r), m->v[i]);
        m->mass[i] = (0.5 + rng_uniform(r)) / c->n;
        m->label[i] = (long long)(rng_next(r) >> 1);
        if (is_lattice)
            for (int k = 0; k < 3; k++) m->x[i][k] = draw(r, 5) - 2;
        if (massless && one_in(r, massless)) m->mass[i] = 0;
    }
    const int bad = draw(r, c->n);
    rng lengths;
    rng_seed(&lengths, c->model, 44);
    m->has_lengths = one_in(&lengths, 2);
    for (int i = 0; i < PLAN_ROWS; i++) m->h[i] = 0.02 + rng_uniform(&lengths) * (i % 7 ? 0.2 : 2);
    if (c->kind != CALL_REMOVE && c->mistake == 1) m->v[bad][draw(r, 3)] = NAN;
}

/* ---- text -------------------------------------------------------------------------------------- */

static void print_call(FILE *to, const struct call *c, int k)
{
    static const char *const names[] = {"create", "set",     "advance", "get",   "energy",
                                        "save",   "restore", "add",     "remove"};
    fprintf(to, "    %2d %-8s", k, names[c->kind]);
    if (c->mistake) fprintf(to, " mistake %d", c->mistake);
    if (c->kind == CALL_SET) fprintf(to, " n %d, time %g, model %" PRIu64, c->n, c->time, c->model);
    if (c->kind >= CALL_ADD) fprintf(to, " n %d, model %" PRIu64, c->n, c->model);
    if (c->kind == CALL_ADVANCE) fprintf(to, " to %g dt from now, steps %d", c->time, c->steps);
    if (c->kind == CALL_GET) fprintf(to, " when %d, outputs %#x", (int)c->when, c->wanted);
    for (int t = 0; t < c->tries; t++)
        fprintf(to, "%s %.3f%s", t ? "," : "; fails at", c->fault[t].where, c->fault[t].stays ? " and on" : "");
    fputc('\n', to);
}

void plan_print(FILE *to, const struct plan *p)
{
    const sapporo_stepper_options *const o = &p->options;
    const sapporo_tree_options *const t = &p->tree;
    fprintf(to, "    options: method %d, scheme %d, criterion %d, dt %g, eta %g, levels %d, rebuild %d, fields %d\n",
            (int)o->method, (int)o->scheme, (int)o->criterion, o->dt, o->eta, o->levels, o->rebuild, o->nfields);
    fprintf(
        to,
        "    tree: softening %d, kind %d, mac %d, order %d, eps2 %g, leaf %d, group %d, precision %d, isa %s, threads "
        "%d, G %g\n",
        (int)t->softening, (int)t->kind, (int)t->mac, t->order, t->eps2, t->leaf_size, t->group_size, (int)t->precision,
        t->cpu_isa ? t->cpu_isa : "-", t->threads, t->gravitational_constant);
    for (int k = 0; k < p->n; k++) print_call(to, &p->call[k], k);
}
