/* tree_halo_layout.h - the layout of a selection for other parts of a whole: read by the host flow and by kernels. */
#ifndef SAP_DEVICE_TREE_HALO_LAYOUT_H
#define SAP_DEVICE_TREE_HALO_LAYOUT_H

enum {
    SAP_HALO_BINS = 192,    /* of sizes of nodes, eight for each power of two below the root's */
    SAP_HALO_REGION = 7,    /* doubles of a region: low, high, strictness */
    SAP_HALO_BLOCK = 32,    /* regions of a block, which are tested together; those of a part begin with a block */
    SAP_HALO_TELLERS = 128, /* threads that look at the particles of a region */
    SAP_HALO_WORDS = 19,    /* doubles of a node that is sent: the cell, and four ints */
    SAP_HALO_ABOVE = 8,     /* children of a node above the roots of joined halos, at most */
    SAP_HALO_IMAGES = 26,   /* of a periodic cube, around it */
    SAP_HALO_REGIONS = 128  /* of the targets of a periodic tree: whole blocks */
};

/*
 * A node that a part needs.  Entries of a level of the selection follow each other, part by part, in the order in which
 * they are sent.
 */
struct sap_halo_entry {
    int node, part;
    int child; /* the entry of its first child in the next level; -1: it is not divided */
    int held;  /* particles that are sent with it */
};

#endif
