/*
 * multiscale.h - systems of particles that span many scales, with a tree and target particles: what a proof of forces
 * of trees needs.
 *
 * A recipe says what a system has: hard binaries, cusps, equal keys, and so on.  A recipe is drawn from a seed, or
 * written by a test.  The same recipe and seed make the same system on every machine.
 */
#ifndef TEST_MULTISCALE_H
#define TEST_MULTISCALE_H

#include <stdint.h>

#include "sapporo.h"
#include "sapporo_tree.h"

enum { MULTISCALE_MOST = 3000 }; /* particles of a recipe that is drawn, before companions are added */

/* How most particles lie.  The size of the model is about 1, before it is scaled. */
enum multiscale_shape {
    MULTISCALE_UNIFORM,
    MULTISCALE_PLUMMER,
    MULTISCALE_CUSP,    /* r = u^4 */
    MULTISCALE_CORES,   /* cores in cores: each is 2^5 times smaller than the one around it */
    MULTISCALE_CLUMPS,  /* of very different sizes */
    MULTISCALE_LATTICE, /* its planes are those of the cube */
    MULTISCALE_LINE,
    MULTISCALE_PLANE,
    MULTISCALE_GROUPS,                  /* two groups that are small in units of their distance */
    MULTISCALE_KEY,                     /* most particles have one key */
    MULTISCALE_SHAPES,                  /* of these some are drawn */
    MULTISCALE_WIDE = MULTISCALE_SHAPES /* radii from 1e-60 to 1e60 */
};

/* Where binaries lie. */
enum multiscale_across {
    MULTISCALE_ANYWHERE,
    MULTISCALE_CUBES, /* across planes, edges and corners of the cells of an octree */
    MULTISCALE_BOXES  /* across the middles of the nodes of a kd-tree */
};

enum multiscale_masses {
    MULTISCALE_EQUAL,
    MULTISCALE_RANGE, /* over a factor of 1e6 */
    MULTISCALE_SOME,  /* half of the particles are massless */
    MULTISCALE_NONE,
    MULTISCALE_SIGNS, /* of both signs */
    MULTISCALE_MASSES
};

/* What receives forces. */
enum multiscale_form {
    MULTISCALE_ALL,
    MULTISCALE_FEW,       /* of the particles are active */
    MULTISCALE_MANY,      /* most of the particles are active */
    MULTISCALE_POSITIONS, /* positions of the request */
    MULTISCALE_MASSLESS,  /* massless particles of a stepper */
    MULTISCALE_STEPPED,   /* all particles, of a stepper */
    MULTISCALE_FORMS
};

struct multiscale_recipe {
    enum multiscale_shape shape;
    int n;
    int binaries, triples;
    enum multiscale_across across;
    double near_least, near_most; /* separations, in units of the model's size */
    int twins;                    /* particles at the position of another one */
    double escaper;               /* distance of one particle; 0: there is none */
    enum multiscale_masses masses;
    double scale, offset;   /* positions are multiplied by `scale`, after a shift by `offset` */
    double moved;           /* > 0: the tree is refreshed after particles have moved so far */
    double h_least, h_most; /* lengths of a spline; as eps of the options, in units of the size */
    enum multiscale_form form;
    int ni;                               /* targets of FEW, POSITIONS and MASSLESS */
    double position_least, position_most; /* distances of positions from particles */
    double far;                           /* distance of some positions, and of a particle after a refresh; 0: none */
    double eps;
    sapporo_tree_options options; /* without engine, precision and eps2 */
};

struct multiscale {
    char words[200]; /* what it is, for messages */
    int n;
    double (*x)[3], *mass;
    double (*moved)[3]; /* positions after a refresh; NULL: the tree is new */
    double *h;          /* lengths of a spline; NULL: Plummer's softening */
    double *a;          /* sizes of accelerations for the criterion; NULL: they are not given */
    enum multiscale_form form;
    int ni;
    int *active;                  /* of FEW and MANY */
    double (*position)[3];        /* of POSITIONS and MASSLESS */
    double *position_h;           /* NULL: positions have no lengths of their own */
    sapporo_tree_options options; /* without engine and precision */
};

/* Draws a recipe. */
struct multiscale_recipe multiscale_draw(uint64_t seed);

/* Makes the system of a recipe; returns 0 without memory.  multiscale_free may be called twice. */
int multiscale_make(const struct multiscale_recipe *recipe, uint64_t seed, struct multiscale *system);
void multiscale_free(struct multiscale *system);

/* Returns the positions of the particles when the force is computed. */
const double (*multiscale_positions(const struct multiscale *system))[3];

#endif
