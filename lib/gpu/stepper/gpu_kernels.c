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

static int load(const struct sap_driver *driver, struct sap_dev *dev, struct sap_gpu_stepper_kernels *f)
{
    const struct {
        const char *name;
        struct sap_function **function;
    } wanted[] = {
        {"stepper_look", &f->look},       {"stepper_arrange", &f->arrange},   {"stepper_predict", &f->predict},
        {"stepper_flag", &f->flag},       {"stepper_massless", &f->massless}, {"stepper_join", &f->join},
        {"stepper_judge", &f->judge},     {"stepper_commit", &f->commit},     {"stepper_at", &f->at},
        {"stepper_sums", &f->sums},       {"stepper_own", &f->own},           {"stepper_targets", &f->targets},
        {"stepper_results", &f->results}, {"stepper_units", &f->units}};
    const struct sap_embedded *const e =
        strcmp(driver->name, "opencl") == 0 ? &sap_embedded_opencl : sap_kernels_for_cuda();
    int found = 0;
    while (found < e->count && strcmp(e->images[found].name, "stepper") != 0) found++;
    if (found == e->count) return SAP_DRIVER_UNSUPPORTED;
    TRY(driver->module_load(dev, e->images[found].image, e->images[found].size, &f->module));
    for (int k = 0; k < COUNT(wanted); k++) TRY(driver->function(f->module, wanted[k].name, wanted[k].function));
    return SAP_DRIVER_OK;
}

static int make(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct sap_gpu_stepper_kernels *const f = calloc(1, sizeof *f);
    (void)number;
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    const int status = load(driver, dev, f);
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
