/*
 * cube.h - the cube of a tree, which keys divide into cells: the same for every engine.
 *
 * The edge of the cube is a power of two.  The cube holds all particles, unless a few particles are so far out that the
 * others would share few cells.  In that case it holds the bulk of the model, found from a sample, with a wide margin.
 * A particle outside the cube gets a key at the cube's border (tree_key.h).  Bounding boxes of cells are exact in all
 * cases.
 *
 * If such a cube could not tell the particles of far groups apart, space between them is shortened
 * (physics/tree_gaps.h), and the cube is one of mapped positions.
 */
#ifndef SAP_CUBE_H
#define SAP_CUBE_H

#include "physics/tree_gaps.h"

struct sap_cube {
    double low[3]; /* corner with the lowest mapped coordinates */
    double edge;   /* a power of two; 0: all particles are at one position */
    double cells;  /* 2^21 / edge; 0 if edge is 0 */
    struct sap_gaps gaps;
};

enum { SAP_CUBE_SAMPLE = 1024 };

/* The size of the sample of n particles, and the address of its k-th member (physics/tree_sample.h). */
int sap_cube_sample(int n);
int sap_cube_member(int n, int k);

/*
 * Computes the cube from the bounding box of all particles and a sample of m positions, per axis, which it overwrites.
 */
struct sap_cube sap_cube_of(const double *low, const double *high, double (*sample)[SAP_CUBE_SAMPLE], int m);

/*
 * Whether the moments of the particles fit into double, for a bounding box and the sum of the absolute masses.
 * SAP_TREE_OUT_OF_RANGE is the message if they do not.
 */
int sap_cube_in_range(const double *low, const double *high, double sum);
#define SAP_TREE_OUT_OF_RANGE "masses times squares of coordinates are beyond the range of double"

/* The message of an accelerator if a force is beyond the range of double, or that of a pair in units of the cube. */
#define SAP_TREE_TOO_NEAR                                                                                              \
    "a force is beyond the range of double, or particles are nearer to each other than 2^-340 of the tree's size; "    \
    "use "                                                                                                             \
    "a direct sum in dp, or the CPU engine"

/* Largest coordinate in units of the cube: cubes of distances and their inverses stay within the range of double. */
#define SAP_TREE_FARTHEST 0x1p300

/* Whether a force can be computed at x: x is finite, and the cube of its distance does not overflow. */
int sap_cube_is_position(const struct sap_cube *cube, double unit, const double *x);

/*
 * The units of walks: pair terms use coordinates (x - middle) unit.  They are those of the cube, unless a refresh found
 * all particles within a box that is smaller than the cube by more than 2^20.  In that case they are those of the box,
 * because squared distances in units of the cube could be below the range of float.
 */
struct sap_tree_units {
    double middle[3]; /* a mapped position */
    double unit;      /* 1 / the least power of two that is >= the edge and >= the softening length; 1 if both are 0 */
    double eps2;  /* the squared softening that forces use: 0 if it is so small in units that its inverse overflows */
    int is_point; /* the cube, or the box in its place, has no extent: pair terms are in double */
};

/* Computes the units for a cube, the bounding box of the present particles, and the squared softening asked for. */
struct sap_tree_units sap_cube_units(const struct sap_cube *cube, const double *low, const double *high, double eps2);

/*
 * The largest distance, along an axis, of the points of a box from the middle of the units; at least the true one if
 * there are gaps.
 */
double sap_cube_reach(const struct sap_cube *cube, const double *middle, const double *low, const double *high);

/* A length of spline softening in units; 0 where it is so small that its inverse cube overflows. */
double sap_cube_scaled_length(double h, double unit);

/* Whether a force can be computed with this length of a target particle. */
int sap_cube_is_length(double h, double unit);

/* Lengths in units below this one need pair terms in double: their inverse cubes may be beyond the range of float. */
#define SAP_TREE_SHORT 0x1p-40

/* 1 / a power of two above the sum of the absolute masses; 1 if the sum is 0. */
double sap_cube_mass_unit(double sum);

#endif
