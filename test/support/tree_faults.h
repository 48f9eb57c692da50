/* tree_faults.h - trees over a driver whose calls fail: OpenCL's or CUDA's, as a test chooses. */
#ifndef TEST_TREE_FAULTS_H
#define TEST_TREE_FAULTS_H

#include "driver/driver.h"
#include "engine/engine.h"
#include "sapporo.h"

/* The kind of trees, and the driver on which they are built. */
extern const struct tree_fault_place {
    sapporo_tree_kind kind;
    sapporo_backend backend;
    const struct sap_engine *engine;
    const struct sap_driver *driver;
} * tree_fault_place;

/* Set-up functions of cmocka's tests; return 0. */
int tree_faults_on_opencl(void **state);
int tree_faults_on_cuda(void **state);
int tree_faults_of_kdtree_on_opencl(void **state);
int tree_faults_of_kdtree_on_cuda(void **state);

/* Two tests of CMocka, of octrees and of kd-trees, on a driver whose name is opencl or cuda. */
#define TREE_FAULTS_TEST(words, test, driver)                                                                          \
    {words ", " #driver, test, tree_faults_on_##driver, tree_faults_end, NULL},                                        \
    {                                                                                                                  \
        words " of kd-trees, " #driver, test, tree_faults_of_kdtree_on_##driver, tree_faults_end, NULL                 \
    }

/* Skips the test if there is no such device, or SAPPORO_TEST_ENGINES excludes it. */
void tree_faults_need_device(void);

/* Returns the options of a tree on this driver. */
sapporo_tree_options tree_fault_options(void);

/* Wraps the engine's driver until the test's end, also if it fails: faulty_plan plans its faults. */
void tree_faults_start(void);
/* Takes another driver in place of the engine's, until the test's end. */
void tree_faults_replace(const struct sap_driver *by);
int tree_faults_end(void **state); /* a tear-down function; returns 0 */

#endif
