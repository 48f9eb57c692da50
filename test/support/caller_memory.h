/*
 * caller_memory.h - memory of the caller on a device: that of CUDA, or OpenCL's as if it had addresses.  Nothing but
 * the driver can read or write the latter.
 */
#ifndef TEST_CALLER_MEMORY_H
#define TEST_CALLER_MEMORY_H

#include <stddef.h>

#include "sapporo.h"

/* Set-up functions of cmocka's tests, which skip without a device; return 0. */
int caller_memory_on_opencl(void **state);
int caller_memory_on_cuda(void **state);
int caller_memory_end(void **state); /* a tear-down function; returns 0 */

/* The backend of the test. */
sapporo_backend caller_memory_backend(void);

/* Skips the test if there is no such device. */
void caller_memory_need(void);

/* Returns the address of a copy in device memory, until the test's end. */
void *caller_memory_put(const void *from, size_t bytes);

/* Copies from device memory. */
void caller_memory_get(void *to, const void *from, size_t bytes);

/* Lets the n-th launch or copy to the host from now on fail; 0: none. */
void caller_memory_fail(int n);

/* Bytes that the library has copied from the device to the host since the last call. */
size_t caller_memory_copied(void);

#endif
