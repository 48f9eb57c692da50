/* gpu_shape.h - launch parameters: which kernel serves a force, and how the force is cut into blocks. */
#ifndef SAP_GPU_SHAPE_H
#define SAP_GPU_SHAPE_H

struct sap_force_request;
struct sap_gpu_device;
struct sap_gpu_set;
struct sap_gpu_slab;
struct sap_settings;

enum { SAP_GPU_CHOSEN = 4 }; /* chosen shapes that a device remembers */

/* How a force is cut into blocks. */
struct sap_gpu_shape {
    int many;  /* 1: many-target kernel; 0: few-target kernel */
    int which; /* i-particles per thread or warp: index into the tables of gpu_kernels.h */
    int rows_per_group;
    int fused;
};

/* A chosen shape, and the launch for which it was chosen. */
struct sap_gpu_chosen {
    int ni, superpackets, predicted, mode;
    struct sap_gpu_shape shape;
};

/* Fills set->tuning with the measured defaults, then with the numbers that the tuning file has for the first device. */
void sap_gpu_tune(struct sap_gpu_set *set, const struct sap_settings *settings);

/*
 * Returns the mode of the kernels for forces of particles on ni of themselves, without pairs of one index, in order 2.
 * all: row i is the particle at address i. All modes that it may return give the same bits. Sets s->mode.
 */
int sap_gpu_self_mode(struct sap_gpu_slab *s, int ni, int all);

struct sap_gpu_shape sap_gpu_choose_shape(const struct sap_gpu_set *set, const struct sap_gpu_device *device, int mode,
                                          int ni, int superpackets, int predicted);

/* Returns the shape of a launch for ni i-particles; remembers choices, since clients tend to repeat sizes. */
struct sap_gpu_shape sap_gpu_shape_of(const struct sap_gpu_slab *s, int ni);

/* Returns the rows of a slab: their records fit into the record buffer, and its last blocks leave few units idle. */
int sap_gpu_slab_rows(const struct sap_gpu_slab *s, int ni);

#endif
