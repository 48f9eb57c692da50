/* driver.c - which table speaks for a vendor's interface. */
#include "driver.h"

#include "process.h"

const struct sap_driver *sap_driver_for_cuda(void)
{
    return sap_process.cuda_driver ? sap_process.cuda_driver : &sap_driver_cuda;
}

const struct sap_embedded *sap_kernels_for_cuda(void)
{
    return sap_process.cuda_kernels ? sap_process.cuda_kernels : &sap_embedded_cuda;
}
