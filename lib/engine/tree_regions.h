/*
 * tree_regions.h - what parts of a whole tell each other before a force: the regions of their particles, and the nodes
 * that act there (mpi/tree_halo.h says how they are chosen).
 */
#ifndef SAP_TREE_REGIONS_H
#define SAP_TREE_REGIONS_H

#include <math.h>

#include "physics/scalars.h"

/* Where some particles of a part lie, and the strictness of their criterion; strictness < 0: there is no such region.
 */
struct sap_halo_region {
    double low[3], high[3], strictness;
};

/* A node that is sent; without children and particles it is a cell that all regions accept. */
struct sap_halo_node {
    struct sap_cell cell;
    int first, count, child, children;
};

/* Whose regions are told. */
struct sap_halo_targets {
    const double *x; /* positions by address, `stride` doubles apart */
    int stride;
    const unsigned char *active; /* by address: the particles that need forces; NULL: all */
    const double *h;             /* lengths of splines by address; NULL: other softening, or the engine has them */
    const double *a; /* sizes of accelerations by address, for ACCELERATION; NULL: another criterion, or an opening
                        angle of 1 */
    int has_a;       /* 1: `a` are with the engine (tree_bodies.h), and not given */
    int walking;     /* 1: a walk of these targets has begun, whose results are kept; `a` are those that it reads */
    int threads;     /* that look at the regions; 0: as many as a context has */
};

/* What is selected of a tree for other parts, at least one of whose regions has particles. */
struct sap_halo_wish {
    int parts, room, level_most;          /* nodes of this level are not divided */
    const struct sap_halo_region *region; /* [parts][room] */
};

/* Where nodes and particles that were selected are copied, part by part. */
struct sap_halo_room {
    struct sap_halo_node *node;
    double (*x)[4];      /* position, mass */
    double *of_node, *h; /* softening lengths, as struct sap_tree_halo has them; NULL: none */
};

/* Bounds that count as wholes in regions have at most so many times the mean size (geometric, of sizes above 0). */
enum { SAP_HALO_WIDE = 2 };

/* The regions below a size that would be chosen of a tree; any number above `room` if they are more. */
typedef int sap_regions_count(const void *tree, double size, int room);

/* Lowers a size by a factor as often as the regions below are no more than `room`. */
static inline double sap_regions_lower(double size, double factor, int room, sap_regions_count *count, const void *tree)
{
    const double least = 0x1p-60 * size;
    while (size > least && count(tree, size * factor, room) <= room) size *= factor;
    return size;
}

/*
 * The size of the regions of a tree, whose root has this size: as small as the room allows.  It is 0 where the room
 * takes all nodes without children; else the search below would count the same regions some thousand times.
 */
static inline double sap_regions_size(double size, int room, sap_regions_count *count, const void *tree)
{
    if (count(tree, 0, room) <= room) return 0;
    for (double factor = 1.0 / 16; factor < 0.99; factor = sqrt(factor))
        size = sap_regions_lower(size, factor, room, count, tree);
    return size;
}

/* Children of a node above the roots of joined halos, at most. */
enum { SAP_HALO_CHILDREN = 8 };

/* Number of nodes directly above n nodes, and of all above the roots of halos. */
static inline int sap_halo_above(int n) { return (n + SAP_HALO_CHILDREN - 1) / SAP_HALO_CHILDREN; }

static inline int sap_halo_nodes_above(int halos)
{
    int nodes = 0;
    for (int n = halos; n > 1; n = sap_halo_above(n)) nodes += sap_halo_above(n);
    return nodes;
}

#endif
