/* tree_halo_places.h - where nodes of halos are joined, for kernels that copy what nodes have. */
#ifndef SAP_DEVICE_TREE_HALO_PLACES_H
#define SAP_DEVICE_TREE_HALO_PLACES_H

#include "device/tree_halo_layout.h"

/* Returns the last part whose first node is q or before: of first[0 .. parts-1], which do not fall. */
SAP_INLINE int part_of_node(const GLOBAL int *first, int parts, int q)
{
    int from = 0, to = parts;
    while (to - from > 1) {
        const int middle = (from + to) / 2;
        if (first[middle] <= q)
            from = middle;
        else
            to = middle;
    }
    return from;
}

/*
 * Behind the nodes above lie the roots of all halos, then the other nodes of each.  `rest`: the other nodes of a part
 * begin there; `at`: the place of a node.  first: of each part its first node; from `parts` on the halos before its
 * own; then its first particle.
 */
struct halo_place {
    int part, rest, at;
};

SAP_INLINE struct halo_place place_of_node(const GLOBAL int *first, int parts, int roots, int halos, int q)
{
    struct halo_place p;
    p.part = part_of_node(first, parts, q);
    const int k = q - first[p.part], halo = first[parts + p.part];
    p.rest = roots + halos + first[p.part] - halo;
    p.at = k == 0 ? roots + halo : p.rest + k - 1;
    return p;
}

#endif
