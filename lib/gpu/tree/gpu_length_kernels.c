/* gpu_length_kernels.c - loads the kernels of gpu_lengths.h: lengths, walks with splines, walks with Plummer lengths.
 */
#include <stdlib.h>

#include "base/structs.h"
#include "gpu/gpu_kernels.h"
#include "gpu/tree/gpu_lengths.h"

/* A module, and the functions of it that are wanted. */
struct wanted {
    const char *name;
    const struct sap_wanted_kernel *kernel;
    int n;
};

/* Unloads modules, and frees the struct that begins with them. */
static void drop(const struct sap_driver *driver, void *kept, int modules)
{
    struct sap_module *const *const module = kept;
    for (int k = 0; k < modules; k++)
        if (module[k]) driver->module_unload(module[k]);
    free(kept);
}

/* Loads modules into the beginning of `made`, or frees it. */
static int load(const struct sap_driver *driver, struct sap_dev *dev, const struct wanted *w, int modules, void *made,
                void **kept)
{
    struct sap_module **const module = made;
    int status = SAP_DRIVER_OK;
    for (int k = 0; k < modules && !status; k++)
        status = sap_gpu_load_module(driver, dev, sap_gpu_embedded(driver), w[k].name, w[k].kernel, w[k].n, &module[k]);
    if (status)
        drop(driver, made, modules);
    else
        *kept = made;
    return status;
}

/* ---- lengths ---- */

static void drop_lengths(const struct sap_driver *driver, void *kept) { drop(driver, kept, 1); }

static int make_lengths(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct sap_gpu_length_kernels *const f = calloc(1, sizeof *f);
    (void)number;
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    const struct sap_wanted_kernel all[] = {SAP_KERNELS_TREE_LENGTHS(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const struct wanted wanted[] = {{"tree_lengths", all, COUNT(all)}};
    return load(driver, dev, wanted, COUNT(wanted), f, kept);
}

int sap_gpu_length_kernels(const struct sap_gpu_session *s, const struct sap_gpu_length_kernels **f)
{
    void *kept;
    TRY(sap_gpu_keep(s->set, s->device, make_lengths, drop_lengths, &kept));
    *f = kept;
    return SAP_DRIVER_OK;
}

/* ---- walks with splines ---- */

static void drop_spline(const struct sap_driver *driver, void *kept) { drop(driver, kept, 2); }

static int make_spline(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct sap_gpu_spline_kernels *const f = calloc(1, sizeof *f);
    (void)number;
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    const struct sap_wanted_kernel sp[] = {SAP_KERNELS_TREE_SPLINE_SP(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const struct sap_wanted_kernel dp[] = {SAP_KERNELS_TREE_SPLINE_DP(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const struct wanted wanted[] = {{"tree_spline_sp", sp, COUNT(sp)}, {"tree_spline_dp", dp, COUNT(dp)}};
    return load(driver, dev, wanted, COUNT(wanted), f, kept);
}

int sap_gpu_spline_kernels(const struct sap_gpu_session *s, const struct sap_gpu_spline_kernels **f)
{
    void *kept;
    TRY(sap_gpu_keep(s->set, s->device, make_spline, drop_spline, &kept));
    *f = kept;
    return SAP_DRIVER_OK;
}

/* ---- walks with Plummer lengths ---- */

static void drop_soft(const struct sap_driver *driver, void *kept) { drop(driver, kept, 2); }

static int make_soft(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct sap_gpu_soft_kernels *const f = calloc(1, sizeof *f);
    (void)number;
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    const struct sap_wanted_kernel sp[] = {SAP_KERNELS_TREE_SOFT_SP(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const struct sap_wanted_kernel dp[] = {SAP_KERNELS_TREE_SOFT_DP(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const struct wanted wanted[] = {{"tree_soft_sp", sp, COUNT(sp)}, {"tree_soft_dp", dp, COUNT(dp)}};
    return load(driver, dev, wanted, COUNT(wanted), f, kept);
}

int sap_gpu_soft_kernels(const struct sap_gpu_session *s, const struct sap_gpu_soft_kernels **f)
{
    void *kept;
    TRY(sap_gpu_keep(s->set, s->device, make_soft, drop_soft, &kept));
    *f = kept;
    return SAP_DRIVER_OK;
}
