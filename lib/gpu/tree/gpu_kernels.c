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

static const struct sap_embedded *texts_of(const struct sap_driver *driver)
{
    return strcmp(driver->name, "opencl") == 0 ? &sap_embedded_opencl : sap_kernels_for_cuda();
}

static void drop(const struct sap_driver *driver, void *kept)
{
    struct sap_gpu_tree_kernels *const f = kept;
    sap_primitives_close(&f->primitives);
    for (int k = 0; k < COUNT(f->module); k++)
        if (f->module[k]) driver->module_unload(f->module[k]);
    free(f);
}

int sap_gpu_tree_load_module(const struct sap_driver *driver, struct sap_dev *dev, const char *name,
                             struct sap_module **module)
{
    const struct sap_embedded *const e = texts_of(driver);
    for (int k = 0; k < e->count; k++)
        if (strcmp(e->images[k].name, name) == 0)
            return driver->module_load(dev, e->images[k].image, e->images[k].size, module);
    return SAP_DRIVER_UNSUPPORTED;
}

/* A kernel that is wanted, and where its handle goes. */
struct wanted_kernel {
    int module;
    const char *name;
    struct sap_function **function;
};

static int get_functions(const struct sap_driver *driver, const struct sap_gpu_tree_kernels *f,
                         const struct wanted_kernel *wanted, int n)
{
    for (int k = 0; k < n; k++) TRY(driver->function(f->module[wanted[k].module], wanted[k].name, wanted[k].function));
    return SAP_DRIVER_OK;
}

/* The kernels of all but walks. */
static int get_builders(const struct sap_driver *driver, struct sap_gpu_tree_kernels *f)
{
    const struct wanted_kernel wanted[] = {{0, "tree_look", &f->look},
                                           {0, "tree_take", &f->take},
                                           {0, "tree_look_active", &f->look_active},
                                           {0, "tree_ahead", &f->ahead},
                                           {0, "tree_bounds", &f->bounds},
                                           {0, "tree_keys", &f->keys},
                                           {0, "tree_gather", &f->gather},
                                           {0, "tree_levels", &f->levels},
                                           {0, "tree_level_firsts", &f->firsts},
                                           {0, "tree_link", &f->link},
                                           {0, "tree_leaves", &f->leaves},
                                           {0, "tree_cells", &f->cells},
                                           {0, "tree_words", &f->words},
                                           {0, "tree_runs", &f->runs},
                                           {0, "tree_groups", &f->groups},
                                           {0, "tree_divide", &f->divide},
                                           {0, "tree_flagged", &f->flagged},
                                           {0, "tree_row_keys", &f->row_keys},
                                           {0, "tree_row_order", &f->row_order},
                                           {0, "tree_row_slots", &f->row_slots},
                                           {0, "tree_row_places", &f->row_places},
                                           {0, "tree_row_strict", &f->row_strict},
                                           {0, "tree_part_keys", &f->part_keys},
                                           {0, "tree_part_order", &f->part_order},
                                           {0, "tree_sizes", &f->sizes},
                                           {0, "tree_next", &f->next},
                                           {0, "tree_search", &f->search},
                                           {0, "tree_pick", &f->pick},
                                           {0, "tree_rows_add", &f->rows_add},
                                           {0, "tree_stop_count", &f->stop_count},
                                           {0, "tree_stop_cells", &f->stop_cells},
                                           {0, "tree_stop_particles", &f->stop_particles},
                                           {0, "tree_halo_bins", &f->halo_bins},
                                           {0, "tree_halo_flag", &f->halo_flag},
                                           {0, "tree_halo_top", &f->halo_top},
                                           {0, "tree_halo_tell", &f->halo_tell},
                                           {0, "tree_halo_reach", &f->halo_reach},
                                           {0, "tree_halo_test", &f->halo_test},
                                           {0, "tree_halo_spread", &f->halo_spread},
                                           {0, "tree_halo_place", &f->halo_place},
                                           {0, "tree_halo_bases", &f->halo_bases},
                                           {0, "tree_halo_fill", &f->halo_fill}};
    return get_functions(driver, f, wanted, COUNT(wanted));
}

static int get_walks(const struct sap_driver *driver, struct sap_gpu_tree_kernels *f)
{
    const struct wanted_kernel wanted[] = {
        {1, "tree_walk_sp", &f->walk_sp[0]},      {1, "tree_walk_whole_sp", &f->walk_sp[1]},
        {1, "tree_selected_sp", &f->selected[0]}, {1, "tree_few_sp", &f->few[0]},
        {1, "tree_large_sp", &f->large},          {1, "tree_bunches_sp", &f->bunches[0]},
        {2, "tree_bunches_dp", &f->bunches[1]},   {2, "tree_walk_dp", &f->walk_dp},
        {2, "tree_selected_dp", &f->selected[1]}, {2, "tree_few_dp", &f->few[1]},
        {2, "tree_alone_masses", &f->alone[0]},   {2, "tree_alone_moments", &f->alone[1]}};
    return get_functions(driver, f, wanted, COUNT(wanted));
}

static int load_all(const struct sap_driver *driver, struct sap_dev *dev, int number, struct sap_gpu_tree_kernels *f)
{
    TRY(sap_primitives_open(driver, dev, number, texts_of(driver), &f->primitives));
    TRY(sap_gpu_tree_load_module(driver, dev, "tree", &f->module[0]));
    TRY(sap_gpu_tree_load_module(driver, dev, "tree_walk_sp", &f->module[1]));
    TRY(sap_gpu_tree_load_module(driver, dev, "tree_walk_dp", &f->module[2]));
    TRY(get_builders(driver, f));
    return get_walks(driver, f);
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
