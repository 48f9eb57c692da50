/*
 * tree_pace.h - when a tree that is refreshed in a loop is built anew, and for which time
 * (sapporo_tree_refresh_or_build).
 *
 * Cells that are fixed while particles leave them make errors of forces that are correlated with velocities: energy
 * drifts.  A tree that is built for a later time, the middle of its life, makes errors of both signs, which cancel
 * (docs/stepper.md).  So a tree is built from positions that are extrapolated by half of the life of the tree before,
 * in calls.  Its forces get cheaper until that time and dearer afterwards; it ends when a force needs `factor` times
 * the interactions of its cheapest one.
 */
#ifndef SAP_TREE_PACE_H
#define SAP_TREE_PACE_H

/*
 * The usual factor.  Forces get dearer on both sides of the best time: with 1.15 octrees take 3 to 7 % less time than
 * new ones, and kd-trees 25 % (docs/tree.md).
 */
#define SAP_PACE_FACTOR 1.15

/* Interactions per row; 0: none known.  Zeros are a state before any tree. */
struct sap_tree_pace {
    double first, last, best; /* of the first force after the last build, the last force, the cheapest since then */
    double before;            /* `best` of the tree before */
    double lead;              /* calls from the build to the time that the tree was built for */
    int age;                  /* refreshes since the build */
};

/* Lead of the second tree of a loop, which replaces the first one as soon as the positions of two calls are known. */
#define SAP_PACE_START 2.0

/* Whether the tree is the first one of a loop, for the present, while positions of an earlier call are known. */
static inline int sap_pace_is_first(const struct sap_tree_pace *p, int knows)
{
    return knows && p->age == 0 && p->best > 0 && !(p->before > 0);
}

/*
 * Whether the next call builds; knows: positions of an earlier call are known.  A new tree that costs much more than
 * the one before was built for a wrong time.
 */
static inline int sap_pace_ends(const struct sap_tree_pace *p, double factor, int knows)
{
    const int is_wrong = p->lead > 0 && p->age == 0 && p->before > 0 && p->last > factor * factor * p->before;
    return is_wrong || sap_pace_is_first(p, knows) || p->last > factor * p->best;
}

/* Returns the lead of a tree that is built now. */
static inline double sap_pace_lead(const struct sap_tree_pace *p, int knows)
{
    return sap_pace_is_first(p, knows) ? SAP_PACE_START : p->best > 0 ? 0.5 * p->age : 0;
}

/* What the next call does. */
struct sap_pace_plan {
    int builds;  /* 0: it refreshes */
    double lead; /* of the build */
};

/* Decides between a refresh and a build; lacks: there is no tree of these particles. */
static inline struct sap_pace_plan sap_pace_decide(const struct sap_tree_pace *p, double factor, int lacks, int knows)
{
    const int builds = lacks || sap_pace_ends(p, factor, knows);
    return (struct sap_pace_plan){builds, lacks ? 0 : sap_pace_lead(p, knows)};
}

static inline void sap_pace_begin(struct sap_tree_pace *p, double lead)
{
    const double before = p->best > 0 ? p->best : p->before;
    *p = (struct sap_tree_pace){.before = before, .lead = lead};
}

/* Notes the interactions per row of a force. */
static inline void sap_pace_note(struct sap_tree_pace *p, double interactions)
{
    p->last = interactions;
    if (!(p->first > 0)) p->first = interactions;
    if (!(p->best > 0) || interactions < p->best) p->best = interactions;
}

#endif
