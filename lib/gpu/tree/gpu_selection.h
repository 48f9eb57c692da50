/*
 * gpu_selection.h - the nodes and particles of a tree on an accelerator that act on the regions of other parts of a
 * whole (device/tree_halo.h).
 *
 * Functions that return int return driver statuses.
 */
#ifndef SAP_GPU_SELECTION_H
#define SAP_GPU_SELECTION_H

#include "device/tree_halo_layout.h"
#include "engine/tree_regions.h"
#include "gpu/tree/gpu_built.h"

struct sap_gpu_selection {
    struct sap_gpu_buffer region, block, region_first; /* of other parts */
    struct sap_gpu_buffer reach, parent;               /* of nodes */
    struct sap_gpu_buffer entry[SAP_TREE_LEVELS + 1], level_first, more, before;
    struct sap_gpu_buffer shift, base, x_base, made, made_x;
    struct sap_gpu_buffer made_lengths, made_h; /* of these nodes, `words` each, and particles, if they have lengths */
    int sent, sent_x, words;                    /* nodes and particles in made and made_x */
    int too_many;                               /* they were more than asked for; none are there then */
};

/* _make and _fetch implement `select` and `selected` of the table. */
int sap_gpu_selection_make(struct sap_gpu_selection *h, const struct sap_gpu_built *of,
                           const struct sap_halo_wish *wish, int (*count)[2]);

/*
 * Selects for the images of a periodic tree, whose regions are in h->region and h->block, with particles and lengths as
 * walks have them: at most so many nodes, and particles.
 */
int sap_gpu_selection_images(struct sap_gpu_selection *h, const struct sap_gpu_built *of, long long most,
                             int (*count)[2]);

int sap_gpu_selection_fetch(const struct sap_gpu_selection *h, struct sap_gpu_session *s,
                            const struct sap_halo_room *to);

void sap_gpu_selection_free(const struct sap_driver *driver, struct sap_gpu_selection *h);

#endif
