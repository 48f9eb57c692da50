/*
 * gpu_modes.h - the kernels of forces that there are: modes, which say how a kernel treats pairs, and shapes, which say
 * how many i-particles a thread or a warp holds.
 */
#ifndef SAP_GPU_MODES_H
#define SAP_GPU_MODES_H

struct sap_force_request;
struct sap_gpu_set;

enum {
    SAP_GPU_SHAPES = 3,
    SAP_GPU_MODES = 10 /* kinds of treatment of pairs: sap_gpu_mode */
};

/* i-particles per thread (many-target kernel) or per warp (few-target kernel), by shape; 0: no such shape. */
extern const int sap_gpu_many_ipt[SAP_GPU_SHAPES];
int sap_gpu_few_ipt(int order, int shape);

/* Modes of order 2 for forces of particles on themselves (sap_gpu_self_mode), the third for lengths of particles. */
enum { SAP_GPU_MODE_ZERO = 1, SAP_GPU_MODE_OWN = 2, SAP_GPU_MODE_SOFT = 3, SAP_GPU_MODE_SELF = 5 };

/* Returns the part of a kernel's name that stands for a mode, by order; NULL: no such mode. */
const char *sap_gpu_mode_name(int order, int mode);

/* Returns the mode of the kernels that serve a request. */
int sap_gpu_mode(const struct sap_gpu_set *set, const struct sap_force_request *request, int near);

/* Returns whether many-target kernels of this shape exist: only some modes hold 4 i-particles per thread (force.h). */
int sap_gpu_has_many(const struct sap_gpu_set *set, int shape, int mode);

/* Returns whether few-target kernels of this mode exist. */
int sap_gpu_has_few(const struct sap_gpu_set *set, int mode);

/* Returns whether members of lists leave the sums. If no radius is positive, there are no members to leave. */
int sap_gpu_outside(const struct sap_force_request *request, unsigned extra);

#endif
