/*
 * cpu_stackless.c - forces and tidal tensors by a walk for each particle alone: from a node to its first child (more)
 * or past its last descendant (next). Nakasato 2012, J. Comp. Sci. 3, 132. All in double; forces serve to check the
 * walk by groups.
 */
#include <math.h>
#include <stdatomic.h>

#include "base/team.h"
#include "cpu/tree/cpu_tree.h"

#include "working_double.h"

#include "physics/tree_pair.h"

/* Operations of spline.h. */
#define v_less             v_lt
#define SAP_NOT_LESS(a, b) v_nlt(a, b)
#define SAP_LARGER(a, b)   v_max(a, b)

/* Returns 1/h of the length of square h2; +0 of a point. */
SAP_INLINE V sap_inverse_length(V h2) { return h2 > 0 ? v_root_wide(h2) : 0; }

#include "physics/spline.h"
#include "physics/tree_tidal.h"

struct one {
    double x[3], eps2;
    int at;   /* number of the target particle */
    int self; /* index of the sorted particle, -1: a position, or an image */
    double h; /* its length, or 0 */
    struct sap_tree_bound bound;
    int tidal; /* the sums are those of the tidal tensor, not those of the force */
    double sum[SAP_TIDAL_SUMS];
    long long particle, cell;
};

_Static_assert((int)SAP_TIDAL_SUMS >= (int)SAP_SUMS2, "sums of both kinds have room");

/* Adds the terms of a cell at a distance. */
static void add_moments(struct one *o, const struct sap_tree_source *s, int order, const double *d, double u)
{
    if (o->tidal && order > 1)
        sap_tidal_cell(o->sum, d, s->mass, s->s, s->t, u);
    else if (o->tidal)
        sap_tidal_pair(o->sum, d, s->mass, u);
    else if (order > 1)
        sap_pair_cell(o->sum, d[0], d[1], d[2], s->mass, s->s, s->t, u);
    else
        sap_pair2(o->sum, d[0], d[1], d[2], s->mass, u);
}

/* Adds the terms of a particle at a distance; h2: its squared length; counts: the pair is not skipped. */
static void add_mass(struct one *o, double mass, int law, const double *d, double u, int counts, double h2)
{
    if (o->tidal && law)
        sap_tidal_pair_spline(o->sum, d, mass, u, counts, o->h * o->h, h2, law);
    else if (o->tidal)
        sap_tidal_pair(o->sum, d, mass, u);
    else if (law)
        sap_pair2_spline(o->sum, d, mass, u, counts, o->h * o->h, h2, law);
    else
        sap_pair2(o->sum, d[0], d[1], d[2], mass, u);
}

static void add_cell(const struct sap_cpu_field *t, struct one *o, int k)
{
    const struct sap_tree_source *const s = &t->from->source[k];
    double d[3], r2 = t->frame->pairs->adds ? o->eps2 + o->h * o->h + s->soft : o->eps2;
    for (int c = 0; c < 3; c++) {
        d[c] = (s->x[c] - o->x[c]) * t->frame->unit;
        r2 += d[c] * d[c];
    }
    add_moments(o, s, t->frame->settings->order, d, r2 > 0 ? v_root_wide(r2) : 0);
    o->cell++;
}

static void add_leaf(const struct sap_cpu_field *t, struct one *o, const struct sap_tree_node *leaf)
{
    for (int j = leaf->first; j < leaf->first + leaf->count; j++) {
        const double h = t->from->lengths ? t->from->h[j] : 0;
        double d[3], r2 = t->frame->pairs->adds ? o->eps2 + o->h * o->h + h * h : o->eps2;
        if (j == o->self) continue;
        for (int c = 0; c < 3; c++) {
            d[c] = (t->from->x[j][c] - o->x[c]) * t->frame->unit;
            r2 += d[c] * d[c];
        }
        const double u = r2 > 0 ? v_root_wide(r2) : 0;
        add_mass(o, t->from->x[j][3], (int)t->frame->soft.law, d, u, v_nlt(r2, 0), h * h);
        o->particle++;
    }
}

static void walk_one(const struct sap_cpu_field *t, struct one *o)
{
    int ignored[2], accepted = 0, opened = 0;
    for (int k = t->from->nodes > 0 ? 0 : -1; k >= 0;) {
        const struct sap_tree_node *const node = &t->from->node[k];
        t->frame->pairs->open(t, k, k + 1, &o->bound, ignored, &accepted, ignored + 1, &opened);
        if (opened && node->children) {
            k = node->child;
            continue;
        }
        if (opened || (node->children == 0 && node->count <= t->frame->settings->order))
            add_leaf(t, o, node);
        else
            add_cell(t, o, k);
        k = node->next;
    }
}

