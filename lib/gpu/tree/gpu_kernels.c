/*
 * gpu_kernels.c - the tree kernels of a device: loaded when its first tree is created, and kept with its other kernels.
 */
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/gpu_session.h"
#include "gpu/tree/gpu_kernels.h"

static void drop(const struct sap_driver *driver, void *kept)
{
    struct sap_gpu_tree_kernels *const f = kept;
    sap_primitives_close(&f->primitives);
    for (int k = 0; k < COUNT(f->module); k++)
        if (f->module[k]) driver->module_unload(f->module[k]);
    free(f);
}

static int load_all(const struct sap_driver *driver, struct sap_dev *dev, int number, struct sap_gpu_tree_kernels *f)
{
    const struct sap_embedded *const e = sap_gpu_embedded(driver);
    const struct sap_wanted_kernel all[] = {SAP_KERNELS_TREE(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const struct sap_wanted_kernel sp[] = {SAP_KERNELS_TREE_WALK_SP(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const struct sap_wanted_kernel dp[] = {SAP_KERNELS_TREE_WALK_DP(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    TRY(sap_primitives_open(driver, dev, number, e, &f->primitives));
    TRY(sap_gpu_load_module(driver, dev, e, "tree", all, COUNT(all), &f->module[0]));
    TRY(sap_gpu_load_module(driver, dev, e, "tree_walk_sp", sp, COUNT(sp), &f->module[1]));
    return sap_gpu_load_module(driver, dev, e, "tree_walk_dp", dp, COUNT(dp), &f->module[2]);
}

static int make(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct sap_gpu_tree_kernels *const f = calloc(1, sizeof *f);
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    const int status = load_all(driver, dev, number, f);
    if (status)
        drop(driver, f);
    else
        *kept = f;
    return status;
}

int sap_gpu_tree_load(struct sap_gpu_session *s, const struct sap_gpu_tree_kernels **f)
{
    void *kept;
    TRY(sap_gpu_keep(s->set, s->device, make, drop, &kept));
    *f = kept;
    s->primitives = &(*f)->primitives;
    return SAP_DRIVER_OK;
}
