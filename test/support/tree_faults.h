/* tree_faults.h - trees over a driver whose calls fail: by OpenCL or CUDA, whichever a test has chosen. */
#ifndef TEST_TREE_FAULTS_H
#define TEST_TREE_FAULTS_H

#include "driver/driver.h"
#include "engine/engine.h"
#include "sapporo.h"

/* Where trees are. */
extern const struct tree_fault_place {
    sapporo_backend backend;
    const struct sap_engine *engine;
    const struct sap_driver *driver;
} * tree_fault_place;

/* Set-ups of cmocka's tests; 0. */
int tree_faults_on_opencl(void **state);
int tree_faults_on_cuda(void **state);

/* Skips the test where there is no such device, or SAPPORO_TEST_ENGINES leaves it out. */
void tree_faults_need_device(void);

/* Options of a tree there. */
sapporo_tree_options tree_fault_options(void);

/* From here to the test's end, also if it fails, the engine's driver is the one that faulty_plan plans for. */
void tree_faults_start(void);
int tree_faults_end(void **state); /* a tear-down; 0 */

#endif
