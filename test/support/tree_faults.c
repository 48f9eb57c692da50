/* tree_faults.c - see tree_faults.h. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tree_faults.h"

#include "driver/driver.h"
#include "faulty_driver.h"
#include "gpu/gpu_engine.h"
#include "gpu/gpu_kernels.h"

#include <stdlib.h>
#include <string.h>

static const struct tree_fault_place places[] = {
    {SAPPORO_TREE_OCTREE, SAPPORO_BACKEND_OPENCL, &sap_engine_opencl, &sap_driver_opencl},
    {SAPPORO_TREE_OCTREE, SAPPORO_BACKEND_CUDA, &sap_engine_cuda, &sap_driver_cuda},
    {SAPPORO_TREE_KDTREE, SAPPORO_BACKEND_OPENCL, &sap_engine_opencl, &sap_driver_opencl},
    {SAPPORO_TREE_KDTREE, SAPPORO_BACKEND_CUDA, &sap_engine_cuda, &sap_driver_cuda}};

const struct tree_fault_place *tree_fault_place = &places[0];

static int choose(int place)
{
    tree_fault_place = &places[place];
    return 0;
}

int tree_faults_on_opencl(void **state) { return (void)state, choose(0); }
int tree_faults_on_cuda(void **state) { return (void)state, choose(1); }
int tree_faults_of_kdtree_on_opencl(void **state) { return (void)state, choose(2); }
int tree_faults_of_kdtree_on_cuda(void **state) { return (void)state, choose(3); }

void tree_faults_need_device(void)
{
    const char *wanted = getenv("SAPPORO_TEST_ENGINES");
    const struct sap_engine *const engine = tree_fault_place->engine;
    if (engine->count() == 0 || (wanted && !strstr(wanted, engine->name))) skip();
}

sapporo_tree_options tree_fault_options(void)
{
    return (sapporo_tree_options){.size = sizeof(sapporo_tree_options),
                                  .kind = tree_fault_place->kind,
                                  .mac = SAPPORO_MAC_OPENING,
                                  .eps2 = 1e-4,
                                  .backend = tree_fault_place->backend};
}

static const struct sap_driver **driver(void)
{
    return tree_fault_place->backend == SAPPORO_BACKEND_CUDA ? &sap_driver_replaced.cuda : &sap_driver_replaced.opencl;
}

void tree_faults_start(void) { tree_faults_replace(faulty_wrap(tree_fault_place->driver)); }

void tree_faults_replace(const struct sap_driver *by) { *driver() = by; }

int tree_faults_end(void **state)
{
    (void)state;
    faulty_plan(0, SAP_DRIVER_OK);
    sap_gpu_unload_idle(*driver());
    *driver() = NULL;
    return 0;
}
