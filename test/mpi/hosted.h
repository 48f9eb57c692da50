/*
 * hosted.h - OpenCL on a CPU as a driver whose device memory has addresses, as that of CUDA has: kernels compute, and
 * MPI and the double of NCCL read and write device memory.  Linked into a program, it takes the place of OpenCL.
 *
 *   HOSTED_SHARED   1: all ranks have one device; else each has one of its own
 *   HOSTED_AWARE    what MPIX_Query_cuda_support says, default 0
 */
#ifndef TEST_HOSTED_H
#define TEST_HOSTED_H

#include <stddef.h>

/* The number of devices. */
int hosted_devices(void);

/* Makes memory of the host count as memory of the device with these addresses, as a caller may have. */
void hosted_lend(void *at, size_t bytes);

/* Says whether device memory has addresses from now on; it has at first. */
void hosted_addresses(int are_there);

/* Called by queries of events: 1 while transfers are under way.  The double of NCCL sets it. */
extern int (*hosted_pending)(void);

/* Called with the stream in which transfers begin: waits for the work before them. */
void hosted_finish(void *stream);

#endif