/* Makes an image of a target particle the one that walks; its sums stay. */
static void start_image(const struct sap_cpu_field *t, const struct sap_cpu_run *run, int walker, int image,
                        struct one *o)
{
    const double *const at = run->walkers->x[walker];
    double b[3], x[3] = {at[0], at[1], at[2]};
    sap_cpu_shift(run, image, x);
    o->self = run->walkers->own && image == SAP_NO_SHIFT ? walker : -1;
    const double size = sap_tree_in_units(x, &t->frame->cube.gaps, t->frame->middle, t->frame->unit, b);
    for (int c = 0; c < 3; c++) {
        o->x[c] = x[c];
        b[c] = sap_tree_cut(b[c]);
    }
    o->bound = (struct sap_tree_bound){.x = (float)b[0],
                                       .y = (float)b[1],
                                       .z = (float)b[2],
                                       .radius = (float)sap_tree_padded(0, size),
                                       .strictness = (float)sap_cpu_tree_strictness(t, run, walker, 1)};
    o->bound.length = (float)t->frame->pairs->length(run, walker, 1);
}

static struct one one_of(const struct sap_cpu_field *t, const struct sap_cpu_run *run, int walker)
{
    return (struct one){.eps2 = t->frame->soft.eps2 * t->frame->unit * t->frame->unit,
                        .at = walker,
                        .h = t->from->lengths ? run->walkers->h[walker] : 0,
                        .tidal = run->tidal != NULL};
}

/* Computes a force whose sums left the range of double from all particles, by quotients; returns 0 if that fails. */
static int rescue(const struct sap_cpu_field *t, const struct sap_cpu_run *run, const struct one *o, double *acc,
                  double *pot)
{
    struct sap_cpu_rescue r = sap_cpu_rescue_of(t, run->walkers, o->at);
    const struct sap_cpu_images images = sap_cpu_images_of(run);
    for (int k = images.from; k <= images.to; k++) {
        for (int c = 0; c < 3; c++) r.x[c] = run->walkers->x[o->at][c];
        sap_cpu_shift(run, k, r.x);
        sap_cpu_tree_rescue_particles(t, 0, t->from->n, run->walkers->own && k == SAP_NO_SHIFT ? o->at : -1, &r);
    }
    return sap_cpu_rescued(t->frame, &r, acc, pot);
}

/* Writes the results of a walk to a row; returns 0 if double cannot hold them: the row is then NaN. */
static int write_one(const struct sap_cpu_field *t, const struct sap_cpu_run *run, const struct one *o, int row)
{
    double a[3], phi;
    if (run->tidal) return sap_cpu_tidal_results(t->frame, o->sum, run->tidal[row]);
    const int held = sap_cpu_results(t->frame, o->sum, a, &phi) || rescue(t, run, o, a, &phi);
    sap_cpu_write_row(run, a, phi, row);
    return held;
}

/* A walk that is distributed over threads. */
struct stackless_walk {
    const struct sap_cpu_field *field;
    const struct sap_cpu_run *run;
    atomic_llong particle, cell;
    atomic_int beyond;
};

static void walk_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct stackless_walk *const w = argument;
    const struct sap_cpu_field *const t = w->field;
    const struct sap_cpu_run *const run = w->run;
    long long particle = 0, cell = 0;
    const struct sap_cpu_images images = sap_cpu_images_of(run);
    for (ptrdiff_t k = from; k < to; k++) {
        const int walker = run->slots->walker[k];
        struct one o = one_of(t, run, walker);
        for (int image = images.from; image <= images.to; image++) {
            start_image(t, run, walker, image, &o);
            walk_one(t, &o);
        }
        if (!write_one(t, run, &o, run->slots->row[k])) atomic_fetch_add(&w->beyond, 1);
        particle += o.particle;
        cell += o.cell;
    }
    atomic_fetch_add(&w->particle, particle);
    atomic_fetch_add(&w->cell, cell);
}

void sap_cpu_walk_alone(const struct sap_cpu_nodes *from, const struct sap_cpu_frame *frame, struct sap_cpu_run *run,
                        int threads)
{
    enum { AT_ONCE = 64 };
    const struct sap_cpu_field field = {from, frame};
    struct stackless_walk w = {.field = &field, .run = run};
    sap_team_for(threads, run->slots->n, AT_ONCE, walk_some, &w);
    run->particle = atomic_load(&w.particle);
    run->cell = atomic_load(&w.cell);
    run->beyond = atomic_load(&w.beyond);
}
