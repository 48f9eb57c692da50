/*
 * tree_halo.h - the halo of a tree for another rank: the cells and particles that act on the particles of that rank.
 *
 * A rank tells the others the regions in which its active particles lie: a box for each node of a cut through its tree,
 * around the bounds of their groups.  A cell is accepted in a region if each point of the region satisfies the
 * acceptance criterion (physics/tree_accept.h) for all its particles; then each of these groups accepts the cell, too.
 * The halo has the nodes that the acceptance in all regions leaves: a node that no region refuses is sent as a cell
 * alone, a leaf that some region refuses with its particles.  A walk through the halo therefore finds the cells and
 * particles that a walk through the whole tree would find.
 *
 * With splines no pair of an accepted cell may be within a length (physics/tree_accept.h).  Regions are wider by the
 * lengths of their particles, and cells are refused within theirs.  With Plummer lengths cells are refused as wider
 * ones (physics/tree_soft.h).
 *
 * But groups of sparse surroundings have bounds that reach through the whole system.  Of a bound that is far wider than
 * most, a region has the parts near its particles alone.  A walk may then refuse a cell that each particle accepts; it
 * acts as a cell (engine/tree_part.h).  So the criterion holds for each particle, and the widest bounds do not make all
 * nodes travel.  Nothing here calls MPI.
 */
#ifndef SAP_MPI_TREE_HALO_H
#define SAP_MPI_TREE_HALO_H

#include "engine/tree_ops.h"
#include "engine/tree_part.h"
#include "engine/tree_regions.h"
#include "mpi/room.h"
#include "physics/scalars.h"

/*
 * Regions of a rank, at most: one for each SAP_HALO_EACH of its mean particles, SAP_HALO_MANY to SAP_HALO_MOST; fewer
 * on many ranks, of which all together have SAP_HALO_ALL, or each SAP_HALO_FEWEST.
 */
enum { SAP_HALO_EACH = 16, SAP_HALO_MANY = 256, SAP_HALO_MOST = 4096, SAP_HALO_ALL = 65536, SAP_HALO_FEWEST = 64 };

/* How many regions a rank has room for, of n particles on as many ranks; the same on all ranks. */
int sap_halo_room(double n, int ranks);

/* The nodes of this rank's tree, and its regions.  The arrays are those of the rooms, in their order. */
struct sap_halo_nodes {
    struct sap_room room[8];
    int nodes, n;
    struct sap_tree_node *node; /* [nodes] */
    struct sap_cell *cell;      /* [nodes] */
    struct sap_reach *reach;    /* [nodes] */
    int *address;               /* [n] of the sorted particles */
    int *group;                 /* [n] the group of each sorted particle */
    int groups;
    struct sap_bound *bound; /* [groups] */
    double sizes, log_size;  /* bounds of this rank that have a size, and the sum of their sizes' logarithms */
    double widest;           /* size (sap_bound_size) of a bound that counts as a whole, at most */
    int regions;
    int *region; /* [regions] their nodes, which together have all particles */
    int words;   /* doubles that each node has of the softening lengths of its particles (engine/tree_part.h); or 0 */
    double *lengths; /* [nodes * words] */
};

/* Nodes and particles, of one tree or of several after each other. */
struct sap_halo {
    int nodes, n, node_room, room;
    struct sap_halo_node *node;
    double (*x)[4];      /* position, mass */
    int words;           /* as of struct sap_halo_nodes */
    double *of_node, *h; /* softening lengths, if there are `words`: [node_room * words], [room] */
};

/* Memory that selections and joins keep. */
struct sap_halo_memory {
    struct sap_room who, opened, from, node, cell, lengths;
};

/*
 * Chooses at most `room` regions of a tree, for which nodes->region has room: the largest nodes below some size, which
 * is as small as the room allows.  The size is the number of particles times the diagonal of their box.
 */
void sap_halo_choose_regions(struct sap_halo_nodes *nodes, int room);

/*
 * Limits the size of a bound that counts as a whole to four times what the bounds of all ranks give: the number of
 * their sizes, and the sum of the logarithms.  A rank that has sparse surroundings alone would find none of its groups
 * wide, get nearly all nodes of the others, and have the interactions of several ranks.
 */
void sap_halo_limit_widest(struct sap_halo_nodes *nodes, double sizes, double log_size);

/* Writes `room` regions, around the active particles; strictness is theirs, accuracy that of their groups. */
void sap_halo_tell_regions(const struct sap_halo_nodes *nodes, double accuracy, const struct sap_halo_targets *targets,
                           struct sap_halo_region *region, int room);

/* Whether one of `room` regions has particles. */
int sap_halo_has_targets(const struct sap_halo_region *region, int room);

/* What of a tree is selected. */
struct sap_halo_source {
    const struct sap_halo_nodes *nodes;
    const double *x;               /* by address: position and mass, `stride` doubles apart */
    const double *h;               /* by address: softening lengths; NULL: there are none */
    int stride, order, level_most; /* order of multipoles; nodes of this level are not divided */
};

/* Finds what each node has of the softening lengths of its particles; local. */
void sap_halo_find_lengths(const struct sap_halo_nodes *nodes, const struct sap_halo_source *source);

/* Returns from which distance on node k is accepted, of which the lengths are known. */
struct sap_reach sap_halo_reach(const struct sap_halo_nodes *nodes, int k, const struct sap_criterion *how);

/* Makes room for more nodes, and for more particles; 0 or SAPPORO_ERR_MEMORY. */
int sap_halo_reserve(struct sap_halo *halo, int nodes, int n);

/* Adds the halo of a tree for `room` regions, of which at least one has particles; 0 or SAPPORO_ERR_MEMORY. */
int sap_halo_add(struct sap_halo *halo, const struct sap_halo_source *source, const struct sap_halo_region *region,
                 int room, struct sap_halo_memory *memory);

/* The levels that joining as many halos puts above their roots. */
int sap_halo_levels_above(int halos);

/*
 * Joins halos to one tree on some threads.  count[r][0], [1]: nodes and particles of each rank's.  *joined: node, cell
 * and of_node of the memory, with x and h of the halo; 0 or SAPPORO_ERR_MEMORY.
 */
int sap_halo_join(const struct sap_halo *halo, int ranks, const int (*count)[2], int threads,
                  struct sap_halo_memory *memory, struct sap_tree_halo *joined);

#endif
