/*
 * tree_halo.h - the halo of a tree for another rank: the cells and particles that act on the particles of that rank.
 *
 * A rank tells the others the regions in which its particles lie: boxes around the balls of groups that lie together. A
 * cell is accepted in a region if each point of the region satisfies the acceptance criterion (physics/tree_accept.h);
 * then each of its groups accepts the cell, too.  The halo has the nodes that the acceptance in all regions leaves: a
 * node that no region refuses is sent as a cell alone, a leaf that some region refuses with its particles.  A walk
 * through the halo therefore finds the cells and particles that a walk through the whole tree would find.  Nothing here
 * calls MPI.
 */
#ifndef SAP_MPI_TREE_HALO_H
#define SAP_MPI_TREE_HALO_H

#include "engine/tree_ops.h"
#include "engine/tree_part.h"
#include "physics/scalars.h"

enum { SAP_HALO_REGIONS = 64 }; /* of a rank, at most */

/* Where some groups of a rank lie, and the strictness of their criterion; strictness < 0: there is no such region. */
struct sap_halo_region {
    double low[3], high[3], strictness;
};

/* The nodes of this rank's tree, and its regions. */
struct sap_halo_nodes {
    int nodes, n;
    struct sap_tree_node *node; /* [nodes] */
    struct sap_cell *cell;      /* [nodes] */
    struct sap_reach *reach;    /* [nodes] */
    int *address;               /* [n] of the sorted particles */
    int *group;                 /* [n] the group of each sorted particle */
    int groups;
    double (*ball)[4]; /* [groups] centre and radius */
    int *region_of;    /* [groups] */
    int regions;
};

/* A node that is sent; without children and particles it is a cell that all regions accept. */
struct sap_halo_node {
    struct sap_cell cell;
    int first, count, child, children;
};

/* Nodes and particles, of one tree or of several after each other. */
struct sap_halo {
    int nodes, n, node_room, room;
    struct sap_halo_node *node;
    double (*x)[4]; /* position, mass */
};

/*
 * Chooses the regions of a tree.  Of its root, the node with most particles is divided again and again; a region has
 * the groups whose first particles are in one node.
 */
void sap_halo_choose_regions(struct sap_halo_nodes *nodes);

/* Whose regions are told. */
struct sap_halo_targets {
    const unsigned char *active; /* by address: the particles that need forces; NULL: all */
    const double *a; /* sizes of accelerations by address, for ACCELERATION; NULL: another criterion, or an opening
                        angle of 1 */
};

/*
 * Writes SAP_HALO_REGIONS regions, around the groups that have active particles; strictness is that of these groups.
 * 0 or SAPPORO_ERR_MEMORY.
 */
int sap_halo_tell_regions(const struct sap_halo_nodes *nodes, double accuracy, const struct sap_halo_targets *targets,
                          struct sap_halo_region *region);

/* Whether one of SAP_HALO_REGIONS regions has particles. */
int sap_halo_has_targets(const struct sap_halo_region *region);

/* What of a tree is selected. */
struct sap_halo_source {
    const struct sap_halo_nodes *nodes;
    const double *x;               /* by address: position and mass, `stride` doubles apart */
    int stride, order, level_most; /* order of multipoles; nodes of this level are not divided */
};

/* Adds the halo of a tree for some regions, of which there is at least one; 0 or SAPPORO_ERR_MEMORY. */
int sap_halo_add(struct sap_halo *halo, const struct sap_halo_source *source, const struct sap_halo_region *region);

/* The levels that joining as many halos puts above their roots. */
int sap_halo_levels_above(int halos);

/*
 * Joins halos to one tree.  count[r][0], [1]: nodes and particles of each rank's.  *joined: node and cell, which the
 * caller frees, with x of the halo; 0 or SAPPORO_ERR_MEMORY.
 */
int sap_halo_join(const struct sap_halo *halo, int ranks, const int (*count)[2], struct sap_tree_halo *joined);

#endif
