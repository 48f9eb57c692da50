/* driver.c - selects the driver table of each vendor's interface. */
#include "driver/driver.h"

#ifdef SAP_FAULTS
#include "../../test/support/faulty_driver.h"
#endif

struct sap_driver_replaced sap_driver_replaced;

/*
 * Returns the driver itself or, in a library built with FAULTS=1, the driver with the fault that SAPPORO_FAULT names.
 */
static const struct sap_driver *for_clients(const struct sap_driver *driver)
{
#ifdef SAP_FAULTS
    return faulty_from_environment(driver);
#else
    return driver;
#endif
}

const struct sap_driver *sap_driver_for_cuda(void)
{
    return sap_driver_replaced.cuda ? sap_driver_replaced.cuda : for_clients(&sap_driver_cuda);
}

const struct sap_driver *sap_driver_for_hip(void)
{
    return sap_driver_replaced.hip ? sap_driver_replaced.hip : for_clients(&sap_driver_hip);
}

const struct sap_driver *sap_driver_for_opencl(void)
{
    return sap_driver_replaced.opencl ? sap_driver_replaced.opencl : for_clients(&sap_driver_opencl);
}

const struct sap_embedded *sap_kernels_for_cuda(void)
{
    return sap_driver_replaced.cuda_kernels ? sap_driver_replaced.cuda_kernels : &sap_embedded_cuda;
}

const struct sap_embedded *sap_kernels_for_hip(void)
{
    return sap_driver_replaced.hip_kernels ? sap_driver_replaced.hip_kernels : &sap_embedded_hip;
}
