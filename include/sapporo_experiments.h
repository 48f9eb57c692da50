/*
 * sapporo_experiments.h - variants of trees that exist to be compared with the usual ones.
 *
 * No program needs them for its work, and no version of the library promises them: they may change or go at any time.
 * `experiments` of sapporo_tree_options takes SAPPORO_EXPERIMENTS(ball, walk, curve).
 */
#ifndef SAPPORO_EXPERIMENTS_H
#define SAPPORO_EXPERIMENTS_H

#include "sapporo_tree.h"

/*
 * Bounds of groups: the box of their particles, or a ball around them.  The choice changes the number of interactions;
 * the acceptance criterion holds for each particle with all of them.
 */
typedef enum sapporo_tree_ball {
    SAPPORO_BALL_DEFAULT = 0, /* the fastest that was measured: NONE with MAC_ACCELERATION, else SMALLER */
    SAPPORO_BALL_BOX = 1,     /* about the middle of the box */
    SAPPORO_BALL_MASS = 2,    /* about the centre of mass */
    SAPPORO_BALL_SMALLER = 3, /* the smaller of these two */
    SAPPORO_BALL_RITTER = 4,  /* of Ritter 1990, Graphics Gems, 301 */
    SAPPORO_BALL_NONE = 5     /* the box itself */
} sapporo_tree_ball;

typedef enum sapporo_tree_walk {
    SAPPORO_WALK_DEFAULT = 0,  /* groups */
    SAPPORO_WALK_GROUPS = 1,   /* groups of particles share a list of interactions */
    SAPPORO_WALK_STACKLESS = 2 /* each particle walks alone and needs no stack: simple and slow */
} sapporo_tree_walk;

typedef enum sapporo_tree_curve {
    SAPPORO_CURVE_DEFAULT = 0, /* Peano-Hilbert */
    SAPPORO_CURVE_HILBERT = 1,
    SAPPORO_CURVE_MORTON = 2
} sapporo_tree_curve;

#define SAPPORO_EXPERIMENTS(ball, walk, curve) ((unsigned)(ball) | (unsigned)(walk) << 4 | (unsigned)(curve) << 8)

#endif
