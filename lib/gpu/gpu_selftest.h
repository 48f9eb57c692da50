/* gpu_selftest.h - the test of a device that is new to the process. */
#ifndef SAP_GPU_SELFTEST_H
#define SAP_GPU_SELFTEST_H

#include <stddef.h>

struct sap_force_ops;
struct sap_gpu_set;
struct sap_store_ops;

/* Compares a small force on each device that is new to this process with double precision; a sapporo_status. */
int sap_gpu_selftest(struct sap_gpu_set *set, const struct sap_store_ops *store, const struct sap_force_ops *force,
                     char *why, size_t room);

#endif
