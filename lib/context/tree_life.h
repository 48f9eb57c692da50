/*
 * tree_life.h - when a new tree pays, from counted interactions.
 *
 * A tree that is refreshed is best at the time that it was built for.  Before and after that time its forces need more
 * interactions: the excess.  A life of L steps costs the price B of a build and the excess E of all its forces.  If the
 * excess of a force grows in proportion to the time from the best one, the mean cost (B + E) / L is least where E = B.
 * So a life ends when the excess of its forces has reached the price.
 *
 * Trees differ: where the cells of a tree lie changes the interactions of all its forces by some per cent.  So the best
 * force of a tree sets what a force by this tree should need, as far as such a difference goes.
 *
 * Where particles pass several neighbours in a step, one force on many of them can need more than the price beyond its
 * fresh interactions.  Such a class of forces owes a debt, the excess less the price.  While the class has a debt, its
 * forces get a new tree rather than one as far from its best time, and each of these builds pays a part of the debt.
 * After the last part one force tries again.
 *
 * Forces of block steps are in classes, by the levels of the active particles.  All numbers are counts, so a run
 * repeats to the bit, on every engine.
 */
#ifndef SAP_TREE_LIFE_H
#define SAP_TREE_LIFE_H

#include "physics/step.h"

/* Zeros are a state before any tree.  Members fill the struct without gaps, since files have it. */
struct sap_tree_life {
    double
        fresh[SAP_STEP_LEVELS];   /* interactions per row of a force by a tree at its best time, by class; 0: unknown */
    double debt[SAP_STEP_LEVELS]; /* interactions that a class of forces owes */
    long long near[SAP_STEP_LEVELS]; /* least ticks from the best time at which a class with a debt was too dear */
    double base;   /* least interactions of a force since the build, in units of `fresh`, within the scatter of trees */
    double spent;  /* interactions of all forces since the build */
    double due;    /* the same by `fresh` */
    double last;   /* interactions of the last force beyond `base` of `fresh` */
    long long age; /* ticks since the build */
    long long used; /* age at the last step of particles with mass */
    long long lead; /* ticks from the build to the time that the tree was built for */
};

/* A force on particles with mass. */
struct sap_life_force {
    int class;
    double active;       /* particles */
    double interactions; /* per active particle */
    double price;        /* of a build, in interactions */
    long long step;      /* ticks of the shortest step in use */
    long long ticks;     /* since the last step */
};

/*
 * Returns the class of a force on the particles of levels >= coarsest; count: particles with mass per level.  Levels
 * with few of these particles do not make a class of their own.
 */
int sap_life_class(const long long *count, int coarsest);

/* Returns the price of a build in interactions, as a share of a force on all particles; class: of such a force. */
double sap_life_price(const struct sap_tree_life *life, int class, double particles);

/* Whether the tree should be built anew for a force that follows. */
int sap_life_ends(const struct sap_tree_life *life, const struct sap_life_force *force);

/* Returns how many ticks after its build a tree that is built for a force should be best. */
long long sap_life_lead(const struct sap_tree_life *life, const struct sap_life_force *force);

/* Notes a build for `lead` ticks later, at the step of a force. */
void sap_life_begin(struct sap_tree_life *life, long long lead, const struct sap_life_force *force);

/* Notes a force after a build or a refresh. */
void sap_life_note(struct sap_tree_life *life, const struct sap_life_force *force);

#endif
