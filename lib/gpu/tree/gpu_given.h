/*
 * gpu_given.h - particles by address on an accelerator, as they were set: those of a tree, or of a stepper with direct
 * sums. Functions that return int return driver statuses unless their comment says otherwise.
 */
#ifndef SAP_GPU_GIVEN_H
#define SAP_GPU_GIVEN_H

#include "gpu/gpu_memory.h"
#include "gpu/gpu_session.h"
#include "sapporo.h"

struct sap_gpu_lengths;
struct sap_gpu_tree_kernels;

/* Why memory of a device is refused by a driver without `adopt`. */
#define SAP_GPU_NO_ADDRESSES "OpenCL has no addresses of device memory that a caller could name: host memory only"

enum { SAP_TORN_MASSES = 2 };
enum { SAP_GIVEN_KINDS = 3, SAP_NONE_BAD = 0x7F7F7F7F }; /* of what kernels look at: by kind, the first that is bad */

struct sap_gpu_given {
    const struct sap_gpu_tree_kernels *f;
    struct sap_gpu_lengths *lengths;  /* NULL: of a stepper with direct sums */
    double gravity;                   /* the gravitational constant, by which a set multiplies masses */
    int room, n;                      /* n: particles of the last set */
    struct sap_gpu_buffer particle;   /* four doubles each: position, mass times gravity */
    struct sap_gpu_buffer a;          /* sizes of accelerations */
    struct sap_gpu_buffer *column[2]; /* of the owner: where a set leaves the caller's positions and masses */
    int torn;                         /* a set failed half way; SAP_TORN_MASSES: masses were overwritten, too */
    int has_a;                        /* particles with known accelerations */
};

/*
 * Allocates, within a call, device memory for `room` particles.  The owner has set room, gravity and `column`: memory
 * that is free during a set.
 */
int sap_gpu_given_open(struct sap_gpu_session *s, struct sap_gpu_given *g);
void sap_gpu_given_free(const struct sap_driver *driver, struct sap_gpu_given *g);

/*
 * Takes particles of the caller, in a call of its own; a sapporo_status.  The device looks at positions and masses; a
 * set that finds a bad one changes nothing.
 */
int sap_gpu_given_set(struct sap_gpu_session *s, struct sap_gpu_given *g, const sapporo_tree_particles *p);

/* Uploads sizes of accelerations by address. */
int sap_gpu_given_send_a(struct sap_gpu_session *s, struct sap_gpu_given *g, const sapporo_column *a, int n);

/*
 * _look prepares device memory, which it returns, for a kernel that looks for bad values of SAP_GIVEN_KINDS kinds;
 * _ask waits for what the kernel found: by kind, the first bad entry, or SAP_NONE_BAD.
 */
int sap_gpu_given_look(struct sap_gpu_session *s, struct sap_mem **found);
int sap_gpu_given_ask(struct sap_gpu_session *s, int *bad);

/* Makes memory of the caller on the device known to the driver, which releases it; *mem is NULL if `at` is. */
int sap_gpu_adopt(const struct sap_gpu_session *s, const void *at, size_t bytes, struct sap_mem **mem);

#endif
