/* multiscale_draw.c - draws recipes of multiscale.h. */
#include <math.h>
#include <string.h>

#include "multiscale.h"
#include "rng.h"
#include "sapporo_experiments.h"

static int draw(rng *r, int n) { return (int)(rng_next(r) % (uint64_t)n); }

static double between(rng *r, double least, double most) { return least * pow(most / least, rng_uniform(r)); }

/* Mostly small: a system then costs a millisecond. */
static int draw_n(rng *r)
{
    const int kind = draw(r, 40);
    if (kind == 0) return 300 + draw(r, MULTISCALE_MOST - 300);
    if (kind < 6) return 80 + draw(r, 220);
    return 1 + draw(r, kind < 12 ? 8 : 100);
}

/* An accuracy; the smallest accept no cell, so forces are sums of pairs. */
static double draw_accuracy(rng *r, sapporo_tree_mac mac)
{
    if (draw(r, 5) < 2) return 1e-14;
    if (mac == SAPPORO_MAC_MULTIPOLE) return between(r, 1e-5, 0.3);
    if (mac == SAPPORO_MAC_ACCELERATION) return between(r, 1e-5, 0.05);
    return 0.15 + 0.9 * rng_uniform(r);
}

static void draw_options(rng *r, sapporo_tree_options *o)
{
    o->kind = (sapporo_tree_kind)(1 + draw(r, 2));
    o->mac = (sapporo_tree_mac)(1 + draw(r, 3));
    o->accuracy = draw_accuracy(r, o->mac);
    o->order = 1 + draw(r, 2);
    if (draw(r, 2)) o->leaf_size = 1 + draw(r, draw(r, 4) ? 16 : 100);
    if (draw(r, 3)) o->group_size = 1 + draw(r, draw(r, 4) ? 16 : 256);
    if (draw(r, 10) == 0) o->group_extent = between(r, 1e-6, 1);
    const int ball = draw(r, 4) ? 0 : draw(r, 6), walk = draw(r, 20) ? 0 : SAPPORO_WALK_STACKLESS;
    o->experiments = SAPPORO_EXPERIMENTS(ball, walk, draw(r, 3));
}

static void draw_softening(rng *r, struct multiscale_recipe *p)
{
    if (draw(r, 2)) return;
    p->eps = between(r, 0x1p-40, 1);
    if (draw(r, 3)) return;
    p->options.softening = draw(r, 2) ? SAPPORO_SOFTENING_SPLINE_LARGER : SAPPORO_SOFTENING_SPLINE_MEAN;
    p->h_least = between(r, 0x1p-40, 1);
    p->h_most = between(r, p->h_least, 2);
}

static void draw_pairs(rng *r, struct multiscale_recipe *p)
{
    p->across = (enum multiscale_across)draw(r, 3);
    /* smaller nodes of kd-trees are divided such that near pairs stay together */
    if (p->across == MULTISCALE_BOXES && draw(r, 8) == 0) p->n = 256 + draw(r, 300);
    const int many = 1 + p->n / 2;
    p->near_least = between(r, draw(r, 20) ? 0x1p-39 : 0x1p-60, 1e-3);
    p->near_most = between(r, p->near_least, 0.1);
    if (draw(r, 4)) p->binaries = 1 + draw(r, many < 40 ? many : 40);
    if (draw(r, 4) == 0) p->triples = 1 + draw(r, 6);
    if (draw(r, 10) == 0) p->twins = 1 + draw(r, 12);
    if (draw(r, 8) == 0) p->escaper = between(r, 10, 1e12);
}

static void draw_targets(rng *r, struct multiscale_recipe *p)
{
    p->form = (enum multiscale_form)draw(r, MULTISCALE_STEPPED);
    /* steppers have neither splines nor variants of trees */
    if (p->form == MULTISCALE_MASSLESS && (p->options.softening || p->moved > 0)) p->form = MULTISCALE_POSITIONS;
    if (p->form == MULTISCALE_MASSLESS) p->options.experiments = 0;
    p->ni = 1 + draw(r, draw(r, 2) ? 10 : 100);
    p->position_least = between(r, 1e-12, 1);
    p->position_most = between(r, p->position_least, 1);
    if (p->form == MULTISCALE_MASSLESS && draw(r, 3) == 0) p->form = MULTISCALE_STEPPED;
}

struct multiscale_recipe multiscale_draw(uint64_t seed)
{
    rng source, *const r = &source;
    struct multiscale_recipe p;
    memset(&p, 0, sizeof p);
    rng_seed(r, seed, 30);
    p.shape = (enum multiscale_shape)draw(r, MULTISCALE_SHAPES);
    p.n = draw_n(r);
    draw_pairs(r, &p);
    p.masses = draw(r, 2) ? MULTISCALE_EQUAL : (enum multiscale_masses)draw(r, MULTISCALE_MASSES);
    p.scale = draw(r, 3) ? 1 : draw(r, 2) ? ldexp(1, draw(r, 61) - 30) : between(r, 1e-25, 1e25);
    p.offset = draw(r, 3) ? 0 : draw(r, 2) ? 1 : between(r, 1e-3, 1e3);
    if (draw(r, 5) == 0) p.moved = between(r, 1e-12, 0.3);
    draw_options(r, &p.options);
    draw_softening(r, &p);
    draw_targets(r, &p);
    if (draw(r, 6) == 0) p.far = between(r, 1e3, 1e60);
    return p;
}
