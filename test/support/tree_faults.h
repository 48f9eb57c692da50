/* tree_faults.h - trees over a driver whose calls fail: OpenCL's or CUDA's, as a test chooses. */
#ifndef TEST_TREE_FAULTS_H
#define TEST_TREE_FAULTS_H

#include "driver/driver.h"
#include "engine/engine.h"
#include "sapporo.h"

/* The driver on which trees are built. */
extern const struct tree_fault_place {
    sapporo_backend backend;
    const struct sap_engine *engine;
    const struct sap_driver *driver;
} * tree_fault_place;

/* Set-up functions of cmocka's tests; return 0. */
int tree_faults_on_opencl(void **state);
int tree_faults_on_cuda(void **state);

/* Skips the test if there is no such device, or SAPPORO_TEST_ENGINES excludes it. */
void tree_faults_need_device(void);

/* Returns the options of a tree on this driver. */
sapporo_tree_options tree_fault_options(void);

/* Wraps the engine's driver until the test's end, also if it fails: faulty_plan plans its faults. */
void tree_faults_start(void);
int tree_faults_end(void **state); /* a tear-down function; returns 0 */

#endif
