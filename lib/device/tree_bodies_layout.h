/* tree_bodies_layout.h - the particles of a rank's caller on a device: read by the host flow and by kernels. */
#ifndef SAP_DEVICE_TREE_BODIES_LAYOUT_H
#define SAP_DEVICE_TREE_BODIES_LAYOUT_H

enum {
    SAP_BODY_BLOCK = 64, /* sorted particles whose weights are added beforehand */
    SAP_BODY_COUNTS = 3, /* words per group: particles with known interactions, their sum, sizes that are unknown */
    SAP_BODY_WORDS = 5,  /* doubles of a particle that travels: position, mass, size of its acceleration */
    SAP_TOLD_WORDS = 5   /* doubles of an answer: acceleration, potential, interactions */
};

/* What a particle weighs (mpi/tree_split.c): the mean of the interactions, lower word first. */
struct sap_gpu_weights {
    unsigned mean_low, mean_high;
    int is_kdtree, n;
};

/*
 * Records of a route: of n records those from `first` on stay, so many, and lie from `at` on among what arrives. keeps:
 * sizes that are unknown do not replace others.
 */
struct sap_gpu_staying {
    int n, first, stays, at, keeps;
};

/*
 * Rows of a force: whether they have a list of addresses, whether results are in its order (else interactions alone
 * are by address), whether sizes of accelerations are kept, and the word of `left` where interactions begin.
 */
struct sap_gpu_told {
    int rows, has_list, picked, sized, work_at;
};

#endif
