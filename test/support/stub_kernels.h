/*
 * stub_kernels.h - kernels for the stub driver.  They write the number of the launch instead of a force, so that stale
 * results show, and lists of a given length.
 */
#ifndef STUB_KERNELS_H
#define STUB_KERNELS_H

#include "driver/driver.h"

/* Names of all images that the host flow loads; their bytes have no meaning. */
extern const struct sap_embedded stub_kernels;

/* A function for stub.on_launch.  Sums are the serial number on each device, nearest neighbours have index 0. */
void stub_kernel(const char *name, const struct sap_launch *launch);

/* Entries of every list: 0, 1, ... */
extern int stub_list_length;

/* Returns the number of the last launch that wrote sums; the next one is higher. */
double stub_serial(void);

#endif
