/* tree_nodes.h - the nodes of a tree in host memory, as builders make them and walks read them. */
#ifndef SAP_TREE_NODES_H
#define SAP_TREE_NODES_H

/*
 * A node: the columns of physics/tree_cell.h.  Nodes are numbered breadth first, so nodes of a level follow each other,
 * and so do the children of a node.
 */
struct sap_tree_node {
    int first, count, child, children, level, next; /* next: node after the last descendant of this one, -1: none */
};

/* Levels of nodes, at most: 22 of an octree; 22 of a kd-tree's cells, 64 of its nodes with two children. */
enum { SAP_TREE_LEVELS = 64 };

/* The nodes that a builder makes.  The caller frees `node`. */
struct sap_tree_nodes {
    int nodes, room, levels, level_first[SAP_TREE_LEVELS + 1]; /* level_first[levels]: number of nodes */
    struct sap_tree_node *node;                                /* [room] */
};

#endif
