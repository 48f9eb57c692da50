/*
 * cuda_driver.h - what the files of the CUDA driver share: an open device, and its context made current.
 */
#ifndef SAP_DRIVER_CUDA_H
#define SAP_DRIVER_CUDA_H

#include "driver/cuda/cuda_api.h"
#include "driver/driver.h"

/*
 * An open device.  Its context is the primary one, which the caller's own CUDA
 * code shares; libcuda counts who holds it.
 */
struct sap_dev {
    sap_cu_device device;
    sap_cu_context context;
    char architecture[32];
    int entered; /* between `enter` and `leave`: the context is current */
    int pushed;  /* by sap_cuda_begin, for one call */
};

struct sap_mem {
    struct sap_dev *dev;
    sap_cu_address address;
    size_t bytes;
    void *host;                /* of pinned memory; NULL: memory of the device */
    size_t mapped;             /* bytes of memory that other devices see too; 0: it is the device's own */
    unsigned long long handle; /* of that memory */
    int theirs;                /* the caller's own */
};

int sap_cuda_count(void);
const char *sap_cuda_describe(void);
int sap_cuda_properties(int number, struct sap_device_properties *properties);
int sap_cuda_open(int number, struct sap_dev **dev);
void sap_cuda_close(struct sap_dev *dev);
int sap_cuda_enter(struct sap_dev *dev);
void sap_cuda_leave(struct sap_dev *dev);

/*
 * Around each call that needs the context: begin makes it current unless it is,
 * end gives the caller's back and returns `status`, or why that failed.  Call
 * libcuda only if begin gave OK, and end in any case.
 */
int sap_cuda_begin(struct sap_dev *dev);
int sap_cuda_end(struct sap_dev *dev, int status);

/* Memory of ours, zero; on failure the error of this thread is set. */
void *sap_cuda_room(size_t bytes);

/* Entries of the table that are in cuda_memory.c. */
int sap_cuda_memory_left(struct sap_dev *dev, size_t *bytes);
int sap_cuda_allocate(struct sap_dev *dev, size_t bytes, struct sap_mem **mem);
int sap_cuda_allocate_pinned(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host);
int sap_cuda_allocate_shared(struct sap_dev *dev, struct sap_dev *const *others, int n, size_t bytes,
                             struct sap_mem **mem);
void sap_cuda_release(struct sap_mem *mem);
int sap_cuda_adopt(struct sap_dev *dev, const void *address, size_t bytes, struct sap_mem **mem);

#endif
