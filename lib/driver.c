/* driver.c - which table speaks for a vendor's interface. */
#include "driver.h"

#include "process.h"

#ifdef SAP_FAULTS
#include "../test/support/faulty_driver.h"
#endif

const struct sap_driver *sap_driver_for_cuda(void)
{
    if (sap_process.cuda_driver) return sap_process.cuda_driver;
#ifdef SAP_FAULTS /* make FAULTS=1 */
    return faulty_from_environment();
#else
    return &sap_driver_cuda;
#endif
}

const struct sap_driver *sap_driver_for_opencl(void)
{
    return sap_process.opencl_driver ? sap_process.opencl_driver : &sap_driver_opencl;
}

const struct sap_embedded *sap_kernels_for_cuda(void)
{
    return sap_process.cuda_kernels ? sap_process.cuda_kernels : &sap_embedded_cuda;
}
