/* tree_life.c - when a new tree pays, from counted interactions (tree_life.h). */
#include "context/tree_life.h"

/*
 * Price of a build, as a share of a force on all particles: what a step with a build takes more than one with a
 * refresh. That is 7 to 10 % of such a force for a tree of the present, and for one of a later time 13 % on a CPU and
 * 17 % on an H200 (docs/decisions.md).
 */
static const double PRICE = 0.09375;
/* Share of the price that each build for a class pays of its debt: trials of refreshed trees cost a sixteenth more. */
static const double PAYMENT = 0.0625;
/* Growth of the `fresh` of a class at each build for it, so that a stale number is forgotten. */
static const double FORGET = 1 + 0x1p-8;
/* A level that has less than this share of the active particles makes no class. */
static const double MERGED = 0.125;
/* A force this close to the best time of its tree, in units of the lead, counts as one at that time. */
static const double BEST = 0.125;

/* Interactions of forces by different trees at their best times differ by about so much. */
static const double SCATTER = 0.0625;
/* What a force at the best time of its tree counts in the mean `fresh` of its class; twice that if it needs less. */
static const double WEIGHT = 0.25;

int sap_life_class(const long long *count, int coarsest)
{
    long long active = 0;
    int class = coarsest;
    for (int level = coarsest; level < SAP_STEP_LEVELS; level++) active += count[level];
    while (class < SAP_STEP_LEVELS - 1 && count[class] < active && (double)count[class] < MERGED * (double)active) {
        active -= count[class];
        class += 1;
    }
    return class;
}

/* Interactions per row of a class at the best time; those of the nearest coarser class, or finer one, stand in. */
static double find_fresh(const struct sap_tree_life *life, int class)
{
    int k = class;
    while (k > 0 && !(life->fresh[k] > 0)) k--;
    if (life->fresh[k] > 0) return life->fresh[k];
    for (k = class; k < SAP_STEP_LEVELS - 1 && !(life->fresh[k] > 0);) k++;
    return life->fresh[k];
}

double sap_life_price(const struct sap_tree_life *life, int class, double particles)
{
    return PRICE * find_fresh(life, class) * particles;
}

/* Ticks from the best time of the tree at an age. */
static long long off_at(const struct sap_tree_life *life, long long age)
{
    return age < life->lead ? life->lead - age : age - life->lead;
}

/* Whether a class has a debt, and may use no tree that is `off` ticks from its best time. */
static int is_too_dear(const struct sap_tree_life *life, int class, long long off)
{
    return life->debt[class] > 0 && off >= life->near[class];
}

/* Before its best time a tree gets better, so the excess that has been spent asks for nothing. */
int sap_life_ends(const struct sap_tree_life *life, const struct sap_life_force *f)
{
    if (is_too_dear(life, f->class, off_at(life, life->age + f->ticks))) return 1;
    return (life->age < life->lead ? life->last : life->spent - life->base * life->due) > f->price;
}

long long sap_life_lead(const struct sap_tree_life *life, const struct sap_life_force *f)
{
    return is_too_dear(life, f->class, life->used / 2) ? 0 : life->used / 2;
}

void sap_life_begin(struct sap_tree_life *life, long long lead, const struct sap_life_force *f)
{
    life->fresh[f->class] *= FORGET;
    const double rest = life->debt[f->class] - PAYMENT * f->price;
    life->debt[f->class] = rest > 0 ? rest : 0;
    life->base = 1 + SCATTER;
    life->spent = life->due = life->last = 0;
    life->age = life->used = 0;
    life->lead = lead;
}

/*
 * Notes the debt of a class after a force `off` ticks from the best time of its tree.  Two forces half a step from that
 * time have together the excess of one that is a whole step from it, by linear growth, so a shorter distance than a
 * step counts as one.
 */
static void note_debt(struct sap_tree_life *life, const struct sap_life_force *f, long long off)
{
    double *const debt = &life->debt[f->class];
    long long *const near = &life->near[f->class];
    if (off <= 0) return;
    const double excess = off < f->step ? life->last * ((double)f->step / (double)off) : life->last;
    if (!(excess > f->price)) return;
    if (!(*debt > 0) || off < *near) *near = off;
    if (excess - f->price > *debt) *debt = excess - f->price;
}

/* Takes a force into the mean of its class: all at the best time, and those before and after that need less. */
static void note_fresh(double *fresh, double interactions, int is_best)
{
    if (interactions < *fresh)
        *fresh += 2 * WEIGHT * (interactions - *fresh);
    else if (is_best)
        *fresh += WEIGHT * (interactions - *fresh);
}

void sap_life_note(struct sap_tree_life *life, const struct sap_life_force *f)
{
    const long long off = off_at(life, life->age);
    double *const fresh = &life->fresh[f->class];
    if (!(*fresh > 0)) *fresh = find_fresh(life, f->class);
    if (!(*fresh > 0)) *fresh = f->interactions;
    note_fresh(fresh, f->interactions, (double)off <= BEST * (double)life->lead);
    if (f->interactions < life->base * *fresh) life->base = f->interactions / *fresh;
    if (life->base < 1 - SCATTER) life->base = 1 - SCATTER;
    life->spent += f->interactions * f->active;
    life->due += *fresh * f->active;
    life->last = (f->interactions - life->base * *fresh) * f->active;
    life->used = life->age;
    note_debt(life, f, off);
}
