/* gpu_devices.h - the devices of a context: choosing, opening and closing. */
#ifndef SAP_GPU_DEVICES_H
#define SAP_GPU_DEVICES_H

#include <stddef.h>

#include "driver/driver.h"
#include "gpu/gpu_memory.h"

struct sap_settings;
struct sap_gpu_kernels;

enum { SAP_GPU_DEVICES = 64 };

/* One device of a context. */
struct sap_gpu_device {
    int number;
    struct sap_dev *dev;
    struct sap_device_properties properties;
    const struct sap_gpu_kernels *kernels;
    int *checked; /* the self-test has passed; kept with the kernels */
};

/* Measured numbers, per precision, that choose launch parameters and the engine. No result depends on them. */
struct sap_gpu_tuning {
    /* cost of a pair in a few-target kernel with most i-particles per warp, relative to a many-target kernel */
    double few_cost;
    double few1_cost;           /* the same, 1 i-particle per warp */
    double fill_cost;           /* cost of filling shared memory with a superpacket, in rows of 1,024 pairs */
    double many1_cost;          /* cost of a pair in a many-target kernel with 1 i-particle per thread, relative to 2 */
    double many4_cost;          /* the same with 4, where there is such a kernel */
    double full_warps;          /* warps that keep a unit busy */
    double cpu_below_nj;        /* j-particles below which the CPU engine is faster */
    double cpu_below_neighbour; /* members of all lists below which the CPU computes a neighbour force faster */
};

struct sap_gpu_set {
    const struct sap_driver *driver;
    int precision, n;
    int order, sums; /* sums: per i-particle */
    int columns;     /* of the j-store */
    int soft;        /* 1: of orders 4 to 8: particles have softening lengths, for which there are other kernels */
    int mixed;       /* forces of few particles are computed by another set, in dp */
    int below;       /* addresses from here on are not held: SAP_FEW_J in that other set */
    int has_fp64; /* all devices: kernels compute in doubles, and write the sums of a single superpacket themselves */
    struct sap_gpu_tuning tuning;
    int units;      /* units of an i-particle in an upload; sap_gpu_units */
    size_t working; /* bytes of a predicted j-particle */
    size_t update;  /* bytes of an update of a j-particle */
    size_t word;    /* bytes of the working type */
    double r2_error, x_error;
    struct sap_gpu_device device[];
};

int sap_gpu_count(const struct sap_driver *driver, const struct sap_embedded *kernels);
/* Returns 1 if a word of SAPPORO_DEVICES is the beginning of a uuid, or part of a name, of any of the driver's devices.
 */
int sap_gpu_is_name(const struct sap_driver *driver, const char *word, size_t length);

/* Opens the devices that the settings name. most: only the first `most` devices; 0: all. A sapporo_status. */
int sap_gpu_open(const struct sap_driver *driver, const struct sap_embedded *kernels, const struct sap_settings *s,
                 int most, struct sap_gpu_set **set, char *why, size_t room);
void sap_gpu_close(struct sap_gpu_set *set);

/*
 * Takes the kernels for particles with softening lengths, if the order has such, for good; a driver status.  *at: the
 * device that this works on, so that a failure names the right one.
 */
int sap_gpu_soften(struct sap_gpu_set *set, int *at);

/* Returns the part of the softening within the distances that kernels compare: all where all pairs have the same. */
static inline double sap_gpu_near_eps2(const struct sap_gpu_set *set, double eps2)
{
    return set->order == 4 && !set->soft ? eps2 : 0;
}

/* Returns 1 if the devices can wait for the first one, and it for them, and copies between them are asynchronous. */
int sap_gpu_together(const struct sap_gpu_set *set);

/* Makes a buffer of the first device that kernels of all devices can write, as sap_gpu_reserve_shared. */
int sap_gpu_reserve_for_all(const struct sap_gpu_set *set, struct sap_gpu_buffer *b, size_t bytes);

struct sap_travel_device;

/* Describes the first device, and whether memory travels from it (engine/travel_ops.h), but not superpackets. */
void sap_gpu_describe_travels(const struct sap_gpu_set *set, struct sap_travel_device *device);

#endif
