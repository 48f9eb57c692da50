/* gpu_kernels.c - the stepper kernels of a device: loaded for its first stepper, and kept with its other kernels. */
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/stepper/gpu_stepper.h"

static void drop(const struct sap_driver *driver, void *kept)
{
    struct sap_gpu_stepper_kernels *const f = kept;
    if (f->module) driver->module_unload(f->module);
    free(f);
}

static int make(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct sap_gpu_stepper_kernels *const f = calloc(1, sizeof *f);
    (void)number;
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    const struct sap_wanted_kernel wanted[] = {SAP_KERNELS_STEPPER(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const int status =
        sap_gpu_load_module(driver, dev, sap_gpu_embedded(driver), "stepper", wanted, COUNT(wanted), &f->module);
    if (status)
        drop(driver, f);
    else
        *kept = f;
    return status;
}

int sap_stepper_kernels(struct sap_gpu_stepper *s)
{
    void *kept;
    TRY(sap_gpu_keep(s->session->set, s->session->device, make, drop, &kept));
    s->f = kept;
    return SAP_DRIVER_OK;
}
