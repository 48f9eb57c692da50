/*
 * cube.h - the cube that keys cut into cells: the same for every engine.
 *
 * Its edge is a power of two.  It holds all particles, unless a few of them are so far out that the others would share
 * few cells: then it holds those that a sample tells to be the body of the model, with much room around it, and the
 * keys of who is outside are those of its border (tree_key.h).  Boxes of cells are exact whatever the cube.
 */
#ifndef SAP_TREE_CUBE_H
#define SAP_TREE_CUBE_H

struct sap_cube {
    double low[3]; /* its corner */
    double edge;   /* a power of two; 0: all particles are at one place */
    double cells;  /* 2^21 / edge; 0 where edge is */
};

enum { SAP_CUBE_SAMPLE = 1024 };

/* Particles of a sample of n: its k-th, k < sap_cube_sample(n), is the particle of address k * n / sap_cube_sample(n).
 */
int sap_cube_sample(int n);
int sap_cube_member(int n, int k);

/* The cube of particles within a box, of which `sample` (m of them, by axis) are some; sorts the sample. */
struct sap_cube sap_tree_cube(const double *low, const double *high, double (*sample)[SAP_CUBE_SAMPLE], int m);

/*
 * Whether double holds the moments of particles within a box whose masses, without signs, have this sum; if not,
 * SAP_TREE_OUT_OF_RANGE says what is wrong.
 */
int sap_tree_in_range(const double *low, const double *high, double sum);
#define SAP_TREE_OUT_OF_RANGE "masses times squares of coordinates are beyond the range of double"

/* Whether a force can be computed at x: it is finite, and not so far away that cubes of its distance overflow. */
int sap_tree_is_place(const struct sap_cube *cube, double unit, const double *x);

/* One over the least power of two that holds the cube's edge and the softening; 1 if both are 0. */
double sap_tree_unit(const struct sap_cube *cube, double eps2);

/* The softening that forces use in that unit: 0 where it is so small that its inverse would overflow. */
double sap_tree_eps2(double eps2, double unit);

/* One over a power of two above a sum of sizes of masses; 1 if it is 0. */
double sap_tree_mass_unit(double sum);

#endif
