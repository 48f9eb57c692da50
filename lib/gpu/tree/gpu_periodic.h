/*
 * gpu_periodic.h - trees in a periodic cube on an accelerator: images of particles, walks for the near images of the
 * target particles, and the field of the far images (physics/tree_periodic.h).
 *
 * Forces take one walk of the tree and its images, joined (gpu_images.h). Where target particles walk alone, and where
 * the images would be far larger than the tree, each image has a walk: for copies of the target particles and of the
 * bounds of their groups, which are shifted. All runs on the first device. Functions that return int return driver
 * statuses; of open trees they do nothing.
 */
#ifndef SAP_GPU_PERIODIC_H
#define SAP_GPU_PERIODIC_H

#include "gpu/tree/gpu_images.h"
#include "gpu/tree/gpu_walk.h"

struct sap_gpu_periodic {
    double period; /* 0: the tree is open */
    double least;  /* acceleration (sap_periodic_least) */
    int known;     /* the field is that of the present particles */
    struct sap_gpu_images images;
    struct sap_gpu_buffer sorted, bound;  /* of the image that walks */
    struct sap_gpu_buffer acc, pot, told; /* sums over images; acc: of tensors, too */
    struct sap_gpu_buffer part, far_sums, field;
    struct sap_gpu_buffer moments; /* pinned: of all particles, then the field of these */
};

/* Replace given particles by images: inside the cube, or, for a refresh, nearest to those of the tree. */
int sap_gpu_periodic_inside(const struct sap_gpu_periodic *p, const struct sap_gpu_session *s,
                            const struct sap_gpu_tree_kernels *f, const struct sap_gpu_buffer *particle, int n);
int sap_gpu_periodic_follow(const struct sap_gpu_periodic *p, const struct sap_gpu_built *tree,
                            const struct sap_gpu_buffer *particle, int n);

/* Says that the particles of the tree have changed; weight: the sum of their masses without signs. */
void sap_gpu_periodic_changed(struct sap_gpu_periodic *p, double weight, int n);

/* Raises n sizes of accelerations to the least that the criterion takes. */
int sap_gpu_periodic_raise(const struct sap_gpu_periodic *p, const struct sap_gpu_built *tree,
                           const struct sap_gpu_buffer *a, int n);

/* Walks for all images of the targets, and writes the rows; tidal: of tensors. */
int sap_gpu_periodic_walk(struct sap_gpu_periodic *p, const struct sap_gpu_walking *walk,
                          const struct sap_gpu_subset *to, int tidal);

/* Returns the bytes of device memory that forces on n particles take more. */
size_t sap_gpu_periodic_bytes(const struct sap_tree_settings *settings, int n);

void sap_gpu_periodic_free(const struct sap_driver *driver, struct sap_gpu_periodic *p);

#endif
